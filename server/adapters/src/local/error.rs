//! What can keep the embedded store from opening.
//!
//! Invariant: every message names the folder or file and the way out.
//! Never: an error of a single read or write; those are the port's ([`ports::StoreError`], [`ports::PutError`]).

use std::io;
use std::path::PathBuf;

/// The embedded store can't be opened.
#[derive(Debug, thiserror::Error)]
pub enum LocalStoreError {
    /// Another process (or another store of this one) has the folder open.
    #[error(
        "the store folder `{}` is in use by another process: stop that process first, or choose another folder",
        folder.display()
    )]
    Locked {
        /// The folder.
        folder: PathBuf,
    },
    /// A file or folder can't be used.
    #[error(
        "the store can't {action} `{}`: {source}; check that the path exists, is writable and has free space",
        path.display()
    )]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The database file can't be opened or read.
    #[error(
        "the store's database `{}` can't be opened: {source}; restore the whole folder from a backup if it is damaged",
        path.display()
    )]
    Database {
        /// The file.
        path: PathBuf,
        /// What the database said.
        source: Box<redb::Error>,
    },
    /// Written by another version of this program.
    #[error(
        "the store folder `{}` has format {found}, this version reads {expected}: use the version that wrote it",
        folder.display()
    )]
    Format {
        /// The folder.
        folder: PathBuf,
        /// Its format.
        found: u64,
        /// What this version reads.
        expected: u64,
    },
    /// Blobs without their database: opening would take all of them for left-overs and remove them.
    #[error(
        "the store folder `{}` holds large objects but no database: restore the whole folder from one backup, \
        or start with an empty one",
        folder.display()
    )]
    Incomplete {
        /// The folder.
        folder: PathBuf,
    },
    /// The writer's thread can't be started.
    #[error("the store's writer thread can't be started: {source}; the machine is out of threads or memory")]
    Thread {
        /// What the system said.
        source: io::Error,
    },
}

/// For `map_err` on file operations.
pub(super) fn io_error(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> LocalStoreError {
    let path = path.into();
    move |source| LocalStoreError::Io { action, path, source }
}
