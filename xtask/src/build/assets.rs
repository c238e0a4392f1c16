//! Static files of the site: `public/` as it is, and pdf.js from its Node package.
//!
//! Invariant: pdf.js lies under a path with its version, so that it may be cached for ever. Never: pdf.js'
//! script sandbox, its JavaScript interpreter or source maps; scripts in a receipt are not run.

use std::path::Path;

use super::{Plan, Source};
use crate::error::{Error, Result};
use crate::layout::{self, Layout};

/// The version that the receipt viewer was tested with; its path names it.
const PDFJS_VERSION: &str = "6.5.438";

/// Single files of the package and their place in the site.
const PDFJS_FILES: [(&str, &str); 6] = [
    ("legacy/build/pdf.min.mjs", "build/pdf.min.mjs"),
    ("legacy/build/pdf.worker.min.mjs", "build/pdf.worker.min.mjs"),
    ("legacy/build/pdf.renderer.min.mjs", "build/pdf.renderer.min.mjs"),
    ("legacy/web/pdf_viewer.mjs", "web/pdf_viewer.mjs"),
    ("legacy/web/pdf_viewer.css", "web/pdf_viewer.css"),
    ("LICENSE", "LICENSE"),
];

/// Whole folders of the package and their place in the site: decoders for scans, character maps and fonts for
/// receipts that don't embed theirs, colour profiles.
const PDFJS_FOLDERS: [(&str, &str); 5] = [
    ("legacy/web/images", "web/images"),
    ("wasm", "wasm"),
    ("cmaps", "cmaps"),
    ("standard_fonts", "standard_fonts"),
    ("iccs", "iccs"),
];

/// Adds the repository's own static files.
pub(super) fn add_public(plan: &mut Plan, layout: &Layout) -> Result<()> {
    add_folder(plan, &layout.root.join("public"), Path::new(""))
}

/// Adds the receipt viewer's library.
pub(super) fn add_pdfjs(plan: &mut Plan, layout: &Layout) -> Result<()> {
    let package = layout.end2end().join("node_modules").join("pdfjs-dist");
    let manifest = layout::read_text(&package.join("package.json"))?;
    if !manifest.contains(&format!("\"version\": \"{PDFJS_VERSION}\"")) {
        return Err(Error::new(format!(
            "pdfjs-dist in end2end/ isn't {PDFJS_VERSION}; change the version there, in xtask and in app together"
        )));
    }
    let place = Path::new("pdfjs").join(PDFJS_VERSION);
    for (from, to) in PDFJS_FILES {
        plan.insert(place.join(to), Source::File(package.join(from)));
    }
    for (from, to) in PDFJS_FOLDERS {
        add_folder(plan, &package.join(from), &place.join(to))?;
    }
    Ok(())
}

fn add_folder(plan: &mut Plan, folder: &Path, place: &Path) -> Result<()> {
    for file in layout::files_below(folder)? {
        let path = file.strip_prefix(folder).unwrap_or(&file);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let hidden = name.starts_with('.');
        if hidden || name.ends_with(".map") || name.to_ascii_lowercase().contains("quickjs") {
            continue;
        }
        plan.insert(place.join(path), Source::File(file.clone()));
    }
    Ok(())
}
