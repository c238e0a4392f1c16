//! The browser part: cargo → wasm-bindgen → wasm-opt.
//!
//! Invariant: wasm-bindgen's library has the version of the crate (both are pinned together), so that the two
//! always understand each other.

use std::path::{Path, PathBuf};

use wasm_bindgen_cli_support::Bindgen;

use super::fingerprint::Fingerprint;
use crate::error::{Context, Result};
use crate::layout::{self, Layout, OUTPUT_NAME};
use crate::run;
use crate::setup::Toolchain;

/// Changes when this module does something else with the same inputs.
const RECIPE: &str = "1";
/// Everything that goes into the wasm file; other changes don't rebuild it.
const INPUTS: [&str; 5] = ["app", "frontend", "Cargo.toml", "Cargo.lock", ".cargo/config.toml"];
/// What browsers of the last four years understand; the compiler emits them by default.
const WASM_FEATURES: [&str; 7] = [
    "--enable-bulk-memory",
    "--enable-bulk-memory-opt",
    "--enable-nontrapping-float-to-int",
    "--enable-sign-ext",
    "--enable-mutable-globals",
    "--enable-reference-types",
    "--enable-multivalue",
];

/// What the browser loads, before names are given.
pub(super) struct Bundle {
    pub(super) js: String,
    pub(super) wasm: Vec<u8>,
    /// Script files that crates brought along: path below `snippets/`, content.
    pub(super) snippets: Vec<(PathBuf, Vec<u8>)>,
}

/// Returns the bundle, from the last build where no input changed.
pub(super) fn build(layout: &Layout, toolchain: &Toolchain) -> Result<Bundle> {
    let folder = layout.work().join("wasm");
    let stamp = folder.join("inputs.txt");
    let inputs = inputs(layout, toolchain)?;
    if std::fs::read_to_string(&stamp).is_ok_and(|last| last == inputs) {
        run::say("    wasm: unchanged");
    } else {
        // Without a stamp a build that stops halfway is never taken for a complete one.
        if stamp.exists() {
            std::fs::remove_file(&stamp).context(|| format!("cannot remove {}", stamp.display()))?;
        }
        compile(layout, toolchain)?;
        let compiled = layout.target.join(crate::setup::WASM_TARGET).join("wasm-release").join("frontend.wasm");
        bind(&compiled, &folder)?;
        optimise(layout, &folder)?;
        layout::write_if_changed(&stamp, inputs.as_bytes())?;
    }
    let snippets = folder.join("snippets");
    let mut found = Vec::new();
    if snippets.exists() {
        for file in layout::files_below(&snippets)? {
            let path = file.strip_prefix(&snippets).unwrap_or(&file).to_path_buf();
            found.push((path, layout::read(&file)?));
        }
    }
    Ok(Bundle {
        js: layout::read_text(&folder.join(format!("{OUTPUT_NAME}.js")))?,
        wasm: layout::read(&optimised(&folder))?,
        snippets: found,
    })
}

fn inputs(layout: &Layout, toolchain: &Toolchain) -> Result<String> {
    let mut fingerprint = Fingerprint::new();
    fingerprint.add(RECIPE.as_bytes());
    fingerprint.add(toolchain.version()?.as_bytes());
    for path in INPUTS {
        fingerprint.add_path(&layout.root, &layout.root.join(path))?;
    }
    Ok(fingerprint.hex())
}

fn compile(layout: &Layout, toolchain: &Toolchain) -> Result<()> {
    let mut cargo = toolchain.cargo(layout);
    cargo.args(["build", "--package", "frontend", "--lib", "--target", crate::setup::WASM_TARGET]);
    cargo.args(["--profile", "wasm-release"]);
    run::run("cargo build (browser)", &mut cargo)
}

fn bind(compiled: &Path, folder: &Path) -> Result<()> {
    run::say("==> wasm-bindgen");
    if folder.exists() {
        std::fs::remove_dir_all(folder).context(|| format!("cannot empty {}", folder.display()))?;
    }
    layout::make_dir(folder)?;
    run::within("wasm-bindgen", || {
        let mut bindgen = Bindgen::new();
        bindgen.web(true).context(|| "wasm-bindgen".into())?;
        bindgen.input_path(compiled).out_name(OUTPUT_NAME).typescript(false).omit_default_module_path(true);
        bindgen.remove_name_section(true).remove_producers_section(true);
        bindgen.generate(folder).context(|| format!("wasm-bindgen can't process {}", compiled.display()))
    })?
}

fn optimise(layout: &Layout, folder: &Path) -> Result<()> {
    let mut wasm_opt = run::command("node");
    wasm_opt.arg(layout.node_tool("wasm-opt")).arg("-Oz").args(WASM_FEATURES);
    wasm_opt.arg(folder.join(format!("{OUTPUT_NAME}_bg.wasm"))).arg("-o").arg(optimised(folder));
    run::run("wasm-opt", &mut wasm_opt)
}

fn optimised(folder: &Path) -> PathBuf {
    folder.join(format!("{OUTPUT_NAME}_opt.wasm"))
}
