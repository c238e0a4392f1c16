//! After a start: what is unfinished is found again (DESIGN §4 rule 6, §5 "Timers").
//!
//! Invariant: an active key without instance is a start to finish, never a key to delete; an active key of a final run is
//! tidied up.

use std::sync::{Mutex, PoisonError};

use chrono::{Datelike, TimeZone, Utc};
use futures_util::{StreamExt, stream};
use ports::{Key, StoreError};
use workflow::vocab::TenantKey;

use crate::documents::{ActiveDoc, DoneSummary};
use crate::index::{DoneRow, TaskRowData};
use crate::limits::{DONE_ROWS_MAX, LIST_PAGE, REBUILD_READS};
use crate::lock::HeldLock;
use crate::repair::Depth;
use crate::start::instance_ref;
use crate::{EngineError, InstanceRef, Orchestrator, keys};

impl Orchestrator {
    /// Rebuilds the index of every tenant and takes up what was left. One tenant's trouble does not stop the others;
    /// answers with the tenants that could not be read.
    pub async fn recover(&self) -> Vec<(TenantKey, EngineError)> {
        let mut failed = Vec::new();
        for tenant in self.tenants() {
            if let Err(error) = self.recover_tenant(&tenant).await {
                tracing::error!(%tenant, %error, "tenant could not be read; tried again later");
                failed.push((tenant, error));
            }
        }
        failed
    }

    /// Rebuilds one tenant.
    ///
    /// # Errors
    /// [`EngineError`] of the store; damaged single documents are logged and left out.
    pub async fn recover_tenant(&self, tenant: &TenantKey) -> Result<(), EngineError> {
        let runs = self.take_up_unknown(tenant).await;
        self.recover_done(tenant).await?;
        let runs = runs?;
        tracing::info!(%tenant, runs, "index rebuilt");
        Ok(())
    }

    /// Takes up what other nodes left behind: runs that this node does not know of, starts that were never finished,
    /// active keys of runs that are over.
    pub(crate) async fn relist(&self) {
        for tenant in self.tenants() {
            if let Err(error) = self.take_up_unknown(&tenant).await {
                tracing::error!(%tenant, %error, "active runs could not be listed again; tried again later");
            }
        }
    }

    /// Lists the active keys and takes up those whose run this node does not know as unfinished; answers with how many
    /// keys there are. A damaged run is only logged; for what may pass (store or ERP not available) there is an error
    /// once the others are done, so that the caller tries again.
    async fn take_up_unknown(&self, tenant: &TenantKey) -> Result<usize, EngineError> {
        let mut keys = self.list_all(tenant, keys::ACTIVE_PREFIX).await?;
        let runs = keys.len();
        keys.retain(|key| {
            let at = keys::active_parts(key).map(|(workflow_id, instance_id)| InstanceRef {
                tenant: tenant.clone(),
                workflow_id,
                instance_id,
            });
            at.is_none_or(|at| self.index.row(&at).is_none())
        });
        let passing = Mutex::new(None);
        let passing_ref = &passing;
        stream::iter(keys)
            .for_each_concurrent(REBUILD_READS, |key| async move {
                if let Err(error) = self.recover_run(tenant, &key).await {
                    tracing::error!(%tenant, %key, %error, "run could not be taken up");
                    if may_pass(&error) {
                        *passing_ref.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    }
                }
            })
            .await;
        passing.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(runs), Err)
    }

    async fn recover_run(&self, tenant: &TenantKey, key: &Key) -> Result<(), EngineError> {
        let Some((workflow_id, instance_id)) = keys::active_parts(key) else {
            return Err(EngineError::Damaged { key: key.to_string(), reason: "not an active key".to_owned() });
        };
        let at = InstanceRef { tenant: tenant.clone(), workflow_id, instance_id };
        let loaded = match self.load_sound(&at, Depth::Versions).await? {
            Some(loaded) => loaded,
            None => {
                self.finish_lost_start(&at, key).await?;
                self.load_known(&at).await?
            }
        };
        if loaded.instance.is_final() {
            if let Some(done) = DoneSummary::of(&loaded.instance) {
                self.index.finish(DoneRow { at: at.clone(), done });
            }
            return self.tidy_up(&at, &loaded.instance).await;
        }
        self.index.put(TaskRowData::of(&at, &loaded.blueprint, &loaded.instance));
        self.kick(Self::as_committed(&at, loaded));
        Ok(())
    }

    /// An active key without instance: its lock holds the whole start.
    async fn finish_lost_start(&self, at: &InstanceRef, key: &Key) -> Result<(), EngineError> {
        let bucket = self.bucket(&at.tenant).await?;
        let Some((active, _)) = self.read_sound::<ActiveDoc>(&bucket, key).await? else {
            return Err(EngineError::NotFound { what: "active key", id: key.to_string() });
        };
        let lock = keys::lock(&active.object_table, &active.object_number)?;
        match self.read_lock(&bucket, &lock).await? {
            Some((doc, etag)) if doc.start.instance_id == at.instance_id => {
                self.resume_start(&HeldLock { doc, etag: Some(etag) }).await
            }
            Some((held, _)) => Err(EngineError::Damaged {
                key: key.to_string(),
                reason: format!("its lock stands for run {}", held.start.instance_id),
            }),
            None => Err(EngineError::NotFound { what: "lock", id: lock.to_string() }),
        }
    }

    /// Finished runs of this month and the last one, for the list "Erledigt".
    async fn recover_done(&self, tenant: &TenantKey) -> Result<(), EngineError> {
        let bucket = self.bucket(tenant).await?;
        let now = self.now();
        let first = Utc.with_ymd_and_hms(now.year(), now.month(), 1, 0, 0, 0).single().unwrap_or(now);
        for month in [now, first - chrono::TimeDelta::days(1)] {
            let mut keys = self.list_all(tenant, &keys::done_prefix(month)).await?;
            // UUIDv7: the last keys are the newest runs.
            let skip = keys.len().saturating_sub(DONE_ROWS_MAX);
            let keys = keys.split_off(skip);
            stream::iter(keys)
                .for_each_concurrent(REBUILD_READS, |key| {
                    let bucket = bucket.clone();
                    async move {
                        match self.read_done(tenant, &bucket, &key).await {
                            Ok(Some(done)) if done.start.tenant_key() == *tenant => {
                                self.index.finish(DoneRow { at: instance_ref(&done.start), done });
                            }
                            Ok(_) => tracing::error!(%tenant, %key, "summary names another tenant"),
                            Err(error) => tracing::error!(%tenant, %key, %error, "summary can't be read"),
                        }
                    }
                })
                .await;
        }
        Ok(())
    }

    pub(crate) async fn list_all(&self, tenant: &TenantKey, prefix: &str) -> Result<Vec<Key>, EngineError> {
        let bucket = self.bucket(tenant).await?;
        let mut keys: Vec<Key> = Vec::new();
        loop {
            let page = self.store().list(&bucket, prefix, keys.last(), LIST_PAGE).await?;
            let stop = !page.more || page.keys.is_empty();
            keys.extend(page.keys);
            if stop {
                return Ok(keys);
            }
        }
    }
}

/// Whether trying again later may help.
fn may_pass(error: &EngineError) -> bool {
    match error {
        EngineError::Store(StoreError::Unavailable { .. })
        | EngineError::WriteRefused { .. }
        | EngineError::OutcomeUnknown { .. }
        | EngineError::TooBusy { .. } => true,
        EngineError::Erp(error) => error.is_transient(),
        EngineError::Refused(_)
        | EngineError::NotFound { .. }
        | EngineError::UnknownTenant { .. }
        | EngineError::ForeignBucket { .. }
        | EngineError::Store(_)
        | EngineError::BucketName(_)
        | EngineError::Key(_)
        | EngineError::Damaged { .. }
        | EngineError::NewerFormat { .. }
        | EngineError::Blueprint { .. } => false,
    }
}
