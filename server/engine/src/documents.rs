//! Stored documents besides the instance, and how documents are read and written.

use bytes::Bytes;
use chrono::{DateTime, Utc};
use ports::{BucketName, ETag, Key, Store};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use workflow::Instance;
use workflow::instance::{ObjectValues, StartFacts};
use workflow::vocab::{Decision, InstanceStatus, ObjectNumber, Person, StepId};

use crate::EngineError;
use crate::limits::DOCUMENT_BYTES_MAX;

/// Reads a JSON document with its tag.
pub(crate) async fn read_json<T: DeserializeOwned>(
    store: &dyn Store,
    bucket: &BucketName,
    key: &Key,
) -> Result<Option<(T, ETag)>, EngineError> {
    let Some(stored) = store.get(bucket, key).await? else { return Ok(None) };
    let damaged = |reason: String| EngineError::Damaged { key: key.to_string(), reason };
    if stored.info.size > DOCUMENT_BYTES_MAX {
        return Err(damaged(format!("{} bytes, at most {DOCUMENT_BYTES_MAX} are read", stored.info.size)));
    }
    let document = serde_json::from_slice(&stored.bytes).map_err(|error| damaged(error.to_string()))?;
    Ok(Some((document, stored.info.etag)))
}

/// The document's bytes.
pub(crate) fn to_bytes<T: Serialize>(key: &Key, document: &T) -> Result<Bytes, EngineError> {
    serde_json::to_vec(document)
        .map(Bytes::from)
        .map_err(|error| EngineError::Damaged { key: key.to_string(), reason: error.to_string() })
}

/// The body of `workflow/active/…`: facts that never change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ActiveDoc {
    pub(crate) schema: u32,
    pub(crate) object_table: String,
    pub(crate) object_number: ObjectNumber,
    pub(crate) accepted_at: DateTime<Utc>,
}

impl ActiveDoc {
    pub(crate) fn of(facts: &StartFacts) -> Self {
        Self {
            schema: 1,
            object_table: facts.object_table.clone(),
            object_number: facts.object_number.clone(),
            accepted_at: facts.accepted_at,
        }
    }
}

/// `workflow/done/…`: what a finished run was, so that it can be found without reading every document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DoneSummary {
    /// Format version.
    pub schema: u32,
    /// The start.
    #[serde(flatten)]
    pub start: StartFacts,
    /// Blueprint's name.
    pub workflow_name: String,
    /// Object type.
    pub object_type: String,
    /// How it ended.
    pub status: InstanceStatus,
    /// When it began.
    pub started_at: DateTime<Utc>,
    /// When it ended.
    pub ended_at: DateTime<Utc>,
    /// Summary fields.
    pub summary: ObjectValues,
    /// Who decided what.
    pub decisions: Vec<DecisionSummary>,
    /// Last revision.
    pub revision: u64,
}

/// One decision of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DecisionSummary {
    /// Step.
    pub step: StepId,
    /// Its visit.
    pub visit: u64,
    /// Who.
    pub by: Person,
    /// What.
    pub decision: Decision,
    /// When.
    pub at: DateTime<Utc>,
}

/// The decisions of a run.
pub(crate) fn decisions(instance: &Instance) -> Vec<DecisionSummary> {
    instance
        .taken_decisions()
        .into_iter()
        .map(|taken| DecisionSummary {
            step: taken.step,
            visit: taken.visit,
            by: taken.by,
            decision: taken.decision,
            at: taken.at,
        })
        .collect()
}

impl DoneSummary {
    /// The summary of a final run; none while it is not final.
    pub(crate) fn of(instance: &Instance) -> Option<Self> {
        Some(Self {
            schema: 1,
            start: instance.start.clone(),
            workflow_name: instance.workflow_name.clone(),
            object_type: instance.object_type.clone(),
            status: instance.status,
            started_at: instance.started_at,
            ended_at: instance.ended_at?,
            summary: instance.summary.clone(),
            decisions: decisions(instance),
            revision: instance.revision,
        })
    }
}
