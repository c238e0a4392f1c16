//! The engine's errors as people's screens get them.

use chrono_tz::Tz;
use contract::{AppError, ChangedValue, FieldProblem, FieldProblemKind, RefusalReason};
use engine::EngineError;
use ports::{ErpError, StoreError};
use workflow::apply::{FieldIssue, IssueKind};
use workflow::{Blueprint, Refusal};

use crate::projection::{moment, shown_text};

/// Seconds after which trying again makes sense.
const RETRY_S: u32 = 10;

/// The error as data for the screens. What is our fault goes to the log under an incident id.
pub(crate) fn app_error(error: &EngineError, zone: Tz) -> AppError {
    match error {
        EngineError::Refused(refusal) => refusal_error(refusal, zone),
        EngineError::NotFound { .. } | EngineError::UnknownTenant { .. } => AppError::NotFound,
        EngineError::Erp(ErpError::Unavailable { .. } | ErpError::NotConfirmed { .. }) => unavailable("erp"),
        EngineError::Store(StoreError::Unavailable { .. })
        | EngineError::OutcomeUnknown { .. }
        | EngineError::TooBusy { .. } => {
            tracing::warn!(%error, "store not available");
            unavailable("store")
        }
        EngineError::Erp(
            ErpError::NoObject { .. }
            | ErpError::UnknownFields { .. }
            | ErpError::Refused { .. }
            | ErpError::NotConfigured { .. },
        )
        | EngineError::Store(StoreError::NoBucket { .. } | StoreError::BadRange { .. } | StoreError::Damaged { .. })
        | EngineError::ForeignBucket { .. }
        | EngineError::BucketName(_)
        | EngineError::Key(_)
        | EngineError::WriteRefused { .. }
        | EngineError::Damaged { .. }
        | EngineError::NewerFormat { .. }
        | EngineError::Blueprint { .. } => internal(error),
    }
}

fn unavailable(what: &str) -> AppError {
    AppError::Unavailable { what: what.to_owned(), retry_s: RETRY_S }
}

/// Writes the error to the server's log and names it by an id.
pub(crate) fn internal(error: &dyn std::fmt::Display) -> AppError {
    let incident = uuid::Uuid::new_v4().simple().to_string();
    tracing::error!(%incident, %error, "request failed");
    AppError::Internal { incident }
}

fn refusal_error(refusal: &Refusal, zone: Tz) -> AppError {
    let refused = |reason| AppError::Refused { reason };
    match refusal {
        Refusal::NotFound => AppError::NotFound,
        Refusal::NotInGroup => refused(RefusalReason::NotInGroup),
        Refusal::NotClaimedByYou => refused(RefusalReason::NotClaimedByYou),
        Refusal::FourEyes => refused(RefusalReason::FourEyes),
        Refusal::NotAllowedHere { what } => {
            tracing::info!(%what, "request refused");
            refused(RefusalReason::NotAllowedHere)
        }
        Refusal::Stale { who, at, what, done } => {
            AppError::Stale { who: who.clone(), at: at.map(|at| moment(at, zone)), what: *what, done: *done }
        }
        Refusal::Final => AppError::Stale { who: None, at: None, what: None, done: true },
        Refusal::ValuesChanged { fields } => AppError::ValuesChanged {
            changed: fields
                .iter()
                .map(|(name, shown, now)| ChangedValue {
                    name: name.clone(),
                    label: name.to_string(),
                    shown: shown_text(None, shown),
                    now: shown_text(None, now),
                    value: now.clone(),
                })
                .collect(),
        },
        Refusal::Invalid { problems } => {
            AppError::Invalid { problems: problems.iter().map(|p| problem(p, None)).collect() }
        }
        Refusal::Repeat { .. } | Refusal::LimitReached { .. } | Refusal::Corrupt { .. } => internal(refusal),
    }
}

/// Refusals that name fields, with the blueprint's labels and notation.
pub(crate) fn changed_values(refusal: &Refusal, blueprint: &Blueprint) -> AppError {
    match refusal {
        Refusal::ValuesChanged { fields } => AppError::ValuesChanged {
            changed: fields
                .iter()
                .map(|(name, shown, now)| {
                    let field = blueprint.field(name);
                    ChangedValue {
                        name: name.clone(),
                        label: field.map_or_else(|| name.to_string(), |field| field.label.clone()),
                        shown: shown_text(field, shown),
                        now: shown_text(field, now),
                        value: now.clone(),
                    }
                })
                .collect(),
        },
        Refusal::Invalid { problems } => {
            AppError::Invalid { problems: problems.iter().map(|issue| problem(issue, Some(blueprint))).collect() }
        }
        other => refusal_error(other, chrono_tz::Europe::Berlin),
    }
}

fn problem(issue: &FieldIssue, blueprint: Option<&Blueprint>) -> FieldProblem {
    let field = blueprint.and_then(|blueprint| blueprint.field(&issue.name));
    FieldProblem {
        name: issue.name.clone(),
        label: field.map_or_else(|| issue.name.to_string(), |field| field.label.clone()),
        kind: match issue.kind {
            IssueKind::Required => FieldProblemKind::Required,
            IssueKind::NotANumber => FieldProblemKind::NotANumber,
            IssueKind::Ambiguous => FieldProblemKind::Ambiguous,
            IssueKind::NotADate => FieldProblemKind::NotADate,
            IssueKind::NotAnOption => FieldProblemKind::NotAnOption,
            IssueKind::TooLong => FieldProblemKind::TooLong,
            IssueKind::CheckFailed | IssueKind::WrongType => FieldProblemKind::CheckFailed,
            IssueKind::NotEditable => FieldProblemKind::NotEditable,
        },
    }
}
