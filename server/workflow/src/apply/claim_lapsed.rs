//! A claim lapses by itself (spec 000 `claimedBy`: after 24 hours).
//!
//! Invariant: only the claim that is meant, and not before its time: an old expiry never frees a new claim.

use vocab::ClaimId;

use super::draft::Turn;
use super::{Refusal, Step, person};
use crate::instance::State;
use crate::log::LogKind;

pub(super) fn apply(turn: Turn<'_>, claim_id: &ClaimId) -> Result<Step, Refusal> {
    turn.system_only("a claim's lapse")?;
    let Some((task, claim)) =
        turn.instance.open_task().and_then(|task| Some((task, task.claim?))).filter(|(_, claim)| claim.id == *claim_id)
    else {
        return Err(person::claim_moved_on(turn.instance, claim_id.as_str()));
    };
    if turn.at < claim.until {
        return Err(Refusal::NotAllowedHere {
            what: format!("a lapse of claim {claim_id}: it runs until {}", claim.until),
        });
    }

    let (step_id, visit, opened_at) = (task.step.clone(), task.visit, task.opened_at);
    let logged = LogKind::ClaimLapsed { claim_id: claim_id.as_str().to_owned(), by: claim.by.clone() };
    let mut draft = turn.draft();
    draft.log(None, Some(&step_id), Some(visit), logged)?;
    draft.enter(State::Task { step: step_id, visit, opened_at, claim: None });
    Ok(draft.finish())
}
