//! Why an event was not applied.
//!
//! Invariant: a refusal carries what the person needs to go on: who was faster, which value changed, which field is wrong.
//! Never: text for people; the screens make sentences from it.

use chrono::{DateTime, Utc};
use vocab::{FieldName, FieldValue, Person, TaskAct};

/// Why an event was not applied; the instance stays as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The same intent was applied before: answer as then, write nothing.
    #[error("already done in revision {revision}")]
    Repeat {
        /// The revision that the first one made.
        revision: u64,
    },
    /// This person may not even know that the run exists.
    #[error("not found")]
    NotFound,
    /// Theirs to see, but the step is assigned to others.
    #[error("this step is assigned to others; only its groups and named people may act")]
    NotInGroup,
    /// Nobody has the task, so nobody can act on it.
    #[error("the task is not claimed by you; claim it first")]
    NotClaimedByYou,
    /// This person decided an earlier step that the step's `notBy` names.
    #[error("four eyes: you decided an earlier step of this run, somebody else must take this one")]
    FourEyes,
    /// The task has moved on, or somebody else has it.
    #[error("stale: {}; reload it", stale_words(*.what, *.done))]
    Stale {
        /// Who did what made it stale, where known.
        who: Option<Person>,
        /// When.
        at: Option<DateTime<Utc>>,
        /// What they did, where known.
        what: Option<TaskAct>,
        /// Whether the visit is over (true) or the task is still open (false).
        done: bool,
    },
    /// The ERP's values are not those that were shown; nothing was decided.
    #[error("{} field(s) changed in the ERP since they were shown; look at the new values and decide again", .fields.len())]
    ValuesChanged {
        /// Field, value shown, value now.
        fields: Vec<(FieldName, FieldValue, FieldValue)>,
    },
    /// The input is bad.
    #[error("invalid input: {}", issue_list(.problems))]
    Invalid {
        /// All of it, in the form's order; the comment is named `comment`, a remark `text`.
        problems: Vec<FieldIssue>,
    },
    /// The request does not fit the place.
    #[error("not allowed here: {what}")]
    NotAllowedHere {
        /// What does not fit.
        what: String,
    },
    /// A named limit is reached.
    #[error("limit reached: {what}, {limit}; an operator must close this run")]
    LimitReached {
        /// Which limit.
        what: &'static str,
        /// How many.
        limit: usize,
    },
    /// The run is over.
    #[error("the run is over; nothing can be done to it any more")]
    Final,
    /// Blueprint and document do not belong together, or the log can't be continued; restore a good version first.
    #[error("the instance can't be continued: {reason}")]
    Corrupt {
        /// What does not fit.
        reason: String,
    },
}

/// One problem of one input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldIssue {
    /// The field, `comment` or `text`.
    pub name: FieldName,
    /// What is wrong.
    pub kind: IssueKind,
}

impl FieldIssue {
    /// An issue with a field.
    pub fn new(name: &FieldName, kind: IssueKind) -> Self {
        Self { name: name.clone(), kind }
    }
}

/// What can be wrong with an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum IssueKind {
    /// Must be filled in.
    Required,
    /// Not a number or amount.
    NotANumber,
    /// `1.234`: thousand or one point two?
    Ambiguous,
    /// Not a day of the calendar in the form `2026-11-30`.
    NotADate,
    /// Not one of the options.
    NotAnOption,
    /// Longer than fits.
    TooLong,
    /// The blueprint's `check` does not say yes.
    CheckFailed,
    /// The step doesn't let this field be edited.
    NotEditable,
    /// Not the sort of value that the field takes: a list for a text, a line break in a single line, no boolean.
    WrongType,
}

impl IssueKind {
    fn words(self) -> &'static str {
        match self {
            Self::Required => "must be filled in",
            Self::NotANumber => "is not a number",
            Self::Ambiguous => "is ambiguous, write 1234,00 or 1,23",
            Self::NotADate => "is not a date such as 2026-11-30",
            Self::NotAnOption => "is not one of the options",
            Self::TooLong => "is too long",
            Self::CheckFailed => "does not pass the blueprint's check",
            Self::NotEditable => "can't be edited in this step",
            Self::WrongType => "is not the sort of value this field takes",
        }
    }
}

fn stale_words(what: Option<TaskAct>, done: bool) -> &'static str {
    match what {
        Some(TaskAct::Claimed) => "somebody else has the task",
        Some(TaskAct::Unclaimed) => "the claim meant was given back",
        Some(TaskAct::Lapsed) => "the claim meant has lapsed",
        Some(TaskAct::Approved) => "the task was approved",
        Some(TaskAct::Rejected) => "the task was rejected",
        Some(TaskAct::Remarked) => "somebody left a remark that was not on the screen yet",
        None if done => "the task has moved on",
        None => "the claim meant is not the task's claim",
    }
}

fn issue_list(problems: &[FieldIssue]) -> String {
    problems.iter().map(|issue| format!("{} {}", issue.name, issue.kind.words())).collect::<Vec<_>>().join("; ")
}
