//! Chooses the one Rust toolchain that builds both halves, and gives it the wasm target.
//!
//! Invariant: the chosen toolchain has compiled a line of Rust for wasm32 before it is returned. Never: two
//! toolchains in one build, since nothing that one has compiled could be used by the other.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::std_build;
use crate::error::{Context, Error, Result};
use crate::layout::Layout;
use crate::run;

/// The target of the browser part.
pub(crate) const WASM: &str = "wasm32-unknown-unknown";
/// The rustup name of the fallback: the distribution's compiler with a standard library built here.
pub(super) const FALLBACK: &str = "connectworkflow";
/// How long the ordinary download may take before the fallback is tried.
const DOWNLOAD: Duration = Duration::from_secs(180);

/// The toolchain of all inner calls of cargo.
#[derive(Debug, Clone, Default)]
pub(crate) struct Toolchain {
    /// Name for rustup; without one, what the outer cargo runs under is used.
    name: Option<&'static str>,
}

impl Toolchain {
    /// A cargo call in the repository's root with this toolchain.
    pub(crate) fn cargo(&self, layout: &Layout) -> Command {
        let mut command = self.program("cargo");
        command.current_dir(&layout.root).env("CARGO_TARGET_DIR", &layout.target);
        command
    }

    /// The compiler's version text, part of every fingerprint.
    pub(crate) fn version(&self) -> Result<String> {
        run::output(self.program("rustc").arg("-vV"))
    }

    pub(super) fn program(&self, program: &str) -> Command {
        let mut command = run::command(program);
        if let Some(name) = self.name {
            command.env("RUSTUP_TOOLCHAIN", name);
        }
        command
    }

    /// Compiles an empty program for wasm32: a folder with libraries proves nothing after a compiler update.
    pub(super) fn compiles_wasm(&self, layout: &Layout) -> bool {
        let attempt = || -> std::io::Result<bool> {
            // A folder of ours: given a file, the compiler *replaces* it, and root may replace even a device.
            let folder = layout.work().join("probe");
            std::fs::create_dir_all(&folder)?;
            let mut rustc = self.program("rustc");
            rustc.args(["--crate-name", "probe", "--crate-type", "lib", "--emit", "metadata", "--target", WASM]);
            rustc.arg("--out-dir").arg(&folder).arg("-");
            rustc.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = rustc.spawn()?;
            if let Some(mut input) = child.stdin.take() {
                input.write_all(b"pub fn probe() -> Vec<u8> { Vec::new() }")?;
            }
            Ok(child.wait()?.success())
        };
        attempt().unwrap_or(false)
    }
}

/// Returns a toolchain that compiles for wasm32, installing or building what is missing.
pub(super) fn ensure(layout: &Layout) -> Result<Toolchain> {
    let current = Toolchain::default();
    if current.compiles_wasm(layout) {
        return Ok(current);
    }
    let fallback = Toolchain { name: Some(FALLBACK) };
    let rustup = run::exists("rustup");
    if rustup && linked()? && fallback.compiles_wasm(layout) {
        run::say(&format!("    toolchain `{FALLBACK}` for server and browser"));
        return Ok(fallback);
    }
    if rustup {
        let mut add = run::command("rustup");
        add.args(["target", "add", WASM]);
        match run::run_within(&format!("rustup target add {WASM}"), &mut add, DOWNLOAD) {
            Ok(()) if current.compiles_wasm(layout) => return Ok(current),
            Ok(()) => run::say("    the target is installed, but the compiler can't use it"),
            Err(error) => run::say(&format!("    {error}; building the target's library here instead")),
        }
    }
    std_build::ensure_packages()?;
    let chosen = if rustup {
        link()?;
        fallback
    } else {
        current
    };
    std_build::build(layout, &chosen)?;
    if chosen.compiles_wasm(layout) {
        Ok(chosen)
    } else {
        Err(Error::new(format!("the library for {WASM} was built, but the compiler can't use it")))
    }
}

/// Whether rustup knows the fallback already.
fn linked() -> Result<bool> {
    let names = run::output(run::command("rustup").args(["toolchain", "list"]))?;
    Ok(names.lines().any(|line| line.split_whitespace().next() == Some(FALLBACK)))
}

fn link() -> Result<()> {
    if linked()? {
        return Ok(());
    }
    run::output(run::command("rustup").args(["toolchain", "link", FALLBACK, "/usr"]))
        .context(|| format!("cannot link /usr as toolchain `{FALLBACK}`"))?;
    Ok(())
}
