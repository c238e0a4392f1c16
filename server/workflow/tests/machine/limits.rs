//! Everything that can grow has a limit.

use workflow::apply::Refusal;
use workflow::instance::{LOG_ENTRIES_MAX, LOG_ENTRIES_RESERVED, OPERATIONS_MAX, STEPS_PER_EVENT_MAX, State};
use workflow::vocab::InstanceStatus;
use workflow::{Actor, EventKind};

use crate::fixture::{Run, actor, blueprint, condition, invoice};

#[test]
fn a_full_log_refuses_people_and_still_ends() {
    let mut run = Run::new("1190.00");
    run.claim("anna");
    run.approve_with("anna", &[("fldKostenstelle", "2000")]);
    while run.instance.log_has_room() {
        let failed = run.failed(run.first_key());
        let event = workflow::Event {
            at: crate::fixture::at(run.minutes),
            actor: Actor::System,
            commit_id: "commit-n".to_owned(),
            kind: failed,
        };
        run.instance = workflow::apply(&run.blueprint, &run.instance, event).unwrap().instance;
    }
    let entries = run.instance.history.len();
    assert_eq!(entries, LOG_ENTRIES_MAX - LOG_ENTRIES_RESERVED);
    let attempts = run.instance.effects[0].attempts;
    let failed = run.failed(run.first_key());
    run.send(Actor::System, failed);
    assert_eq!(run.instance.history.len(), entries, "no more entries for repeated failures");
    assert_eq!(run.instance.effects[0].attempts, attempts + 1);

    // What is under way is confirmed; people are told why they can't go on.
    run.confirm();
    run.confirm();
    assert_eq!(run.instance.current_step.as_str(), "kaufmaennisch");
    let event = run.claim_event();
    assert!(matches!(run.refusal(actor("bert"), event), Refusal::LimitReached { limit, .. } if limit == entries));
    assert!(workflow::rights::allowed_actions(&run.blueprint, &run.instance, &actor("bert")).is_empty());
    assert!(crate::rights::offered_in_list(&run, "bert").is_empty(), "the list offers what the task offers");
}

#[test]
fn remembered_operations_are_bounded() {
    let mut run = Run::new("1190.00");
    for _ in 0..OPERATIONS_MAX + 5 {
        let operation = run.operation();
        run.send(actor("anna"), EventKind::Feedback { visit: 1, operation, text: "x".to_owned() });
    }
    assert_eq!(run.instance.operations.len(), OPERATIONS_MAX);
    assert_eq!(run.instance.operations.last().unwrap().revision, run.instance.revision);
}

#[test]
fn steps_that_go_round_in_circles_stop() {
    let mut blueprint = blueprint();
    blueprint.steps.insert(0, condition("hin", &[("true", "her")], "her"));
    blueprint.steps.insert(1, condition("her", &[("true", "hin")], "hin"));
    let run = Run::with(blueprint, invoice("1190.00"));
    assert_eq!(run.instance.status, InstanceStatus::Error);
    assert!(matches!(run.instance.state, State::Stopped { .. }));
    assert_eq!(run.instance.history.len(), 1 + STEPS_PER_EVENT_MAX + 1);
}
