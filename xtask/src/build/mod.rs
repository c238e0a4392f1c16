//! Builds what the demo and the tests run: the site (wasm, script, styles, static files) and the server.
//!
//! Invariant: a step is skipped only when the content of all its inputs is unchanged, and `hash.txt` beside the
//! binary always names files that exist in the site. Never: a release of the server.

mod assets;
mod fingerprint;
mod precompress;
mod style;
mod wasm;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::{Context, Result};
use crate::layout::{self, Layout, OUTPUT_NAME, PKG_DIR};
use crate::run;
use crate::setup::Toolchain;

/// The files of the site: path below the site → content's source.
pub(crate) type Plan = BTreeMap<PathBuf, Source>;

/// Where a file of the site comes from.
pub(crate) enum Source {
    /// Copied.
    File(PathBuf),
    /// Written.
    Bytes(Vec<u8>),
}

/// The hashes in the names of the three files that a page loads.
struct Hashes {
    js: String,
    wasm: String,
    css: String,
}

impl Hashes {
    /// The format that leptos and leptos_meta 0.8 read: one `kind: hash` a line.
    fn file(&self) -> String {
        format!("js: {}\nwasm: {}\ncss: {}\n", self.js, self.wasm, self.css)
    }
}

/// Builds everything that the browser loads, and `hash.txt`.
pub(crate) fn site(layout: &Layout, toolchain: &Toolchain) -> Result<()> {
    run::say("==> site");
    let _alone = layout.lock()?;
    let browser = wasm::build(layout, toolchain)?;
    let style = style::bundle(&layout.root.join("style").join("main.css"))?;
    let mut plan = Plan::new();
    let hashes = add_package(&mut plan, browser, style)?;
    assets::add_public(&mut plan, layout)?;
    assets::add_pdfjs(&mut plan, layout)?;
    sync(layout, &plan)?;
    precompress::site(layout)?;
    for folder in ["", "deps"] {
        // Unit-test binaries live in `deps`, and leptos looks beside the current binary.
        let folder = layout.target.join("debug").join(folder);
        layout::write_if_changed(&folder.join("hash.txt"), hashes.file().as_bytes())?;
    }
    report(layout, &hashes);
    Ok(())
}

/// Builds the server.
///
/// Together with one small test: as soon as a test is among what is built, cargo chooses the features that tests need of
/// shared crates. Without it, demo and tests would each compile most dependencies for themselves.
pub(crate) fn binary(layout: &Layout, toolchain: &Toolchain) -> Result<()> {
    let selection = ["build", "--bin", "connectworkflow", "--test", "house"];
    run::run("cargo build (server)", toolchain.cargo(layout).args(selection))
}

/// Adds script, wasm, styles and script snippets under names that change with their content.
fn add_package(plan: &mut Plan, browser: wasm::Bundle, style: String) -> Result<Hashes> {
    let package = Path::new(PKG_DIR);
    let mut js = browser.js;
    if !browser.snippets.is_empty() {
        let all: Vec<&[u8]> = browser.snippets.iter().map(|(_, content)| content.as_slice()).collect();
        let folder = format!("snippets.{}", fingerprint::short(&all));
        js = js.replace("./snippets/", &format!("./{folder}/"));
        for (path, content) in browser.snippets {
            plan.insert(package.join(&folder).join(path), Source::Bytes(content));
        }
    }
    let hashes = Hashes {
        js: fingerprint::short(&[js.as_bytes()]),
        wasm: fingerprint::short(&[&browser.wasm]),
        css: fingerprint::short(&[style.as_bytes()]),
    };
    let name = |hash: &str, extension: &str| package.join(format!("{OUTPUT_NAME}.{hash}.{extension}"));
    plan.insert(name(&hashes.js, "js"), Source::Bytes(js.into_bytes()));
    plan.insert(name(&hashes.wasm, "wasm"), Source::Bytes(browser.wasm));
    plan.insert(name(&hashes.css, "css"), Source::Bytes(style.into_bytes()));
    Ok(hashes)
}

/// Makes the site exactly what the plan says (and the compressed files beside it).
fn sync(layout: &Layout, plan: &Plan) -> Result<()> {
    let site = layout.site();
    for (path, source) in plan {
        let content;
        let bytes = match source {
            Source::Bytes(bytes) => bytes,
            Source::File(file) => {
                content = layout::read(file)?;
                &content
            }
        };
        layout::write_if_changed(&site.join(path), bytes)?;
    }
    for file in layout::files_below(&site)? {
        let Ok(path) = file.strip_prefix(&site) else { continue };
        let compressed = path.extension().is_some_and(|extension| extension == "br" || extension == "gz");
        let original = if compressed { path.with_extension("") } else { path.to_path_buf() };
        if !plan.contains_key(path) && !plan.contains_key(&original) {
            std::fs::remove_file(&file).context(|| format!("cannot remove the outdated {}", file.display()))?;
        }
    }
    Ok(())
}

/// Says how much a browser loads for the first page.
fn report(layout: &Layout, hashes: &Hashes) {
    let mut total = 0;
    let mut parts = Vec::new();
    for (hash, extension) in [(&hashes.wasm, "wasm"), (&hashes.js, "js"), (&hashes.css, "css")] {
        let file = layout.site().join(PKG_DIR).join(format!("{OUTPUT_NAME}.{hash}.{extension}.br"));
        let size = std::fs::metadata(&file).map_or(0, |data| data.len());
        total += size;
        parts.push(format!("{extension} {}", kilobytes(size)));
    }
    run::say(&format!("    bundle, brotli: {} = {}", parts.join(" + "), kilobytes(total)));
}

fn kilobytes(bytes: u64) -> String {
    format!("{}.{} kB", bytes / 1000, bytes % 1000 / 100)
}
