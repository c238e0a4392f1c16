//! Reads: what is missing, large objects, ranges.
//!
//! Invariant: a missing key is `None`, a missing bucket an error that names it.
//! Never: a test of what a write decides (see `writes`).

use bytes::Bytes;

use super::{StoreSuite, key, must};
use crate::{Condition, PutError, StoreError};

/// Bytes of the large object: more than any store keeps inline.
const LARGE_BYTES: usize = 5 * 1024 * 1024;

/// Every call on a bucket that doesn't exist fails and names it; nothing creates it on the way.
///
/// # Panics
/// If the store answers otherwise.
pub async fn missing_buckets_are_named(suite: &StoreSuite) {
    let (store, bucket, key) = (&suite.store, &suite.missing, key("missing/bucket.json"));
    let expected = StoreError::NoBucket { bucket: bucket.to_string() };
    for condition in [Condition::None, Condition::IfAbsent] {
        let put = store.put(bucket, &key, Bytes::from_static(b"x"), condition).await;
        assert!(
            matches!(&put, Err(PutError::Refused { reason }) if reason.contains(bucket.as_str())),
            "a write to a missing bucket must be refused and name it, not {put:?}"
        );
    }
    assert_eq!(store.get(bucket, &key).await, Err(expected.clone()), "get");
    assert_eq!(store.get_range(bucket, &key, 0..1).await, Err(expected.clone()), "get_range");
    assert_eq!(store.head(bucket, &key).await, Err(expected.clone()), "head");
    assert_eq!(store.delete(bucket, &key).await, Err(expected.clone()), "delete");
    assert_eq!(store.list(bucket, "", None, 10).await, Err(expected), "list");
}

/// A key that was never written is `None` for every read, and listings under its prefix are empty.
///
/// # Panics
/// If the store answers otherwise.
pub async fn missing_keys_are_none(suite: &StoreSuite) {
    let (store, bucket, key) = (&suite.store, &suite.bucket, key("missing/key.json"));
    assert_eq!(store.get(bucket, &key).await, Ok(None), "get");
    assert_eq!(store.get_range(bucket, &key, 0..1).await, Ok(None), "get_range");
    assert_eq!(store.head(bucket, &key).await, Ok(None), "head");
    let page = must(store.list(bucket, "missing/", None, 10).await, "list an empty prefix");
    assert!(page.keys.is_empty() && !page.more, "an empty prefix lists nothing, not {page:?}");
}

/// A large object comes back byte for byte, in parts too, and can change places with a small one.
///
/// # Panics
/// If the store answers otherwise.
pub async fn large_objects_come_back_whole(suite: &StoreSuite) {
    let key = key("large/receipt.pdf");
    let bytes = noise(LARGE_BYTES);
    let etag = suite.write(&key, bytes.clone()).await;
    let stored = suite.read(&key).await;
    assert_eq!(stored.info.size, LARGE_BYTES as u64, "size of a large object");
    assert_eq!(stored.info.etag, etag, "etag of a large object");
    assert!(stored.bytes == bytes, "a large object must come back byte for byte");

    let (from, to) = (3_000_001_usize, 3_100_000_usize);
    let part = suite.store.get_range(&suite.bucket, &key, from as u64..to as u64).await;
    let part = must(part, "read part of a large object").unwrap_or_else(|| panic!("the large object is there"));
    assert!(part.bytes == bytes.slice(from..to), "a part of a large object must be the bytes asked for");
    assert_eq!(part.info, stored.info, "a part carries what is known about the whole object");

    suite.write(&key, "small").await;
    assert_eq!(suite.read(&key).await.bytes, "small", "a small object replaces a large one");
    let again =
        must(suite.put(&key, bytes.clone(), Condition::IfMatch(suite.read(&key).await.info.etag)).await, "grow");
    assert_eq!(suite.read(&key).await.info.etag, again, "a large object replaces a small one");
    must(suite.store.delete(&suite.bucket, &key).await, "delete a large object");
    assert_eq!(suite.get(&key).await, None, "a deleted large object is gone");
}

/// A range is cut at the end of the object; one that holds no byte of it is a `BadRange` which tells the size.
///
/// # Panics
/// If the store answers otherwise.
pub async fn ranges_have_edges(suite: &StoreSuite) {
    let (short, empty) = (key("ranges/short"), key("ranges/empty"));
    suite.write(&short, "0123456789").await;
    suite.write(&empty, "").await;
    for (range, expected) in [(0..10, "0123456789"), (0..1, "0"), (9..10, "9"), (3..7, "3456"), (7..99, "789")] {
        let part = must(suite.store.get_range(&suite.bucket, &short, range.clone()).await, "read a range");
        let part = part.unwrap_or_else(|| panic!("the object is there"));
        assert_eq!(part.bytes, expected, "range {range:?}");
        assert_eq!(part.info.size, 10, "the size is the object's, not the range's");
    }
    let to_the_end = must(suite.store.get_range(&suite.bucket, &short, 8..u64::MAX).await, "read an open range");
    assert_eq!(to_the_end.map(|part| part.bytes), Some(Bytes::from_static(b"89")), "a huge end is cut");
    for (from, to) in [(10, 11), (11, 20), (u64::MAX - 1, u64::MAX), (5, 5)] {
        let answer = suite.store.get_range(&suite.bucket, &short, from..to).await;
        assert_eq!(answer, Err(StoreError::BadRange { size: 10 }), "range {from}..{to}");
    }
    let answer = suite.store.get_range(&suite.bucket, &empty, 0..1).await;
    assert_eq!(answer, Err(StoreError::BadRange { size: 0 }), "an empty object has no range");
}

/// Bytes without a pattern that a store could shorten or mix up; the same on every run.
fn noise(len: usize) -> Bytes {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    });
    next.take(len).collect()
}
