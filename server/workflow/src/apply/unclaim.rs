//! Giving a task back.
//!
//! Invariant: only the holder, and only the claim that they mean: a delayed request never frees a later claim.

use vocab::{Action, ClaimId, OperationId};

use super::draft::Turn;
use super::{Refusal, Step, person};
use crate::instance::State;
use crate::log::LogKind;
use crate::rights;

/// What the operation is remembered as.
const KIND: &str = "unclaim";

pub(super) fn apply(turn: Turn<'_>, claim_id: &ClaimId, operation: OperationId) -> Result<Step, Refusal> {
    let who = person::enter(&turn, &operation, KIND)?;
    let claimed = turn.instance.open_task().and_then(|task| task.claim);
    if claimed.is_none_or(|claim| claim.id != *claim_id) {
        return Err(person::claim_moved_on(turn.instance, claim_id.as_str()));
    }
    let visit = turn.instance.visits;
    let (task, step) = person::task_of(&turn, visit)?;
    rights::permit(turn.instance, step, task, who, Action::Unclaim)?;

    let (step_id, opened_at) = (task.step.clone(), task.opened_at);
    let by = who.person.clone();
    let mut draft = turn.draft();
    draft.log(Some(&by), Some(&step_id), Some(visit), LogKind::Unclaimed { claim_id: claim_id.as_str().to_owned() })?;
    draft.enter(State::Task { step: step_id, visit, opened_at, claim: None });
    draft.remember(operation, &by, KIND);
    Ok(draft.finish())
}
