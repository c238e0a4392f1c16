//! Where everything lies: the repository, the target folder, and what the build puts into it.
//!
//! Invariant: site, binary and `hash.txt` always belong to the same target folder, so that a folder shared
//! between clones (`CARGO_TARGET_DIR`) never mixes the parts of two builds unnoticed.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use crate::error::{Context, Error, Result};
use crate::run;

/// The name of the binary, and of the files that the browser loads.
pub(crate) const OUTPUT_NAME: &str = "connectworkflow";
/// Folder below the site for hashed files; they may be cached for a year.
pub(crate) const PKG_DIR: &str = "pkg";

/// The folders of this clone.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    /// The repository's root.
    pub(crate) root: PathBuf,
    /// Cargo's target folder.
    pub(crate) target: PathBuf,
}

impl Layout {
    /// Finds the folders from where this crate was compiled and from `CARGO_TARGET_DIR`.
    pub(crate) fn find() -> Result<Self> {
        // Cargo sets it at run time too; a moved clone with an old xtask binary must not build the old place.
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest
            .parent()
            .ok_or_else(|| Error::new(format!("{} has no parent folder", manifest.display())))?
            .to_path_buf();
        let target = match std::env::var_os("CARGO_TARGET_DIR") {
            Some(given) if !given.is_empty() => std::path::absolute(PathBuf::from(given))
                .context(|| "cannot make CARGO_TARGET_DIR an absolute path".into())?,
            _ => root.join("target"),
        };
        Ok(Self { root, target })
    }

    /// What the server serves as static files.
    pub(crate) fn site(&self) -> PathBuf {
        self.target.join("site")
    }

    /// The native binary of the dev profile.
    pub(crate) fn binary(&self) -> PathBuf {
        self.target.join("debug").join(format!("{OUTPUT_NAME}{}", std::env::consts::EXE_SUFFIX))
    }

    /// Intermediate files of this tool.
    pub(crate) fn work(&self) -> PathBuf {
        self.target.join("xtask")
    }

    /// Waits until no other run of this tool builds into the same target folder. Held until dropped.
    pub(crate) fn lock(&self) -> Result<File> {
        make_dir(&self.work())?;
        let path = self.work().join("lock");
        let file = File::create(&path).context(|| format!("cannot create {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                run::within("waiting for another `cargo xtask` in this target folder", || file.lock())?
                    .context(|| format!("cannot lock {}", path.display()))?;
            }
            Err(TryLockError::Error(error)) => {
                return Err(Error::new(format!("cannot lock {}: {error}", path.display())));
            }
        }
        Ok(file)
    }

    /// The folder of the Node packages and the browser tests.
    pub(crate) fn end2end(&self) -> PathBuf {
        self.root.join("end2end")
    }

    /// Path of an executable file of a Node package.
    pub(crate) fn node_tool(&self, name: &str) -> PathBuf {
        self.end2end().join("node_modules").join(".bin").join(name)
    }
}

/// Creates a folder and its parents.
pub(crate) fn make_dir(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).context(|| format!("cannot create the folder {}", path.display()))
}

/// Reads a file, naming it where that fails.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).context(|| format!("cannot read {}", path.display()))
}

/// Reads a text file, naming it where that fails.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).context(|| format!("cannot read {}", path.display()))
}

/// Writes a file unless it already has this content, so that time stamps only move with a change.
/// Returns whether it was written.
pub(crate) fn write_if_changed(path: &Path, content: &[u8]) -> Result<bool> {
    if std::fs::read(path).is_ok_and(|present| present == content) {
        return Ok(false);
    }
    if let Some(parent) = path.parent() {
        make_dir(parent)?;
    }
    std::fs::write(path, content).context(|| format!("cannot write {}", path.display()))?;
    Ok(true)
}

/// Every file below `folder`, sorted, so that what is computed from them doesn't depend on the file system.
pub(crate) fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(current) = waiting.pop() {
        let entries =
            std::fs::read_dir(&current).context(|| format!("cannot list the folder {}", current.display()))?;
        for entry in entries {
            let path = entry.context(|| format!("cannot list the folder {}", current.display()))?.path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
