//! A store in memory with versions, whose contents a test can damage.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;

use async_trait::async_trait;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use ports::{BucketName, Condition, ETag, Key, ListPage, ObjectInfo, PutError, Store, StoreError, Stored};
use sha2::{Digest, Sha256};

/// Versions of a key, oldest first; none = deleted at that point.
type Versions = Vec<(String, Option<Bytes>)>;

#[derive(Default)]
pub(crate) struct VersionedStore {
    keys: Mutex<BTreeMap<(String, Key), Versions>>,
    count: Mutex<u64>,
}

fn etag(bytes: &[u8]) -> ETag {
    ETag(format!("{:x}", Sha256::digest(bytes)))
}

fn info(version: &str, bytes: &Bytes) -> ObjectInfo {
    let size = u64::try_from(bytes.len()).unwrap();
    ObjectInfo { etag: etag(bytes), size, version: Some(version.to_owned()), modified: DateTime::<Utc>::UNIX_EPOCH }
}

impl VersionedStore {
    fn place(bucket: &BucketName, key: &Key) -> (String, Key) {
        (bucket.as_str().to_owned(), key.clone())
    }

    fn push(&self, place: (String, Key), bytes: Option<Bytes>) {
        let mut count = self.count.lock().unwrap();
        *count += 1;
        self.keys.lock().unwrap().entry(place).or_default().push((format!("v{count}"), bytes));
    }

    /// The current bytes.
    pub(crate) fn bytes(&self, bucket: &BucketName, key: &Key) -> Option<Bytes> {
        let keys = self.keys.lock().unwrap();
        keys.get(&Self::place(bucket, key))?.last()?.1.clone()
    }

    /// All contents of a key that were ever there, oldest first.
    pub(crate) fn history(&self, bucket: &BucketName, key: &Key) -> Vec<Bytes> {
        let keys = self.keys.lock().unwrap();
        keys.get(&Self::place(bucket, key)).into_iter().flatten().filter_map(|(_, bytes)| bytes.clone()).collect()
    }

    /// Somebody with the store's keys writes by hand.
    pub(crate) fn by_hand(&self, bucket: &BucketName, key: &Key, bytes: impl Into<Bytes>) {
        self.push(Self::place(bucket, key), Some(bytes.into()));
    }

    /// The disk loses bits: the content changes without a new version.
    pub(crate) fn rot(&self, bucket: &BucketName, key: &Key, bytes: impl Into<Bytes>) {
        let mut keys = self.keys.lock().unwrap();
        keys.get_mut(&Self::place(bucket, key)).unwrap().last_mut().unwrap().1 = Some(bytes.into());
    }

    /// Old versions expire: only the newest `keep` stay.
    pub(crate) fn expire(&self, bucket: &BucketName, key: &Key, keep: usize) {
        let mut keys = self.keys.lock().unwrap();
        let versions = keys.get_mut(&Self::place(bucket, key)).unwrap();
        versions.drain(..versions.len().saturating_sub(keep));
    }

    /// Keys there are now.
    pub(crate) fn keys(&self, prefix: &str) -> Vec<String> {
        let keys = self.keys.lock().unwrap();
        let there = keys.iter().filter(|(_, versions)| versions.last().is_some_and(|(_, bytes)| bytes.is_some()));
        there.map(|((_, key), _)| key.to_string()).filter(|key| key.starts_with(prefix)).collect()
    }
}

#[async_trait]
impl Store for VersionedStore {
    async fn create_bucket(&self, _bucket: &BucketName) -> Result<(), StoreError> {
        Ok(())
    }

    async fn get(&self, bucket: &BucketName, key: &Key) -> Result<Option<Stored>, StoreError> {
        let keys = self.keys.lock().unwrap();
        let current = keys.get(&Self::place(bucket, key)).and_then(|versions| versions.last());
        Ok(current.and_then(|(version, bytes)| {
            let bytes = bytes.clone()?;
            Some(Stored { info: info(version, &bytes), bytes })
        }))
    }

    async fn get_range(&self, bucket: &BucketName, key: &Key, range: Range<u64>) -> Result<Option<Stored>, StoreError> {
        let Some(mut stored) = self.get(bucket, key).await? else { return Ok(None) };
        let range = usize::try_from(range.start).unwrap()..usize::try_from(range.end.min(stored.info.size)).unwrap();
        stored.bytes = stored.bytes.slice(range);
        Ok(Some(stored))
    }

    async fn head(&self, bucket: &BucketName, key: &Key) -> Result<Option<ObjectInfo>, StoreError> {
        Ok(self.get(bucket, key).await?.map(|stored| stored.info))
    }

    async fn put(&self, bucket: &BucketName, key: &Key, bytes: Bytes, condition: Condition) -> Result<ETag, PutError> {
        let current = self.bytes(bucket, key).map(|bytes| etag(&bytes));
        let holds = match &condition {
            Condition::None => true,
            Condition::IfAbsent => current.is_none(),
            Condition::IfMatch(wanted) => current.as_ref() == Some(wanted),
        };
        if !holds {
            return Err(PutError::Lost);
        }
        let tag = etag(&bytes);
        self.push(Self::place(bucket, key), Some(bytes));
        Ok(tag)
    }

    async fn delete(&self, bucket: &BucketName, key: &Key) -> Result<(), StoreError> {
        if self.bytes(bucket, key).is_some() {
            self.push(Self::place(bucket, key), None);
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
        let limit = usize::try_from(limit).unwrap();
        let keys = self.keys.lock().unwrap();
        let mut found: Vec<Key> = keys
            .iter()
            .filter(|((own, _), versions)| own == bucket.as_str() && versions.last().is_some_and(|(_, b)| b.is_some()))
            .map(|((_, key), _)| key.clone())
            .filter(|key| key.as_str().starts_with(prefix) && after.is_none_or(|after| key > after))
            .take(limit + 1)
            .collect();
        let more = found.len() > limit;
        found.truncate(limit);
        Ok(ListPage { keys: found, more })
    }

    async fn versions(&self, bucket: &BucketName, key: &Key, limit: u32) -> Result<Vec<ObjectInfo>, StoreError> {
        let keys = self.keys.lock().unwrap();
        let versions = keys.get(&Self::place(bucket, key)).into_iter().flatten().rev();
        let there = versions.filter_map(|(version, bytes)| Some(info(version, bytes.as_ref()?)));
        Ok(there.take(usize::try_from(limit).unwrap()).collect())
    }

    async fn get_version(&self, bucket: &BucketName, key: &Key, version: &str) -> Result<Option<Stored>, StoreError> {
        let keys = self.keys.lock().unwrap();
        let mut versions = keys.get(&Self::place(bucket, key)).into_iter().flatten();
        let found = versions.find(|(own, _)| own == version);
        Ok(found.and_then(|(version, bytes)| {
            let bytes = bytes.clone()?;
            Some(Stored { info: info(version, &bytes), bytes })
        }))
    }
}
