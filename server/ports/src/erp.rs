//! The ERP, as the engine needs it: read one object, write one object, nothing else.
//!
//! Invariant: reading is free and changes nothing; a write counts only when what it returns confirms it
//! (DESIGN §6: failures can be silent).

use async_trait::async_trait;
use workflow::event::ErpEvidence;
use workflow::instance::{ErpOutcome, ObjectValues};
use workflow::vocab::{FieldName, FieldType, FieldValue, ObjectNumber, TenantKey};

/// Which object of which tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErpTarget {
    /// Whose ERP.
    pub tenant: TenantKey,
    /// Table, e.g. `tblTransactions`.
    pub table: String,
    /// Key field, e.g. `fldBelegNr`.
    pub key: FieldName,
    /// Number.
    pub number: ObjectNumber,
}

/// Fields to read, each with its type, so that machine formats can be asked for.
pub type ErpFields = Vec<(FieldName, FieldType)>;

/// What the ERP says about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErpObject {
    /// Values in machine form.
    pub values: ObjectValues,
    /// `fldModifyLSN`: fences the write that follows.
    pub lsn: String,
    /// The workflow state field (DESIGN §6 `state_field`).
    pub state: ErpState,
    /// Whether the external-processing flag is set.
    pub external: bool,
    /// First note (`note_field`).
    pub note: Option<String>,
    /// Fields asked for that the ERP doesn't know.
    pub missing: Vec<FieldName>,
}

/// The object's workflow state (spec 001 §3.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErpState {
    /// No workflow yet, or none any more.
    None,
    /// Poll marker: `Workflow angefordert` (spec 000).
    Requested,
    /// `MT Freigabe gestartet`.
    Started,
    /// `in Freigabe`.
    Running,
    /// `freigegeben` / `abgelehnt`.
    Ended(ErpOutcome),
    /// Something else; its text.
    Other(String),
}

impl ErpState {
    /// Whether the object asks for a run to be started.
    pub fn asks_for_start(&self) -> bool {
        match self {
            Self::Requested | Self::Started => true,
            Self::None | Self::Running | Self::Ended(_) | Self::Other(_) => false,
        }
    }
}

/// What to set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErpSet {
    /// State := `in Freigabe`, flag on; one mutation.
    Start,
    /// Exactly these fields; one mutation.
    Fields(Vec<(FieldName, FieldType, FieldValue)>),
    /// Final state, flag released; one mutation.
    End(ErpOutcome),
}

/// One write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErpMutation {
    /// Where.
    pub target: ErpTarget,
    /// The LSN that was read before.
    pub lsn: String,
    /// What.
    pub set: ErpSet,
    /// Same key, same intent: instance id, revision, index.
    pub idempotency_key: String,
}

/// A confirmed write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErpWritten {
    /// What was sent and answered, without secrets.
    pub evidence: ErpEvidence,
}

/// What went wrong at the ERP.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ErpError {
    /// Unreachable, time-out, 5xx: try again later.
    #[error("the ERP of {tenant} is not available: {reason}")]
    Unavailable {
        /// Whose ERP.
        tenant: String,
        /// What was seen.
        reason: String,
    },
    /// The record is locked by a user, or changed between reading and writing: try again later.
    #[error("object {number} could not be written, it is locked or was changed meanwhile: {reason}")]
    NotConfirmed {
        /// Object.
        number: String,
        /// What came back.
        reason: String,
        /// What was sent and answered.
        evidence: Box<ErpEvidence>,
    },
    /// No such object.
    #[error("the ERP has no object {number} in {table}")]
    NoObject {
        /// Object.
        number: String,
        /// Table.
        table: String,
    },
    /// Fields are unknown to the ERP.
    #[error("the ERP does not know the fields {fields:?}")]
    UnknownFields {
        /// Which.
        fields: Vec<FieldName>,
    },
    /// The ERP says no: a missing right, a validation error. Trying again won't help.
    #[error("the ERP refused: {reason}")]
    Refused {
        /// Why.
        reason: String,
        /// What was sent and answered.
        evidence: Box<ErpEvidence>,
    },
    /// This tenant has no ERP configured.
    #[error("no ERP is configured for {tenant}")]
    NotConfigured {
        /// Which tenant.
        tenant: String,
    },
}

impl ErpError {
    /// Whether trying again may help (DESIGN §6 last line).
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unavailable { .. } | Self::NotConfirmed { .. } => true,
            Self::NoObject { .. } | Self::UnknownFields { .. } | Self::Refused { .. } | Self::NotConfigured { .. } => {
                false
            }
        }
    }
}

/// Reading, free for everybody.
#[async_trait]
pub trait ErpRead: Send + Sync + 'static {
    /// Reads one object. Unknown fields are left out of the answer and named in `missing`.
    async fn read(&self, target: &ErpTarget, fields: &ErpFields) -> Result<ErpObject, ErpError>;
}

/// Writing; held by one function of the engine.
#[async_trait]
pub trait ErpWrite: Send + Sync + 'static {
    /// Writes once and confirms it by what comes back.
    async fn write(&self, mutation: &ErpMutation) -> Result<ErpWritten, ErpError>;
}
