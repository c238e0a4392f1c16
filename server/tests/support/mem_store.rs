//! A store in memory, for tests of what stands on the port rather than of the port.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use chrono::Utc;
use ports::{BucketName, Condition, ETag, Key, ListPage, ObjectInfo, PutError, Store, StoreError, Stored};

/// Buckets of objects; can be told to be down.
#[derive(Default)]
pub(crate) struct MemStore {
    buckets: Mutex<BTreeMap<String, BTreeMap<Key, Stored>>>,
    down: AtomicBool,
}

impl MemStore {
    pub(crate) fn set_down(&self, down: bool) {
        self.down.store(down, Ordering::SeqCst);
    }

    /// All keys and contents as one text, for looking for what must not be there.
    pub(crate) fn dump(&self) -> String {
        let buckets = self.buckets.lock().unwrap();
        buckets
            .values()
            .flatten()
            .map(|(key, stored)| format!("{key} {}\n", String::from_utf8_lossy(&stored.bytes)))
            .collect()
    }

    fn check(&self) -> Result<(), StoreError> {
        if self.down.load(Ordering::SeqCst) {
            Err(StoreError::Unavailable { reason: "told to be down".to_owned() })
        } else {
            Ok(())
        }
    }
}

#[async_trait]
impl Store for MemStore {
    async fn create_bucket(&self, bucket: &BucketName) -> Result<(), StoreError> {
        self.check()?;
        self.buckets.lock().unwrap().entry(bucket.to_string()).or_default();
        Ok(())
    }

    async fn get(&self, bucket: &BucketName, key: &Key) -> Result<Option<Stored>, StoreError> {
        self.check()?;
        let buckets = self.buckets.lock().unwrap();
        let objects =
            buckets.get(bucket.as_str()).ok_or_else(|| StoreError::NoBucket { bucket: bucket.to_string() })?;
        Ok(objects.get(key).cloned())
    }

    async fn get_range(
        &self,
        bucket: &BucketName,
        key: &Key,
        _range: Range<u64>,
    ) -> Result<Option<Stored>, StoreError> {
        self.get(bucket, key).await
    }

    async fn head(&self, bucket: &BucketName, key: &Key) -> Result<Option<ObjectInfo>, StoreError> {
        Ok(self.get(bucket, key).await?.map(|stored| stored.info))
    }

    async fn put(&self, bucket: &BucketName, key: &Key, bytes: Bytes, condition: Condition) -> Result<ETag, PutError> {
        self.check().map_err(|error| PutError::Unknown { reason: error.to_string() })?;
        let mut buckets = self.buckets.lock().unwrap();
        let Some(objects) = buckets.get_mut(bucket.as_str()) else {
            return Err(PutError::Refused { reason: "no bucket".to_owned() });
        };
        let holds = match (&condition, objects.get(key)) {
            (Condition::None, _) | (Condition::IfAbsent, None) => true,
            (Condition::IfMatch(etag), Some(stored)) => stored.info.etag == *etag,
            (Condition::IfAbsent, Some(_)) | (Condition::IfMatch(_), None) => false,
        };
        if !holds {
            return Err(PutError::Lost);
        }
        let etag = ETag(uuid::Uuid::new_v4().to_string());
        let size = bytes.len() as u64;
        let info = ObjectInfo { etag: etag.clone(), size, version: None, modified: Utc::now() };
        objects.insert(key.clone(), Stored { info, bytes });
        Ok(etag)
    }

    async fn versions(&self, bucket: &BucketName, key: &Key, _limit: u32) -> Result<Vec<ObjectInfo>, StoreError> {
        Ok(self.head(bucket, key).await?.into_iter().collect())
    }

    async fn get_version(&self, bucket: &BucketName, key: &Key, _version: &str) -> Result<Option<Stored>, StoreError> {
        self.get(bucket, key).await
    }

    async fn delete(&self, bucket: &BucketName, key: &Key) -> Result<(), StoreError> {
        self.check()?;
        if let Some(objects) = self.buckets.lock().unwrap().get_mut(bucket.as_str()) {
            objects.remove(key);
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
        self.check()?;
        let buckets = self.buckets.lock().unwrap();
        let objects =
            buckets.get(bucket.as_str()).ok_or_else(|| StoreError::NoBucket { bucket: bucket.to_string() })?;
        let mut keys: Vec<Key> = objects
            .keys()
            .filter(|key| key.as_str().starts_with(prefix) && after.is_none_or(|after| *key > after))
            .cloned()
            .collect();
        let more = keys.len() > limit as usize;
        keys.truncate(limit as usize);
        Ok(ListPage { keys, more })
    }
}
