//! A remark without a decision.
//!
//! Invariant: whoever the step is assigned to may leave one, whoever has the task; it changes nothing but the log.

use vocab::{Action, FieldName, OperationId};

use super::draft::Turn;
use super::{FieldIssue, IssueKind, Refusal, Step, person, remark};
use crate::log::LogKind;
use crate::rights;

/// What the operation is remembered as.
pub(super) const KIND: &str = "feedback";

pub(super) fn apply(turn: Turn<'_>, visit: u64, operation: OperationId, text: &str) -> Result<Step, Refusal> {
    let who = person::enter(&turn, &operation, KIND)?;
    let (task, step) = person::task_of(&turn, visit)?;
    rights::permit(turn.instance, step, task, who, Action::Feedback)?;
    let text = remark::read(text)
        .and_then(|text| text.ok_or(IssueKind::Required))
        .map_err(|kind| Refusal::Invalid { problems: vec![FieldIssue::new(&FieldName::new("text"), kind)] })?;

    let step_id = task.step.clone();
    let by = who.person.clone();
    let mut draft = turn.draft();
    draft.log(Some(&by), Some(&step_id), Some(visit), LogKind::Feedback { text })?;
    draft.remember(operation, &by, KIND);
    Ok(draft.finish())
}
