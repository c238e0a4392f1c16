//! What every act of a person passes first: is it a repeat, may they know of the run, is the visit still open.
//!
//! Invariant: a repeat is answered before anything else, so that it gets the first one's answer whatever came after.
//! Never: tells somebody without rights that the run exists.

use vocab::{OperationId, Person};

use super::Refusal;
use super::draft::{Turn, corrupt};
use crate::blueprint::UserStep;
use crate::instance::{Instance, OpenTask};
use crate::log::LogKind;
use crate::rights::{self, Who};

/// Repeats get the first one's answer; strangers get "not found".
pub(super) fn enter<'a>(turn: &Turn<'a>, operation: &OperationId, kind: &str) -> Result<Who<'a>, Refusal> {
    let who = Who::acting(turn.actor)?;
    let known = turn.instance.operations.iter().find(|record| record.id == *operation);
    if let Some(record) = known
        && record.by.id == who.person.id
    {
        return if record.kind == kind {
            Err(Refusal::Repeat { revision: record.revision })
        } else {
            let what =
                format!("operation {operation} for {kind}: it was used for {} before; send a new one", record.kind);
            Err(Refusal::NotAllowedHere { what })
        };
    }
    if !rights::may_see_log(turn.blueprint, turn.actor) && !holds(turn.instance, who.person) {
        return Err(Refusal::NotFound);
    }
    if known.is_some() {
        let what = format!("operation {operation}: it belongs to somebody else; send a new one");
        return Err(Refusal::NotAllowedHere { what });
    }
    Ok(who)
}

/// The open task of the visit that is meant, with its step.
pub(super) fn task_of<'a>(turn: &Turn<'a>, visit: u64) -> Result<(OpenTask<'a>, &'a UserStep), Refusal> {
    let instance = turn.instance;
    let Some(task) = instance.open_task().filter(|task| task.visit == visit) else {
        return Err(moved_on(instance, visit));
    };
    let step = turn
        .blueprint
        .user_step(task.step)
        .ok_or_else(|| corrupt(format!("the open task's step {} is no user step of the blueprint", task.step)))?;
    Ok((task, step))
}

/// Says what became of a visit that is no longer open.
pub(super) fn moved_on(instance: &Instance, visit: u64) -> Refusal {
    if visit == 0 || visit > instance.visits {
        return Refusal::NotAllowedHere { what: format!("visit {visit}: this run has had {}", instance.visits) };
    }
    match instance.taken_decisions().into_iter().find(|taken| taken.visit == visit) {
        Some(taken) => Refusal::Stale { who: Some(taken.by), at: Some(taken.at), done: true },
        None if instance.is_final() => Refusal::Final,
        None => Refusal::Stale { who: None, at: None, done: true },
    }
}

/// Says what became of a claim that is no longer the task's.
pub(super) fn claim_moved_on(instance: &Instance, claim_id: &str) -> Refusal {
    let claimed_visit = instance.history.iter().rev().find_map(|entry| match &entry.kind {
        LogKind::Claimed { claim_id: logged } if logged == claim_id => entry.visit,
        LogKind::Claimed { .. }
        | LogKind::Started { .. }
        | LogKind::Condition { .. }
        | LogKind::TaskOpened { .. }
        | LogKind::Unclaimed { .. }
        | LogKind::ClaimLapsed { .. }
        | LogKind::Decided { .. }
        | LogKind::Feedback { .. }
        | LogKind::RequestedAgain
        | LogKind::ErpWritten { .. }
        | LogKind::ErpFailed { .. }
        | LogKind::EndReached { .. }
        | LogKind::Ended { .. }
        | LogKind::Stopped { .. }
        | LogKind::Repaired { .. } => None,
    });
    match claimed_visit {
        None => Refusal::NotAllowedHere { what: format!("claim {claim_id}: this run has no such claim") },
        Some(visit) if instance.open_visit() != Some(visit) => moved_on(instance, visit),
        Some(_) => still_open(instance),
    }
}

/// The visit is open, but the claim meant is gone: says who has the task now.
pub(super) fn still_open(instance: &Instance) -> Refusal {
    let holder = instance.open_task().and_then(|task| task.claim);
    Refusal::Stale { who: holder.map(|claim| claim.by.clone()), at: holder.map(|claim| claim.at), done: false }
}

fn holds(instance: &Instance, person: &Person) -> bool {
    instance.claimed_by.as_ref().is_some_and(|holder| holder.id == person.id)
}
