//! What every act of a person passes first: is it a repeat, may they know of the run, is the visit still open.
//!
//! Invariant: a repeat is answered before anything else, so that it gets the first one's answer whatever came after.
//! Never: tells somebody without rights that the run exists.

use vocab::{Decision, OperationId, Person, TaskAct};

use super::Refusal;
use super::draft::{Turn, corrupt};
use crate::blueprint::UserStep;
use crate::instance::{Instance, OpenTask, OperationRecord};
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
    if !rights::may_try(turn.blueprint, turn.instance, turn.actor) {
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
pub(crate) fn moved_on(instance: &Instance, visit: u64) -> Refusal {
    if visit == 0 || visit > instance.visits {
        return Refusal::NotAllowedHere { what: format!("visit {visit}: this run has had {}", instance.visits) };
    }
    match instance.taken_decisions().into_iter().find(|taken| taken.visit == visit) {
        Some(taken) => {
            let what = match taken.decision {
                Decision::Approve => TaskAct::Approved,
                Decision::Reject => TaskAct::Rejected,
            };
            Refusal::Stale { who: Some(taken.by), at: Some(taken.at), what: Some(what), done: true }
        }
        None if instance.is_final() => Refusal::Final,
        None => Refusal::Stale { who: None, at: None, what: None, done: true },
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
        Some(_) => still_open(instance, claim_id),
    }
}

/// The visit is open, but the claim meant is gone: says who has the task now, or how the claim ended.
pub(crate) fn still_open(instance: &Instance, claim_id: &str) -> Refusal {
    if let Some(claim) = instance.open_task().and_then(|task| task.claim) {
        return rights::taken(claim);
    }
    let ended = instance.history.iter().rev().find_map(|entry| {
        let given_back = matches!(&entry.kind, LogKind::Unclaimed { claim_id: logged } if logged == claim_id);
        let lapsed = matches!(&entry.kind, LogKind::ClaimLapsed { claim_id: logged, .. } if logged == claim_id);
        match (given_back, lapsed) {
            (true, _) => Some((entry, TaskAct::Unclaimed)),
            (false, true) => Some((entry, TaskAct::Lapsed)),
            (false, false) => None,
        }
    });
    Refusal::Stale {
        who: ended.and_then(|(entry, _)| entry.actor.clone()),
        at: ended.map(|(entry, _)| entry.at),
        what: ended.map(|(_, what)| what),
        done: false,
    }
}

/// The newest remark that somebody else left after a revision: whoever decides on that revision has not read it. Only
/// the operations that a run remembers are looked at, so a page older than all of them is told by its visit or claim.
pub(super) fn unread_remark(instance: &Instance, revision: u64, who: &Person) -> Option<Refusal> {
    let unread = |record: &&OperationRecord| {
        record.kind == super::feedback::KIND && record.revision > revision && record.by.id != who.id
    };
    let by = instance.operations.iter().rev().find(unread)?.by.clone();
    let remark = instance.history.iter().rev().find(|entry| {
        matches!(entry.kind, LogKind::Feedback { .. }) && entry.actor.as_ref().is_some_and(|actor| actor.id == by.id)
    });
    let at = remark.map(|entry| entry.at);
    Some(Refusal::Stale { who: Some(by), at, what: Some(TaskAct::Remarked), done: false })
}
