//! The independent S3 server of the tests: MiniStack, in a Python environment of its own under the user's cache.
//!
//! Invariant: exactly [`VERSION`] is used; a half installation is never taken for a whole one.
//! Never: a package in the system's Python.

use std::path::{Path, PathBuf};

use super::std_build::apt_install;
use crate::error::{Context, Error, Result};
use crate::layout;
use crate::run;

/// The version that the tests were tried against.
const VERSION: &str = "1.5.33";
/// Written last, when everything is there.
const STAMP: &str = "installed";

/// An installed MiniStack.
#[derive(Debug, Clone)]
pub(crate) struct Installed {
    /// Its program.
    pub(crate) program: PathBuf,
}

/// Installs it unless it is there.
pub(crate) fn ensure() -> Result<Installed> {
    let folder = cache()?.join(format!("ministack-{VERSION}"));
    let bin = folder.join(if cfg!(windows) { "Scripts" } else { "bin" });
    let installed = Installed { program: bin.join(format!("ministack{}", std::env::consts::EXE_SUFFIX)) };
    let stamp = folder.join(STAMP);
    if stamp.exists() && installed.program.exists() {
        return Ok(installed);
    }
    if folder.exists() {
        std::fs::remove_dir_all(&folder).context(|| format!("cannot remove {}", folder.display()))?;
    }
    environment(&folder)?;
    let mut pip = run::command(bin.join(format!("python{}", std::env::consts::EXE_SUFFIX)));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).arg(format!("ministack=={VERSION}"));
    run::run("pip install ministack (the S3 server of the tests)", &mut pip)?;
    layout::write_if_changed(&stamp, VERSION.as_bytes())?;
    Ok(installed)
}

/// An empty Python environment; where Debian's Python can't make one, its package is installed first.
fn environment(folder: &Path) -> Result<()> {
    let python = || {
        let mut python = run::command(if cfg!(windows) { "python" } else { "python3" });
        python.args(["-m", "venv"]).arg(folder);
        python
    };
    if run::run("python3 -m venv", &mut python()).is_ok() {
        return Ok(());
    }
    apt_install("Python for the S3 server of the tests", &["python3", "python3-venv"])?;
    run::run("python3 -m venv", &mut python())
}

/// The user's cache folder for this project.
fn cache() -> Result<PathBuf> {
    let given = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = given("XDG_CACHE_HOME").or_else(|| Some(given("HOME").or_else(|| given("USERPROFILE"))?.join(".cache")));
    let base = base.ok_or_else(|| Error::new("no cache folder: set XDG_CACHE_HOME or HOME"))?;
    Ok(base.join("connectworkflow"))
}
