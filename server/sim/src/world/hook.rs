//! A hook before and after every outside call of a node: where a test pauses, crashes, fails or delays it.
//!
//! Invariant: what the hook lets pass is the inner port's own call, once. A late write is under way outside the node: it
//! lands though its node is gone.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use ports::{
    BucketName, Condition, ETag, ErpError, ErpFields, ErpMutation, ErpObject, ErpRead, ErpSet, ErpTarget, ErpWrite,
    ErpWritten, Key, ListPage, ObjectInfo, PutError, Store, StoreError, Stored,
};

/// One outside call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Whose.
    pub node: Arc<str>,
    /// What, e.g. `put workflow/locks/RE1.json` or `erp write RE1 start`.
    pub what: String,
}

/// Which side of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Nothing happened yet.
    Before,
    /// It happened; the node does not know yet.
    After,
}

/// What becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on.
    Go,
    /// Before: it does not happen. After: its answer gets lost. The node sees a time-out either way.
    Fail,
    /// The node sees a time-out; a write happens that much later. Only before a write; else as [`Self::Fail`].
    Late(Duration),
}

/// Decides.
#[async_trait]
pub trait Hook: Send + Sync + 'static {
    /// What becomes of this call. May take its time; a node that is never answered stands still.
    async fn at(&self, call: &Call, moment: Moment) -> Verdict;
}

/// Lets everything pass.
#[derive(Debug, Clone, Copy)]
pub struct NoHook;

#[async_trait]
impl Hook for NoHook {
    async fn at(&self, _: &Call, _: Moment) -> Verdict {
        Verdict::Go
    }
}

/// One node's store.
#[derive(Clone)]
pub struct HookedStore {
    /// The store.
    pub inner: Arc<dyn Store>,
    /// The hook.
    pub hook: Arc<dyn Hook>,
    /// The node.
    pub node: Arc<str>,
}

const TIME_OUT: &str = "simulated time-out";

fn unavailable() -> StoreError {
    StoreError::Unavailable { reason: TIME_OUT.to_owned() }
}

fn unknown() -> PutError {
    PutError::Unknown { reason: TIME_OUT.to_owned() }
}

impl HookedStore {
    async fn read<T>(
        &self,
        what: String,
        work: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let call = Call { node: Arc::clone(&self.node), what };
        match self.hook.at(&call, Moment::Before).await {
            Verdict::Go => {}
            Verdict::Fail | Verdict::Late(_) => return Err(unavailable()),
        }
        let answer = work.await;
        match self.hook.at(&call, Moment::After).await {
            Verdict::Go => answer,
            Verdict::Fail | Verdict::Late(_) => Err(unavailable()),
        }
    }
}

#[async_trait]
impl Store for HookedStore {
    async fn create_bucket(&self, bucket: &BucketName) -> Result<(), StoreError> {
        self.read("create bucket".to_owned(), self.inner.create_bucket(bucket)).await
    }

    async fn get(&self, bucket: &BucketName, key: &Key) -> Result<Option<Stored>, StoreError> {
        self.read(format!("get {key}"), self.inner.get(bucket, key)).await
    }

    async fn get_range(&self, bucket: &BucketName, key: &Key, range: Range<u64>) -> Result<Option<Stored>, StoreError> {
        self.read(format!("get range {key}"), self.inner.get_range(bucket, key, range)).await
    }

    async fn head(&self, bucket: &BucketName, key: &Key) -> Result<Option<ObjectInfo>, StoreError> {
        self.read(format!("head {key}"), self.inner.head(bucket, key)).await
    }

    async fn put(&self, bucket: &BucketName, key: &Key, bytes: Bytes, condition: Condition) -> Result<ETag, PutError> {
        let call = Call { node: Arc::clone(&self.node), what: format!("put {key}") };
        match self.hook.at(&call, Moment::Before).await {
            Verdict::Go => {}
            Verdict::Fail => return Err(unknown()),
            Verdict::Late(delay) => {
                let (inner, bucket, key) = (Arc::clone(&self.inner), bucket.clone(), key.clone());
                tokio::spawn(async move {
                    tokio::time::sleep(delay).await;
                    let landed = inner.put(&bucket, &key, bytes, condition).await;
                    tracing::debug!(%key, ?landed, "late write");
                });
                return Err(unknown());
            }
        }
        let answer = self.inner.put(bucket, key, bytes, condition).await;
        match self.hook.at(&call, Moment::After).await {
            Verdict::Go => answer,
            Verdict::Fail | Verdict::Late(_) => Err(unknown()),
        }
    }

    async fn delete(&self, bucket: &BucketName, key: &Key) -> Result<(), StoreError> {
        self.read(format!("delete {key}"), self.inner.delete(bucket, key)).await
    }

    async fn list(
        &self,
        bucket: &BucketName,
        prefix: &str,
        after: Option<&Key>,
        limit: u32,
    ) -> Result<ListPage, StoreError> {
        self.read(format!("list {prefix}"), self.inner.list(bucket, prefix, after, limit)).await
    }

    async fn versions(&self, bucket: &BucketName, key: &Key, limit: u32) -> Result<Vec<ObjectInfo>, StoreError> {
        self.read(format!("versions {key}"), self.inner.versions(bucket, key, limit)).await
    }

    async fn get_version(&self, bucket: &BucketName, key: &Key, version: &str) -> Result<Option<Stored>, StoreError> {
        self.read(format!("get version {key}"), self.inner.get_version(bucket, key, version)).await
    }
}

/// One node's ERP.
#[derive(Clone)]
pub struct HookedErp {
    /// Reading.
    pub read: Arc<dyn ErpRead>,
    /// Writing.
    pub write: Arc<dyn ErpWrite>,
    /// The hook.
    pub hook: Arc<dyn Hook>,
    /// The node.
    pub node: Arc<str>,
}

fn no_erp(target: &ErpTarget) -> ErpError {
    ErpError::Unavailable { tenant: target.tenant.to_string(), reason: TIME_OUT.to_owned() }
}

#[async_trait]
impl ErpRead for HookedErp {
    async fn read(&self, target: &ErpTarget, fields: &ErpFields) -> Result<ErpObject, ErpError> {
        let call = Call { node: Arc::clone(&self.node), what: format!("erp read {}", target.number) };
        if self.hook.at(&call, Moment::Before).await != Verdict::Go {
            return Err(no_erp(target));
        }
        let answer = self.read.read(target, fields).await;
        if self.hook.at(&call, Moment::After).await != Verdict::Go {
            return Err(no_erp(target));
        }
        answer
    }
}

#[async_trait]
impl ErpWrite for HookedErp {
    async fn write(&self, mutation: &ErpMutation) -> Result<ErpWritten, ErpError> {
        let set = match &mutation.set {
            ErpSet::Start => "start",
            ErpSet::Fields(_) => "fields",
            ErpSet::End(_) => "end",
        };
        let call = Call { node: Arc::clone(&self.node), what: format!("erp write {} {set}", mutation.target.number) };
        match self.hook.at(&call, Moment::Before).await {
            Verdict::Go => {}
            Verdict::Fail => return Err(no_erp(&mutation.target)),
            Verdict::Late(delay) => {
                let (inner, mutation) = (Arc::clone(&self.write), mutation.clone());
                let error = no_erp(&mutation.target);
                tokio::spawn(async move {
                    tokio::time::sleep(delay).await;
                    let landed = inner.write(&mutation).await;
                    tracing::debug!(?landed, "late ERP write");
                });
                return Err(error);
            }
        }
        let answer = self.write.write(mutation).await;
        match self.hook.at(&call, Moment::After).await {
            Verdict::Go => answer,
            Verdict::Fail | Verdict::Late(_) => Err(no_erp(&mutation.target)),
        }
    }
}
