//! A store that fails as stores do: before, after, too late, too slowly (DESIGN §4 "Commit protocol", §12).
//!
//! Invariant: what an answer claims is true of the store behind. Only "unknown" answers hide something, and then either
//! truth can be behind them. Equal seeds, scripts and calls give equal faults.
//! Never: real waiting. Slow calls sleep on tokio's clock, which a test can stop.

mod plan;

use std::future::Future;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use ports::{BucketName, Condition, ETag, Key, ListPage, ObjectInfo, PutError, Store, StoreError, Stored};
use tokio::sync::Notify;

use super::Op;
pub(crate) use plan::Plan;
pub use plan::{Fault, FaultRates, Fired, LATE_CALLS_MAX, When};

/// A write that is still under way although its caller has given up.
struct Late {
    due: u64,
    bucket: BucketName,
    key: Key,
    what: LateWrite,
}

enum LateWrite {
    Put(Bytes, Condition),
    Delete,
}

struct State {
    plan: Plan,
    late: Vec<Late>,
}

/// A store that fails on purpose.
pub struct FaultStore<S: ?Sized> {
    state: Mutex<State>,
    hung: Notify,
    inner: Arc<S>,
}

impl<S: Store + ?Sized> FaultStore<S> {
    /// A store before `inner` that fails at these rates, drawn from the seed.
    pub fn new(inner: Arc<S>, seed: u64, rates: FaultRates) -> Self {
        let state = State { plan: Plan::new(seed, rates), late: Vec::new() };
        Self { state: Mutex::new(state), hung: Notify::new(), inner }
    }

    /// A store that fails only where a script says so.
    pub fn scripted(inner: Arc<S>, script: impl IntoIterator<Item = (When, Fault)>) -> Self {
        let store = Self::new(inner, 0, FaultRates::NONE);
        store.lock().plan.script.extend(script);
        store
    }

    /// The store behind, which doesn't fail.
    pub fn inner(&self) -> &Arc<S> {
        &self.inner
    }

    /// Adds a fault for a call from now on. A script goes before the rates; of several entries for one call the first
    /// added counts, and all of them have seen it.
    pub fn on(&self, when: When, fault: Fault) {
        self.lock().plan.script.push((when, fault));
    }

    /// Changes the rates.
    pub fn set_rates(&self, rates: FaultRates) {
        self.lock().plan.rates = rates;
    }

    /// No faults from now on; writes under way land now.
    pub async fn heal(&self) {
        self.lock().plan.heal();
        self.settle().await;
    }

    /// Lands every write that is still under way, in the order they were sent.
    pub async fn settle(&self) {
        let late = std::mem::take(&mut self.lock().late);
        for write in late {
            self.land(write).await;
        }
    }

    /// Writes still under way.
    pub fn pending(&self) -> usize {
        self.lock().late.len()
    }

    /// Calls so far.
    pub fn calls(&self) -> u64 {
        self.lock().plan.calls
    }

    /// The faults so far, for a test's message and for comparing two runs.
    pub fn fired(&self) -> Vec<Fired> {
        self.lock().plan.fired.clone()
    }

    /// Script entries that no call has met yet: a test whose fault never happened proves nothing.
    pub fn unmet(&self) -> Vec<(When, Fault)> {
        self.lock().plan.script.clone()
    }

    /// Waits until a call hangs ([`Fault::HangBefore`], [`Fault::HangAfter`]): then the test drops the node.
    pub async fn hung(&self) {
        self.hung.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a call: lands what is due, and tells what shall happen to it.
    async fn enter(&self, op: Op, key: &str) -> Option<Fault> {
        let (fault, due) = {
            let mut state = self.lock();
            let fault = state.plan.next(op, key);
            let call = state.plan.calls;
            let due: Vec<Late> = state.late.extract_if(.., |write| write.due <= call).collect();
            (fault, due)
        };
        for write in due {
            self.land(write).await;
        }
        fault
    }

    /// A late write reaches the store; what it answers nobody hears.
    async fn land(&self, write: Late) {
        let Late { bucket, key, what, .. } = write;
        match what {
            LateWrite::Put(bytes, condition) => {
                let answer = self.inner.put(&bucket, &key, bytes, condition).await;
                tracing::debug!(%key, ?answer, "a late write has landed");
            }
            LateWrite::Delete => {
                let answer = self.inner.delete(&bucket, &key).await;
                tracing::debug!(%key, ?answer, "a late delete has landed");
            }
        }
    }

    fn delay(&self, calls: u32, bucket: &BucketName, key: &Key, what: LateWrite) {
        let mut state = self.lock();
        let due = state.plan.calls + u64::from(calls.max(1));
        state.late.push(Late { due, bucket: bucket.clone(), key: key.clone(), what });
    }

    async fn hang<T>(&self) -> T {
        self.hung.notify_one();
        std::future::pending().await
    }

    /// A call that can only be unavailable: reads, deletes, buckets. `late` is what a late fault sends later; a read has
    /// nothing to land, its answer is just lost.
    async fn call<T>(
        &self,
        op: Op,
        key: &str,
        call: impl Future<Output = Result<T, StoreError>> + Send,
        late: impl FnOnce(u32) + Send,
    ) -> Result<T, StoreError> {
        let unavailable = |reason: &str| Err(StoreError::Unavailable { reason: reason.to_owned() });
        match self.enter(op, key).await {
            None => call.await,
            Some(Fault::Before) => unavailable("injected: the connection broke before the call"),
            Some(Fault::Busy | Fault::Conflict) => unavailable("injected: 503, slow down"),
            Some(Fault::AnswerLost | Fault::ConflictAfter) => {
                // The truth of the inner answer is what nobody learns.
                let _lost = call.await;
                unavailable("injected: the answer got lost")
            }
            Some(Fault::Late { calls }) => {
                late(calls);
                unavailable("injected: time-out, the call is still under way")
            }
            Some(Fault::SlowBefore(pause)) => {
                tokio::time::sleep(pause).await;
                call.await
            }
            Some(Fault::SlowAfter(pause)) => {
                let answer = call.await;
                tokio::time::sleep(pause).await;
                answer
            }
            Some(Fault::HangBefore) => self.hang().await,
            Some(Fault::HangAfter) => {
                let _lost = call.await;
                self.hang().await
            }
        }
    }

    async fn read<T>(
        &self,
        op: Op,
        key: &str,
        call: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.call(op, key, call, |_| ()).await
    }
}

fn unknown<T>(reason: &str) -> Result<T, PutError> {
    Err(PutError::Unknown { reason: reason.to_owned() })
}

#[async_trait]
impl<S: Store + ?Sized> Store for FaultStore<S> {
    async fn create_bucket(&self, bucket: &BucketName) -> Result<(), StoreError> {
        self.read(Op::CreateBucket, "", self.inner.create_bucket(bucket)).await
    }

    async fn get(&self, bucket: &BucketName, key: &Key) -> Result<Option<Stored>, StoreError> {
        self.read(Op::Get, key.as_str(), self.inner.get(bucket, key)).await
    }

    async fn get_range(&self, bucket: &BucketName, key: &Key, range: Range<u64>) -> Result<Option<Stored>, StoreError> {
        self.read(Op::GetRange, key.as_str(), self.inner.get_range(bucket, key, range)).await
    }

    async fn head(&self, bucket: &BucketName, key: &Key) -> Result<Option<ObjectInfo>, StoreError> {
        self.read(Op::Head, key.as_str(), self.inner.head(bucket, key)).await
    }

    async fn put(&self, bucket: &BucketName, key: &Key, bytes: Bytes, condition: Condition) -> Result<ETag, PutError> {
        let fault = self.enter(Op::Put, key.as_str()).await;
        let put = |bytes, condition| self.inner.put(bucket, key, bytes, condition);
        match fault {
            None => put(bytes, condition).await,
            Some(Fault::Before) => unknown("injected: the connection broke before the write"),
            Some(Fault::Busy) => unknown("injected: 503, slow down"),
            Some(Fault::Conflict) => Err(PutError::Conflict),
            Some(Fault::ConflictAfter) => {
                let _lost = put(bytes, condition).await;
                Err(PutError::Conflict)
            }
            Some(Fault::AnswerLost) => {
                let _lost = put(bytes, condition).await;
                unknown("injected: the answer got lost")
            }
            Some(Fault::Late { calls }) => {
                self.delay(calls, bucket, key, LateWrite::Put(bytes, condition));
                unknown("injected: time-out, the write is still under way")
            }
            Some(Fault::SlowBefore(pause)) => {
                tokio::time::sleep(pause).await;
                put(bytes, condition).await
            }
            Some(Fault::SlowAfter(pause)) => {
                let answer = put(bytes, condition).await;
                tokio::time::sleep(pause).await;
                answer
            }
            Some(Fault::HangBefore) => self.hang().await,
            Some(Fault::HangAfter) => {
                let _lost = put(bytes, condition).await;
                self.hang().await
            }
        }
    }

    async fn delete(&self, bucket: &BucketName, key: &Key) -> Result<(), StoreError> {
        let late = |calls| self.delay(calls, bucket, key, LateWrite::Delete);
        self.call(Op::Delete, key.as_str(), self.inner.delete(bucket, key), late).await
    }

    async fn list(
        &self,
        bucket: &BucketName,
        prefix: &str,
        after: Option<&Key>,
        limit: u32,
    ) -> Result<ListPage, StoreError> {
        self.read(Op::List, prefix, self.inner.list(bucket, prefix, after, limit)).await
    }

    async fn versions(&self, bucket: &BucketName, key: &Key, limit: u32) -> Result<Vec<ObjectInfo>, StoreError> {
        self.read(Op::Versions, key.as_str(), self.inner.versions(bucket, key, limit)).await
    }

    async fn get_version(&self, bucket: &BucketName, key: &Key, version: &str) -> Result<Option<Stored>, StoreError> {
        self.read(Op::GetVersion, key.as_str(), self.inner.get_version(bucket, key, version)).await
    }
}
