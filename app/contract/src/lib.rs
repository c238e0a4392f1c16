//! Everything that crosses the wire between server and browser.
//!
//! Purpose: the views the screens show, the requests they send, the errors they explain, the hints that wake them.
//! Invariant: views carry what is shown and nothing else; what a step hides never appears here.
//! Never: stored records, rules, texts for people (those live in the message files).

mod error;
mod log;
mod push;
mod task;

pub use error::{AppError, ChangedValue, FieldProblem, FieldProblemKind, RefusalReason, RequestFault};
pub use log::{LogEntryView, LogFact, LogView};
pub use push::PushMessage;
pub use task::{
    ClaimRequest, DecisionRequest, DecisionResult, DocumentState, DocumentView, Draft, DraftAnswer, DraftRequest,
    DraftView, FeedbackRequest, FormField, Me, SummaryCell, TaskCounts, TaskDetail, TaskFilter, TaskList, TaskNotice,
    TaskRow, TenantView, UnclaimRequest,
};
pub use vocab;

use serde::{Deserialize, Serialize};

/// A moment: exact for machines and `title`, formatted by the server in the tenant's time zone for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// RFC 3339, UTC.
    pub iso: String,
    /// e.g. `30.11.2026 14:05`.
    pub text: String,
}
