//! Stores that are wrong on purpose, each in one way.

#![expect(clippy::unwrap_used, reason = "a poisoned lock must fail the test")]

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;

use async_trait::async_trait;
use chrono::DateTime;

use super::*;
use crate::{ListPage, ObjectInfo, Stored};

/// What is wrong with a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Nothing,
    /// As Ceph 16: both conditions are ignored.
    IgnoresIfNoneMatch,
    IgnoresIfMatch,
    /// As Garage: nobody ever wins.
    NobodyWins,
    /// Right alone, wrong together: the condition is decided before the others' writes are seen.
    RacyCreate,
    NoVersions,
    /// The newest content under every version's id.
    WrongVersion,
    StaleReads,
    LostWrite,
    Down,
}

/// Every content of every key, oldest first; None is a delete.
struct Wrong {
    fault: Fault,
    contents: Mutex<BTreeMap<String, Vec<Option<Bytes>>>>,
}

fn info(at: usize, bytes: &Bytes) -> ObjectInfo {
    ObjectInfo {
        etag: ETag(format!("{at}")),
        size: bytes.len() as u64,
        version: Some(format!("{at}")),
        modified: DateTime::UNIX_EPOCH,
    }
}

impl Wrong {
    fn history(&self, key: &Key) -> Vec<Option<Bytes>> {
        self.contents.lock().unwrap().get(key.as_str()).cloned().unwrap_or_default()
    }

    fn is_up(&self) -> Result<(), StoreError> {
        if self.fault == Fault::Down {
            return Err(StoreError::Unavailable { reason: "down".to_owned() });
        }
        Ok(())
    }
}

#[async_trait]
impl Store for Wrong {
    async fn create_bucket(&self, _: &BucketName) -> Result<(), StoreError> {
        Ok(())
    }

    async fn get(&self, _: &BucketName, key: &Key) -> Result<Option<Stored>, StoreError> {
        self.is_up()?;
        let history = self.history(key);
        let seen = history.len() - usize::from(self.fault == Fault::StaleReads && history.len() > 1);
        let Some(Some(bytes)) = history[..seen].last().cloned() else { return Ok(None) };
        Ok(Some(Stored { info: info(seen, &bytes), bytes }))
    }

    async fn get_range(&self, bucket: &BucketName, key: &Key, _: Range<u64>) -> Result<Option<Stored>, StoreError> {
        self.get(bucket, key).await
    }

    async fn head(&self, bucket: &BucketName, key: &Key) -> Result<Option<ObjectInfo>, StoreError> {
        Ok(self.get(bucket, key).await?.map(|stored| stored.info))
    }

    async fn put(&self, _: &BucketName, key: &Key, bytes: Bytes, condition: Condition) -> Result<ETag, PutError> {
        let history = self.history(key);
        let current = history.last().is_some_and(Option::is_some).then(|| ETag(history.len().to_string()));
        let holds = match (&condition, self.fault) {
            (_, Fault::Down) => return Err(PutError::Unknown { reason: "down".to_owned() }),
            (Condition::None, _)
            | (Condition::IfAbsent, Fault::IgnoresIfNoneMatch)
            | (Condition::IfMatch(_), Fault::IgnoresIfMatch) => true,
            (Condition::IfAbsent | Condition::IfMatch(_), Fault::NobodyWins) => false,
            (Condition::IfAbsent, _) => current.is_none(),
            (Condition::IfMatch(etag), _) => current.as_ref() == Some(etag),
        };
        if self.fault == Fault::RacyCreate {
            tokio::task::yield_now().await;
        }
        if !holds {
            return Err(PutError::Lost);
        }
        let mut contents = self.contents.lock().unwrap();
        let history = contents.entry(key.to_string()).or_default();
        if self.fault != Fault::LostWrite {
            history.push(Some(bytes));
        }
        Ok(ETag(history.len().to_string()))
    }

    async fn delete(&self, _: &BucketName, key: &Key) -> Result<(), StoreError> {
        self.is_up()?;
        self.contents.lock().unwrap().entry(key.to_string()).or_default().push(None);
        Ok(())
    }

    async fn list(&self, _: &BucketName, _: &str, _: Option<&Key>, _: u32) -> Result<ListPage, StoreError> {
        let contents = self.contents.lock().unwrap();
        let live = contents.iter().filter(|(_, history)| history.last().is_some_and(Option::is_some));
        Ok(ListPage { keys: live.map(|(key, _)| Key::new(key.as_str()).unwrap()).collect(), more: false })
    }

    async fn versions(&self, _: &BucketName, key: &Key, _: u32) -> Result<Vec<ObjectInfo>, StoreError> {
        let history = self.history(key);
        let all = history.iter().enumerate().rev();
        let mut listed: Vec<_> = all.filter_map(|(at, bytes)| Some(info(at + 1, bytes.as_ref()?))).collect();
        if self.fault == Fault::NoVersions {
            listed.truncate(1);
        }
        Ok(listed)
    }

    async fn get_version(&self, bucket: &BucketName, key: &Key, version: &str) -> Result<Option<Stored>, StoreError> {
        if self.fault == Fault::WrongVersion {
            return self.get(bucket, key).await;
        }
        let at: usize = version.parse().unwrap();
        let bytes = self.history(key)[at - 1].clone();
        Ok(bytes.map(|bytes| Stored { info: info(at, &bytes), bytes }))
    }
}

async fn tried(fault: Fault) -> (Result<(), SelfTestError>, Vec<Key>) {
    let store = Wrong { fault, contents: Mutex::default() };
    let bucket = BucketName::configured("probe-bucket").unwrap();
    let result = self_test(&store, &bucket, "nonce").await;
    (result, store.list(&bucket, "", None, 10).await.unwrap().keys)
}

#[tokio::test]
async fn a_good_store_passes_and_is_left_clean() {
    assert_eq!(tried(Fault::Nothing).await, (Ok(()), vec![]));
}

#[tokio::test]
async fn each_broken_guarantee_is_named() {
    for (fault, broken) in [
        (Fault::IgnoresIfNoneMatch, Guarantee::CreateRefusesExisting),
        (Fault::IgnoresIfMatch, Guarantee::UpdateRefusesStale),
        (Fault::NobodyWins, Guarantee::ConditionThatHoldsWins),
        (Fault::RacyCreate, Guarantee::OneWinner { winners: RACERS }),
        (Fault::NoVersions, Guarantee::Versions),
        (Fault::WrongVersion, Guarantee::Versions),
        (Fault::StaleReads, Guarantee::ReadAfterWrite),
        (Fault::LostWrite, Guarantee::ReadAfterWrite),
    ] {
        let (result, left) = tried(fault).await;
        let expected = SelfTestError::Broken { bucket: "probe-bucket".to_owned(), broken };
        assert_eq!(result, Err(expected), "{fault:?}");
        assert_eq!(left, [], "{fault:?} leaves nothing behind");
    }
}

#[tokio::test]
async fn a_store_that_is_down_is_not_called_broken() {
    let (result, _) = tried(Fault::Down).await;
    assert!(matches!(result, Err(SelfTestError::Write { .. })), "{result:?}");
}
