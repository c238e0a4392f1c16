//! Who may see and do what (DESIGN §5 "Rights").
//!
//! Purpose: one set of rules for `apply`, for lists and for the actions that screens offer.
//! Invariant: an action is in [`allowed_actions`] exactly when `apply` would not refuse it for a reason of rights, claim
//! or state; both ask [`permit`].
//! Never: looks up groups; an [`Actor`] brings the rights that it has in the instance's tenant.

use std::collections::BTreeSet;

use vocab::{Action, ClaimId, GroupName, Person, Role, TaskAct};

use crate::apply::Refusal;
use crate::blueprint::{Assignment, Blueprint, StepKind, UserStep};
use crate::event::Actor;
use crate::instance::{Claim, Instance, LOG_ENTRIES_MAX, LOG_ENTRIES_RESERVED, OpenTask};

/// Whether this person may see the tasks and forms of runs of this blueprint version (the pinned one): in a group of any
/// of its steps, named there, or an auditor. Four-eyes persons see what they may not claim.
pub fn may_see_task(blueprint: &Blueprint, actor: &Actor) -> bool {
    match actor {
        Actor::System => true,
        Actor::Person { person, groups, roles } => {
            roles.contains(&Role::Auditor) || user_steps(blueprint).any(|step| assigned(&step.assign, person, groups))
        }
    }
}

/// Whether an act of this person on the run's tasks is looked at at all: whoever sees the task, and whoever holds it, even
/// if they have left the group since. To everybody else the task does not exist, also to operators, who read the log only
/// (DESIGN §5 "Rights", §8 "404 not yours").
pub fn may_try(blueprint: &Blueprint, instance: &Instance, actor: &Actor) -> bool {
    may_see_task(blueprint, actor)
        || match actor {
            Actor::System => true,
            Actor::Person { person, .. } => instance.claimed_by.as_ref().is_some_and(|holder| holder.id == person.id),
        }
}

/// Whether this person may read the execution log: whoever sees the task, and operators.
pub fn may_see_log(blueprint: &Blueprint, actor: &Actor) -> bool {
    may_see_task(blueprint, actor)
        || match actor {
            Actor::System => true,
            Actor::Person { roles, .. } => roles.contains(&Role::Operator),
        }
}

/// Whether this person may open the receipts: whoever sees the task; being an operator is not enough.
pub fn may_see_receipt(blueprint: &Blueprint, actor: &Actor) -> bool {
    may_see_task(blueprint, actor)
}

/// Whether a step's task belongs in this person's inbox: in the step's group, or named.
pub fn may_list(step: &UserStep, actor: &Actor) -> bool {
    match actor {
        Actor::System => false,
        Actor::Person { person, groups, .. } => assigned(&step.assign, person, groups),
    }
}

/// What this person may do right now.
pub fn allowed_actions(blueprint: &Blueprint, instance: &Instance, actor: &Actor) -> BTreeSet<Action> {
    let Actor::Person { person, groups, .. } = actor else {
        return BTreeSet::new();
    };
    let Some(task) = instance.open_task() else {
        return BTreeSet::new();
    };
    let Some(step) = blueprint.user_step(task.step) else {
        return BTreeSet::new();
    };
    let all = [Action::Claim, Action::Unclaim, Action::Edit, Action::Approve, Action::Reject, Action::Feedback];
    let who = Who { person, groups };
    all.into_iter().filter(|action| permit(instance, step, task, who, *action).is_ok()).collect()
}

/// What this person may do with a row of a list, where only the facts of the row are at hand: the same rules as
/// [`allowed_actions`] for claiming and giving back. `log_has_room` is [`Instance::log_has_room`].
pub fn row_actions(
    assign: &Assignment,
    holder: Option<&Person>,
    decided: impl Fn(&vocab::StepId) -> bool,
    log_has_room: bool,
    actor: &Actor,
) -> BTreeSet<Action> {
    let Actor::Person { person, groups, .. } = actor else {
        return BTreeSet::new();
    };
    match holder {
        _ if !log_has_room => BTreeSet::new(),
        Some(holder) if holder.id == person.id => BTreeSet::from([Action::Unclaim]),
        Some(_) => BTreeSet::new(),
        None if assigned(assign, person, groups) && !assign.not_by.iter().any(decided) => {
            BTreeSet::from([Action::Claim])
        }
        None => BTreeSet::new(),
    }
}

/// Whether a task with this assignment belongs in this person's inbox.
pub fn may_list_assigned(assign: &Assignment, actor: &Actor) -> bool {
    match actor {
        Actor::System => false,
        Actor::Person { person, groups, .. } => assigned(assign, person, groups),
    }
}

/// A person with the groups they have in the instance's tenant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Who<'a> {
    /// Who.
    pub(crate) person: &'a Person,
    /// Blueprint groups.
    pub(crate) groups: &'a BTreeSet<GroupName>,
}

impl<'a> Who<'a> {
    /// The acting person; the engine itself has no task.
    pub(crate) fn acting(actor: &'a Actor) -> Result<Self, Refusal> {
        match actor {
            Actor::Person { person, groups, .. } => Ok(Self { person, groups }),
            Actor::System => Err(Refusal::NotAllowedHere { what: "the engine acting on a person's task".to_owned() }),
        }
    }
}

/// The open task of a visit for the holder of a claim who may still decide it; who may not is told why, as for a decision.
///
/// # Errors
/// The [`Refusal`] that a decision would get.
pub fn holding<'a>(
    blueprint: &Blueprint,
    instance: &'a Instance,
    actor: &'a Actor,
    visit: u64,
    claim_id: &ClaimId,
) -> Result<(&'a Person, OpenTask<'a>), Refusal> {
    let who = Who::acting(actor)?;
    let task = instance.open_task().filter(|task| task.visit == visit);
    let task = task.ok_or_else(|| crate::apply::moved_on(instance, visit))?;
    let Some(step) = blueprint.user_step(task.step) else {
        return Err(Refusal::Corrupt { reason: format!("the open task's step {} is no user step", task.step) });
    };
    permit(instance, step, task, who, Action::Approve)?;
    if task.claim.is_none_or(|claim| claim.id != *claim_id) {
        return Err(crate::apply::still_open(instance, claim_id.as_str()));
    }
    Ok((who.person, task))
}

/// The rules for acting on an open task. Which visit and which claim an event means is checked by the event.
pub(crate) fn permit(
    instance: &Instance,
    step: &UserStep,
    task: OpenTask<'_>,
    who: Who<'_>,
    action: Action,
) -> Result<(), Refusal> {
    match action {
        // Giving back needs no group: who has left it must not keep a task from the others.
        Action::Unclaim => held(task, who)?,
        Action::Feedback => in_group(step, who)?,
        Action::Claim => {
            in_group(step, who)?;
            four_eyes(instance, step, who)?;
            free(task)?;
        }
        Action::Approve | Action::Reject => {
            in_group(step, who)?;
            four_eyes(instance, step, who)?;
            held(task, who)?;
        }
        Action::Edit => {
            permit(instance, step, task, who, Action::Approve)?;
            if !step.fields.iter().any(|field| field.visible && field.editable) {
                return Err(Refusal::NotAllowedHere {
                    what: format!("an edit: step {} has no editable field", task.step),
                });
            }
        }
    }
    if instance.log_has_room() {
        Ok(())
    } else {
        Err(Refusal::LimitReached { what: "log entries of this run", limit: LOG_ENTRIES_MAX - LOG_ENTRIES_RESERVED })
    }
}

/// Whether a step is assigned to this person, by group or by the identity provider's id. Never by a name: people may be
/// able to change theirs.
fn assigned(assign: &Assignment, person: &Person, groups: &BTreeSet<GroupName>) -> bool {
    assign.groups.iter().any(|group| groups.contains(group)) || assign.users.contains(&person.id)
}

fn user_steps(blueprint: &Blueprint) -> impl Iterator<Item = &UserStep> {
    blueprint.steps.iter().filter_map(|step| match &step.kind {
        StepKind::User(user) => Some(user),
        StepKind::Condition(_) | StepKind::End(_) => None,
    })
}

fn in_group(step: &UserStep, who: Who<'_>) -> Result<(), Refusal> {
    if assigned(&step.assign, who.person, who.groups) { Ok(()) } else { Err(Refusal::NotInGroup) }
}

fn four_eyes(instance: &Instance, step: &UserStep, who: Who<'_>) -> Result<(), Refusal> {
    if instance.decided_any(&who.person.id, &step.assign.not_by) { Err(Refusal::FourEyes) } else { Ok(()) }
}

/// Somebody else has the task.
pub(crate) fn taken(claim: &Claim) -> Refusal {
    Refusal::Stale { who: Some(claim.by.clone()), at: Some(claim.at), what: Some(TaskAct::Claimed), done: false }
}

fn free(task: OpenTask<'_>) -> Result<(), Refusal> {
    match task.claim {
        None => Ok(()),
        Some(claim) => Err(taken(claim)),
    }
}

fn held(task: OpenTask<'_>, who: Who<'_>) -> Result<(), Refusal> {
    match task.claim {
        None => Err(Refusal::NotClaimedByYou),
        Some(claim) if claim.by.id == who.person.id => Ok(()),
        Some(claim) => Err(taken(claim)),
    }
}
