//! A store that counts what it is asked: the request budget of DESIGN §4 is a test.
//!
//! Invariant: every call counts once, when it is made, whether or not it succeeds or is awaited to its end.
//! Never: changes a call or its answer.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use ports::{BucketName, Condition, ETag, Key, ListPage, ObjectInfo, PutError, Store, StoreError, Stored};

/// Calls whose keys are kept for messages; more are only counted.
pub const CALLS_KEPT_MAX: usize = 10_000;

/// A call of the port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    /// [`Store::create_bucket`].
    CreateBucket,
    /// [`Store::get`].
    Get,
    /// [`Store::get_range`].
    GetRange,
    /// [`Store::head`].
    Head,
    /// [`Store::put`].
    Put,
    /// [`Store::delete`].
    Delete,
    /// [`Store::list`].
    List,
    /// [`Store::versions`].
    Versions,
    /// [`Store::get_version`].
    GetVersion,
}

impl Op {
    /// Whether it counts as a read in the budget.
    pub fn is_read(self) -> bool {
        matches!(self, Self::Get | Self::GetRange | Self::Head | Self::List | Self::Versions | Self::GetVersion)
    }

    /// Whether it counts as a write in the budget. Creating a bucket, once in a tenant's life, counts as neither.
    pub fn is_write(self) -> bool {
        matches!(self, Self::Put | Self::Delete)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CreateBucket => "create bucket",
            Self::Get => "get",
            Self::GetRange => "get range",
            Self::Head => "head",
            Self::Put => "put",
            Self::Delete => "delete",
            Self::List => "list",
            Self::Versions => "versions",
            Self::GetVersion => "get version",
        })
    }
}

/// One call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Which.
    pub op: Op,
    /// The bucket's name.
    pub bucket: String,
    /// The key; of a listing the prefix; empty for a bucket's own call.
    pub key: String,
}

/// What was asked since the last reset. Its text lists the calls, for a message that says which one is too many.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    reads: usize,
    writes: usize,
    calls: Vec<Call>,
    /// Calls beyond [`CALLS_KEPT_MAX`], whose keys were not kept.
    unkept: usize,
}

impl Counts {
    /// Gets, ranges, heads, listings and versions.
    pub fn reads(&self) -> usize {
        self.reads
    }

    /// Puts and deletes.
    pub fn writes(&self) -> usize {
        self.writes
    }

    /// The calls in their order, at most the first [`CALLS_KEPT_MAX`].
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// Kept calls of one kind whose key starts with `prefix`.
    pub fn of(&self, op: Op, prefix: &str) -> usize {
        self.calls.iter().filter(|call| call.op == op && call.key.starts_with(prefix)).count()
    }

    fn add(&mut self, call: Call) {
        self.reads += usize::from(call.op.is_read());
        self.writes += usize::from(call.op.is_write());
        if self.calls.len() < CALLS_KEPT_MAX {
            self.calls.push(call);
        } else {
            self.unkept += 1;
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} reads, {} writes", self.reads, self.writes)?;
        for Call { op, bucket, key } in &self.calls {
            write!(f, "\n  {op} {bucket} {key}")?;
        }
        if self.unkept > 0 {
            write!(f, "\n  and {} more", self.unkept)?;
        }
        Ok(())
    }
}

/// A store that counts.
pub struct CountingStore<S: ?Sized> {
    counts: Mutex<Counts>,
    inner: Arc<S>,
}

impl<S: Store + ?Sized> CountingStore<S> {
    /// Counts what `inner` is asked through this store.
    pub fn new(inner: Arc<S>) -> Self {
        Self { counts: Mutex::new(Counts::default()), inner }
    }

    /// The store behind: what is asked there directly isn't counted.
    pub fn inner(&self) -> &Arc<S> {
        &self.inner
    }

    /// What was asked since the last reset.
    pub fn counts(&self) -> Counts {
        self.lock().clone()
    }

    /// Starts at zero again; what was asked so far.
    pub fn reset(&self) -> Counts {
        std::mem::take(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, op: Op, bucket: &BucketName, key: &str) {
        self.lock().add(Call { op, bucket: bucket.to_string(), key: key.to_owned() });
    }
}

#[async_trait]
impl<S: Store + ?Sized> Store for CountingStore<S> {
    async fn create_bucket(&self, bucket: &BucketName) -> Result<(), StoreError> {
        self.count(Op::CreateBucket, bucket, "");
        self.inner.create_bucket(bucket).await
    }

    async fn get(&self, bucket: &BucketName, key: &Key) -> Result<Option<Stored>, StoreError> {
        self.count(Op::Get, bucket, key.as_str());
        self.inner.get(bucket, key).await
    }

    async fn get_range(&self, bucket: &BucketName, key: &Key, range: Range<u64>) -> Result<Option<Stored>, StoreError> {
        self.count(Op::GetRange, bucket, key.as_str());
        self.inner.get_range(bucket, key, range).await
    }

    async fn head(&self, bucket: &BucketName, key: &Key) -> Result<Option<ObjectInfo>, StoreError> {
        self.count(Op::Head, bucket, key.as_str());
        self.inner.head(bucket, key).await
    }

    async fn put(&self, bucket: &BucketName, key: &Key, bytes: Bytes, condition: Condition) -> Result<ETag, PutError> {
        self.count(Op::Put, bucket, key.as_str());
        self.inner.put(bucket, key, bytes, condition).await
    }

    async fn delete(&self, bucket: &BucketName, key: &Key) -> Result<(), StoreError> {
        self.count(Op::Delete, bucket, key.as_str());
        self.inner.delete(bucket, key).await
    }

    async fn list(
        &self,
        bucket: &BucketName,
        prefix: &str,
        after: Option<&Key>,
        limit: u32,
    ) -> Result<ListPage, StoreError> {
        self.count(Op::List, bucket, prefix);
        self.inner.list(bucket, prefix, after, limit).await
    }

    async fn versions(&self, bucket: &BucketName, key: &Key, limit: u32) -> Result<Vec<ObjectInfo>, StoreError> {
        self.count(Op::Versions, bucket, key.as_str());
        self.inner.versions(bucket, key, limit).await
    }

    async fn get_version(&self, bucket: &BucketName, key: &Key, version: &str) -> Result<Option<Stored>, StoreError> {
        self.count(Op::GetVersion, bucket, key.as_str());
        self.inner.get_version(bucket, key, version).await
    }
}
