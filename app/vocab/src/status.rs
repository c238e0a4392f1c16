//! Statuses, decisions, roles and actions.

use serde::{Deserialize, Serialize};

/// The status of a workflow instance (DESIGN §5; spec 000 "Zustände einer Instanz").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum InstanceStatus {
    /// Running; something named is waited for.
    Open,
    /// The ERP could not be written; it is tried again.
    RetryingMicrotech,
    /// Put back until a time.
    Deferred,
    /// Put aside; needs an operator.
    Suspended,
    /// Failed and not retried by itself; needs an operator.
    Error,
    /// Final: approved.
    Approved,
    /// Final: rejected.
    Rejected,
    /// Final: done without a decision.
    Completed,
    /// Final: canceled.
    Canceled,
    /// Final: lapsed.
    Expired,
    /// Final: an operator closed an error.
    Failed,
}

impl InstanceStatus {
    /// Whether the run is over and never runs again.
    pub fn is_final(self) -> bool {
        match self {
            Self::Open | Self::RetryingMicrotech | Self::Deferred | Self::Suspended | Self::Error => false,
            Self::Approved | Self::Rejected | Self::Completed | Self::Canceled | Self::Expired | Self::Failed => true,
        }
    }
}

/// What a person decides at a user step (spec 001 §3.3 B).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// Genehmigen.
    Approve,
    /// Ablehnen; needs a comment.
    Reject,
}

/// Where a task stands (spec 001 §1 "Task-Claiming-Logik").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskState {
    /// Offen.
    Open,
    /// Beansprucht.
    Claimed,
    /// Abgeschlossen.
    Done,
}

/// What started a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TriggerSource {
    /// The ERP pushed.
    Push,
    /// The engine found the ERP's marker.
    Poll,
    /// The hourly recovery found an orphan.
    Recovery,
    /// A person started it.
    Manual,
}

/// What a person may be in one tenant besides a member of groups (DESIGN §5 "Rights").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Mends stuck runs.
    Operator,
    /// Designs blueprints.
    Admin,
    /// Reads everything, changes nothing.
    Auditor,
}

/// What a person may do with a task right now; computed by the core, obeyed by the screens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Take the task over.
    Claim,
    /// Give it back.
    Unclaim,
    /// Change editable fields.
    Edit,
    /// Genehmigen.
    Approve,
    /// Ablehnen.
    Reject,
    /// Leave a remark without deciding.
    Feedback,
}

/// What somebody did to a task that others may have on their screens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskAct {
    /// Took it over.
    Claimed,
    /// Gave it back.
    Unclaimed,
    /// Held it too long; nobody's act.
    Lapsed,
    /// Genehmigt.
    Approved,
    /// Abgelehnt.
    Rejected,
    /// Left a remark.
    Remarked,
}

/// The languages of the screens; German first (DESIGN §11).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Deutsch.
    #[default]
    De,
    /// English.
    En,
}

impl Language {
    /// The language that a person chose, by its code; anything else is German.
    pub fn from_code(code: &str) -> Self {
        if code == "en" { Self::En } else { Self::De }
    }

    /// Its code, as in `<html lang>`.
    pub fn code(self) -> &'static str {
        match self {
            Self::De => "de",
            Self::En => "en",
        }
    }
}
