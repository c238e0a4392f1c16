//! Large objects as files of their own.
//!
//! Purpose: the database stays small and fast, receipts of megabytes don't pass through its pages.
//! Invariant: a file is complete and durable (file and folder fsynced) before the database names it, and is removed only
//! after the database no longer names it. Each file has a fresh name and is never written again.
//! Never: a decision whether a file is still wanted; the database's table of blobs says so.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use uuid::Uuid;

/// Ending of a file that is still being written.
const UNFINISHED: &str = "tmp";

/// The folder of the blobs.
#[derive(Debug)]
pub(super) struct BlobDir {
    path: PathBuf,
}

/// A written blob that no database entry names yet: it is removed again unless it is kept.
#[derive(Debug)]
pub(super) struct PendingBlob {
    dir: Arc<BlobDir>,
    name: String,
    kept: bool,
}

impl BlobDir {
    /// Opens the folder, creating it if needed.
    pub(super) fn open(path: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(&path)?;
        Ok(Self { path })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a blob under a fresh name; when this returns, the file survives a power loss.
    pub(super) fn write(self: &Arc<Self>, bytes: &[u8]) -> io::Result<PendingBlob> {
        let name = Uuid::new_v4().simple().to_string();
        let unfinished = self.path.join(&name).with_extension(UNFINISHED);
        let written = self.write_file(&unfinished, &name, bytes);
        if written.is_err() {
            // What is left over is removed at the next start; the caller hears about the first error, the cause.
            let _ = fs::remove_file(&unfinished);
        }
        written.map(|()| PendingBlob { dir: Arc::clone(self), name, kept: false })
    }

    fn write_file(&self, unfinished: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut file = File::create_new(unfinished)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(unfinished, self.path.join(name))?;
        sync_dir(&self.path)
    }

    /// Reads the given part of a blob of the given size, in bytes. `None`: there is no such file. A file of another size
    /// is `InvalidData`.
    pub(super) fn read(&self, name: &str, part: &Range<u64>, size: u64) -> io::Result<Option<Vec<u8>>> {
        let mut file = match File::open(self.path.join(name)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let found = file.metadata()?.len();
        if found != size {
            let message = format!("the file `{name}` has {found} bytes instead of {size}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        let len = usize::try_from(part.end.saturating_sub(part.start)).map_err(io::Error::other)?;
        let mut bytes = vec![0; len];
        file.seek(SeekFrom::Start(part.start))?;
        file.read_exact(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// Removes a blob that the database no longer names. What can't be removed now is removed at the next start.
    pub(super) fn remove(&self, name: &str) {
        let path = self.path.join(name);
        match fs::remove_file(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(path = %path.display(), %error, "can't remove a large object no longer used"),
        }
    }

    /// Whether there is no blob at all.
    pub(super) fn is_empty(&self) -> io::Result<bool> {
        Ok(fs::read_dir(&self.path)?.next().transpose()?.is_none())
    }

    /// Removes what a crash left behind: unfinished files and those that the database doesn't name. Foreign files stay.
    /// The number of files removed.
    pub(super) fn sweep<E>(
        &self,
        is_used: impl Fn(&str) -> Result<bool, E>,
        failed: impl Fn(io::Error) -> E,
    ) -> Result<u64, E> {
        let mut removed = 0;
        for entry in fs::read_dir(&self.path).map_err(&failed)? {
            let path = entry.map_err(&failed)?.path();
            let name = path.file_stem().and_then(|name| name.to_str()).filter(|name| Uuid::try_parse(name).is_ok());
            let extension = path.extension().and_then(|extension| extension.to_str());
            let is_orphan = match (name, extension) {
                (Some(_), Some(UNFINISHED)) => true,
                (Some(name), None) => !is_used(name)?,
                (Some(_) | None, Some(_) | None) => {
                    tracing::warn!(path = %path.display(), "a foreign file lies among the store's large objects");
                    false
                }
            };
            if is_orphan {
                fs::remove_file(&path).map_err(&failed)?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

impl PendingBlob {
    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// From now on the database may name it: dropping this leaves the file.
    pub(super) fn keep(&mut self) {
        self.kept = true;
    }

    /// The write that wanted it did not happen: dropping this removes the file.
    pub(super) fn give_up(&mut self) {
        self.kept = false;
    }
}

impl Drop for PendingBlob {
    fn drop(&mut self) {
        if !self.kept {
            self.dir.remove(&self.name);
        }
    }
}

/// Makes new names in a folder durable. Only Unix lets a folder be opened for that; elsewhere the file system's journal
/// has to do.
pub(super) fn sync_dir(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}
