//! The object store: buckets of keys, conditional writes, versions (DESIGN §4).
//!
//! Invariant of every implementation: a write whose `Ok` was returned is durable; of any number of racing writes under
//! the same condition exactly one wins; reads see the latest acknowledged write.

use std::fmt;
use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use chrono::{DateTime, Utc};

use crate::BucketName;

/// A key inside a bucket. Variable parts are percent-encoded, so that no object number can leave its place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(String);

/// Bytes a key may have (S3's limit).
pub const KEY_BYTES_MAX: usize = 1_024;

/// A key that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Too long.
    #[error("key has {bytes} bytes, the store takes {KEY_BYTES_MAX}: shorten the object number or id")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// Empty, absolute, or with an empty, `.` or `..` part.
    #[error("key `{key}` is not a relative path of plain parts")]
    NotPlain {
        /// The key.
        key: String,
    },
}

impl Key {
    /// A key from its text, whose variable parts went through [`encode_part`].
    ///
    /// # Errors
    /// [`KeyError`] for keys no store should see.
    pub fn new(text: impl Into<String>) -> Result<Self, KeyError> {
        let text = text.into();
        if text.len() > KEY_BYTES_MAX {
            return Err(KeyError::TooLong { bytes: text.len() });
        }
        if text.is_empty() || text.split('/').any(|part| part.is_empty() || part == "." || part == "..") {
            return Err(KeyError::NotPlain { key: text });
        }
        Ok(Self(text))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Percent-encodes one variable part of a key: everything but `A-Z a-z 0-9 - _` and inner `.` is escaped, so that `/`, `..`,
/// spaces and umlauts stay in their place. The empty part becomes `%`, which nothing else encodes to.
pub fn encode_part(part: &str) -> String {
    use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
    const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_');
    const DOTTED: &AsciiSet = &PLAIN.remove(b'.');
    if part.is_empty() {
        return "%".to_owned();
    }
    let set = if part.chars().all(|c| c == '.') { PLAIN } else { DOTTED };
    utf8_percent_encode(part, set).to_string()
}

/// Days that an overwritten version is kept at least, so that a damaged document can be restored (DESIGN §4).
pub const VERSION_DAYS_MIN: u32 = 30;

/// Names one content of one key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ETag(pub String);

/// What must hold for a write to happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// Nothing.
    None,
    /// The key must not exist (`If-None-Match: *`).
    IfAbsent,
    /// The key must have this content (`If-Match`). A missing key counts as lost.
    IfMatch(ETag),
}

/// What is stored about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Its content's tag.
    pub etag: ETag,
    /// Bytes.
    pub size: u64,
    /// Version id, where the store keeps versions.
    pub version: Option<String>,
    /// When it was written.
    pub modified: DateTime<Utc>,
}

/// An object with its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// What is known about it.
    pub info: ObjectInfo,
    /// The bytes (of the range that was asked for).
    pub bytes: Bytes,
}

/// One page of a listing, in key order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListPage {
    /// Keys.
    pub keys: Vec<Key>,
    /// Whether more follow after the last key.
    pub more: bool,
}

/// A read or delete that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The store can't be reached, or answers with its own error: try again later.
    #[error("the store is not available: {reason}")]
    Unavailable {
        /// What it said.
        reason: String,
    },
    /// There is no such bucket.
    #[error("bucket `{bucket}` does not exist: create the tenant first")]
    NoBucket {
        /// Its name.
        bucket: String,
    },
    /// The range lies outside the object.
    #[error("the range asked for lies outside the object of {size} bytes")]
    BadRange {
        /// Bytes there are.
        size: u64,
    },
    /// The store holds something that it can't have written.
    #[error("the store's content for `{key}` is damaged: {reason}")]
    Damaged {
        /// Which key.
        key: String,
        /// What is wrong.
        reason: String,
    },
}

/// A write that was not acknowledged. The four outcomes of DESIGN §4 are `Ok` (won), `Lost`, `Conflict`, `Unknown`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PutError {
    /// 412: the condition did not hold.
    #[error("the condition of the write did not hold")]
    Lost,
    /// 409: proves nothing; read again.
    #[error("a concurrent write was under way: read again")]
    Conflict,
    /// Time-out, 5xx, connection lost: it may or may not have happened.
    #[error("it is not known whether the write happened: {reason}")]
    Unknown {
        /// What was seen.
        reason: String,
    },
    /// It did not happen and won't: too large, no bucket, disk full, no permission.
    #[error("the store refused the write: {reason}")]
    Refused {
        /// Why.
        reason: String,
    },
}

/// The store.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Creates a bucket with versioning where the store has it; does nothing if it exists.
    async fn create_bucket(&self, bucket: &BucketName) -> Result<(), StoreError>;
    /// Reads an object.
    async fn get(&self, bucket: &BucketName, key: &Key) -> Result<Option<Stored>, StoreError>;
    /// Reads part of an object; the end is cut to the object's size. A range that holds no byte of it, also an empty one,
    /// is [`StoreError::BadRange`].
    async fn get_range(&self, bucket: &BucketName, key: &Key, range: Range<u64>) -> Result<Option<Stored>, StoreError>;
    /// Asks about an object.
    async fn head(&self, bucket: &BucketName, key: &Key) -> Result<Option<ObjectInfo>, StoreError>;
    /// Writes an object under a condition. No retries inside.
    async fn put(&self, bucket: &BucketName, key: &Key, bytes: Bytes, condition: Condition) -> Result<ETag, PutError>;
    /// Deletes an object; a missing one is fine.
    async fn delete(&self, bucket: &BucketName, key: &Key) -> Result<(), StoreError>;
    /// Lists keys with a prefix, after a key, at most `limit` (≤ 1000).
    async fn list(
        &self,
        bucket: &BucketName,
        prefix: &str,
        after: Option<&Key>,
        limit: u32,
    ) -> Result<ListPage, StoreError>;
    /// The versions of a key, newest first, at most `limit` (≤ 1000): the current one is the first, unless the key was
    /// deleted. Each has its `version`. Old ones expire by age, never before [`VERSION_DAYS_MIN`], unless their key has more
    /// of them, or larger ones, than the store's own named limits allow; then the oldest go first.
    async fn versions(&self, bucket: &BucketName, key: &Key, limit: u32) -> Result<Vec<ObjectInfo>, StoreError>;
    /// Reads one version, also of a deleted key. None when there is no such version, or no longer.
    async fn get_version(&self, bucket: &BucketName, key: &Key, version: &str) -> Result<Option<Stored>, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_parts_stay_in_their_place() {
        assert_eq!(encode_part("RE-1001"), "RE-1001");
        assert_eq!(encode_part("a/b"), "a%2Fb");
        assert_eq!(encode_part(".."), "%2E%2E");
        assert_eq!(encode_part("v1.2"), "v1.2");
        assert_eq!(encode_part("Müller & Söhne"), "M%C3%BCller%20%26%20S%C3%B6hne");
        assert_eq!(encode_part("tblAddresses:10000"), "tblAddresses%3A10000");
        assert_eq!(encode_part(""), "%");
        assert_ne!(encode_part("%"), "%");
    }

    #[test]
    fn keys_that_could_leave_their_place_are_refused() {
        for bad in ["", "/a", "a//b", "a/../b", "./a", "a/"] {
            assert!(Key::new(bad).is_err(), "{bad}");
        }
        assert!(Key::new("a".repeat(1025)).is_err());
        assert!(Key::new("workflow/docs/m1/x/y.json").is_ok());
    }
}
