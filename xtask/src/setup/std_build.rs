//! The fallback where the wasm target can't be downloaded: the distribution's compiler brings the library's
//! sources, and the library is compiled from them once (about two minutes).
//!
//! Invariant: the compiler in `/usr` gets only files that it compiled itself. Never: touches a toolchain that
//! rustup downloaded.

use std::path::{Path, PathBuf};

use super::toolchain::{Toolchain, WASM};
use crate::error::{Context, Error, Result};
use crate::layout::{self, Layout};
use crate::run;

/// Packages of Debian with a current compiler, its sources, linker and tools.
const PACKAGES: [&str; 7] =
    ["rustc-web", "cargo-web", "rust-web-src", "rust-web-llvm", "lld-22", "rust-web-clippy", "rustfmt-web"];
/// What these packages bring and the build needs.
const NEEDED: [&str; 6] = [
    "/usr/bin/rustc",
    "/usr/bin/cargo",
    "/usr/bin/cargo-clippy",
    "/usr/bin/rustfmt",
    "/usr/bin/rust-lld",
    "/usr/lib/rustlib/src/rust/library/std/Cargo.toml",
];

/// Installs the compiler's packages unless they are there.
pub(super) fn ensure_packages() -> Result<()> {
    if NEEDED.iter().all(|path| Path::new(path).exists()) {
        return Ok(());
    }
    apt_install("the compiler's packages", &PACKAGES).map_err(|error| {
        Error::new(format!(
            "{error}\nneeded: a Rust compiler with the target {WASM}, e.g. by `rustup target add {WASM}`"
        ))
    })
}

/// Installs packages with apt, or says what a person has to install.
pub(super) fn apt_install(what: &str, packages: &[&str]) -> Result<()> {
    let root = run::output(run::command("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    if !root || !run::exists("apt-get") {
        return Err(Error::new(format!(
            "{what} missing, and only root on Debian can install them from here; install: {}",
            packages.join(" ")
        )));
    }
    let apt = || {
        let mut apt = run::command("apt-get");
        apt.args(["-o", "DPkg::Lock::Timeout=300", "-qq"]).env("DEBIAN_FRONTEND", "noninteractive");
        apt
    };
    run::run("apt-get update", apt().arg("update"))?;
    run::run(
        &format!("apt-get install: {what}"),
        apt().args(["install", "-y", "--no-install-recommends"]).args(packages),
    )
}

/// Compiles the standard library for wasm32 and puts it where the compiler looks for it.
pub(super) fn build(layout: &Layout, toolchain: &Toolchain) -> Result<()> {
    let folder = layout.work().join("wasm-std");
    // A workspace of its own, or cargo would take the crate for a stray member of ours.
    let manifest = "[package]\nname = \"empty\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n";
    layout::write_if_changed(&folder.join("Cargo.toml"), manifest.as_bytes())?;
    layout::write_if_changed(&folder.join("src").join("lib.rs"), b"#![no_std]\n")?;
    let target = folder.join("target");
    let mut cargo = toolchain.program("cargo");
    cargo.current_dir(&folder).env("CARGO_TARGET_DIR", &target).env("RUSTC_BOOTSTRAP", "1");
    cargo.args(["build", "-Zbuild-std=std,panic_abort,panic_unwind", "--target", WASM, "--release"]);
    run::run(&format!("the standard library for {WASM} (about two minutes)"), &mut cargo)?;

    let place = run::output(toolchain.program("rustc").args(["--print", "target-libdir", "--target", WASM]))?;
    let place = PathBuf::from(place.trim());
    layout::make_dir(&place)?;
    for old in layout::files_below(&place)?.iter().filter(|path| is_library(path)) {
        std::fs::remove_file(old).context(|| format!("cannot remove {}", old.display()))?;
    }
    let built = target.join(WASM).join("release").join("deps");
    for file in layout::files_below(&built)?.iter().filter(|path| is_library(path)) {
        let Some(name) = file.file_name() else { continue };
        std::fs::copy(file, place.join(name))
            .context(|| format!("cannot copy {} to {}", file.display(), place.display()))?;
    }
    Ok(())
}

/// A compiled library, but not that of the empty crate.
fn is_library(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("lib") && name.ends_with(".rlib") && !name.starts_with("libempty-")
}
