//! A store in memory that behaves like S3: conditions, versions, tags that follow the content alone.
//!
//! Invariant: one lock, held for one call and never across an await, so calls happen one after the other; the same calls
//! give the same tags, versions and times on every run.
//! Never: a wall clock (it is handed in), an object outside a bucket that was created.

use std::collections::BTreeMap;
use std::ops::{Bound, Range};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use ports::{
    BucketName, Clock, Condition, ETag, Key, ListPage, ObjectInfo, PutError, Store, StoreError, Stored,
    VERSION_DAYS_MIN,
};
use sha2::{Digest, Sha256};

/// Bytes an object may have, as in the embedded store.
pub const OBJECT_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Keys or versions a page may have (S3's limit).
const PAGE_MAX: u32 = 1_000;
/// Bytes of a content's hash that make its tag: as many as S3's have.
const ETAG_BYTES: usize = 16;

/// One key: its versions, oldest first, and whether the newest counts.
#[derive(Default)]
struct Object {
    versions: Vec<Stored>,
    /// Deleted at this time: the versions stay readable by their ids.
    deleted: Option<DateTime<Utc>>,
}

impl Object {
    fn current(&self) -> Option<&Stored> {
        if self.deleted.is_some() { None } else { self.versions.last() }
    }

    /// Drops versions that were overwritten longer ago than they are kept, and tells whether anything is left.
    fn expire(&mut self, now: DateTime<Utc>) -> bool {
        let keep_since = now - TimeDelta::days(i64::from(VERSION_DAYS_MIN));
        let ends: Vec<Option<DateTime<Utc>>> =
            self.versions.iter().skip(1).map(|next| Some(next.info.modified)).chain([self.deleted]).collect();
        let mut ends = ends.into_iter();
        self.versions.retain(|_| ends.next().flatten().is_none_or(|ended| ended >= keep_since));
        !self.versions.is_empty()
    }
}

#[derive(Default)]
struct State {
    buckets: BTreeMap<BucketName, BTreeMap<Key, Object>>,
    /// Counts versions of the whole store, so that no id comes twice.
    last_version: u64,
}

impl State {
    fn bucket(&self, bucket: &BucketName) -> Result<&BTreeMap<Key, Object>, StoreError> {
        self.buckets.get(bucket).ok_or_else(|| StoreError::NoBucket { bucket: bucket.to_string() })
    }
}

/// A store in memory.
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

impl MemoryStore {
    /// An empty store; `clock` tells when objects are written and when old versions expire.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: Mutex::new(State::default()) }
    }

    /// All current objects of a bucket in key order: for checking invariants without a call that counts or fails.
    /// Empty for a bucket that doesn't exist.
    pub fn objects(&self, bucket: &BucketName) -> Vec<(Key, Bytes)> {
        let state = self.state();
        let objects = state.buckets.get(bucket).into_iter().flatten();
        objects.filter_map(|(key, object)| Some((key.clone(), object.current()?.bytes.clone()))).collect()
    }

    /// The names of all buckets, in order.
    pub fn buckets(&self) -> Vec<BucketName> {
        self.state().buckets.keys().cloned().collect()
    }

    /// A hash over every bucket, key, version and time: equal for two runs that did the same.
    pub fn digest(&self) -> String {
        let state = self.state();
        let mut hash = Sha256::new();
        for (bucket, objects) in &state.buckets {
            for (key, object) in objects {
                for stored in &object.versions {
                    let ObjectInfo { etag, size, version, modified } = &stored.info;
                    hash.update(format!("{bucket}\n{key}\n{}\n{size}\n{version:?}\n{modified}\n", etag.0));
                }
                hash.update(format!("{:?}\n", object.deleted));
            }
        }
        hex(&hash.finalize())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic of a test while it holds the lock leaves whole objects only.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T>(
        &self,
        bucket: &BucketName,
        key: &Key,
        read: impl FnOnce(&Stored) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let state = self.state();
        state.bucket(bucket)?.get(key).and_then(Object::current).map(read).transpose()
    }
}

/// The tag of a content: the same bytes have the same tag, whoever writes them when, as on S3.
fn etag_of(bytes: &[u8]) -> ETag {
    ETag(hex(&Sha256::digest(bytes)[..ETAG_BYTES]))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn cut(stored: &Stored, range: &Range<u64>) -> Result<Stored, StoreError> {
    let size = stored.info.size;
    let end = range.end.min(size);
    match (usize::try_from(range.start), usize::try_from(end)) {
        (Ok(from), Ok(to)) if from < to => {
            Ok(Stored { info: stored.info.clone(), bytes: stored.bytes.slice(from..to) })
        }
        _ => Err(StoreError::BadRange { size }),
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn create_bucket(&self, bucket: &BucketName) -> Result<(), StoreError> {
        self.state().buckets.entry(bucket.clone()).or_default();
        Ok(())
    }

    async fn get(&self, bucket: &BucketName, key: &Key) -> Result<Option<Stored>, StoreError> {
        self.read(bucket, key, |stored| Ok(stored.clone()))
    }

    async fn get_range(&self, bucket: &BucketName, key: &Key, range: Range<u64>) -> Result<Option<Stored>, StoreError> {
        self.read(bucket, key, |stored| cut(stored, &range))
    }

    async fn head(&self, bucket: &BucketName, key: &Key) -> Result<Option<ObjectInfo>, StoreError> {
        self.read(bucket, key, |stored| Ok(stored.info.clone()))
    }

    async fn put(&self, bucket: &BucketName, key: &Key, bytes: Bytes, condition: Condition) -> Result<ETag, PutError> {
        if bytes.len() > OBJECT_BYTES_MAX {
            let reason = format!("the object has {} bytes, at most {OBJECT_BYTES_MAX} are possible", bytes.len());
            return Err(PutError::Refused { reason });
        }
        let now = self.clock.now();
        let etag = etag_of(&bytes);
        let mut state = self.state();
        let current = match state.bucket(bucket) {
            Ok(objects) => objects.get(key).and_then(Object::current),
            Err(error) => return Err(PutError::Refused { reason: error.to_string() }),
        };
        let holds = match (&condition, current) {
            (Condition::None, _) | (Condition::IfAbsent, None) => true,
            (Condition::IfMatch(expected), Some(stored)) => stored.info.etag == *expected,
            (Condition::IfAbsent, Some(_)) | (Condition::IfMatch(_), None) => false,
        };
        if !holds {
            return Err(PutError::Lost);
        }
        state.last_version += 1;
        let info = ObjectInfo {
            etag: etag.clone(),
            size: bytes.len() as u64,
            version: Some(format!("{:012}", state.last_version)),
            modified: now,
        };
        let object = state.buckets.entry(bucket.clone()).or_default().entry(key.clone()).or_default();
        // What was deleted has ended then, not by this write.
        object.expire(now);
        object.deleted = None;
        object.versions.push(Stored { info, bytes });
        Ok(etag)
    }

    async fn delete(&self, bucket: &BucketName, key: &Key) -> Result<(), StoreError> {
        let now = self.clock.now();
        let mut state = self.state();
        state.bucket(bucket)?;
        let Some(objects) = state.buckets.get_mut(bucket) else { return Ok(()) };
        if let Some(object) = objects.get_mut(key) {
            object.deleted.get_or_insert(now);
            if !object.expire(now) {
                objects.remove(key);
            }
        }
        Ok(())
    }

    async fn list(
        &self,
        bucket: &BucketName,
        prefix: &str,
        after: Option<&Key>,
        limit: u32,
    ) -> Result<ListPage, StoreError> {
        let limit = limit.min(PAGE_MAX) as usize;
        let state = self.state();
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut keys: Vec<Key> = state
            .bucket(bucket)?
            .range::<Key, _>((from, Bound::Unbounded))
            .filter(|(key, object)| key.as_str().starts_with(prefix) && object.current().is_some())
            .map(|(key, _)| key.clone())
            .take(limit + 1)
            .collect();
        let more = keys.len() > limit;
        keys.truncate(limit);
        Ok(ListPage { keys, more })
    }

    async fn versions(&self, bucket: &BucketName, key: &Key, limit: u32) -> Result<Vec<ObjectInfo>, StoreError> {
        let now = self.clock.now();
        let mut state = self.state();
        state.bucket(bucket)?;
        let Some(object) = state.buckets.get_mut(bucket).and_then(|objects| objects.get_mut(key)) else {
            return Ok(Vec::new());
        };
        object.expire(now);
        let newest_first = object.versions.iter().rev().map(|stored| stored.info.clone());
        Ok(newest_first.take(limit.min(PAGE_MAX) as usize).collect())
    }

    async fn get_version(&self, bucket: &BucketName, key: &Key, version: &str) -> Result<Option<Stored>, StoreError> {
        let now = self.clock.now();
        let mut state = self.state();
        state.bucket(bucket)?;
        let Some(object) = state.buckets.get_mut(bucket).and_then(|objects| objects.get_mut(key)) else {
            return Ok(None);
        };
        object.expire(now);
        Ok(object.versions.iter().find(|stored| stored.info.version.as_deref() == Some(version)).cloned())
    }
}
