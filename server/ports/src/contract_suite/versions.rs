//! Versions: what an overwritten or deleted object leaves behind, so that it can be restored (DESIGN §4).
//!
//! Invariant: every write that won is one version with an id of its own, also when it wrote the same bytes again; a write
//! that lost is none.
//! Never: an assumption about how an id looks or how long a version is kept, and no comparison of times: stores differ in
//! their precision.

use bytes::Bytes;
use futures_util::future::join_all;

use super::{StoreSuite, key, must};
use crate::{Condition, Key, ObjectInfo, PutError, StoreError};

/// Bytes of the large content: more than any store keeps inline.
const LARGE_BYTES: usize = 300_000;

async fn versions(suite: &StoreSuite, key: &Key, limit: u32) -> Vec<ObjectInfo> {
    must(suite.store.versions(&suite.bucket, key, limit).await, "list the versions of a key")
}

fn id(info: &ObjectInfo) -> String {
    info.version.clone().unwrap_or_else(|| panic!("every version has an id, not {info:?}"))
}

/// The bytes of a version that must be there; what is known about them must be what the list said.
async fn read_version(suite: &StoreSuite, key: &Key, listed: &ObjectInfo) -> Bytes {
    let stored = must(suite.store.get_version(&suite.bucket, key, &id(listed)).await, "read a version");
    let stored = stored.unwrap_or_else(|| panic!("version {listed:?} of `{key}` is listed and must be there"));
    let facts = |info: &ObjectInfo| (info.etag.clone(), info.size, info.version.clone());
    assert_eq!(facts(&stored.info), facts(listed), "a version is what the list says it is");
    stored.bytes
}

/// The contents of all versions, in the order of the list.
async fn contents(suite: &StoreSuite, key: &Key) -> Vec<Bytes> {
    let listed = versions(suite, key, 1_000).await;
    let mut contents = Vec::with_capacity(listed.len());
    for version in &listed {
        contents.push(read_version(suite, key, version).await);
    }
    contents
}

/// Every write that won is a version, newest first, each with its own bytes; writes that lost are none.
///
/// # Panics
/// If the store answers otherwise.
pub async fn overwrites_keep_their_versions(suite: &StoreSuite) {
    let key = key("versions/overwritten.json");
    let large = Bytes::from(vec![7; LARGE_BYTES]);
    let first = must(suite.put(&key, "first", Condition::IfAbsent).await, "create a key");
    assert_eq!(suite.put(&key, "lost", Condition::IfAbsent).await, Err(PutError::Lost), "the key exists");
    must(suite.put(&key, large.clone(), Condition::IfMatch(first.clone())).await, "overwrite it");
    assert_eq!(suite.put(&key, "lost", Condition::IfMatch(first)).await, Err(PutError::Lost), "an old etag");
    suite.write(&key, "same").await;
    suite.write(&key, "same").await;
    suite.write(&key, "").await;

    let expected = [Bytes::new(), "same".into(), "same".into(), large, "first".into()];
    assert!(contents(suite, &key).await == expected, "each version has the bytes it was written with, newest first");
    let listed = versions(suite, &key, 1_000).await;
    let mut ids: Vec<String> = listed.iter().map(id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), expected.len(), "every version has an id of its own, also of the same bytes");
    let current = suite.read(&key).await;
    assert_eq!(current.info.version.as_deref(), Some(id(&listed[0]).as_str()), "the first one is the current one");
    let head = must(suite.store.head(&suite.bucket, &key).await, "ask about an object");
    assert_eq!(head.and_then(|info| info.version), current.info.version, "asking about it names the same version");
}

/// A deleted key keeps its versions, and they stay when it is written again.
///
/// # Panics
/// If the store answers otherwise.
pub async fn deleted_keys_keep_their_versions(suite: &StoreSuite) {
    let key = key("versions/deleted.json");
    suite.write(&key, "one").await;
    suite.write(&key, "two").await;
    must(suite.store.delete(&suite.bucket, &key).await, "delete a key");
    must(suite.store.delete(&suite.bucket, &key).await, "delete it again");
    assert_eq!(suite.get(&key).await, None, "a deleted key is gone");
    assert_eq!(contents(suite, &key).await, ["two", "one"], "its versions are not");
    must(suite.put(&key, "three", Condition::IfAbsent).await, "create it anew");
    assert_eq!(contents(suite, &key).await, ["three", "two", "one"], "older ones stay beside the new one");
    let never = super::key("versions/never.json");
    must(suite.store.delete(&suite.bucket, &never).await, "delete a key that never was");
    assert_eq!(versions(suite, &never, 10).await, [], "a key that never was has no versions");
}

/// A version that isn't there is `None`, also when its id is another key's or another bucket's; a missing bucket is named.
///
/// # Panics
/// If the store answers otherwise.
pub async fn unknown_versions_are_none(suite: &StoreSuite) {
    let (store, one, other) = (&suite.store, key("versions/known.json"), key("versions/other.json"));
    suite.write(&one, "one").await;
    suite.write(&other, "other").await;
    let others = id(&versions(suite, &other, 1).await[0]);
    for unknown in [others.as_str(), "no-such-version", "", "0", "-1", "../known.json"] {
        let answer = store.get_version(&suite.bucket, &one, unknown).await;
        assert_eq!(answer, Ok(None), "`{one}` has no version `{unknown}`");
    }
    assert_eq!(store.get_version(&suite.other, &other, &others).await, Ok(None), "another bucket has it not");
    assert_eq!(store.get_version(&suite.bucket, &key("versions/none"), &others).await, Ok(None), "no such key");
    let expected = StoreError::NoBucket { bucket: suite.missing.to_string() };
    assert_eq!(store.versions(&suite.missing, &one, 10).await, Err(expected.clone()), "versions");
    assert_eq!(store.get_version(&suite.missing, &one, &others).await, Err(expected), "get_version");
}

/// Keys that begin alike, and the same key in another bucket, have versions of their own.
///
/// # Panics
/// If the store answers otherwise.
pub async fn versions_stay_with_their_key(suite: &StoreSuite) {
    let keys = ["versions/mix", "versions/mix/a", "versions/mix.json", "versions/mixa", "versions/mi"].map(key);
    for round in 0..3 {
        for key in &keys {
            suite.write(key, format!("{key} {round}")).await;
        }
    }
    let there = must(suite.store.put(&suite.other, &keys[0], "elsewhere".into(), Condition::None).await, "write there");
    for key in &keys {
        let expected = [2, 1, 0].map(|round| format!("{key} {round}"));
        assert_eq!(contents(suite, key).await, expected, "the versions of `{key}` and no others");
    }
    let theirs = must(suite.store.versions(&suite.other, &keys[0], 10).await, "list versions there");
    assert_eq!(theirs.iter().map(|info| &info.etag).collect::<Vec<_>>(), [&there], "the other bucket's only version");
}

/// A list holds at most what was asked for, the newest; every one of many racing writes is a version.
///
/// # Panics
/// If the store answers otherwise.
pub async fn version_lists_have_a_limit(suite: &StoreSuite) {
    const WRITES: usize = 24;
    let key = key("versions/many.json");
    join_all((0..WRITES).map(|at| suite.write(&key, format!("{at:02}")))).await;
    let last = suite.write(&key, "last").await;
    let all = versions(suite, &key, 5_000).await;
    assert_eq!(all.len(), WRITES + 1, "every write is a version");
    assert_eq!(all[0].etag, last, "the newest comes first");
    for limit in [1_u32, 2, 7, 24, 25, 26] {
        let listed = versions(suite, &key, limit).await;
        let expected = &all[..all.len().min(limit as usize)];
        assert_eq!(listed, expected, "at most {limit}, the newest");
    }
    let mut written = contents(suite, &key).await;
    written.sort();
    let mut expected: Vec<Bytes> = (0..WRITES).map(|at| format!("{at:02}").into()).collect();
    expected.push("last".into());
    assert_eq!(written, expected, "each racing write left its bytes once");
}
