//! The embedded store's tables, and reading them.
//!
//! Purpose: one place knows the layout on disk and its version.
//! Invariant: every read is one snapshot of the database, so it sees each write whole or not at all.
//! Never: a write (see `writer`).
//!
//! Every write of an object is a version with a number that nothing else in the store ever has. What a key shows now is a
//! pointer to one of its versions, so a write brings its bytes to disk once. The facts of a version and its bytes are in two
//! tables, so that listings and questions about objects don't drag the bytes through the cache.

use std::fs::File;
use std::io::ErrorKind;
use std::ops::{Bound, Range};
use std::sync::Arc;

use bytes::Bytes;
use chrono::DateTime;
use ports::{BucketName, ETag, Key, ListPage, ObjectInfo, StoreError, Stored};
use redb::{ReadTransaction, TableDefinition};
use sha2::{Digest, Sha256};

use super::blobs::BlobDir;
use super::database::Slot;

/// Version of the layout on disk; a change of any table is a new one with a migration (see `migrate`).
pub(super) const FORMAT: u64 = 2;
/// Where the version stands in [`META`].
pub(super) const FORMAT_KEY: &str = "format";
/// Where the number of the last version written stands in [`META`].
pub(super) const LAST_VERSION_KEY: &str = "last-version";
/// Where the number of commits stands in [`META`]; it tells after a failed commit whether it landed.
pub(super) const COMMITS_KEY: &str = "commits";
/// Where the bytes that the versions take stand in [`META`] (an estimate, see [`Row::footprint`]).
pub(super) const BYTES_KEY: &str = "bytes";

/// Facts about the store itself.
pub(super) const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
/// Buckets and when they were created (µs since 1970, UTC).
pub(super) const BUCKETS: TableDefinition<'_, &str, i64> = TableDefinition::new("buckets");
/// (bucket, key) → the version it shows. A deleted key has none.
pub(super) const CURRENT: TableDefinition<'_, (&str, &str), u64> = TableDefinition::new("current");
/// (bucket, key, version) → its facts.
pub(super) const VERSIONS: TableDefinition<'_, VersionKey, RowValue> = TableDefinition::new("versions");
/// (bucket, key, version) → the bytes of a version without blob.
pub(super) const CONTENTS: TableDefinition<'_, VersionKey, &[u8]> = TableDefinition::new("contents");
/// (when it was overwritten or deleted, version) → (bucket, key): the versions that wait for their end.
pub(super) const RETIRED: TableDefinition<'_, (i64, u64), (&str, &str)> = TableDefinition::new("retired");
/// Names of the blobs in use.
pub(super) const BLOBS: TableDefinition<'_, &str, ()> = TableDefinition::new("blobs");

/// Bucket, key, version.
pub(super) type VersionKey = (&'static str, &'static str, u64);
/// The fields of [`Row`] in their order.
pub(super) type RowValue = (&'static str, u64, i64, Option<&'static str>, u64, u64, Option<i64>);

/// Keys one page of a listing may hold.
pub(super) const LIST_KEYS_MAX: u32 = 1_000;
/// Versions one answer may hold.
pub(super) const VERSIONS_LIST_MAX: u32 = 1_000;
/// Digits of a version's id.
const VERSION_DIGITS: usize = 20;
/// Tries of a read that finds its blob replaced while it was on its way to it. Each try has a newer snapshot.
const BLOB_READ_TRIES_MAX: u32 = 64;
/// Bytes that a version takes beside its content and its key, about.
const ROW_BYTES: u64 = 192;

/// What readers and the writer share. The lock is released last: fields drop in this order.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) database: Slot,
    pub(super) blobs: Arc<BlobDir>,
    /// Held, not read: its lock keeps other processes out.
    pub(super) _lock: File,
}

/// The facts of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) etag: String,
    /// Bytes.
    pub(super) size: u64,
    /// When it was written (µs since 1970, UTC).
    pub(super) modified_us: i64,
    /// Name of its blob, if its bytes are in one.
    pub(super) blob: Option<String>,
    /// Which write of its key it was, from 1. Old versions go first, so the difference of two is a count.
    pub(super) number: u64,
    /// Bytes of this and all earlier versions of its key, also of those that are gone: the difference of two is a sum.
    pub(super) total: u64,
    /// When it was overwritten or deleted (µs since 1970, UTC), if it was.
    pub(super) retired_us: Option<i64>,
}

impl Row {
    pub(super) fn read(value: (&str, u64, i64, Option<&str>, u64, u64, Option<i64>)) -> Self {
        let (etag, size, modified_us, blob, number, total, retired_us) = value;
        let blob = blob.map(ToOwned::to_owned);
        Self { etag: etag.to_owned(), size, modified_us, blob, number, total, retired_us }
    }

    pub(super) fn value(&self) -> (&str, u64, i64, Option<&str>, u64, u64, Option<i64>) {
        let blob = self.blob.as_deref();
        (&self.etag, self.size, self.modified_us, blob, self.number, self.total, self.retired_us)
    }

    /// Bytes of the database that it takes under its key, about.
    pub(super) fn footprint(&self, bucket: &str, key: &str) -> u64 {
        let inline = if self.blob.is_none() { self.size } else { 0 };
        inline + ROW_BYTES + 3 * (bucket.len() + key.len()) as u64
    }

    fn info(&self, key: &Key, version: u64) -> Result<ObjectInfo, StoreError> {
        let modified = DateTime::from_timestamp_micros(self.modified_us)
            .ok_or_else(|| damaged(key, format!("{} µs is not a time", self.modified_us)))?;
        Ok(ObjectInfo { etag: ETag(self.etag.clone()), size: self.size, version: Some(version_id(version)), modified })
    }
}

/// A version's id as callers see it.
pub(super) fn version_id(version: u64) -> String {
    format!("{version:0VERSION_DIGITS$}")
}

/// The version of an id, if it is one of ours.
fn version_of(id: &str) -> Option<u64> {
    let digits = id.len() == VERSION_DIGITS && id.bytes().all(|byte| byte.is_ascii_digit());
    if digits { id.parse().ok() } else { None }
}

/// Which version of a key is meant.
#[derive(Debug, Clone, Copy)]
pub(super) enum Which<'a> {
    /// The one it shows.
    Current,
    /// The one with this id.
    Id(&'a str),
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
        self.snapshot(bucket, |snapshot| match find(snapshot, bucket, key, Which::Current)? {
            Some((version, row)) => row.info(key, version).map(Some),
            None => Ok(None),
        })
    }

    /// A version, or the part of it that was asked for.
    pub(super) fn read(
        &self,
        bucket: &BucketName,
        key: &Key,
        which: Which<'_>,
        range: Option<&Range<u64>>,
    ) -> Result<Option<Stored>, StoreError> {
        let mut missing = None;
        for _ in 0..BLOB_READ_TRIES_MAX {
            let found = self.snapshot(bucket, |snapshot| {
                let Some((version, row)) = find(snapshot, bucket, key, which)? else { return Ok(None) };
                let part = cut(range, row.size)?;
                let bytes = match row.blob {
                    None => Some(inline(snapshot, bucket, key, version, &part, row.size)?),
                    Some(_) => None,
                };
                Ok(Some((version, row, part, bytes)))
            })?;
            let Some((version, row, part, bytes)) = found else { return Ok(None) };
            let bytes = match (bytes, &row.blob) {
                (Some(bytes), _) => bytes,
                (None, None) => return Err(damaged(key, "it has no bytes".to_owned())),
                (None, Some(name)) => match self.blobs.read(name, &part, row.size) {
                    Ok(Some(bytes)) => Bytes::from(bytes),
                    // Gone since the snapshot was taken: look again. Named twice, it is lost.
                    Ok(None) if missing != row.blob => {
                        missing = row.blob;
                        continue;
                    }
                    Ok(None) => return Err(damaged(key, format!("the file `{name}` of its bytes is missing"))),
                    Err(error) if error.kind() == ErrorKind::InvalidData => {
                        return Err(damaged(key, error.to_string()));
                    }
                    Err(error) => return Err(StoreError::Unavailable { reason: format!("file `{name}`: {error}") }),
                },
            };
            if range.is_none() && etag_of(&bytes) != row.etag {
                return Err(damaged(key, "its bytes don't have the hash they were written with".to_owned()));
            }
            return Ok(Some(Stored { info: row.info(key, version)?, bytes }));
        }
        Err(StoreError::Unavailable { reason: format!("`{key}` is replaced faster than it can be read: try again") })
    }

    /// The versions of a key, newest first.
    pub(super) fn versions(&self, bucket: &BucketName, key: &Key, limit: u32) -> Result<Vec<ObjectInfo>, StoreError> {
        self.snapshot(bucket, |snapshot| {
            let versions = snapshot.open_table(VERSIONS).map_err(unavailable)?;
            let at = |version| (bucket.as_str(), key.as_str(), version);
            let all = versions.range(at(0)..=at(u64::MAX)).map_err(unavailable)?;
            let newest = all.rev().take(limit.clamp(1, VERSIONS_LIST_MAX) as usize);
            newest
                .map(|entry| {
                    let (at, row) = entry.map_err(unavailable)?;
                    Row::read(row.value()).info(key, at.value().2)
                })
                .collect()
        })
    }

    /// Keys with a prefix, after a key, in order.
    pub(super) fn list(
        &self,
        bucket: &BucketName,
        prefix: &str,
        after: Option<&Key>,
        limit: u32,
    ) -> Result<ListPage, StoreError> {
        let from = match after {
            Some(after) if after.as_str() >= prefix => Bound::Excluded((bucket.as_str(), after.as_str())),
            Some(_) | None => Bound::Included((bucket.as_str(), prefix)),
        };
        let limit = limit.clamp(1, LIST_KEYS_MAX) as usize;
        self.snapshot(bucket, |snapshot| {
            let current = snapshot.open_table(CURRENT).map_err(unavailable)?;
            let mut page = ListPage::default();
            for entry in current.range::<(&str, &str)>((from, Bound::Unbounded)).map_err(unavailable)? {
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
        })
    }

    /// Reads from the newest committed state, if the bucket exists in it.
    fn snapshot<T>(
        &self,
        bucket: &BucketName,
        read: impl FnOnce(&ReadTransaction) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.database.read(|snapshot| {
            let buckets = snapshot.open_table(BUCKETS).map_err(unavailable)?;
            match buckets.get(bucket.as_str()).map_err(unavailable)? {
                Some(_) => read(snapshot),
                None => Err(StoreError::NoBucket { bucket: bucket.to_string() }),
            }
        })
    }
}

fn find(
    snapshot: &ReadTransaction,
    bucket: &BucketName,
    key: &Key,
    which: Which<'_>,
) -> Result<Option<(u64, Row)>, StoreError> {
    let version = match which {
        Which::Id(id) => version_of(id),
        Which::Current => {
            let current = snapshot.open_table(CURRENT).map_err(unavailable)?;
            let entry = current.get((bucket.as_str(), key.as_str())).map_err(unavailable)?;
            entry.map(|version| version.value())
        }
    };
    let Some(version) = version else { return Ok(None) };
    let versions = snapshot.open_table(VERSIONS).map_err(unavailable)?;
    let row = versions.get((bucket.as_str(), key.as_str(), version)).map_err(unavailable)?;
    match (row, which) {
        (Some(row), _) => Ok(Some((version, Row::read(row.value())))),
        (None, Which::Id(_)) => Ok(None),
        (None, Which::Current) => Err(damaged(key, format!("its version {version} is missing"))),
    }
}

fn inline(
    snapshot: &ReadTransaction,
    bucket: &BucketName,
    key: &Key,
    version: u64,
    part: &Range<u64>,
    size: u64,
) -> Result<Bytes, StoreError> {
    let contents = snapshot.open_table(CONTENTS).map_err(unavailable)?;
    let content = contents.get((bucket.as_str(), key.as_str(), version)).map_err(unavailable)?;
    let content = content.ok_or_else(|| damaged(key, "it has no bytes".to_owned()))?;
    let bytes = content.value();
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

pub(super) fn unavailable(error: impl Into<redb::Error>) -> StoreError {
    StoreError::Unavailable { reason: error.into().to_string() }
}
