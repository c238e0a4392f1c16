//! The state machine (DESIGN §2 rule 1, §5).
//!
//! Purpose: one event and one instance make the next revision, or a refusal that says why not.
//! Invariant: `apply` only dispatches; each event has its own file. A refused event changes nothing; an accepted one
//! makes exactly one new revision whose log grew.
//! Never: async, I/O, a clock, randomness; the ERP is only asked for through the effects that a step leaves behind.

mod changes;
mod claim;
mod claim_lapsed;
mod decide;
mod draft;
mod effect;
mod effect_done;
mod effect_failed;
mod environment;
mod feedback;
mod person;
mod refusal;
mod remark;
mod repaired;
mod requested_again;
mod run;
mod start;
mod unclaim;

pub(crate) use person::{moved_on, still_open};

pub use environment::{Moment, environment};
pub use refusal::{FieldIssue, IssueKind, Refusal};
pub use run::evaluate;
pub use start::start;

use crate::blueprint::Blueprint;
use crate::event::{Event, EventKind};
use crate::instance::{EffectKey, Instance};

/// What an event made of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The next revision.
    pub instance: Instance,
    /// Effects that this revision created; older ones may be pending too.
    pub effects: Vec<EffectKey>,
}

/// Applies one event to one instance.
///
/// # Errors
/// [`Refusal`]; the instance stays as it is. [`Refusal::Repeat`] is no failure: the operation was done before.
pub fn apply(blueprint: &Blueprint, instance: &Instance, event: Event) -> Result<Step, Refusal> {
    let Event { at, actor, commit_id, kind } = event;
    let turn = draft::Turn { blueprint, instance, actor: &actor, at, commit_id };
    turn.check_blueprint()?;
    match kind {
        EventKind::Claim { visit, claim_id, operation } => claim::apply(turn, visit, claim_id, operation),
        EventKind::Unclaim { claim_id, operation } => unclaim::apply(turn, &claim_id, operation),
        EventKind::Decide(facts) => decide::apply(turn, *facts),
        EventKind::Feedback { visit, operation, text } => feedback::apply(turn, visit, operation, &text),
        EventKind::ClaimLapsed { claim_id } => claim_lapsed::apply(turn, &claim_id),
        EventKind::RequestedAgain => requested_again::apply(turn),
        EventKind::EffectDone { key, evidence, object } => effect_done::apply(turn, key, &evidence, &object),
        EventKind::EffectFailed { key, error, next_try_at, evidence } => {
            effect_failed::apply(turn, key, &error, next_try_at, &evidence)
        }
        EventKind::Repaired(facts) => repaired::apply(turn, facts),
    }
}
