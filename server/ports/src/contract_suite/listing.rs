//! Listings and keys: order, prefixes, pages, odd characters, isolation of buckets.
//!
//! Invariant: keys come in the order of their UTF-8 bytes and exactly as they were written.
//! Never: an assumption about folders; `/` is a character like any other.

use futures_util::future::join_all;

use super::{StoreSuite, key, must};
use crate::{Condition, Key, PutError};

/// Keys one page may hold (S3's limit, and [`crate::Store::list`]'s).
const PAGE_KEYS_MAX: usize = 1_000;

async fn list(suite: &StoreSuite, prefix: &str, after: Option<&Key>, limit: u32) -> (Vec<String>, bool) {
    let page = must(suite.store.list(&suite.bucket, prefix, after, limit).await, "list keys");
    (page.keys.iter().map(Key::to_string).collect(), page.more)
}

/// Keys come in byte order, only those with the prefix, after the key given (there or not), `limit` at a time.
///
/// # Panics
/// If the store answers otherwise.
pub async fn listing_is_ordered_and_paged(suite: &StoreSuite) {
    let sorted = ["list/a", "list/a-b", "list/a/1", "list/a/2", "list/aa", "list/b", "list/ä"];
    let written = [4, 2, 6, 0, 5, 1, 3].map(|at| key(sorted[at]));
    for key in written.iter().chain(&[key("list"), key("list.json"), key("lisu/z")]) {
        suite.write(key, key.as_str().to_owned()).await;
    }
    let all: Vec<String> = sorted.map(str::to_owned).to_vec();
    assert_eq!(list(suite, "list/", None, 1_000).await, (all.clone(), false), "everything with the prefix, in order");
    assert_eq!(list(suite, "list/", None, 7).await, (all.clone(), false), "a full last page says that no more follow");
    assert_eq!(list(suite, "list/a", None, 1_000).await.0, all[..5], "a prefix need not end at a slash");
    assert_eq!(list(suite, "list/a/", None, 1_000).await.0, all[2..4], "a deeper prefix");
    assert_eq!(list(suite, "list/zz", None, 1_000).await, (vec![], false), "a prefix of nothing");
    assert_eq!(list(suite, "list/", Some(&key("list/a/1")), 2).await, (all[3..5].to_vec(), true), "after a key");
    assert_eq!(list(suite, "list/", Some(&key("list/a0")), 1_000).await.0, all[4..], "after a key that isn't there");
    assert_eq!(list(suite, "list/", Some(&key("a")), 1_000).await.0, all, "after a key before the prefix");
    assert_eq!(list(suite, "list/", Some(&key("list/ä")), 9).await, (vec![], false), "after the last key");
    assert_eq!(list(suite, "list/", Some(&key("zzz")), 9).await, (vec![], false), "after a key behind the prefix");

    let (mut paged, mut after) = (Vec::new(), None);
    loop {
        let page = must(suite.store.list(&suite.bucket, "list/", after.as_ref(), 3).await, "list a page");
        assert!(page.keys.len() <= 3, "a page holds at most what was asked for");
        paged.extend(page.keys.iter().map(Key::to_string));
        assert!(paged.len() <= all.len(), "pages must not repeat keys: {paged:?}");
        after = page.keys.last().cloned();
        if !page.more {
            break;
        }
    }
    assert_eq!(paged, all, "page by page is the whole listing");
    must(suite.store.delete(&suite.bucket, &key("list/a/1")).await, "delete a listed key");
    assert_eq!(list(suite, "list/a/", None, 10).await.0, all[3..4], "a deleted key is not listed");
}

/// A page never holds more than 1000 keys, whatever was asked for.
///
/// # Panics
/// If the store answers otherwise.
pub async fn listing_cuts_the_limit(suite: &StoreSuite) {
    const KEYS: usize = PAGE_KEYS_MAX + 5;
    const WRITERS: usize = 32;
    let keys: Vec<Key> = (0..KEYS).map(|at| key(&format!("many/{at:05}"))).collect();
    for chunk in keys.chunks(WRITERS) {
        join_all(chunk.iter().map(|key| suite.write(key, "x"))).await;
    }
    let first = must(suite.store.list(&suite.bucket, "many/", None, 5_000).await, "list many keys");
    assert_eq!((first.keys.len(), first.more), (PAGE_KEYS_MAX, true), "a page is cut at 1000 keys");
    assert_eq!(first.keys, keys[..PAGE_KEYS_MAX], "the first page");
    let rest = must(suite.store.list(&suite.bucket, "many/", first.keys.last(), 5_000).await, "list the rest");
    assert_eq!((rest.keys.as_slice(), rest.more), (&keys[PAGE_KEYS_MAX..], false), "the second page");
}

/// Percent signs, blanks, umlauts and long keys are read and listed as they were written, and meet no other key.
///
/// # Panics
/// If the store answers otherwise.
pub async fn odd_keys_stay_themselves(suite: &StoreSuite) {
    let long = format!("odd/{}", "x".repeat(1_020));
    let mut keys: Vec<Key> = [
        "odd/a/b",
        "odd/a%2Fb",
        "odd/a%252Fb",
        "odd/a b",
        "odd/a+b",
        "odd/a%20b",
        "odd/%",
        "odd/A",
        "odd/tblAddresses%3A10000.json",
        "odd/M%C3%BCller.json",
        "odd/Müller.json",
        "odd/日本/🧾.json",
        "odd/&=?#;'()*!$@,:",
        &long,
    ]
    .map(key)
    .to_vec();
    for key in &keys {
        let created = suite.put(key, key.as_str().to_owned(), Condition::IfAbsent).await;
        assert_ne!(created, Err(PutError::Lost), "`{key}` must not meet another key");
        must(created, "write an odd key");
    }
    for key in &keys {
        assert_eq!(suite.read(key).await.bytes, key.as_str().as_bytes(), "content of `{key}`");
    }
    keys.sort();
    let page = must(suite.store.list(&suite.bucket, "odd/", None, 100).await, "list odd keys");
    assert_eq!(page.keys, keys, "odd keys are listed as they were written, in byte order");
    let umlaut = must(suite.store.list(&suite.bucket, "odd/Mü", None, 100).await, "list an odd prefix");
    assert_eq!(umlaut.keys, [key("odd/Müller.json")], "a prefix may hold umlauts");
}

/// The same key in another bucket is another object.
///
/// # Panics
/// If the store answers otherwise.
pub async fn buckets_are_isolated(suite: &StoreSuite) {
    let (store, key) = (&suite.store, key("isolated/one.json"));
    let etag = suite.write(&key, "first bucket").await;
    assert_eq!(store.get(&suite.other, &key).await, Ok(None), "a key must not be seen in another bucket");
    let theirs = store.put(&suite.other, &key, "x".into(), Condition::IfMatch(etag)).await;
    assert_eq!(theirs, Err(PutError::Lost), "an etag of another bucket matches nothing");
    must(store.put(&suite.other, &key, "second bucket".into(), Condition::IfAbsent).await, "create the key there too");
    assert_eq!(suite.read(&key).await.bytes, "first bucket", "a write must not reach another bucket");
    let page = must(store.list(&suite.other, "", None, 100).await, "list a whole bucket");
    assert_eq!((page.keys, page.more), (vec![key.clone()], false), "a listing must not show another bucket's keys");
    must(store.delete(&suite.other, &key).await, "delete the key there");
    assert_eq!(suite.read(&key).await.bytes, "first bucket", "a delete must not reach another bucket");
}
