//! A person approves or rejects (spec 001 §3.3 B; DESIGN §5).
//!
//! Invariant: nothing is decided on values that were not shown, by somebody who does not hold the claim meant, or past
//! what the blueprint requires, and nobody decides past a remark that was not on their screen. A rejection's edits stay in the log.

use vocab::{Action, Decision, FieldName, Person};

use super::changes::{accepted, check_shown, edited, incomplete, moved};
use super::draft::Turn;
use super::environment::{Moment, environment};
use super::{FieldIssue, IssueKind, Refusal, Step, person, remark};
use crate::blueprint::UserStep;
use crate::event::DecideFacts;
use crate::instance::{EffectKind, ObjectValues, State};
use crate::log::{Change, LogKind};
use crate::rights;

pub(super) fn apply(turn: Turn<'_>, facts: DecideFacts) -> Result<Step, Refusal> {
    let (kind, action) = match facts.decision {
        Decision::Approve => ("approve", Action::Approve),
        Decision::Reject => ("reject", Action::Reject),
    };
    let who = person::enter(&turn, &facts.operation, kind)?;
    let (task, step) = person::task_of(&turn, facts.visit)?;
    rights::permit(turn.instance, step, task, who, action)?;
    if task.claim.is_none_or(|claim| claim.id != facts.claim_id) {
        return Err(person::still_open(turn.instance, facts.claim_id.as_str()));
    }
    if let Some(unread) = person::unread_remark(turn.instance, facts.revision, who.person) {
        return Err(unread);
    }
    let Entered { comment, changes } = entered(&turn, step, &facts)?;
    let after = edited(&facts.current, &changes);
    if facts.decision == Decision::Approve {
        check_complete(&turn, step, &after, who.person)?;
    }

    let step_id = task.step.clone();
    let (next, fresh) = match facts.decision {
        Decision::Approve => (step.approve.clone(), &after),
        Decision::Reject => (step.reject.clone(), &facts.current),
    };
    let by = who.person.clone();
    let fields: ObjectValues = changes.iter().map(|change| (change.name.clone(), change.new.clone())).collect();
    let mut draft = turn.draft();
    let decided = LogKind::Decided {
        decision: facts.decision,
        shown: facts.shown,
        changed: changes,
        comment,
        receipts: facts.receipts,
        next_step: next.clone(),
    };
    draft.log(Some(&by), Some(&step_id), Some(facts.visit), decided)?;
    draft.remember(facts.operation, &by, kind);
    draft.refresh_summary(fresh);
    if facts.decision == Decision::Approve && !fields.is_empty() {
        draft.effect(EffectKind::ErpChanges { fields });
        draft.enter(State::Syncing { step: step_id, visit: facts.visit, next });
    } else {
        draft.advance(&next, &facts.current, Some(&by))?;
    }
    Ok(draft.finish())
}

/// What the person entered, in the form in which it counts.
struct Entered {
    comment: Option<String>,
    changes: Vec<Change>,
}

/// Reads comment and edits, then holds what was shown against what the ERP says now.
fn entered(turn: &Turn<'_>, step: &UserStep, facts: &DecideFacts) -> Result<Entered, Refusal> {
    check_shown(step, &facts.shown, &facts.current)?;
    let (comment, comment_issue) = match remark::read(facts.comment.as_deref().unwrap_or_default()) {
        Ok(None) if facts.decision == Decision::Reject => (None, Some(IssueKind::Required)),
        Ok(comment) => (comment, None),
        Err(kind) => (None, Some(kind)),
    };
    let (changes, mut problems) = match accepted(turn.blueprint, step, &facts.current, &facts.changes) {
        Ok(changes) => (changes, Vec::new()),
        Err(problems) => (Vec::new(), problems),
    };
    problems.extend(comment_issue.map(|kind| FieldIssue::new(&FieldName::new("comment"), kind)));
    if !problems.is_empty() {
        return Err(Refusal::Invalid { problems });
    }
    let fields = moved(turn.blueprint, step, &facts.shown, &facts.current);
    if fields.is_empty() { Ok(Entered { comment, changes }) } else { Err(Refusal::ValuesChanged { fields }) }
}

/// An approval needs every required field and every check's yes.
fn check_complete(turn: &Turn<'_>, step: &UserStep, after: &ObjectValues, actor: &Person) -> Result<(), Refusal> {
    let moment = Moment { at: turn.at, actor: Some(actor) };
    // Values that don't fit their declared types make no environment; then no check says yes, and the form is told.
    let env = environment(turn.blueprint, turn.instance, after, moment).ok();
    let problems = incomplete(turn.blueprint, step, after, env.as_ref());
    if problems.is_empty() { Ok(()) } else { Err(Refusal::Invalid { problems }) }
}
