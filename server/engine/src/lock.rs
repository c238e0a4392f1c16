//! The lock of one object: `lock:workflow:{customerID}:{tenantID}:{objectNumber}` (spec 001 §3.4, DESIGN §4).
//!
//! Invariant: a lock is only ever overwritten under the tag that was read; it holds the whole start it stands for; once
//! released, or once its instance exists, it is the pointer to the object's latest run. A TTL gives liveness, never
//! safety.

use chrono::{DateTime, Utc};
use ports::{BucketName, Condition, ETag, Key};
use serde::{Deserialize, Serialize};
use workflow::format::DOCUMENT_SCHEMA;
use workflow::instance::StartFacts;

use crate::commit::{Written, conditional_write};
use crate::documents::to_bytes;
use crate::limits::LOCK_TTL;
use crate::{EngineError, Orchestrator};

/// The stored lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LockDoc {
    pub(crate) schema: u32,
    /// Node that holds it.
    pub(crate) owner: String,
    /// Random per write.
    pub(crate) token: String,
    /// Whether the start is still under way.
    pub(crate) phase: LockPhase,
    /// When it may be taken over without waiting.
    pub(crate) expires_at: DateTime<Utc>,
    /// The start it stands for.
    pub(crate) start: StartFacts,
}

/// What a lock is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LockPhase {
    /// A start is under way.
    Starting,
    /// Released: points to the object's latest run.
    Pointer,
}

/// A lock that was taken by this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeldLock {
    pub(crate) doc: LockDoc,
    pub(crate) etag: Option<ETag>,
}

impl Orchestrator {
    pub(crate) async fn read_lock(
        &self,
        bucket: &BucketName,
        key: &Key,
    ) -> Result<Option<(LockDoc, ETag)>, EngineError> {
        self.read_lock_sound(bucket, key).await
    }

    /// Writes the lock for this start; none when somebody else was faster.
    pub(crate) async fn take_lock(
        &self,
        bucket: &BucketName,
        key: &Key,
        start: &StartFacts,
        condition: Condition,
    ) -> Result<Option<HeldLock>, EngineError> {
        let doc = LockDoc {
            schema: DOCUMENT_SCHEMA,
            owner: self.node().to_owned(),
            token: self.ids().random_id(),
            phase: LockPhase::Starting,
            expires_at: self.now() + LOCK_TTL,
            start: start.clone(),
        };
        let bytes = to_bytes(key, &doc)?;
        let written = conditional_write(self.store(), bucket, key, bytes, condition, &doc.token).await?;
        // Won or lost, the lock exists now, and locks are never deleted.
        self.remember_lock(bucket, key);
        match written {
            Written::Won(etag) => Ok(Some(HeldLock { doc, etag })),
            Written::Lost => Ok(None),
        }
    }

    /// Turns a lock into the pointer to its run; losing is fine: whoever won knows at least as much.
    pub(crate) async fn release_lock(
        &self,
        bucket: &BucketName,
        key: &Key,
        held: &HeldLock,
    ) -> Result<(), EngineError> {
        let etag = match &held.etag {
            Some(etag) => etag.clone(),
            // The write was found to be ours only by reading back: its tag, while it is still ours.
            None => match self.read_lock(bucket, key).await? {
                Some((doc, etag)) if doc.token == held.doc.token => etag,
                Some(_) | None => return Ok(()),
            },
        };
        let doc = LockDoc { phase: LockPhase::Pointer, token: self.ids().random_id(), ..held.doc.clone() };
        let bytes = to_bytes(key, &doc)?;
        conditional_write(self.store(), bucket, key, bytes, Condition::IfMatch(etag), &doc.token).await?;
        Ok(())
    }
}
