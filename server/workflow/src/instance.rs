//! One run of one blueprint version for one object: the document that is stored (DESIGN §4, §5).
//!
//! Invariant: state, pending effects and the whole log are one value, so that they change together or not at all.
//! Field names that the spec gives keep those names in the document.

mod invariants;
mod queries;
mod stored;

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use vocab::{
    ClaimId, CustomerId, Decision, FieldName, FieldValue, InstanceId, InstanceStatus, ObjectNumber, OperationId,
    Person, StepId, TenantId, TenantKey, TriggerGuid, TriggerSource, WorkflowId,
};

use crate::log::LogEntry;

pub use queries::OpenTask;
pub use stored::INSTANCE_FORMAT;

/// Version of the stored document's format: 1 had no seal.
pub const INSTANCE_SCHEMA: u32 = 2;

/// Values of the ERP's object, in machine form.
pub type ObjectValues = BTreeMap<FieldName, FieldValue>;

/// What a start stands for; also written into the lock, so that whoever takes over finishes exactly this start
/// (DESIGN §4 "Lock and start" rule 2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartFacts {
    /// Instance id, made before the lock is taken.
    pub instance_id: InstanceId,
    /// Blueprint.
    pub workflow_id: WorkflowId,
    /// Its version: the run is pinned to it.
    pub version: u32,
    /// Kunde.
    #[serde(rename = "customerID")]
    pub customer_id: CustomerId,
    /// Mandant.
    #[serde(rename = "tenantID")]
    pub tenant_id: TenantId,
    /// Trigger definition.
    #[serde(rename = "triggerGUID")]
    pub trigger_guid: TriggerGuid,
    /// ERP table.
    pub object_table: String,
    /// Belegnummer.
    pub object_number: ObjectNumber,
    /// What started it.
    pub source: TriggerSource,
    /// First note (spec 000 "Initialnotiz").
    pub first_note: Option<String>,
    /// When the trigger was accepted.
    pub accepted_at: DateTime<Utc>,
}

impl StartFacts {
    /// The pair everything belongs to.
    pub fn tenant_key(&self) -> TenantKey {
        TenantKey { customer: self.customer_id.clone(), tenant: self.tenant_id.clone() }
    }
}

/// The stored document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Instance {
    /// Format version, [`INSTANCE_SCHEMA`].
    pub schema: u32,
    /// Counts commits, from 1.
    pub revision: u64,
    /// Random per commit: tells our write from an equal one (DESIGN §4).
    pub commit_id: String,
    /// The start.
    #[serde(flatten)]
    pub start: StartFacts,
    /// Blueprint's name at start.
    pub workflow_name: String,
    /// Blueprint's object type at start.
    pub object_type: String,
    /// Status as the spec names it; always equal to what `state` means.
    pub status: InstanceStatus,
    /// Step the run stands at.
    pub current_step: StepId,
    /// Who has the open task (spec 000 `claimedBy`).
    pub claimed_by: Option<Person>,
    /// Where the run stands.
    pub state: State,
    /// How many step visits there were; the next one is `visits + 1`.
    pub visits: u64,
    /// Process data (spec 000 `data`).
    pub data: BTreeMap<String, FieldValue>,
    /// Values of the blueprint's summary fields when last written.
    pub summary: ObjectValues,
    /// Effects not confirmed yet, in the order they must happen.
    pub effects: Vec<PendingEffect>,
    /// Answers to the latest operations, so that a repeat gets the first one's answer; at most [`OPERATIONS_MAX`].
    pub operations: Vec<OperationRecord>,
    /// Set when the ERP could not be written for good (spec 000).
    #[serde(rename = "sync_error_note")]
    pub sync_error_note: Option<String>,
    /// Start.
    pub started_at: DateTime<Utc>,
    /// End, once final.
    pub ended_at: Option<DateTime<Utc>>,
    /// The execution log, oldest first, hash-chained.
    pub history: Vec<LogEntry>,
}

/// Operations remembered per instance.
pub const OPERATIONS_MAX: usize = 64;
/// Entries a log may have.
pub const LOG_ENTRIES_MAX: usize = 2_000;
/// Entries of [`LOG_ENTRIES_MAX`] that only the engine may fill: people's acts are refused and failed ERP writes are no
/// longer logged one by one when only these are left, so that what is under way can always be confirmed and ended.
/// More than one event's steps ([`STEPS_PER_EVENT_MAX`]) twice.
pub const LOG_ENTRIES_RESERVED: usize = 250;
/// System steps one event may run through.
pub const STEPS_PER_EVENT_MAX: usize = 100;
/// Characters a comment or feedback may have.
pub const COMMENT_CHARS_MAX: usize = 4_000;
/// Characters an entered field value may have.
pub const VALUE_CHARS_MAX: usize = 10_000;
/// Characters of a mutation, an answer or an error that are kept.
pub const EVIDENCE_CHARS_MAX: usize = 10_000;
/// Characters of a compared value that are kept.
pub const COMPARED_CHARS_MAX: usize = 1_000;
/// A claim lapses by itself after this many hours (spec 000 `claimedBy`).
pub const CLAIM_HOURS_MAX: i64 = 24;

/// Where the run stands. Each state owns exactly the data it needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum State {
    /// A person's turn.
    Task {
        /// User step.
        step: StepId,
        /// Names this visit.
        visit: u64,
        /// Since when.
        opened_at: DateTime<Utc>,
        /// Who has it.
        claim: Option<Claim>,
    },
    /// Approved with edits: the next step starts when the ERP has confirmed them.
    Syncing {
        /// The user step that was decided.
        step: StepId,
        /// Its visit.
        visit: u64,
        /// Where it goes on.
        next: StepId,
    },
    /// At an end step: final once the last ERP write is confirmed.
    Ending {
        /// End step.
        step: StepId,
        /// The status to come.
        status: InstanceStatus,
    },
    /// The run can't go on by itself (a condition that has no answer, a limit): needs an operator.
    Stopped {
        /// Where.
        step: StepId,
        /// Why, in words for the operator.
        reason: String,
    },
    /// Over.
    Final {
        /// How.
        status: InstanceStatus,
    },
}

/// Who has a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    /// Names this claim.
    pub id: ClaimId,
    /// Who.
    pub by: Person,
    /// Since when.
    pub at: DateTime<Utc>,
    /// When it lapses.
    pub until: DateTime<Utc>,
}

/// Names an effect for good; sent to the ERP as idempotency key together with the instance id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EffectKey {
    /// Revision that created it.
    pub revision: u64,
    /// Place in that revision, from 0.
    pub index: u32,
}

/// Work on the ERP that is not confirmed yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingEffect {
    /// Its name.
    pub key: EffectKey,
    /// What to do.
    pub kind: EffectKind,
    /// Tries so far.
    pub attempts: u32,
    /// Last error.
    pub last_error: Option<String>,
    /// Not before.
    pub next_try_at: Option<DateTime<Utc>>,
}

/// What to write to the ERP (DESIGN §5 "What is written to the ERP, and by whom").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum EffectKind {
    /// State := `in Freigabe`, external-processing flag on.
    ErpStart,
    /// Exactly the changed fields, in one mutation.
    ErpChanges {
        /// Field → new value.
        fields: ObjectValues,
    },
    /// The final state, flag released.
    ErpEnd {
        /// Which state.
        outcome: ErpOutcome,
    },
}

/// The object's state in the ERP after a run (spec 001 §3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ErpOutcome {
    /// `freigegeben`
    Released,
    /// `abgelehnt`
    Rejected,
    /// `none`
    None,
}

impl From<InstanceStatus> for ErpOutcome {
    fn from(status: InstanceStatus) -> Self {
        match status {
            InstanceStatus::Approved | InstanceStatus::Completed => Self::Released,
            InstanceStatus::Rejected => Self::Rejected,
            InstanceStatus::Open
            | InstanceStatus::RetryingMicrotech
            | InstanceStatus::Deferred
            | InstanceStatus::Suspended
            | InstanceStatus::Error
            | InstanceStatus::Canceled
            | InstanceStatus::Expired
            | InstanceStatus::Failed => Self::None,
        }
    }
}

/// What an operation of a person did, for its repeats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationRecord {
    /// Operation id.
    pub id: OperationId,
    /// Whose.
    pub by: Person,
    /// What kind it was: `claim`, `unclaim`, `approve`, `reject`, `feedback`.
    pub kind: String,
    /// The revision it made.
    pub revision: u64,
}

/// A decision that was taken in this run, for four eyes and the list "Erledigt"; derived from `history`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenDecision {
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
