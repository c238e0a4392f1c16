//! Damaged documents besides the instance: lock, catalog, active key, summary, blueprint version (DESIGN §4 "Versioning
//! and repair").
//!
//! Invariant: the damaged bytes are kept first; the newest version that parses and fits its key is put in their place
//! under the damaged document's tag; documents that are ever overwritten get a fresh mark, so that no tag recurs.
//! Never: restores a lock that would let a second run of an object start beside an unfinished one.

use bytes::Bytes;
use chrono::DateTime;
use futures_util::future::try_join_all;
use ports::{BucketName, Condition, ETag, Key, ObjectInfo, Stored};
use serde::Serialize;
use serde::de::DeserializeOwned;
use workflow::format::DOCUMENT_SCHEMA;
use workflow::instance::StartFacts;
use workflow::vocab::TenantKey;

use crate::blueprints::Catalog;
use crate::commit::conditional_write;
use crate::documents::{ActiveDoc, DoneSummary, decode, to_bytes};
use crate::limits::{REBUILD_READS, REPAIR_TRIES_MAX};
use crate::lock::{LockDoc, LockPhase};
use crate::repair::sha256;
use crate::start::instance_ref;
use crate::{EngineError, InstanceRef, Orchestrator, keys};

/// A document that may be restored from an older version.
pub(crate) trait Restorable: Serialize + DeserializeOwned + Send + Sync {
    /// Whether it belongs where it lies.
    fn check(&self, key: &Key) -> Result<(), String>;
    /// Makes a new write of it; what never changes is written as it was.
    fn renew(&mut self, mark: String);
}

impl Restorable for LockDoc {
    fn check(&self, key: &Key) -> Result<(), String> {
        match keys::lock(&self.start.object_table, &self.start.object_number) {
            Ok(own) if own == *key => Ok(()),
            Ok(own) => Err(format!("it is the lock `{own}`")),
            Err(error) => Err(error.to_string()),
        }
    }

    fn renew(&mut self, mark: String) {
        self.token = mark;
    }
}

impl Restorable for Catalog {
    fn check(&self, _key: &Key) -> Result<(), String> {
        match self.workflows.iter().find(|(_, entry)| entry.version == 0) {
            Some((id, _)) => Err(format!("it lists version 0 of blueprint {id}; versions count from 1")),
            None => Ok(()),
        }
    }

    fn renew(&mut self, mark: String) {
        self.commit_id = mark;
    }
}

impl Restorable for ActiveDoc {
    fn check(&self, _key: &Key) -> Result<(), String> {
        Ok(())
    }

    fn renew(&mut self, _mark: String) {}
}

impl Restorable for DoneSummary {
    fn check(&self, key: &Key) -> Result<(), String> {
        match keys::done(self.ended_at, &self.start.instance_id) {
            Ok(own) if own == *key => Ok(()),
            Ok(own) => Err(format!("it is the summary `{own}`")),
            Err(error) => Err(error.to_string()),
        }
    }

    fn renew(&mut self, _mark: String) {}
}

/// A document from its bytes, if it belongs where it lies.
fn fitting<T: Restorable>(key: &Key, bytes: &[u8]) -> Result<T, EngineError> {
    let document: T = decode(key, bytes)?;
    document.check(key).map_err(|reason| EngineError::Damaged { key: key.to_string(), reason })?;
    Ok(document)
}

impl Orchestrator {
    /// Reads a document; a damaged one is replaced by its newest good version first.
    ///
    /// # Errors
    /// [`EngineError::Damaged`] when no good version is left, [`EngineError::NewerFormat`] for a newer program's.
    pub(crate) async fn read_sound<T: Restorable>(
        &self,
        bucket: &BucketName,
        key: &Key,
    ) -> Result<Option<(T, ETag)>, EngineError> {
        for _ in 0..REPAIR_TRIES_MAX {
            let Some(stored) = self.store().get(bucket, key).await? else { return Ok(None) };
            let reason = match fitting::<T>(key, &stored.bytes) {
                Ok(document) => return Ok(Some((document, stored.info.etag))),
                Err(EngineError::Damaged { reason, .. }) => reason,
                Err(error) => return Err(error),
            };
            let good = |bytes: &[u8]| fitting::<T>(key, bytes);
            let Some((mut document, _)) = self.newest_version(bucket, key, &good).await? else {
                return Err(self.lost(bucket, key, &stored, &reason).await?);
            };
            document.renew(self.ids().random_id());
            self.replace(bucket, key, &stored, &reason, to_bytes(key, &document)?).await?;
        }
        Err(EngineError::TooBusy { key: key.to_string(), tries: REPAIR_TRIES_MAX })
    }

    /// The same for what is no JSON: the newest version that `good` accepts, byte for byte.
    pub(crate) async fn restore_bytes<T: Send>(
        &self,
        bucket: &BucketName,
        key: &Key,
        damaged: &Stored,
        reason: &str,
        good: &(dyn Fn(&[u8]) -> Result<T, EngineError> + Sync),
    ) -> Result<T, EngineError> {
        let Some((document, bytes)) = self.newest_version(bucket, key, good).await? else {
            return Err(self.lost(bucket, key, damaged, reason).await?);
        };
        self.replace(bucket, key, damaged, reason, bytes).await?;
        Ok(document)
    }

    /// Reads the lock of an object. Where it is damaged, what it stands for is found out from the object's unfinished run
    /// first: an old pointer must not hide it.
    pub(crate) async fn read_lock_sound(
        &self,
        bucket: &BucketName,
        key: &Key,
    ) -> Result<Option<(LockDoc, ETag)>, EngineError> {
        for _ in 0..REPAIR_TRIES_MAX {
            let Some(stored) = self.store().get(bucket, key).await? else { return Ok(None) };
            let reason = match fitting::<LockDoc>(key, &stored.bytes) {
                Ok(lock) => return Ok(Some((lock, stored.info.etag))),
                Err(EngineError::Damaged { reason, .. }) => reason,
                Err(error) => return Err(error),
            };
            let Some(lock) = self.lock_meant(bucket, key).await? else {
                return Err(self.lost(bucket, key, &stored, &reason).await?);
            };
            self.replace(bucket, key, &stored, &reason, to_bytes(key, &lock)?).await?;
        }
        Err(EngineError::TooBusy { key: key.to_string(), tries: REPAIR_TRIES_MAX })
    }

    /// What a damaged lock stood for.
    async fn lock_meant(&self, bucket: &BucketName, key: &Key) -> Result<Option<LockDoc>, EngineError> {
        let mut versions: Vec<LockDoc> = Vec::new();
        for info in self.versions_of(bucket, key).await? {
            let Some(bytes) = self.version_bytes(bucket, key, &info).await? else { continue };
            match fitting::<LockDoc>(key, &bytes) {
                Ok(lock) => versions.push(LockDoc { token: self.ids().random_id(), ..lock }),
                Err(EngineError::Damaged { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let Some(at) = self.unfinished_run(bucket, key).await? else {
            return Ok(versions.into_iter().next());
        };
        if let Some(lock) = versions.into_iter().find(|lock| instance_ref(&lock.start) == at) {
            return Ok(Some(lock));
        }
        // No version of the lock names it: its own document does. Without one nobody knows what was started.
        Ok(self.load(&at).await?.map(|run| self.pointer_to(run.instance.start)))
    }

    fn pointer_to(&self, start: StartFacts) -> LockDoc {
        LockDoc {
            schema: DOCUMENT_SCHEMA,
            owner: self.node().to_owned(),
            token: self.ids().random_id(),
            phase: LockPhase::Pointer,
            expires_at: DateTime::UNIX_EPOCH,
            start,
        }
    }

    /// The unfinished run of the object whose lock this is, or the start of one, by the active keys' bodies.
    async fn unfinished_run(&self, bucket: &BucketName, lock: &Key) -> Result<Option<InstanceRef>, EngineError> {
        let Some(tenant) = self.owner(bucket).await else { return Ok(None) };
        let keys = self.list_all(&tenant, keys::ACTIVE_PREFIX).await?;
        let mut newest: Option<InstanceRef> = None;
        for some in keys.chunks(REBUILD_READS) {
            let mut reads = Vec::with_capacity(some.len());
            for key in some {
                reads.push(self.read_sound::<ActiveDoc>(bucket, key));
            }
            for (key, body) in some.iter().zip(try_join_all(reads).await?) {
                let (Some((active, _)), Some((workflow_id, instance_id))) = (body, keys::active_parts(key)) else {
                    continue;
                };
                if keys::lock(&active.object_table, &active.object_number)? != *lock {
                    continue;
                }
                let at = InstanceRef { tenant: tenant.clone(), workflow_id, instance_id };
                let ended = self.load(&at).await?.is_some_and(|run| run.instance.is_final());
                // UUIDv7: the greater id is the later run.
                if !ended && newest.as_ref().is_none_or(|run| run.instance_id < at.instance_id) {
                    newest = Some(at);
                }
            }
        }
        Ok(newest)
    }

    async fn owner(&self, bucket: &BucketName) -> Option<TenantKey> {
        for tenant in self.tenants() {
            if self.bucket(&tenant).await.is_ok_and(|own| own == *bucket) {
                return Some(tenant);
            }
        }
        None
    }

    /// Reads the summary of a finished run; a damaged one is restored from a version of it or from the run itself.
    pub(crate) async fn read_done(
        &self,
        tenant: &TenantKey,
        bucket: &BucketName,
        key: &Key,
    ) -> Result<Option<DoneSummary>, EngineError> {
        let error = match self.read_sound::<DoneSummary>(bucket, key).await {
            Ok(found) => return Ok(found.map(|(done, _)| done)),
            Err(error @ EngineError::Damaged { .. }) => error,
            Err(error) => return Err(error),
        };
        let name = key.as_str().rsplit('/').next().unwrap_or_default();
        let docs = format!("workflow/docs/{}/", ports::encode_part(tenant.tenant.as_str()));
        let documents = self.list_all(tenant, &docs).await?;
        let Some(at) = documents
            .iter()
            .filter_map(|key| keys::instance_parts(key, tenant))
            .find(|at| name.strip_suffix(".json").is_some_and(|id| id == ports::encode_part(at.instance_id.as_str())))
        else {
            return Err(error);
        };
        let Some(done) = self.load(&at).await?.and_then(|run| DoneSummary::of(&run.instance)) else {
            return Err(error);
        };
        let Some(stored) = self.store().get(bucket, key).await? else { return Ok(None) };
        done.check(key).map_err(|reason| EngineError::Damaged { key: key.to_string(), reason })?;
        self.replace(bucket, key, &stored, "rebuilt from its run", to_bytes(key, &done)?).await?;
        Ok(Some(done))
    }

    /// The newest version that `good` accepts, with its bytes.
    async fn newest_version<T: Send>(
        &self,
        bucket: &BucketName,
        key: &Key,
        good: &(dyn Fn(&[u8]) -> Result<T, EngineError> + Sync),
    ) -> Result<Option<(T, Bytes)>, EngineError> {
        let versions: Vec<ObjectInfo> = self.versions_of(bucket, key).await?;
        for info in &versions {
            let Some(bytes) = self.version_bytes(bucket, key, info).await? else { continue };
            match good(&bytes) {
                Ok(document) => return Ok(Some((document, bytes))),
                Err(EngineError::Damaged { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Puts a good content in a damaged one's place, if that is still there; the damaged bytes are kept.
    async fn replace(
        &self,
        bucket: &BucketName,
        key: &Key,
        damaged: &Stored,
        reason: &str,
        good: Bytes,
    ) -> Result<(), EngineError> {
        let kept = keys::damaged_document(key, &sha256(&damaged.bytes))?;
        self.keep(bucket, &kept, &damaged.bytes).await?;
        let condition = Condition::IfMatch(damaged.info.etag.clone());
        // Whoever was faster restored it too, or wrote something newer: the caller reads again.
        let written = conditional_write(self.store(), bucket, key, good, condition, "").await?;
        tracing::error!(%key, %reason, set_aside = %kept, ?written, "damaged document set aside, newest good one restored");
        Ok(())
    }

    /// The error for a document of which no good version is left; its bytes are kept.
    async fn lost(
        &self,
        bucket: &BucketName,
        key: &Key,
        damaged: &Stored,
        reason: &str,
    ) -> Result<EngineError, EngineError> {
        let kept = keys::damaged_document(key, &sha256(&damaged.bytes))?;
        self.keep(bucket, &kept, &damaged.bytes).await?;
        let reason = format!("{reason}; no good version of it is left, its bytes are kept as `{kept}`");
        Ok(EngineError::Damaged { key: key.to_string(), reason })
    }
}
