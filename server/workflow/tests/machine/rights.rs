//! Who may see what, and what is offered.

use std::collections::BTreeSet;

use workflow::blueprint::Blueprint;
use workflow::rights::{allowed_actions, may_list, may_see_log, may_see_receipt, may_see_task, row_actions};
use workflow::vocab::{Action, StepId};

use crate::fixture::{PEOPLE, Run, actor, blueprint};

fn who(blueprint: &Blueprint, may: impl Fn(&Blueprint, &workflow::Actor) -> bool) -> Vec<&'static str> {
    PEOPLE.iter().map(|(id, _, _)| *id).filter(|id| may(blueprint, &actor(id))).collect()
}

/// What the row of the open task offers somebody.
pub(crate) fn offered_in_list(run: &Run, id: &str) -> BTreeSet<Action> {
    let who = actor(id);
    let Some(task) = run.instance.open_task() else { return BTreeSet::new() };
    let step = run.blueprint.user_step(task.step).unwrap();
    let decided = |step: &StepId| run.instance.decided_any(&id.into(), std::slice::from_ref(step));
    row_actions(&step.assign, task.claim.map(|claim| &claim.by), decided, run.instance.log_has_room(), &who)
}

/// The list and the task offer the same, as far as a list goes.
pub(crate) fn check_offers(run: &Run) {
    for (id, _, _) in PEOPLE {
        let mut offered = allowed_actions(&run.blueprint, &run.instance, &actor(id));
        offered.retain(|action| matches!(action, Action::Claim | Action::Unclaim));
        assert_eq!(offered_in_list(run, id), offered, "{id}");
    }
}

#[test]
fn the_table_of_rights() {
    let blueprint = blueprint();
    assert_eq!(who(&blueprint, may_see_task), ["anna", "bert", "carl", "dora", "udo"]);
    assert_eq!(who(&blueprint, may_see_receipt), ["anna", "bert", "carl", "dora", "udo"]);
    assert_eq!(who(&blueprint, may_see_log), ["anna", "bert", "carl", "dora", "olga", "udo"]);
    let listed = |step: &'static str| {
        who(&blueprint, move |blueprint, actor| may_list(blueprint.user_step(&StepId::new(step)).unwrap(), actor))
    };
    assert_eq!(listed("sachlich"), ["anna", "carl"]);
    assert_eq!(listed("kaufmaennisch"), ["bert", "carl", "dora"], "by group, and dora by her id");
}

#[test]
fn what_is_offered_follows_claim_and_four_eyes() {
    let mut run = Run::new("1190.00");
    let offered = |run: &Run, id: &str| allowed_actions(&run.blueprint, &run.instance, &actor(id));
    let set = |actions: &[Action]| actions.iter().copied().collect::<BTreeSet<_>>();
    assert_eq!(offered(&run, "carl"), set(&[Action::Claim, Action::Feedback]));
    for nobody in ["bert", "dora", "olga", "udo", "fremd"] {
        assert_eq!(offered(&run, nobody), set(&[]), "{nobody}");
    }
    run.claim("carl");
    let all = [Action::Unclaim, Action::Edit, Action::Approve, Action::Reject, Action::Feedback];
    assert_eq!(offered(&run, "carl"), set(&all));
    assert_eq!(offered(&run, "anna"), set(&[Action::Feedback]));
    run.approve("carl");
    assert_eq!(offered(&run, "carl"), set(&[Action::Feedback]), "four eyes: sees it, may not take it");
    assert_eq!(offered(&run, "dora"), set(&[Action::Claim, Action::Feedback]));
    run.claim("dora");
    let without_edit = [Action::Unclaim, Action::Approve, Action::Reject, Action::Feedback];
    assert_eq!(offered(&run, "dora"), set(&without_edit), "the step has no editable field");
    run.approve("dora");
    assert_eq!(offered(&run, "dora"), set(&[]));
}
