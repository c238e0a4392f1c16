//! The embedded store: buckets and objects on the local disk, without a server beside the program (DESIGN §4).
//!
//! Purpose: the product runs on one machine with no S3 at all.
//! Invariant: a write whose `Ok` was returned survives `kill -9` and power loss; one process has the folder; reads see the
//! last acknowledged write.
//! Never: two writers. One thread (`writer`) decides all conditions.
//!
//! Every write is a version; overwritten and deleted ones stay for [`ports::VERSION_DAYS_MIN`] days, within the limits of
//! `changes`. A disk that fails or is full costs the writes that meet it; the store goes on by itself once it can.
//!
//! The folder holds `store.redb` (objects up to 64 KiB, and what is known about all), `blobs/` (larger objects, a file
//! each) and `store.lock`. Reads go straight to a snapshot of the database, beside the writer. They and all file work run
//! on tokio's blocking threads: the hop costs some 20 µs, and a slow disk never stalls the tasks of the runtime.

mod blobs;
mod changes;
mod database;
mod error;
mod migrate;
mod tables;
mod writer;

#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod fault_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod version_tests;

use std::fmt;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use async_trait::async_trait;
use bytes::Bytes;
use ports::{BucketName, Clock, Condition, ETag, Key, ListPage, ObjectInfo, PutError, Store, StoreError, Stored};
use redb::Database;
use tokio::sync::{mpsc, oneshot};

use blobs::{BlobDir, sync_dir};
pub use changes::{VERSION_BYTES_PER_KEY_MAX, VERSIONS_PER_KEY_KEPT, VERSIONS_PER_KEY_MAX};
use database::{Opener, Place};
pub use error::LocalStoreError;
use error::io_error;
use tables::{Shared, Which, etag_of};
use writer::{Body, Content, Outcome, Request, Write};

/// Bytes up to which an object lives in the database; larger ones are files. A page of documents stays in the cache, a
/// receipt doesn't push it out.
pub const INLINE_BYTES_MAX: usize = 64 * 1024;
/// Bytes an object may have.
pub const OBJECT_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Writes that may wait for the writer; whoever comes later waits for a place.
const WRITE_QUEUE_MAX: usize = 1_024;
/// Bytes of memory the database may use for its cache.
const CACHE_BYTES_MAX: usize = 64 * 1024 * 1024;

const DATABASE_FILE: &str = "store.redb";
const LOCK_FILE: &str = "store.lock";
const BLOB_FOLDER: &str = "blobs";

/// A store in a folder of the local disk.
///
/// Dropping it waits until the writes already accepted are on disk, and releases the folder.
pub struct LocalStore {
    shared: Arc<Shared>,
    /// `None` only while dropping.
    requests: Option<mpsc::Sender<Request>>,
    writer: Option<JoinHandle<()>>,
}

impl LocalStore {
    /// Opens the store of a folder, creating both if needed. After a crash this repairs the database (which takes time in
    /// proportion to its size) and removes unfinished files. Blocks; call it at start-up.
    ///
    /// # Errors
    /// [`LocalStoreError`]: the folder is in use, can't be used, or holds something that this version can't read.
    pub fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, LocalStoreError> {
        create_folder(path)?;
        let opener = file_opener(path.join(DATABASE_FILE));
        Self::open_with(path, clock, opener)
    }

    /// Opens the store of a folder that exists.
    fn open_with(path: &Path, clock: Arc<dyn Clock>, opener: Opener) -> Result<Self, LocalStoreError> {
        let lock = lock_folder(path)?;
        let blob_path = path.join(BLOB_FOLDER);
        let blobs = Arc::new(BlobDir::open(blob_path.clone()).map_err(io_error("open the folder", blob_path))?);
        let at = Place { folder: path.to_owned(), file: path.join(DATABASE_FILE) };
        let database = database::open(&at, &blobs, clock.now().timestamp_micros(), opener)?;
        sync_dir(path).map_err(io_error("sync the folder", path))?;
        let shared = Arc::new(Shared { database, blobs, _lock: lock });
        tracing::info!(folder = %path.display(), "embedded store opened");

        let (requests, queue) = mpsc::channel(WRITE_QUEUE_MAX);
        let theirs = Arc::clone(&shared);
        let writer = std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || writer::run(&theirs, clock.as_ref(), queue))
            .map_err(|source| LocalStoreError::Thread { source })?;
        Ok(Self { shared, requests: Some(requests), writer: Some(writer) })
    }

    /// Hands a write to the writer and waits for what became of it.
    async fn write(&self, write: Write) -> Outcome {
        let (answer, outcome) = oneshot::channel();
        let stopped = "the embedded store's writer has stopped: see the log for its last error, then restart";
        let Some(requests) = &self.requests else { return Outcome::Refused(stopped.to_owned()) };
        if requests.send(Request { write, answer }).await.is_err() {
            return Outcome::Refused(stopped.to_owned());
        }
        outcome.await.unwrap_or_else(|_| Outcome::Unknown(stopped.to_owned()))
    }

    /// A read on a blocking thread. An I/O error closes the database for reads too: then the writer is asked to open it
    /// anew, and the read gets a second chance.
    async fn read<T: Send + 'static>(
        &self,
        read: impl Fn(&Shared) -> Result<T, StoreError> + Send + Sync + 'static,
    ) -> Result<T, StoreError> {
        let read = Arc::new(read);
        match self.read_once(Arc::clone(&read)).await {
            Err(StoreError::Unavailable { reason }) => match self.write(Write::Heal).await {
                Outcome::Done => self.read_once(read).await,
                Outcome::Lost | Outcome::NoBucket | Outcome::Refused(_) | Outcome::Unknown(_) => {
                    Err(StoreError::Unavailable { reason })
                }
            },
            answer => answer,
        }
    }

    async fn read_once<T: Send + 'static>(
        &self,
        read: Arc<impl Fn(&Shared) -> Result<T, StoreError> + Send + Sync + 'static>,
    ) -> Result<T, StoreError> {
        let shared = Arc::clone(&self.shared);
        match tokio::task::spawn_blocking(move || read(&shared)).await {
            Ok(answer) => answer,
            Err(error) => {
                Err(StoreError::Unavailable { reason: format!("a read of the embedded store ended: {error}") })
            }
        }
    }

    /// Hashes a content and brings a large one to disk.
    async fn prepare(&self, bytes: Bytes) -> Result<Content, PutError> {
        let size = bytes.len() as u64;
        if bytes.len() <= INLINE_BYTES_MAX {
            return Ok(Content { etag: etag_of(&bytes), size, body: Body::Inline(bytes) });
        }
        if bytes.len() > OBJECT_BYTES_MAX {
            let reason = format!("the object has {size} bytes, at most {OBJECT_BYTES_MAX} are possible");
            return Err(PutError::Refused { reason });
        }
        let blobs = Arc::clone(&self.shared.blobs);
        let written = tokio::task::spawn_blocking(move || {
            let blob = blobs.write(&bytes)?;
            Ok::<_, std::io::Error>(Content { etag: etag_of(&bytes), size, body: Body::Blob(blob) })
        });
        let folder = self.shared.blobs.path().display();
        match written.await {
            Ok(Ok(content)) => Ok(content),
            Ok(Err(error)) => {
                let reason = format!("can't write to `{folder}`: {error}; check the disk and its free space");
                Err(PutError::Refused { reason })
            }
            Err(error) => Err(PutError::Refused { reason: format!("writing to `{folder}` ended: {error}") }),
        }
    }

    #[cfg(test)]
    async fn end_writer(&self) {
        let _ = self.write(Write::Panic).await;
    }
}

impl Drop for LocalStore {
    fn drop(&mut self) {
        self.requests = None;
        if self.writer.take().is_some_and(|writer| writer.join().is_err()) {
            tracing::error!("the embedded store's writer ended with a panic");
        }
    }
}

impl fmt::Debug for LocalStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalStore").field("blobs", &self.shared.blobs.path()).finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for LocalStore {
    async fn create_bucket(&self, bucket: &BucketName) -> Result<(), StoreError> {
        unconditional(self.write(Write::CreateBucket { bucket: bucket.clone() }).await, bucket)
    }

    async fn get(&self, bucket: &BucketName, key: &Key) -> Result<Option<Stored>, StoreError> {
        let (bucket, key) = (bucket.clone(), key.clone());
        self.read(move |shared| shared.read(&bucket, &key, Which::Current, None)).await
    }

    async fn get_range(&self, bucket: &BucketName, key: &Key, range: Range<u64>) -> Result<Option<Stored>, StoreError> {
        let (bucket, key) = (bucket.clone(), key.clone());
        self.read(move |shared| shared.read(&bucket, &key, Which::Current, Some(&range))).await
    }

    async fn head(&self, bucket: &BucketName, key: &Key) -> Result<Option<ObjectInfo>, StoreError> {
        let (bucket, key) = (bucket.clone(), key.clone());
        self.read(move |shared| shared.head(&bucket, &key)).await
    }

    async fn put(&self, bucket: &BucketName, key: &Key, bytes: Bytes, condition: Condition) -> Result<ETag, PutError> {
        let content = self.prepare(bytes).await?;
        let etag = ETag(content.etag.clone());
        match self.write(Write::Put { bucket: bucket.clone(), key: key.clone(), content, condition }).await {
            Outcome::Done => Ok(etag),
            Outcome::Lost => Err(PutError::Lost),
            Outcome::NoBucket => {
                Err(PutError::Refused { reason: StoreError::NoBucket { bucket: bucket.to_string() }.to_string() })
            }
            Outcome::Refused(reason) => Err(PutError::Refused { reason }),
            Outcome::Unknown(reason) => Err(PutError::Unknown { reason }),
        }
    }

    async fn delete(&self, bucket: &BucketName, key: &Key) -> Result<(), StoreError> {
        unconditional(self.write(Write::Delete { bucket: bucket.clone(), key: key.clone() }).await, bucket)
    }

    async fn list(
        &self,
        bucket: &BucketName,
        prefix: &str,
        after: Option<&Key>,
        limit: u32,
    ) -> Result<ListPage, StoreError> {
        let (bucket, prefix, after) = (bucket.clone(), prefix.to_owned(), after.cloned());
        self.read(move |shared| shared.list(&bucket, &prefix, after.as_ref(), limit)).await
    }

    async fn versions(&self, bucket: &BucketName, key: &Key, limit: u32) -> Result<Vec<ObjectInfo>, StoreError> {
        let (bucket, key) = (bucket.clone(), key.clone());
        self.read(move |shared| shared.versions(&bucket, &key, limit)).await
    }

    async fn get_version(&self, bucket: &BucketName, key: &Key, version: &str) -> Result<Option<Stored>, StoreError> {
        let (bucket, key, version) = (bucket.clone(), key.clone(), version.to_owned());
        self.read(move |shared| shared.read(&bucket, &key, Which::Id(&version), None)).await
    }
}

/// The outcome of a write that has no condition to lose.
fn unconditional(outcome: Outcome, bucket: &BucketName) -> Result<(), StoreError> {
    match outcome {
        Outcome::Done => Ok(()),
        Outcome::NoBucket => Err(StoreError::NoBucket { bucket: bucket.to_string() }),
        Outcome::Lost => Err(StoreError::Unavailable { reason: "a write without condition can't lose one".to_owned() }),
        Outcome::Refused(reason) | Outcome::Unknown(reason) => Err(StoreError::Unavailable { reason }),
    }
}

/// Creates the folder for this user only: it holds receipts and people's data.
fn create_folder(path: &Path) -> Result<(), LocalStoreError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(path).map_err(io_error("create the folder", path))?;
    match path.canonicalize().map_err(io_error("find", path))?.parent() {
        Some(parent) => sync_dir(parent).map_err(io_error("sync the folder", parent)),
        None => Ok(()),
    }
}

/// Takes the folder's lock, which the system releases when the file is closed, also by a crash.
fn lock_folder(path: &Path) -> Result<File, LocalStoreError> {
    let lock_path = path.join(LOCK_FILE);
    let lock = OpenOptions::new().write(true).create(true).truncate(false).open(&lock_path);
    let lock = lock.map_err(io_error("open", &lock_path))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(LocalStoreError::Locked { folder: path.to_owned() }),
        Err(TryLockError::Error(source)) => Err(io_error("lock", lock_path)(source)),
    }
}

/// Opens the database's file, creating and repairing it if needed.
fn file_opener(path: PathBuf) -> Opener {
    Box::new(move || {
        let mut builder = Database::builder();
        builder.set_cache_size(CACHE_BYTES_MAX);
        builder.set_repair_callback(|repair| {
            tracing::warn!(progress = repair.progress(), "the store was not closed properly: checking its database");
        });
        builder.create(&path)
    })
}
