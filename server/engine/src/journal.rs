//! The journal of refused and ignored triggers (DESIGN §4 `workflow/triggers/…`): "where is my invoice?".

use chrono::{DateTime, Utc};
use ports::{BucketName, Condition};
use serde::{Deserialize, Serialize};
use workflow::format::DOCUMENT_SCHEMA;
use workflow::log::ConditionResult;
use workflow::vocab::TriggerSource;

use crate::commit::conditional_write;
use crate::documents::to_bytes;
use crate::start::TriggerRequest;
use crate::{EngineError, Orchestrator, keys};

/// One refused or ignored trigger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JournalDoc {
    schema: u32,
    id: String,
    at: DateTime<Utc>,
    #[serde(flatten)]
    request: TriggerRequest,
    source: TriggerSource,
    /// `ignored` or `refused`.
    outcome: String,
    reason: String,
    filter: Option<ConditionResult>,
}

/// Proof that a trigger's refusal is in the journal; only with it may the ERP be told.
#[derive(Debug)]
pub(crate) struct Journaled {
    pub(crate) id: String,
}

impl Orchestrator {
    /// Writes an entry; its PUT is the commit.
    pub(crate) async fn journal(
        &self,
        bucket: &BucketName,
        request: &TriggerRequest,
        source: TriggerSource,
        outcome: &str,
        reason: &str,
        filter: Option<ConditionResult>,
    ) -> Result<Journaled, EngineError> {
        let at = self.now();
        let id = self.ids().random_id();
        let doc = JournalDoc {
            schema: DOCUMENT_SCHEMA,
            id: id.clone(),
            at,
            request: request.clone(),
            source,
            outcome: outcome.to_owned(),
            reason: reason.to_owned(),
            filter,
        };
        let key = keys::journal(at, &id)?;
        conditional_write(self.store(), bucket, &key, to_bytes(&key, &doc)?, Condition::IfAbsent, &id).await?;
        Ok(Journaled { id })
    }
}
