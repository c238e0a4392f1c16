//! Writes by one caller: buckets, conditions, etags, deletes.
//!
//! Invariant: a condition decides alone whether a write happens; a write that lost changes nothing.
//! Never: a test with more than one writer (see `races`).

use super::{StoreSuite, key, must};
use crate::{Condition, ETag, PutError};

/// Creating a bucket that exists changes nothing in it.
///
/// # Panics
/// If the store answers otherwise.
pub async fn buckets_are_created_once(suite: &StoreSuite) {
    let key = key("buckets/kept.json");
    suite.write(&key, "kept").await;
    for _ in 0..2 {
        must(suite.store.create_bucket(&suite.bucket).await, "create a bucket that exists");
    }
    assert_eq!(suite.read(&key).await.bytes, "kept", "creating a bucket again must not empty it");
}

/// The etag that a write returns is the one that reads show; other content has another etag.
///
/// # Panics
/// If the store answers otherwise.
pub async fn etags_follow_content(suite: &StoreSuite) {
    let key = key("etags/one.json");
    let first = suite.write(&key, "first").await;
    let stored = suite.read(&key).await;
    assert_eq!((&stored.info.etag, stored.info.size), (&first, 5), "a read shows what the write returned");
    assert_eq!(stored.bytes, "first", "content");
    let head = must(suite.store.head(&suite.bucket, &key).await, "ask about an object");
    assert_eq!(head, Some(stored.info), "asking about an object and reading it say the same");
    let second = suite.write(&key, "second").await;
    assert_ne!(first, second, "other content has another etag");
    assert_eq!(suite.read(&key).await.info.etag, second, "the last write counts");
}

/// No condition, if-absent and if-match, each on a missing and on an existing key.
///
/// # Panics
/// If the store answers otherwise.
pub async fn conditions_decide_writes(suite: &StoreSuite) {
    let key = key("conditions/one.json");
    let nobodys = ETag("0".repeat(64));
    let lost = Err(PutError::Lost);
    assert_eq!(suite.put(&key, "x", Condition::IfMatch(nobodys.clone())).await, lost, "if-match on a missing key");
    assert_eq!(suite.get(&key).await, None, "a write that lost creates nothing");

    let first = must(suite.put(&key, "first", Condition::IfAbsent).await, "create an absent key");
    assert_eq!(suite.put(&key, "other", Condition::IfAbsent).await, lost, "if-absent on an existing key");
    assert_eq!(suite.put(&key, "first", Condition::IfAbsent).await, lost, "if-absent, same bytes");
    assert_eq!(suite.put(&key, "other", Condition::IfMatch(nobodys)).await, lost, "if-match with a foreign etag");
    assert_eq!(suite.read(&key).await.bytes, "first", "writes that lost change nothing");

    let second = must(suite.put(&key, "second", Condition::IfMatch(first.clone())).await, "write over a known etag");
    assert_eq!(suite.put(&key, "third", Condition::IfMatch(first)).await, lost, "if-match with an old etag");
    assert_eq!(suite.read(&key).await.bytes, "second", "an old etag changes nothing");
    let third = suite.write(&key, "third").await;
    assert_eq!(suite.put(&key, "fourth", Condition::IfMatch(second)).await, lost, "overwritten without a condition");
    must(suite.put(&key, "fourth", Condition::IfMatch(third)).await, "write over the newest etag");
}

/// Deleting a missing object is fine; a deleted key behaves like one that never was.
///
/// # Panics
/// If the store answers otherwise.
pub async fn deletes_are_idempotent(suite: &StoreSuite) {
    let key = key("deletes/one.json");
    must(suite.store.delete(&suite.bucket, &key).await, "delete a missing key");
    let etag = suite.write(&key, "one").await;
    for _ in 0..2 {
        must(suite.store.delete(&suite.bucket, &key).await, "delete a key");
        assert_eq!(suite.get(&key).await, None, "a deleted key is gone");
    }
    assert_eq!(suite.put(&key, "x", Condition::IfMatch(etag)).await, Err(PutError::Lost), "if-match after a delete");
    must(suite.put(&key, "again", Condition::IfAbsent).await, "create a deleted key");
    assert_eq!(suite.read(&key).await.bytes, "again", "a key can be written after its delete");
}

/// An object without bytes exists.
///
/// # Panics
/// If the store answers otherwise.
pub async fn objects_may_be_empty(suite: &StoreSuite) {
    let key = key("empty/one");
    let etag = must(suite.put(&key, "", Condition::IfAbsent).await, "write an empty object");
    let stored = suite.read(&key).await;
    assert_eq!((stored.info.size, stored.bytes.len(), &stored.info.etag), (0, 0, &etag), "an empty object");
    assert_eq!(suite.put(&key, "", Condition::IfAbsent).await, Err(PutError::Lost), "an empty object exists");
    must(suite.put(&key, "full", Condition::IfMatch(etag)).await, "fill an empty object");
}
