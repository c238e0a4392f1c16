//! The start-up test of a store: does it keep the promises that the commit protocol is built on (DESIGN §4)?
//!
//! Purpose: a server on a store that ignores conditions would lose approvals without a word; it must not run at all.
//! Invariant: only the [`Store`] trait is used; keys are the caller's alone; nothing is left behind but old versions.
//! Never: a retry of a check, and never a check that a healthy store can fail.

use bytes::Bytes;
use futures_util::future::join_all;

use crate::{BucketName, Condition, ETag, Key, KeyError, PutError, Store, StoreError, encode_part};

/// Writers that race for one key.
const RACERS: usize = 16;
/// Versions looked at.
const VERSIONS_MAX: u32 = 10;

/// Why a store can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelfTestError {
    /// The probe's name is no key.
    #[error(transparent)]
    Probe(#[from] KeyError),
    /// A read, list or delete failed.
    #[error("store self-test in bucket `{bucket}`: {source}; see that the store is up, then start again")]
    Read {
        /// In which bucket.
        bucket: String,
        /// What failed.
        source: StoreError,
    },
    /// A write failed that must succeed.
    #[error(
        "store self-test in bucket `{bucket}`: {step} failed: {source}; see that the store is up and writable, then start again"
    )]
    Write {
        /// In which bucket.
        bucket: String,
        /// Which.
        step: &'static str,
        /// How.
        source: PutError,
    },
    /// The store answered, and its answer breaks a guarantee.
    #[error("the store in bucket `{bucket}` is not safe to run on: {broken}")]
    Broken {
        /// In which bucket.
        bucket: String,
        /// Which guarantee.
        broken: Guarantee,
    },
}

/// What a store must guarantee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Guarantee {
    /// `If-None-Match: *` on an existing key is refused.
    #[error(
        "it overwrote an object that must only be created (If-None-Match is ignored, as by Ceph 16): use a newer server"
    )]
    CreateRefusesExisting,
    /// `If-Match` with another content's tag is refused.
    #[error("it overwrote an object over a stale etag (If-Match is ignored, as by Ceph 16): use a newer server")]
    UpdateRefusesStale,
    /// `If-Match` with the current tag, or the first creation, succeeds.
    #[error("it refused a write whose condition held (as Garage does): use a server with conditional writes")]
    ConditionThatHoldsWins,
    /// Of racing creators one wins.
    #[error(
        "{winners} of {RACERS} writers that created one key at the same time won, exactly one must: use a server whose conditional writes are atomic"
    )]
    OneWinner {
        /// How many won.
        winners: usize,
    },
    /// A read after a write sees it.
    #[error(
        "a read after an acknowledged write did not see it: use a strongly consistent server, without a cache in between"
    )]
    ReadAfterWrite,
    /// Overwritten contents can be listed and read.
    #[error("it keeps no old versions of an overwritten object: turn on the bucket's versioning")]
    Versions,
}

/// Tries the store's guarantees in a bucket that exists. `nonce` is random, so that two servers never share a probe.
///
/// # Errors
/// [`SelfTestError`] says which guarantee failed and what to do.
pub async fn self_test(store: &dyn Store, bucket: &BucketName, nonce: &str) -> Result<(), SelfTestError> {
    let nonce = encode_part(nonce);
    let probe = Probe {
        store,
        bucket,
        single: Key::new(format!("self-test/{nonce}/one"))?,
        raced: Key::new(format!("self-test/{nonce}/race"))?,
    };
    let result = probe.run().await;
    let cleaned = probe.clean_up().await;
    result.and(cleaned)
}

struct Probe<'p> {
    store: &'p dyn Store,
    bucket: &'p BucketName,
    single: Key,
    raced: Key,
}

impl Probe<'_> {
    async fn run(&self) -> Result<(), SelfTestError> {
        let first = self.wins("creating a probe", Bytes::from_static(b"first"), Condition::IfAbsent).await?;
        self.sees(b"first").await?;
        self.loses(Condition::IfAbsent, Guarantee::CreateRefusesExisting).await?;
        self.sees(b"first").await?;
        let matching = Condition::IfMatch(first.clone());
        self.wins("updating a probe", Bytes::from_static(b"second"), matching).await?;
        self.sees(b"second").await?;
        self.loses(Condition::IfMatch(first), Guarantee::UpdateRefusesStale).await?;
        self.sees(b"second").await?;
        self.versions().await?;
        self.race().await
    }

    fn broken(&self, broken: Guarantee) -> SelfTestError {
        SelfTestError::Broken { bucket: self.bucket.to_string(), broken }
    }

    fn read(&self, source: StoreError) -> SelfTestError {
        SelfTestError::Read { bucket: self.bucket.to_string(), source }
    }

    async fn wins(&self, step: &'static str, bytes: Bytes, condition: Condition) -> Result<ETag, SelfTestError> {
        match self.store.put(self.bucket, &self.single, bytes, condition).await {
            Ok(etag) => Ok(etag),
            Err(PutError::Lost) => Err(self.broken(Guarantee::ConditionThatHoldsWins)),
            Err(source) => Err(SelfTestError::Write { bucket: self.bucket.to_string(), step, source }),
        }
    }

    /// A write whose condition doesn't hold. A conflict is no proof that the condition works.
    async fn loses(&self, condition: Condition, guarantee: Guarantee) -> Result<(), SelfTestError> {
        match self.store.put(self.bucket, &self.single, Bytes::from_static(b"never"), condition).await {
            Err(PutError::Lost) => Ok(()),
            Ok(_) => Err(self.broken(guarantee)),
            Err(source) => {
                let step = "a write that must be refused by its condition";
                Err(SelfTestError::Write { bucket: self.bucket.to_string(), step, source })
            }
        }
    }

    async fn sees(&self, bytes: &'static [u8]) -> Result<(), SelfTestError> {
        let stored = self.store.get(self.bucket, &self.single).await.map_err(|e| self.read(e))?;
        if stored.is_some_and(|stored| stored.bytes == bytes) {
            return Ok(());
        }
        Err(self.broken(Guarantee::ReadAfterWrite))
    }

    async fn versions(&self) -> Result<(), SelfTestError> {
        let listed = self.store.versions(self.bucket, &self.single, VERSIONS_MAX).await.map_err(|e| self.read(e))?;
        let mut contents = Vec::new();
        for info in &listed {
            let Some(version) = &info.version else { return Err(self.broken(Guarantee::Versions)) };
            let stored = self.store.get_version(self.bucket, &self.single, version).await;
            contents.push(stored.map_err(|e| self.read(e))?.map(|stored| stored.bytes));
        }
        if contents == [Some(Bytes::from_static(b"second")), Some(Bytes::from_static(b"first"))] {
            return Ok(());
        }
        Err(self.broken(Guarantee::Versions))
    }

    async fn race(&self) -> Result<(), SelfTestError> {
        let racers = (0..RACERS).map(|racer| {
            let bytes = Bytes::from(format!("racer {racer}"));
            async move {
                let answer = self.store.put(self.bucket, &self.raced, bytes.clone(), Condition::IfAbsent).await;
                (answer, bytes)
            }
        });
        let mut winners = Vec::new();
        let mut conflict = false;
        for (answer, bytes) in join_all(racers).await {
            match answer {
                Ok(_) => winners.push(bytes),
                Err(PutError::Lost) => {}
                Err(PutError::Conflict) => conflict = true,
                Err(source @ (PutError::Unknown { .. } | PutError::Refused { .. })) => {
                    let step = "a race of writers";
                    return Err(SelfTestError::Write { bucket: self.bucket.to_string(), step, source });
                }
            }
        }
        if winners.is_empty() && conflict {
            // A conflict proves nothing: the racers may have stopped each other. One alone must win now.
            let bytes = Bytes::from_static(b"after the race");
            if self.store.put(self.bucket, &self.raced, bytes.clone(), Condition::IfAbsent).await.is_ok() {
                winners.push(bytes);
            }
        }
        let [winner] = winners.as_slice() else {
            return Err(self.broken(Guarantee::OneWinner { winners: winners.len() }));
        };
        let stored = self.store.get(self.bucket, &self.raced).await.map_err(|e| self.read(e))?;
        if stored.is_some_and(|stored| stored.bytes == *winner) {
            return Ok(());
        }
        Err(self.broken(Guarantee::ReadAfterWrite))
    }

    async fn clean_up(&self) -> Result<(), SelfTestError> {
        for key in [&self.single, &self.raced] {
            self.store.delete(self.bucket, key).await.map_err(|e| self.read(e))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
