//! The execution log: one entry per event and per executed system step, hash-chained (DESIGN §5; spec 001 §4).
//!
//! Invariant: an entry, once written, never changes; the first one carries the run's head, so that the chain covers it.
//! Never: secrets; what was sent to the ERP arrives here without them.

mod audit;
mod canonical;
mod chain;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use vocab::{Decision, FieldName, FieldValue, Person, StepId};

use crate::event::{ErpEvidence, ReceiptProof};
use crate::instance::{EffectKey, EffectKind, ObjectValues, StartFacts};

pub use audit::{Audit, AuditError, LOG_EXPORT, LOG_EXPORT_FORMAT, audit, export};
pub use canonical::{CanonicalError, JSON_INTEGER_MAX, canonical_json};
pub(crate) use chain::hex;
pub use chain::{ChainError, FIRST_PREV, NewEntry, append, entry_hash, verify};

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogEntry {
    /// From 1, without gaps.
    pub seq: u64,
    /// When.
    pub at: DateTime<Utc>,
    /// Who; none = the system.
    pub actor: Option<Person>,
    /// Step it belongs to.
    pub step: Option<StepId>,
    /// Its visit, for user steps.
    pub visit: Option<u64>,
    /// Commit that carried it.
    pub commit_id: String,
    /// What happened.
    #[serde(flatten)]
    pub kind: LogKind,
    /// Hash of the entry before; 64 zeros for the first.
    pub prev: String,
    /// SHA-256 (hex) over the entry's canonical JSON (RFC 8785) without `hash`, with `prev` in it.
    pub hash: String,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum LogKind {
    /// The run began.
    Started {
        /// The run's head: what was started, for what, by what (DESIGN §5 "Head").
        run: Box<StartFacts>,
        /// Blueprint's name at start.
        workflow_name: String,
        /// Values at start.
        object: ObjectValues,
        /// What the trigger's filter compared.
        filter: Option<ConditionResult>,
    },
    /// A condition was evaluated.
    Condition {
        /// Cases tried, in order, with compared values and results.
        cases: Vec<ConditionResult>,
        /// Chosen next step; none when evaluation failed.
        next_step: Option<StepId>,
        /// Why evaluation failed.
        error: Option<String>,
    },
    /// A task was opened for people.
    TaskOpened {
        /// Groups.
        groups: Vec<String>,
        /// Named people.
        users: Vec<String>,
    },
    /// Claimed.
    Claimed {
        /// Claim id.
        claim_id: String,
    },
    /// Given back.
    Unclaimed {
        /// Claim id.
        claim_id: String,
    },
    /// The claim lapsed by itself.
    ClaimLapsed {
        /// Claim id.
        claim_id: String,
        /// Whose it was.
        by: Person,
    },
    /// Decided.
    Decided {
        /// What.
        decision: Decision,
        /// Values shown.
        shown: ObjectValues,
        /// Fields changed.
        changed: Vec<Change>,
        /// Comment.
        comment: Option<String>,
        /// Receipts it was based on.
        receipts: Vec<ReceiptProof>,
        /// Where it leads.
        next_step: StepId,
    },
    /// A remark.
    Feedback {
        /// Its text.
        text: String,
    },
    /// The ERP asked for the same start again.
    RequestedAgain,
    /// The ERP confirmed a write.
    ErpWritten {
        /// Which effect.
        effect: EffectKey,
        /// What it was.
        what: EffectKind,
        /// What was sent and answered.
        evidence: ErpEvidence,
    },
    /// The ERP did not take a write; it stays pending.
    ErpFailed {
        /// Which effect.
        effect: EffectKey,
        /// What it was.
        what: EffectKind,
        /// Why.
        error: String,
        /// Next try.
        next_try_at: DateTime<Utc>,
        /// What was sent and answered.
        evidence: ErpEvidence,
    },
    /// An end step was reached.
    EndReached {
        /// The status to come.
        status: vocab::InstanceStatus,
    },
    /// The run is over.
    Ended {
        /// How.
        status: vocab::InstanceStatus,
    },
    /// The run can't go on by itself.
    Stopped {
        /// Why.
        reason: String,
    },
    /// The stored document was damaged: it was set aside and an older revision restored.
    Repaired {
        /// What was wrong.
        reason: String,
        /// Where the damaged bytes lie; none where there were no bytes left to keep.
        set_aside: Option<String>,
        /// The revision whose content goes on.
        restored_revision: u64,
    },
}

/// One evaluated condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConditionResult {
    /// The expression.
    pub when: String,
    /// Compared values, as text.
    pub compared: Vec<Compared>,
    /// Result; none when it failed.
    pub result: Option<bool>,
}

/// A compared value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compared {
    /// The path, e.g. `#object.fldGesamtBrutto`.
    pub path: String,
    /// The value as text.
    pub value: String,
}

/// One changed field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Field.
    pub name: FieldName,
    /// Before.
    pub old: FieldValue,
    /// After.
    pub new: FieldValue,
}
