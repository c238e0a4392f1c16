//! Opening the embedded store's database, and opening it anew when its disk has failed.
//!
//! Purpose: the layout is brought up to date and old versions go before anybody reads; after an I/O error, which the
//! database answers by refusing everything, it is closed, repaired and opened again without a restart.
//! Invariant: a database that readers see has the present format. Only the writer opens anew, and no snapshot outlives that.
//! Never: a guess about what a failed commit left behind; the opened database says so.

use std::fmt;
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

use ports::StoreError;
use redb::{Database, Durability, ReadTransaction, ReadableDatabase, WriteTransaction};

use super::blobs::BlobDir;
use super::changes::Tables;
use super::error::{LocalStoreError, io_error};
use super::migrate;
use super::tables::{
    BLOBS, BUCKETS, BYTES_KEY, COMMITS_KEY, CONTENTS, CURRENT, FORMAT, FORMAT_KEY, META, RETIRED, VERSIONS, unavailable,
};

/// Bytes below which a database file is never compacted.
const COMPACT_FILE_BYTES_MIN: u64 = 16 * 1024 * 1024;
/// A file this many times as large as what it holds is looked at more closely when it is opened.
const COMPACT_SUSPECT_FACTOR: u64 = 3;
/// Versions that one transaction at the opening may end.
const OPEN_EXPIRE_MAX: usize = 1_000;

/// Opens the database's file or whatever stands for it.
pub(super) type Opener = Box<dyn Fn() -> Result<Database, redb::DatabaseError> + Send + Sync>;

/// The database, or why there is none right now.
pub(super) struct Slot {
    state: RwLock<Result<Database, String>>,
    opener: Opener,
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").finish_non_exhaustive()
    }
}

impl Slot {
    pub(super) fn new(database: Database, opener: Opener) -> Self {
        Self { state: RwLock::new(Ok(database)), opener }
    }

    /// Reads from the newest committed state.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&ReadTransaction) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        match &*state {
            Ok(database) => read(&database.begin_read().map_err(unavailable)?),
            Err(reason) => Err(StoreError::Unavailable { reason: reason.clone() }),
        }
    }

    /// Begins a transaction whose commit is on disk when it returns. Fails also when an earlier read or write has failed:
    /// then [`Slot::reopen`] is due.
    pub(super) fn begin(&self) -> Result<WriteTransaction, String> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let database = state.as_ref().map_err(Clone::clone)?;
        let begin = || {
            let mut transaction = database.begin_write()?;
            transaction.set_durability(Durability::Immediate)?;
            Ok::<_, redb::Error>(transaction)
        };
        begin().map_err(|error| error.to_string())
    }

    /// Closes the database and opens it again, which repairs it. Waits for the reads under way; the number of commits it
    /// holds.
    pub(super) fn reopen(&self) -> Result<u64, String> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        // The old one must be gone first, it holds the file's lock.
        *state = Err("the embedded store's database is being opened anew".to_owned());
        let opened = (self.opener)().map_err(redb::Error::from).and_then(|database| {
            let commits = database.begin_read()?.open_table(META)?.get(COMMITS_KEY)?.map_or(0, |count| count.value());
            Ok((database, commits))
        });
        match opened {
            Ok((database, commits)) => {
                *state = Ok(database);
                Ok(commits)
            }
            Err(error) => {
                let reason = format!("the embedded store's database can't be opened anew: {error}");
                *state = Err(reason.clone());
                Err(reason)
            }
        }
    }
}

/// Where a store lies.
pub(super) struct Place {
    pub(super) folder: PathBuf,
    /// Its database.
    pub(super) file: PathBuf,
}

impl Place {
    fn failed(&self, error: impl Into<redb::Error>) -> LocalStoreError {
        LocalStoreError::Database { path: self.file.clone(), source: Box::new(error.into()) }
    }

    fn open(&self, opener: &Opener) -> Result<Database, LocalStoreError> {
        opener().map_err(|error| match error {
            redb::DatabaseError::DatabaseAlreadyOpen => LocalStoreError::Locked { folder: self.folder.clone() },
            other => self.failed(other),
        })
    }

    /// Bytes of the database's file; 0 where it isn't one.
    fn bytes(&self) -> u64 {
        std::fs::metadata(&self.file).map_or(0, |meta| meta.len())
    }
}

/// Opens the database, brings its format up to date, ends the versions whose time has come, removes blobs that nothing
/// names, and gives room back.
pub(super) fn open(at: &Place, blobs: &BlobDir, now_us: i64, opener: Opener) -> Result<Slot, LocalStoreError> {
    let has_blobs = !blobs.is_empty().map_err(io_error("read the folder", blobs.path()))?;
    let mut database = at.open(&opener)?;
    match read_meta(&database, FORMAT_KEY).map_err(|e| at.failed(e))? {
        Some(FORMAT) => {}
        Some(migrate::FORMAT_1) => {
            let objects = migrate::from_format_1(&database).map_err(|e| at.failed(e))?;
            tracing::info!(objects, "the store's format was brought up to date: every object has a version now");
        }
        Some(found) => {
            return Err(LocalStoreError::Format { folder: at.folder.clone(), found, expected: FORMAT });
        }
        None if has_blobs => return Err(LocalStoreError::Incomplete { folder: at.folder.clone() }),
        None => create_tables(&database).map_err(|e| at.failed(e))?,
    }
    let expired = expire(&database, now_us).map_err(|e| at.failed(e))?;
    let removed = sweep(&database, blobs, at)?;
    if expired > 0 || removed > 0 {
        tracing::info!(expired, removed, "old versions ended, files that nothing names removed");
    }
    let before = at.bytes();
    if is_sparse(&database, before).map_err(|e| at.failed(e))? {
        if let Err(error) = database.compact() {
            tracing::warn!(%error, "the store's database can't be compacted; it is used as it is");
            drop(database);
            database = at.open(&opener)?;
        }
        tracing::info!(before, after = at.bytes(), "the store's database was compacted (bytes)");
    }
    Ok(Slot::new(database, opener))
}

/// Removes blobs that the database doesn't name; their number.
fn sweep(database: &Database, blobs: &BlobDir, at: &Place) -> Result<u64, LocalStoreError> {
    let snapshot = database.begin_read().map_err(|e| at.failed(e))?;
    let used = snapshot.open_table(BLOBS).map_err(|e| at.failed(e))?;
    let is_used = |name: &str| Ok(used.get(name).map_err(|e| at.failed(e))?.is_some());
    blobs.sweep(is_used, |source| io_error("clean up the folder", blobs.path())(source))
}

fn read_meta(database: &Database, key: &str) -> Result<Option<u64>, redb::Error> {
    match database.begin_read()?.open_table(META) {
        Ok(meta) => Ok(meta.get(key)?.map(|value| value.value())),
        Err(redb::TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Creates all tables in one step, so that reads may count on them.
fn create_tables(database: &Database) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    open_tables(&transaction)?;
    transaction.commit()?;
    Ok(())
}

/// Creates what is missing of the present format's tables.
pub(super) fn open_tables(transaction: &WriteTransaction) -> Result<(), redb::Error> {
    transaction.open_table(META)?.insert(FORMAT_KEY, FORMAT)?;
    transaction.open_table(BUCKETS)?;
    transaction.open_table(CURRENT)?;
    transaction.open_table(VERSIONS)?;
    transaction.open_table(CONTENTS)?;
    transaction.open_table(RETIRED)?;
    transaction.open_table(BLOBS)?;
    Ok(())
}

/// Ends the versions whose time came while the store was closed; their number. Their blobs are swept afterwards.
fn expire(database: &Database, now_us: i64) -> Result<usize, redb::Error> {
    let mut expired = 0;
    loop {
        let transaction = database.begin_write()?;
        let mut tables = Tables::open(&transaction, now_us)?;
        let count = tables.expire(OPEN_EXPIRE_MAX)?;
        tables.close()?;
        if count == 0 {
            return Ok(expired);
        }
        transaction.commit()?;
        expired += count;
    }
}

/// Whether most of the file is free room. The exact answer walks through all pages, so it is only asked for a file that is
/// much larger than what was put into it.
fn is_sparse(database: &Database, file_bytes: u64) -> Result<bool, redb::Error> {
    let held = read_meta(database, BYTES_KEY)?.unwrap_or(0);
    if file_bytes < COMPACT_FILE_BYTES_MIN || file_bytes / COMPACT_SUSPECT_FACTOR < held {
        return Ok(false);
    }
    let transaction = database.begin_write()?;
    let stats = transaction.stats()?;
    transaction.abort()?;
    Ok(stats.fragmented_bytes() > file_bytes / 2)
}
