//! Stored documents besides the instance, and how documents are read and written.

use bytes::Bytes;
use chrono::{DateTime, Utc};
use ports::{BucketName, ETag, Key, Store};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use workflow::Instance;
use workflow::format::{self, DOCUMENT_SCHEMA, Format, FormatError, to_sealed};
use workflow::instance::{INSTANCE_FORMAT, ObjectValues, StartFacts};
use workflow::vocab::{Decision, InstanceStatus, ObjectNumber, Person, StepId};

use crate::limits::DOCUMENT_BYTES_MAX;
use crate::{EngineError, keys};

/// Reads a JSON document with its tag.
pub(crate) async fn read_json<T: DeserializeOwned>(
    store: &dyn Store,
    bucket: &BucketName,
    key: &Key,
) -> Result<Option<(T, ETag)>, EngineError> {
    let Some(stored) = store.get(bucket, key).await? else { return Ok(None) };
    Ok(Some((decode(key, &stored.bytes)?, stored.info.etag)))
}

/// What lies under which prefix. All kinds are at [`DOCUMENT_SCHEMA`] today; whoever changes one gives it its own number
/// and migration here, and golden files of both schemas in `formats_tests.rs`.
const FORMATS: [(&str, Format); 7] = [
    (keys::ACTIVE_PREFIX, document("active key")),
    ("workflow/blueprints/", document("catalog")),
    ("workflow/docs/", INSTANCE_FORMAT),
    ("workflow/done/", document("summary of a finished run")),
    ("workflow/locks/", document("lock")),
    ("workflow/tenant.json", document("tenant document")),
    ("workflow/triggers/", document("journal entry")),
];
/// Everything else.
const OTHER: Format = document("document");

const fn document(name: &'static str) -> Format {
    Format { name, schema: DOCUMENT_SCHEMA, migrations: &[to_sealed] }
}

/// The format of what lies under a key.
pub(crate) fn format_of(key: &Key) -> &'static Format {
    FORMATS.iter().find(|(prefix, _)| key.as_str().starts_with(prefix)).map_or(&OTHER, |(_, format)| format)
}

/// Reads a document of any known schema from its bytes.
pub(crate) fn decode<T: DeserializeOwned>(key: &Key, bytes: &[u8]) -> Result<T, EngineError> {
    let damaged = |reason: String| EngineError::Damaged { key: key.to_string(), reason };
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > DOCUMENT_BYTES_MAX {
        return Err(damaged(format!("it has {} bytes, at most {DOCUMENT_BYTES_MAX} are read", bytes.len())));
    }
    let members = format::open(format_of(key), bytes).map_err(|error| format_error(key, error))?;
    serde_json::from_value(Value::Object(members)).map_err(|error| damaged(error.to_string()))
}

/// The document's bytes: with the schema of its kind, and sealed.
pub(crate) fn to_bytes<T: Serialize>(key: &Key, document: &T) -> Result<Bytes, EngineError> {
    let damaged = |reason: String| EngineError::Damaged { key: key.to_string(), reason };
    match serde_json::to_value(document).map_err(|error| damaged(error.to_string()))? {
        Value::Object(members) => {
            format::close(format_of(key), members).map(Bytes::from).map_err(|error| format_error(key, error))
        }
        other => Err(damaged(format!("not written: {other} is no JSON object"))),
    }
}

fn format_error(key: &Key, error: FormatError) -> EngineError {
    match error {
        FormatError::Damaged { reason } => EngineError::Damaged { key: key.to_string(), reason },
        newer @ FormatError::Newer { .. } => EngineError::NewerFormat { key: key.to_string(), source: newer },
    }
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
            schema: DOCUMENT_SCHEMA,
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
            schema: DOCUMENT_SCHEMA,
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

#[cfg(test)]
#[path = "formats_tests.rs"]
mod tests;
