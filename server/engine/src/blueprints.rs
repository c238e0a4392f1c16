//! Blueprints: immutable versions and the catalog where publishing takes effect (DESIGN §4).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use chrono::{DateTime, Utc};
use ports::{BucketName, Condition, ETag, Key};
use serde::{Deserialize, Serialize};
use workflow::Blueprint;
use workflow::format::DOCUMENT_SCHEMA;
use workflow::vocab::{TenantKey, TriggerGuid, WorkflowId};

use crate::commit::{Written, conditional_write};
use crate::documents::to_bytes;
use crate::limits::STEP_TRIES_MAX;
use crate::{EngineError, Orchestrator, keys};

/// `workflow/blueprints/catalog.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Catalog {
    /// Format version.
    pub schema: u32,
    /// Random per write.
    pub commit_id: String,
    /// Newest version of each blueprint.
    pub workflows: BTreeMap<WorkflowId, CatalogEntry>,
}

/// One blueprint in the catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CatalogEntry {
    /// Newest version.
    pub version: u32,
    /// Trigger definition it answers to.
    #[serde(rename = "triggerGUID")]
    pub guid: TriggerGuid,
    /// Name the ERP's poll field gives.
    pub poll_name: Option<String>,
    /// Whether new runs may start.
    pub active: bool,
    /// Since when.
    pub published_at: DateTime<Utc>,
    /// By whom.
    pub published_by: String,
    /// Why.
    pub note: Option<String>,
}

/// Parsed versions; they never change, so they are never dropped.
#[derive(Debug, Default)]
pub(crate) struct BlueprintCache {
    versions: Mutex<BTreeMap<(TenantKey, WorkflowId, u32), Arc<Blueprint>>>,
}

impl BlueprintCache {
    fn get(&self, key: &(TenantKey, WorkflowId, u32)) -> Option<Arc<Blueprint>> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    fn put(&self, key: (TenantKey, WorkflowId, u32), blueprint: &Arc<Blueprint>) {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(blueprint));
    }
}

impl Orchestrator {
    /// The catalog with its tag; empty where nothing was published.
    pub(crate) async fn catalog(&self, bucket: &BucketName) -> Result<(Catalog, Option<ETag>), EngineError> {
        let found = self.read_sound::<Catalog>(bucket, &keys::catalog()?).await?;
        Ok(match found {
            Some((catalog, etag)) => (catalog, Some(etag)),
            None => (Catalog { schema: DOCUMENT_SCHEMA, commit_id: String::new(), workflows: BTreeMap::new() }, None),
        })
    }

    /// The pinned version of a blueprint.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when no such version was published, [`EngineError::Damaged`] when it no longer parses.
    pub async fn blueprint(
        &self,
        tenant: &TenantKey,
        workflow: &WorkflowId,
        version: u32,
    ) -> Result<Arc<Blueprint>, EngineError> {
        let cached = (tenant.clone(), workflow.clone(), version);
        if let Some(blueprint) = self.blueprints.get(&cached) {
            return Ok(blueprint);
        }
        let bucket = self.bucket(tenant).await?;
        let key = keys::blueprint(workflow, version)?;
        let Some(stored) = self.store().get(&bucket, &key).await? else {
            return Err(EngineError::NotFound { what: "blueprint version", id: format!("{workflow} {version}") });
        };
        let blueprint = match parse_version(&key, workflow, &stored.bytes) {
            Ok(blueprint) => Arc::new(blueprint),
            Err(EngineError::Damaged { reason, .. }) => {
                let parse = |bytes: &[u8]| parse_version(&key, workflow, bytes);
                Arc::new(self.restore_bytes(&bucket, &key, &stored, &reason, &parse).await?)
            }
            Err(error) => return Err(error),
        };
        self.blueprints.put(cached, &blueprint);
        Ok(blueprint)
    }

    /// Publishes a blueprint as the newest version; an unchanged text makes no new version. Answers with the version.
    ///
    /// # Errors
    /// [`EngineError::Blueprint`] for a text with problems or a GUID that another blueprint of this tenant has.
    pub async fn publish(
        &self,
        tenant: &TenantKey,
        yaml: &str,
        author: &str,
        note: Option<&str>,
    ) -> Result<u32, EngineError> {
        let refused = |reason: String| EngineError::Blueprint { reason };
        let blueprint = workflow::blueprint::parse(yaml).map_err(|problems| refused(problems.to_string()))?;
        let bucket = self.bucket(tenant).await?;
        for _ in 0..STEP_TRIES_MAX {
            let (mut catalog, etag) = self.catalog(&bucket).await?;
            let guid = &blueprint.trigger.guid;
            if let Some((other, _)) = catalog.workflows.iter().find(|(id, e)| **id != blueprint.id && e.guid == *guid) {
                return Err(refused(format!("the trigger GUID {guid} already belongs to blueprint `{other}`")));
            }
            let newest = catalog.workflows.get(&blueprint.id).map_or(0, |entry| entry.version);
            if newest > 0 && self.same_text(&bucket, &blueprint.id, newest, yaml).await? {
                return Ok(newest);
            }
            let Some(version) = self.write_version(&bucket, &blueprint.id, newest + 1, yaml).await? else { continue };
            catalog.commit_id = self.ids().random_id();
            let entry = CatalogEntry {
                version,
                guid: guid.clone(),
                poll_name: blueprint.trigger.poll_name.clone(),
                active: true,
                published_at: self.now(),
                published_by: author.to_owned(),
                note: note.map(str::to_owned),
            };
            catalog.workflows.insert(blueprint.id.clone(), entry);
            let key = keys::catalog()?;
            let bytes = to_bytes(&key, &catalog)?;
            let condition = etag.map_or(Condition::IfAbsent, Condition::IfMatch);
            match conditional_write(self.store(), &bucket, &key, bytes, condition, &catalog.commit_id).await? {
                Written::Won(_) => return Ok(version),
                Written::Lost => {}
            }
        }
        Err(EngineError::TooBusy { key: keys::catalog()?.to_string(), tries: STEP_TRIES_MAX })
    }

    async fn same_text(
        &self,
        bucket: &BucketName,
        workflow: &WorkflowId,
        version: u32,
        yaml: &str,
    ) -> Result<bool, EngineError> {
        let stored = self.store().get(bucket, &keys::blueprint(workflow, version)?).await?;
        Ok(stored.is_some_and(|stored| stored.bytes == yaml.as_bytes()))
    }

    /// Writes a version under the first free number from `from`; none when the catalog must be read again.
    async fn write_version(
        &self,
        bucket: &BucketName,
        workflow: &WorkflowId,
        from: u32,
        yaml: &str,
    ) -> Result<Option<u32>, EngineError> {
        for version in from..from.saturating_add(STEP_TRIES_MAX) {
            let key = keys::blueprint(workflow, version)?;
            let bytes = Bytes::copy_from_slice(yaml.as_bytes());
            // A version file without a catalog entry is left over from a publisher that died: the same text may use it.
            match conditional_write(self.store(), bucket, &key, bytes, Condition::IfAbsent, yaml).await? {
                Written::Won(_) => return Ok(Some(version)),
                Written::Lost if self.same_text(bucket, workflow, version, yaml).await? => return Ok(Some(version)),
                Written::Lost => {}
            }
        }
        Ok(None)
    }
}

/// The blueprint of a version file; it must be the one that its key names.
fn parse_version(key: &Key, workflow: &WorkflowId, bytes: &[u8]) -> Result<Blueprint, EngineError> {
    let damaged = |reason: String| EngineError::Damaged { key: key.to_string(), reason };
    let text = std::str::from_utf8(bytes).map_err(|error| damaged(error.to_string()))?;
    let blueprint = workflow::blueprint::parse(text).map_err(|problems| damaged(problems.to_string()))?;
    if blueprint.id == *workflow { Ok(blueprint) } else { Err(damaged(format!("it holds blueprint {}", blueprint.id))) }
}
