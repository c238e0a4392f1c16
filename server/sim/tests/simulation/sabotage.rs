//! Planted bugs: what an engine with a mistake would do, put between the engine and its ports.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use ports::vocab::{FieldName, ObjectNumber};
use ports::workflow::Instance;
use ports::workflow::instance::EffectKind;
use ports::{
    BucketName, Condition, ETag, ErpError, ErpMutation, ErpRead, ErpSet, ErpTarget, ErpWrite, ErpWritten, Key,
    ListPage, ObjectInfo, PutError, Store, StoreError, Stored,
};
use sim::world::{ErpTable, World};

use crate::support;

/// One bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sabotage {
    /// A lost conditional write counts as won.
    Ignore412,
    /// The ERP is written before the commit that allows it.
    EffectBeforeCommit,
    /// A log entry does not name the one before it.
    ForgetTheChain,
    /// The ERP is written whatever came in between.
    SkipTheLsn,
    /// The lock is written without a condition.
    NoLock,
    /// A start whose outcome is unknown is undone.
    UndoTheStart,
    /// A run is begun without its active key.
    SkipTheActiveKey,
    /// An ERP write is believed without looking at its answer.
    BelieveTheErp,
}

impl Sabotage {
    pub(crate) const ALL: [Self; 8] = [
        Self::Ignore412,
        Self::EffectBeforeCommit,
        Self::ForgetTheChain,
        Self::SkipTheLsn,
        Self::NoLock,
        Self::UndoTheStart,
        Self::SkipTheActiveKey,
        Self::BelieveTheErp,
    ];

    /// Plants it.
    pub(crate) fn plant(self, world: &mut World) {
        let erp = Arc::clone(&world.erp);
        world.erp_write = Arc::new(BadErp { bug: self, erp: Arc::clone(&erp) });
        world.wrap_store = Arc::new(move |inner| Arc::new(BadStore { bug: self, inner, erp: Arc::clone(&erp) }));
    }
}

fn target(number: &str) -> ErpTarget {
    ErpTarget {
        tenant: support::tenant(),
        table: "tblTransactions".to_owned(),
        key: FieldName::new("fldBelegNr"),
        number: ObjectNumber::new(number),
    }
}

struct BadErp {
    bug: Sabotage,
    erp: Arc<ErpTable>,
}

#[async_trait]
impl ErpWrite for BadErp {
    async fn write(&self, mutation: &ErpMutation) -> Result<ErpWritten, ErpError> {
        if self.bug == Sabotage::SkipTheLsn {
            let lsn = self.erp.read(&mutation.target, &Vec::new()).await?.lsn;
            return self.erp.write(&ErpMutation { lsn, ..mutation.clone() }).await;
        }
        match self.erp.write(mutation).await {
            Err(ErpError::NotConfirmed { evidence, .. }) if self.bug == Sabotage::BelieveTheErp => {
                Ok(ErpWritten { evidence: *evidence })
            }
            answer => answer,
        }
    }
}

struct BadStore {
    bug: Sabotage,
    inner: Arc<dyn Store>,
    erp: Arc<ErpTable>,
}

impl BadStore {
    async fn write_erp_now(&self, bytes: &Bytes) {
        let Ok(instance) = serde_json::from_slice::<Instance>(bytes) else { return };
        for effect in instance.effects.iter().filter(|effect| effect.key.revision == instance.revision) {
            let set = match &effect.kind {
                EffectKind::ErpStart => ErpSet::Start,
                EffectKind::ErpChanges { .. } => continue,
                EffectKind::ErpEnd { outcome } => ErpSet::End(*outcome),
            };
            let target = target(instance.start.object_number.as_str());
            let Ok(object) = self.erp.read(&target, &Vec::new()).await else { continue };
            let (id, key) = (&instance.start.instance_id, effect.key);
            let idempotency_key = format!("{id}-{}-{}", key.revision, key.index);
            let _ = self.erp.write(&ErpMutation { target, lsn: object.lsn, set, idempotency_key }).await;
        }
    }

    fn unchain(bytes: &Bytes) -> Bytes {
        let Ok(mut value) = serde_json::from_slice::<serde_json::Value>(bytes) else { return bytes.clone() };
        if let Some(last) = value["history"].as_array_mut().and_then(|entries| entries.last_mut()) {
            last["prev"] = "0".repeat(64).into();
        }
        serde_json::to_vec(&value).map_or_else(|_| bytes.clone(), Bytes::from)
    }

    async fn undo(&self, bucket: &BucketName, bytes: &Bytes) {
        let Ok(instance) = serde_json::from_slice::<Instance>(bytes) else { return };
        let start = &instance.start;
        let keys = [
            format!("workflow/active/{}/{}", start.workflow_id, start.instance_id),
            format!("workflow/locks/{}.json", start.object_number),
        ];
        for key in keys {
            let _ = self.inner.delete(bucket, &Key::new(key).unwrap()).await;
        }
    }
}

#[async_trait]
impl Store for BadStore {
    async fn create_bucket(&self, bucket: &BucketName) -> Result<(), StoreError> {
        self.inner.create_bucket(bucket).await
    }

    async fn get(&self, bucket: &BucketName, key: &Key) -> Result<Option<Stored>, StoreError> {
        self.inner.get(bucket, key).await
    }

    async fn get_range(&self, bucket: &BucketName, key: &Key, range: Range<u64>) -> Result<Option<Stored>, StoreError> {
        self.inner.get_range(bucket, key, range).await
    }

    async fn head(&self, bucket: &BucketName, key: &Key) -> Result<Option<ObjectInfo>, StoreError> {
        self.inner.head(bucket, key).await
    }

    async fn put(&self, bucket: &BucketName, key: &Key, bytes: Bytes, condition: Condition) -> Result<ETag, PutError> {
        let is_run = key.as_str().starts_with("workflow/docs/");
        let creates = condition == Condition::IfAbsent;
        match self.bug {
            Sabotage::Ignore412 => match self.inner.put(bucket, key, bytes, condition).await {
                Err(PutError::Lost) => match self.inner.head(bucket, key).await {
                    Ok(Some(info)) => Ok(info.etag),
                    Ok(None) | Err(_) => Err(PutError::Lost),
                },
                answer => answer,
            },
            Sabotage::EffectBeforeCommit if is_run => {
                self.write_erp_now(&bytes).await;
                self.inner.put(bucket, key, bytes, condition).await
            }
            Sabotage::ForgetTheChain if is_run && !creates => {
                self.inner.put(bucket, key, Self::unchain(&bytes), condition).await
            }
            Sabotage::NoLock if key.as_str().starts_with("workflow/locks/") => {
                self.inner.put(bucket, key, bytes, Condition::None).await
            }
            Sabotage::UndoTheStart if is_run && creates => {
                let answer = self.inner.put(bucket, key, bytes.clone(), condition).await;
                if matches!(answer, Err(PutError::Unknown { .. })) {
                    self.undo(bucket, &bytes).await;
                    return Err(PutError::Refused { reason: "undone".to_owned() });
                }
                answer
            }
            Sabotage::SkipTheActiveKey if key.as_str().starts_with("workflow/active/") => {
                Ok(ETag("not written".to_owned()))
            }
            Sabotage::EffectBeforeCommit
            | Sabotage::ForgetTheChain
            | Sabotage::SkipTheLsn
            | Sabotage::NoLock
            | Sabotage::UndoTheStart
            | Sabotage::SkipTheActiveKey
            | Sabotage::BelieveTheErp => self.inner.put(bucket, key, bytes, condition).await,
        }
    }

    async fn delete(&self, bucket: &BucketName, key: &Key) -> Result<(), StoreError> {
        self.inner.delete(bucket, key).await
    }

    async fn list(
        &self,
        bucket: &BucketName,
        prefix: &str,
        after: Option<&Key>,
        limit: u32,
    ) -> Result<ListPage, StoreError> {
        self.inner.list(bucket, prefix, after, limit).await
    }

    async fn versions(&self, bucket: &BucketName, key: &Key, limit: u32) -> Result<Vec<ObjectInfo>, StoreError> {
        self.inner.versions(bucket, key, limit).await
    }

    async fn get_version(&self, bucket: &BucketName, key: &Key, version: &str) -> Result<Option<Stored>, StoreError> {
        self.inner.get_version(bucket, key, version).await
    }
}
