//! The execution log as people read it (`getExecutionLog`, spec 001 §§4, 8.3).

use serde::{Deserialize, Serialize};
use vocab::{InstanceStatus, Person, TriggerSource};

use crate::Moment;

/// One run's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogView {
    /// Opaque instance id, as used in URLs.
    pub instance_id: String,
    /// The plain instance id, as printed.
    pub instance: String,
    /// Workflow id.
    pub workflow_id: String,
    /// Workflow name.
    pub workflow_name: String,
    /// Blueprint version the run is pinned to.
    pub version: u32,
    /// Kunde.
    pub customer: String,
    /// Mandant.
    pub tenant: String,
    /// Trigger definition.
    pub trigger_guid: String,
    /// Belegnummer.
    pub object_number: String,
    /// What started the run.
    pub source: TriggerSource,
    /// Start.
    pub started_at: Moment,
    /// End, once final.
    pub ended_at: Option<Moment>,
    /// Status now.
    pub status: InstanceStatus,
    /// Oldest first.
    pub entries: Vec<LogEntryView>,
    /// Whether every entry's hash and link was recomputed and is right.
    pub chain_intact: bool,
    /// Effects not confirmed yet, with their last error.
    pub pending: Vec<LogFact>,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntryView {
    /// Sequence number, from 1.
    pub seq: u64,
    /// When.
    pub at: Moment,
    /// Who; none means the system.
    pub actor: Option<Person>,
    /// Step id, where it belongs to one.
    pub step: Option<String>,
    /// The step's title, where it has one.
    pub step_title: Option<String>,
    /// Kind, a key of the message files: `started`, `condition`, `task-opened`, `claimed`, `unclaimed`, `approved`,
    /// `rejected`, `feedback`, `erp-written`, `erp-failed`, `ended`, …
    pub kind: String,
    /// The comment or feedback text.
    pub comment: Option<String>,
    /// What was shown, compared, changed, sent or answered.
    pub facts: Vec<LogFact>,
    /// SHA-256 of this entry, hex.
    pub hash: String,
}

/// A labelled value in a log entry. `kind` is a key of the message files: `shown`, `changed`, `compared`, `condition`,
/// `next`, `mutation`, `answer`, `attempt`, `error`, `receipt`, `note`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogFact {
    /// What sort of fact.
    pub kind: String,
    /// The field's label, the expression, the file's name.
    pub label: String,
    /// The value before, for changes.
    pub old: Option<String>,
    /// The value.
    pub value: String,
}
