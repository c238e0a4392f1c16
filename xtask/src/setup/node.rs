//! The Node packages of `end2end/`: pdf.js, wasm-opt, Playwright.
//!
//! Invariant: exactly what the lock file says is installed. Never: downloads a browser.

use crate::error::{Error, Result};
use crate::layout::{self, Layout};
use crate::run;

/// Oldest Node that the packages were tried on.
const NODE_MAJOR_MIN: u32 = 20;
/// Remembers the lock file's content of the last complete installation.
const STAMP: &str = ".installed-lock";

/// Installs the packages unless the last installation was of this very lock file.
pub(super) fn ensure(layout: &Layout) -> Result<()> {
    let version = run::output(run::command("node").arg("--version"))
        .map_err(|error| Error::new(format!("{error}; install Node {NODE_MAJOR_MIN} or newer with npm")))?;
    let major = version.trim().trim_start_matches('v').split('.').next().and_then(|part| part.parse::<u32>().ok());
    if major.is_none_or(|major| major < NODE_MAJOR_MIN) {
        return Err(Error::new(format!("Node {} is too old, {NODE_MAJOR_MIN} or newer is needed", version.trim())));
    }
    let folder = layout.end2end();
    let lock = layout::read(&folder.join("package-lock.json"))?;
    let stamp = folder.join("node_modules").join(STAMP);
    if std::fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    let mut npm = run::command(if cfg!(windows) { "npm.cmd" } else { "npm" });
    npm.current_dir(&folder).env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1");
    npm.args(["ci", "--omit=optional", "--no-audit", "--no-fund", "--loglevel=error"]);
    run::run("npm ci in end2end", &mut npm)?;
    layout::write_if_changed(&stamp, &lock)?;
    Ok(())
}
