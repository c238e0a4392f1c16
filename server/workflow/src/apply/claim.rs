//! Taking a task over (spec 001 §1 "Task-Claiming-Logik").
//!
//! Invariant: one holder at a time; the conditional write of the revision decides between two who try at once.

use chrono::Duration;
use vocab::{Action, ClaimId, OperationId};

use super::draft::Turn;
use super::{Refusal, Step, person};
use crate::instance::{CLAIM_HOURS_MAX, Claim, State};
use crate::log::LogKind;
use crate::rights;

/// What the operation is remembered as.
const KIND: &str = "claim";

pub(super) fn apply(turn: Turn<'_>, visit: u64, claim_id: ClaimId, operation: OperationId) -> Result<Step, Refusal> {
    let who = person::enter(&turn, &operation, KIND)?;
    let (task, step) = person::task_of(&turn, visit)?;
    if let Some(mine) = task.claim.filter(|claim| claim.by.id == who.person.id) {
        return Err(Refusal::Repeat { revision: claim_revision(&turn, &mine.by.id) });
    }
    rights::permit(turn.instance, step, task, who, Action::Claim)?;

    let (step_id, opened_at) = (task.step.clone(), task.opened_at);
    let logged = LogKind::Claimed { claim_id: claim_id.as_str().to_owned() };
    let by = who.person.clone();
    let mut draft = turn.draft();
    let until = draft.at + Duration::hours(CLAIM_HOURS_MAX);
    let claim = Claim { id: claim_id, by: by.clone(), at: draft.at, until };
    draft.log(Some(&by), Some(&step_id), Some(visit), logged)?;
    draft.enter(State::Task { step: step_id, visit, opened_at, claim: Some(claim) });
    draft.remember(operation, &by, KIND);
    Ok(draft.finish())
}

/// The revision in which this person got the task they have.
fn claim_revision(turn: &Turn<'_>, user: &vocab::UserId) -> u64 {
    let records = turn.instance.operations.iter().rev();
    let record = records.into_iter().find(|record| record.kind == KIND && record.by.id == *user);
    record.map_or(turn.instance.revision, |record| record.revision)
}
