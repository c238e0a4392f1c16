//! What can happen to an instance. Everything `apply` may not look up arrives inside: time, actor, ids, ERP values.
//!
//! Invariant: every event names what it is meant for (visit, claim, effect), so that reloading and applying again never
//! puts a decision on the next step (DESIGN §4; trace `stale_meaning`).

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use vocab::{ClaimId, Decision, FieldName, FieldValue, GroupName, InstanceStatus, OperationId, Person, Role};

use crate::instance::{EffectKey, ObjectValues};

/// Who acts. Rights are those in the instance's tenant, resolved by the server at the time of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// The engine.
    System,
    /// A person.
    Person {
        /// Who.
        person: Person,
        /// Blueprint groups in this tenant.
        groups: BTreeSet<GroupName>,
        /// Roles in this tenant.
        roles: BTreeSet<Role>,
    },
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: DateTime<Utc>,
    /// Who.
    pub actor: Actor,
    /// Random id of the commit that will carry it.
    pub commit_id: String,
    /// What.
    pub kind: EventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// Take the task over.
    Claim {
        /// Visit meant.
        visit: u64,
        /// Id of the claim to be.
        claim_id: ClaimId,
        /// The person's intent.
        operation: OperationId,
    },
    /// Give it back.
    Unclaim {
        /// Claim meant.
        claim_id: ClaimId,
        /// The person's intent.
        operation: OperationId,
    },
    /// Approve or reject.
    Decide(Box<DecideFacts>),
    /// A remark.
    Feedback {
        /// Visit meant.
        visit: u64,
        /// The person's intent.
        operation: OperationId,
        /// The remark.
        text: String,
    },
    /// A claim is older than allowed.
    ClaimLapsed {
        /// Claim meant.
        claim_id: ClaimId,
    },
    /// The ERP asked for the same start again while the run is unfinished: `in Freigabe` is written again
    /// (DESIGN §4 "Lock and start" rule 5).
    RequestedAgain,
    /// The ERP confirmed an effect.
    EffectDone {
        /// Which.
        key: EffectKey,
        /// The mutation without secrets and the ERP's answer, for the log.
        evidence: ErpEvidence,
        /// The object as read after the write; steps that follow see it.
        object: ObjectValues,
    },
    /// The ERP did not.
    EffectFailed {
        /// Which.
        key: EffectKey,
        /// Why.
        error: String,
        /// When it is tried again.
        next_try_at: DateTime<Utc>,
        /// The mutation without secrets and the ERP's answer, for the log.
        evidence: ErpEvidence,
    },
    /// The stored document was damaged; this instance is the newest good revision of it.
    Repaired(RepairFacts),
}

/// What a repair found and did (DESIGN §4 "Versioning and repair").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairFacts {
    /// The revision to be: above every one that was ever there.
    pub revision: u64,
    /// What was wrong with the document.
    pub reason: String,
    /// Where the damaged bytes lie.
    pub set_aside: Option<String>,
    /// How and when the run ended, where its summary proves that it did.
    pub ended: Option<(InstanceStatus, DateTime<Utc>)>,
}

/// A decision with everything it was based on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecideFacts {
    /// Visit meant.
    pub visit: u64,
    /// Claim meant.
    pub claim_id: ClaimId,
    /// The person's intent.
    pub operation: OperationId,
    /// What.
    pub decision: Decision,
    /// The revision of the instance that was on the screen. Other revisions since do no harm, except a remark by
    /// somebody else: it must be read first.
    pub revision: u64,
    /// Values as shown.
    pub shown: ObjectValues,
    /// Values as the ERP says now (all fields the step's query names).
    pub current: ObjectValues,
    /// Edits, in machine form.
    pub changes: BTreeMap<FieldName, FieldValue>,
    /// Comment.
    pub comment: Option<String>,
    /// Receipts as they lay there.
    pub receipts: Vec<ReceiptProof>,
}

/// Which bytes of a receipt a decision was based on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReceiptProof {
    /// Name from the blueprint.
    pub name: String,
    /// Store key.
    pub key: String,
    /// Version id, where the store has versions.
    pub version: Option<String>,
    /// SHA-256, hex; none where there is no such object.
    pub sha256: Option<String>,
}

/// What was sent to the ERP and what came back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErpEvidence {
    /// The mutation, without secrets.
    pub mutation: String,
    /// The answer, cut to a sane length.
    pub answer: String,
    /// Which try this was, from 1.
    pub attempt: u32,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}
