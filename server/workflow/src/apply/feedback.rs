//! A remark without a decision.
//!
//! Invariant: whoever the step is assigned to may leave one, whoever has the task; it changes nothing but the log.

use vocab::{Action, FieldName, OperationId};

use super::draft::Turn;
use super::{FieldIssue, IssueKind, Refusal, Step, person};
use crate::instance::COMMENT_CHARS_MAX;
use crate::log::LogKind;
use crate::rights;

/// What the operation is remembered as.
const KIND: &str = "feedback";

pub(super) fn apply(turn: Turn<'_>, visit: u64, operation: OperationId, text: &str) -> Result<Step, Refusal> {
    let who = person::enter(&turn, &operation, KIND)?;
    let (task, step) = person::task_of(&turn, visit)?;
    rights::permit(turn.instance, step, task, who, Action::Feedback)?;
    let text = text.trim();
    let problem = if text.is_empty() {
        Some(IssueKind::Required)
    } else if text.chars().count() > COMMENT_CHARS_MAX {
        Some(IssueKind::TooLong)
    } else {
        None
    };
    if let Some(kind) = problem {
        return Err(Refusal::Invalid { problems: vec![FieldIssue::new(&FieldName::new("text"), kind)] });
    }

    let step_id = task.step.clone();
    let by = who.person.clone();
    let mut draft = turn.draft();
    draft.log(Some(&by), Some(&step_id), Some(visit), LogKind::Feedback { text: text.to_owned() })?;
    draft.remember(operation, &by, KIND);
    Ok(draft.finish())
}
