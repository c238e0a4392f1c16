//! What can go wrong, as data. The screens turn it into sentences; programs get problem details made from it.

use serde::{Deserialize, Serialize};
use vocab::{FieldName, FieldValue, Person, TaskAct};

use crate::Moment;

/// Why the server did not do what was asked (DESIGN §8 answers, §2 rule 9).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "error", rename_all = "kebab-case")]
pub enum AppError {
    /// Nobody is signed in, or the session ended. 401.
    #[error("signed out: sign in again")]
    SignedOut,
    /// There is no such thing for this person. 404.
    #[error("not found")]
    NotFound,
    /// Theirs to see, not to do. 403.
    #[error("refused: {reason:?}")]
    Refused {
        /// Which rule.
        reason: RefusalReason,
    },
    /// Somebody else was faster, or the page is old. 409.
    #[error("stale: the task has moved on")]
    Stale {
        /// Who did what, where known.
        who: Option<Person>,
        /// When.
        at: Option<Moment>,
        /// What they did, where known.
        #[serde(default)]
        what: Option<TaskAct>,
        /// Whether the task is done with (true) or merely held by somebody else (false).
        done: bool,
    },
    /// The ERP's values are not the ones that were shown; nothing was decided. 409.
    #[error("values changed in the ERP since they were shown")]
    ValuesChanged {
        /// What changed.
        changed: Vec<ChangedValue>,
    },
    /// The input is bad; fields are named. 422.
    #[error("invalid input")]
    Invalid {
        /// What is wrong, per field; `comment` is named like a field.
        problems: Vec<FieldProblem>,
    },
    /// The request itself can't be read; nothing was done. 400, 404, 405, 413, 415 or 422, by the fault.
    #[error("bad request: {detail}")]
    BadRequest {
        /// What is wrong with it.
        fault: RequestFault,
        /// What is wrong where, for who writes programs: names the member and the way out.
        detail: String,
    },
    /// Something outside is down; try again. 503.
    #[error("{what} is not available")]
    Unavailable {
        /// `erp`, `store` or `server`.
        what: String,
        /// Seconds to wait before trying again.
        retry_s: u32,
    },
    /// Our fault; the id finds it in the server's log. 500.
    #[error("internal error {incident}")]
    Internal {
        /// Incident id in the server's log.
        incident: String,
    },
}

impl AppError {
    /// The HTTP status that belongs to the error (DESIGN §8).
    pub fn status(&self) -> u16 {
        match self {
            Self::SignedOut => 401,
            Self::Refused { .. } => 403,
            Self::NotFound => 404,
            Self::Stale { .. } | Self::ValuesChanged { .. } => 409,
            Self::Invalid { .. } => 422,
            Self::BadRequest { fault, .. } => match fault {
                RequestFault::Syntax => 400,
                RequestFault::NoSuchFunction => 404,
                RequestFault::WrongMethod => 405,
                RequestFault::TooLarge => 413,
                RequestFault::NotJson => 415,
                RequestFault::Value => 422,
            },
            Self::Internal { .. } => 500,
            Self::Unavailable { .. } => 503,
        }
    }
}

/// What is wrong with a request that can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestFault {
    /// The body is no JSON.
    Syntax,
    /// A member is missing, or holds what it can't hold.
    Value,
    /// The body is larger than one may be.
    TooLarge,
    /// The body does not say that it is JSON.
    NotJson,
    /// There is no server function of this name.
    NoSuchFunction,
    /// Server functions are called by POST.
    WrongMethod,
}

/// Which rule refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalReason {
    /// The person's groups don't include the step's.
    NotInGroup,
    /// Only who claimed the task may do this.
    NotClaimedByYou,
    /// Four eyes: this person decided an earlier step.
    FourEyes,
    /// The receipt or the data is not fit to decide on.
    NotDecidable,
    /// The request itself does not fit this step (an editable field that isn't one, an unknown field, …).
    NotAllowedHere,
}

/// One value that changed in the ERP after it was shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedValue {
    /// The field.
    pub name: FieldName,
    /// Its label.
    pub label: String,
    /// What the person saw, formatted.
    pub shown: String,
    /// What the ERP says now, formatted.
    pub now: String,
    /// What the ERP says now, in machine form.
    pub value: FieldValue,
}

/// What is wrong with one input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldProblem {
    /// The field, or `comment`.
    pub name: FieldName,
    /// Its label where it has one.
    pub label: String,
    /// What is wrong.
    pub kind: FieldProblemKind,
}

/// What is wrong with one input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FieldProblemKind {
    /// Must be filled in.
    Required,
    /// Not a number or amount.
    NotANumber,
    /// `1.234`: thousand or one point two?
    Ambiguous,
    /// Not a date.
    NotADate,
    /// Not one of the options.
    NotAnOption,
    /// Longer than fits.
    TooLong,
    /// The blueprint's `check` says no.
    CheckFailed,
    /// The step doesn't let this field be edited.
    NotEditable,
}
