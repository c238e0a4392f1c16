//! The embedded store's tables, and reading them.
//!
//! Purpose: one place knows the layout on disk and its version.
//! Invariant: every read is one snapshot of the database, so it sees each write whole or not at all.
//! Never: a write (see `writer`).
//!
//! An object's facts and its bytes are in two tables, so that listings and questions about objects don't drag the bytes
//! through the cache.

use std::fs::File;
use std::io::ErrorKind;
use std::ops::{Bound, Range};
use std::sync::Arc;

use bytes::Bytes;
use chrono::DateTime;
use ports::{BucketName, ETag, Key, ListPage, ObjectInfo, StoreError, Stored};
use redb::{Database, ReadTransaction, ReadableDatabase, TableDefinition};
use sha2::{Digest, Sha256};

use super::blobs::BlobDir;

/// Version of the layout on disk; a change of any table is a new one with a migration.
pub(super) const FORMAT: u64 = 1;
/// Where the version stands in [`META`].
pub(super) const FORMAT_KEY: &str = "format";

/// Facts about the store itself.
pub(super) const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
/// Buckets and when they were created (µs since 1970, UTC).
pub(super) const BUCKETS: TableDefinition<'_, &str, i64> = TableDefinition::new("buckets");
/// (bucket, key) → etag, bytes, when it was written (µs since 1970, UTC), name of its blob if it has one.
pub(super) const OBJECTS: TableDefinition<'_, (&str, &str), (&str, u64, i64, Option<&str>)> =
    TableDefinition::new("objects");
/// (bucket, key) → the bytes of an object without blob.
pub(super) const BODIES: TableDefinition<'_, (&str, &str), &[u8]> = TableDefinition::new("bodies");
/// Names of the blobs in use.
pub(super) const BLOBS: TableDefinition<'_, &str, ()> = TableDefinition::new("blobs");

/// Keys one page of a listing may hold.
pub(super) const LIST_KEYS_MAX: u32 = 1_000;
/// Tries of a read that finds its blob replaced while it was on its way to it. Each try has a newer snapshot.
const BLOB_READ_TRIES_MAX: u32 = 64;

/// What readers and the writer share. The lock is released last: fields drop in this order.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) database: Database,
    pub(super) blobs: Arc<BlobDir>,
    /// Held, not read: its lock keeps other processes out.
    pub(super) _lock: File,
}

/// An object's facts, and where its bytes are.
struct Found {
    info: ObjectInfo,
    /// Name of its blob, if its bytes are in one.
    blob: Option<String>,
}

/// The etag of a content: its SHA-256 in hex.
pub(super) fn etag_of(bytes: &[u8]) -> String {
    use std::fmt::Write;
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut hex, byte| {
        // Writing to a string can't fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

impl Shared {
    /// What is known about an object.
    pub(super) fn head(&self, bucket: &BucketName, key: &Key) -> Result<Option<ObjectInfo>, StoreError> {
        let snapshot = self.snapshot(bucket)?;
        Ok(find(&snapshot, bucket, key)?.map(|found| found.info))
    }

    /// An object, or the part of it that was asked for.
    pub(super) fn read(
        &self,
        bucket: &BucketName,
        key: &Key,
        range: Option<&Range<u64>>,
    ) -> Result<Option<Stored>, StoreError> {
        let mut missing = None;
        for _ in 0..BLOB_READ_TRIES_MAX {
            let snapshot = self.snapshot(bucket)?;
            let Some(Found { info, blob }) = find(&snapshot, bucket, key)? else { return Ok(None) };
            let part = cut(range, info.size)?;
            let bytes = match &blob {
                None => inline(&snapshot, bucket, key, &part, info.size)?,
                Some(name) => match self.blobs.read(name, &part, info.size) {
                    Ok(Some(bytes)) => Bytes::from(bytes),
                    // Replaced since the snapshot was taken: look again. Named twice, it is lost.
                    Ok(None) if missing != blob => {
                        missing = blob;
                        continue;
                    }
                    Ok(None) => return Err(damaged(key, format!("the file `{name}` of its bytes is missing"))),
                    Err(error) if error.kind() == ErrorKind::InvalidData => {
                        return Err(damaged(key, error.to_string()));
                    }
                    Err(error) => return Err(StoreError::Unavailable { reason: format!("file `{name}`: {error}") }),
                },
            };
            if range.is_none() && etag_of(&bytes) != info.etag.0 {
                return Err(damaged(key, "its bytes don't have the hash they were written with".to_owned()));
            }
            return Ok(Some(Stored { info, bytes }));
        }
        Err(StoreError::Unavailable { reason: format!("`{key}` is replaced faster than it can be read: try again") })
    }

    /// Keys with a prefix, after a key, in order.
    pub(super) fn list(
        &self,
        bucket: &BucketName,
        prefix: &str,
        after: Option<&Key>,
        limit: u32,
    ) -> Result<ListPage, StoreError> {
        let snapshot = self.snapshot(bucket)?;
        let objects = snapshot.open_table(OBJECTS).map_err(unavailable)?;
        let from = match after {
            Some(after) if after.as_str() >= prefix => Bound::Excluded((bucket.as_str(), after.as_str())),
            Some(_) | None => Bound::Included((bucket.as_str(), prefix)),
        };
        let limit = limit.clamp(1, LIST_KEYS_MAX) as usize;
        let mut page = ListPage::default();
        for entry in objects.range::<(&str, &str)>((from, Bound::Unbounded)).map_err(unavailable)? {
            let (key, _) = entry.map_err(unavailable)?;
            let (in_bucket, key) = key.value();
            if in_bucket != bucket.as_str() || !key.starts_with(prefix) {
                break;
            }
            if page.keys.len() == limit {
                page.more = true;
                break;
            }
            let key = Key::new(key)
                .map_err(|error| StoreError::Damaged { key: key.to_owned(), reason: error.to_string() })?;
            page.keys.push(key);
        }
        Ok(page)
    }

    /// The newest committed state, if the bucket exists in it.
    fn snapshot(&self, bucket: &BucketName) -> Result<ReadTransaction, StoreError> {
        let snapshot = self.database.begin_read().map_err(unavailable)?;
        let buckets = snapshot.open_table(BUCKETS).map_err(unavailable)?;
        match buckets.get(bucket.as_str()).map_err(unavailable)? {
            Some(_) => Ok(snapshot),
            None => Err(StoreError::NoBucket { bucket: bucket.to_string() }),
        }
    }
}

fn find(snapshot: &ReadTransaction, bucket: &BucketName, key: &Key) -> Result<Option<Found>, StoreError> {
    let objects = snapshot.open_table(OBJECTS).map_err(unavailable)?;
    let Some(entry) = objects.get((bucket.as_str(), key.as_str())).map_err(unavailable)? else { return Ok(None) };
    let (etag, size, modified_us, blob) = entry.value();
    let modified = DateTime::from_timestamp_micros(modified_us)
        .ok_or_else(|| damaged(key, format!("{modified_us} µs is not a time")))?;
    // No old versions are kept yet, so there is no id that could name one.
    let info = ObjectInfo { etag: ETag(etag.to_owned()), size, version: None, modified };
    Ok(Some(Found { info, blob: blob.map(ToOwned::to_owned) }))
}

fn inline(
    snapshot: &ReadTransaction,
    bucket: &BucketName,
    key: &Key,
    part: &Range<u64>,
    size: u64,
) -> Result<Bytes, StoreError> {
    let bodies = snapshot.open_table(BODIES).map_err(unavailable)?;
    let body = bodies.get((bucket.as_str(), key.as_str())).map_err(unavailable)?;
    let body = body.ok_or_else(|| damaged(key, "it has no bytes".to_owned()))?;
    let bytes = body.value();
    if bytes.len() as u64 != size {
        return Err(damaged(key, format!("it has {} bytes instead of {size}", bytes.len())));
    }
    // Both ends fit: they are at most the length of a slice in memory.
    let part = usize::try_from(part.start).ok().zip(usize::try_from(part.end).ok());
    let part = part.and_then(|(start, end)| bytes.get(start..end));
    part.map(Bytes::copy_from_slice).ok_or(StoreError::BadRange { size })
}

/// The bytes a read wants: all of them, or the range cut at the object's end. A range that holds no byte is refused, since
/// HTTP has no way to ask for it and another store would answer with the whole object.
fn cut(range: Option<&Range<u64>>, size: u64) -> Result<Range<u64>, StoreError> {
    match range {
        None => Ok(0..size),
        Some(range) if range.start < range.end && range.start < size => Ok(range.start..range.end.min(size)),
        Some(_) => Err(StoreError::BadRange { size }),
    }
}

fn damaged(key: &Key, reason: String) -> StoreError {
    StoreError::Damaged { key: key.to_string(), reason }
}

fn unavailable(error: impl Into<redb::Error>) -> StoreError {
    StoreError::Unavailable { reason: error.into().to_string() }
}
