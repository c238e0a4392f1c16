//! Each of the four outcomes, and the traps between them.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Mutex;

use async_trait::async_trait;
use bytes::Bytes;
use chrono::DateTime;
use ports::{BucketName, Condition, ETag, Key, ListPage, ObjectInfo, PutError, Store, StoreError, Stored};

use super::{Written, conditional_write};
use crate::EngineError;
use crate::limits::WRITE_TRIES_MAX;

/// What the store does with one PUT.
enum Put {
    /// Takes it and says so.
    Take,
    /// Takes it; the answer gets lost.
    TakeSilently,
    /// Doesn't take it; the answer gets lost.
    Drop,
    /// Somebody else's content is there.
    Lose(&'static str),
    /// 409.
    Conflict,
    /// No.
    Refuse,
}

/// A store that follows a script.
struct Script {
    puts: Mutex<VecDeque<Put>>,
    content: Mutex<Option<Bytes>>,
    sent: Mutex<Vec<Bytes>>,
}

impl Script {
    fn new(puts: impl IntoIterator<Item = Put>) -> Self {
        Self { puts: Mutex::new(puts.into_iter().collect()), content: Mutex::new(None), sent: Mutex::new(Vec::new()) }
    }
}

fn info() -> ObjectInfo {
    ObjectInfo { etag: ETag("t".to_owned()), size: 0, version: None, modified: DateTime::UNIX_EPOCH }
}

#[async_trait]
impl Store for Script {
    async fn create_bucket(&self, _: &BucketName) -> Result<(), StoreError> {
        Ok(())
    }
    async fn get(&self, _: &BucketName, _: &Key) -> Result<Option<Stored>, StoreError> {
        Ok(self.content.lock().unwrap().clone().map(|bytes| Stored { info: info(), bytes }))
    }
    async fn get_range(&self, b: &BucketName, k: &Key, _: Range<u64>) -> Result<Option<Stored>, StoreError> {
        self.get(b, k).await
    }
    async fn versions(&self, _: &BucketName, _: &Key, _: u32) -> Result<Vec<ObjectInfo>, StoreError> {
        Ok(vec![info()])
    }
    async fn get_version(&self, b: &BucketName, k: &Key, _: &str) -> Result<Option<Stored>, StoreError> {
        self.get(b, k).await
    }
    async fn head(&self, _: &BucketName, _: &Key) -> Result<Option<ObjectInfo>, StoreError> {
        Ok(Some(info()))
    }
    async fn put(&self, _: &BucketName, _: &Key, bytes: Bytes, _: Condition) -> Result<ETag, PutError> {
        self.sent.lock().unwrap().push(bytes.clone());
        let next = self.puts.lock().unwrap().pop_front().unwrap_or(Put::Drop);
        let mut content = self.content.lock().unwrap();
        let unknown = || PutError::Unknown { reason: "time-out".to_owned() };
        match next {
            Put::Take => {
                *content = Some(bytes);
                Ok(ETag("new".to_owned()))
            }
            Put::TakeSilently => {
                *content = Some(bytes);
                Err(unknown())
            }
            Put::Drop => Err(unknown()),
            Put::Lose(theirs) => {
                if !theirs.is_empty() {
                    *content = Some(Bytes::from_static(theirs.as_bytes()));
                }
                Err(PutError::Lost)
            }
            Put::Conflict => Err(PutError::Conflict),
            Put::Refuse => Err(PutError::Refused { reason: "disk full".to_owned() }),
        }
    }
    async fn delete(&self, _: &BucketName, _: &Key) -> Result<(), StoreError> {
        Ok(())
    }
    async fn list(&self, _: &BucketName, _: &str, _: Option<&Key>, _: u32) -> Result<ListPage, StoreError> {
        Ok(ListPage::default())
    }
}

const MARK: &str = "commit-1";

async fn write(script: &Script) -> Result<Written, EngineError> {
    let bucket = BucketName::configured("test-bucket").unwrap();
    let key = Key::new("workflow/x.json").unwrap();
    let bytes = Bytes::from_static(br#"{"commitId":"commit-1"}"#);
    conditional_write(script, &bucket, &key, bytes, Condition::IfAbsent, MARK).await
}

#[tokio::test(start_paused = true)]
async fn won_is_won() {
    assert_eq!(write(&Script::new([Put::Take])).await.unwrap(), Written::Won(Some(ETag("new".to_owned()))));
}

#[tokio::test(start_paused = true)]
async fn a_plain_412_is_lost_at_once() {
    let script = Script::new([Put::Lose("theirs")]);
    assert_eq!(write(&script).await.unwrap(), Written::Lost);
    assert_eq!(script.sent.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_sends_the_same_bytes_again() {
    let script = Script::new([Put::Drop, Put::Take]);
    assert!(matches!(write(&script).await.unwrap(), Written::Won(Some(_))));
    let sent = script.sent.lock().unwrap();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0], sent[1]);
}

#[tokio::test(start_paused = true)]
async fn a_412_against_ourselves_is_won() {
    assert_eq!(write(&Script::new([Put::TakeSilently, Put::Lose("")])).await.unwrap(), Written::Won(None));
}

#[tokio::test(start_paused = true)]
async fn a_412_after_somebody_built_on_ours_is_won() {
    let built_on = r#"{"commitId":"commit-2","history":[{"commitId":"commit-1"}]}"#;
    assert_eq!(write(&Script::new([Put::TakeSilently, Put::Lose(built_on)])).await.unwrap(), Written::Won(None));
}

#[tokio::test(start_paused = true)]
async fn a_412_after_an_unclear_answer_may_be_lost_all_the_same() {
    assert_eq!(write(&Script::new([Put::Drop, Put::Lose("theirs")])).await.unwrap(), Written::Lost);
}

#[tokio::test(start_paused = true)]
async fn a_409_proves_nothing() {
    assert!(matches!(write(&Script::new([Put::Conflict, Put::Take])).await.unwrap(), Written::Won(_)));
    assert_eq!(write(&Script::new([Put::Conflict, Put::Lose("theirs")])).await.unwrap(), Written::Lost);
}

#[tokio::test(start_paused = true)]
async fn endless_silence_is_said_to_be_unknown() {
    let script = Script::new([]);
    assert!(matches!(write(&script).await, Err(EngineError::OutcomeUnknown { .. })));
    assert_eq!(script.sent.lock().unwrap().len(), WRITE_TRIES_MAX as usize);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_final_unless_an_earlier_try_is_unclear() {
    assert!(matches!(write(&Script::new([Put::Refuse])).await, Err(EngineError::WriteRefused { .. })));
    assert!(matches!(write(&Script::new([Put::Drop, Put::Refuse])).await, Err(EngineError::OutcomeUnknown { .. })));
}
