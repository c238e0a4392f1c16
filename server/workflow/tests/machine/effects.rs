//! Results of ERP writes.

use workflow::apply::Refusal;
use workflow::event::ErpEvidence;
use workflow::instance::{EVIDENCE_CHARS_MAX, EffectKey, EffectKind, State};
use workflow::log::LogKind;
use workflow::vocab::{Decision, InstanceStatus};
use workflow::{Actor, EventKind};

use crate::fixture::{Run, actor, at, name, text};

#[test]
fn results_come_in_order() {
    let run = Run::new("499.99");
    let second = EffectKey { revision: 1, index: 1 };
    for early in [run.done(second), run.failed(second)] {
        assert!(matches!(run.refusal(Actor::System, early), Refusal::NotAllowedHere { .. }));
    }
    let unknown = EffectKey { revision: 7, index: 0 };
    assert!(matches!(run.refusal(Actor::System, run.done(unknown)), Refusal::NotAllowedHere { .. }));
}

#[test]
fn a_confirmed_effect_is_confirmed_once() {
    let mut run = Run::new("1190.00");
    let key = run.first_key();
    run.confirm();
    let revision = run.instance.revision;
    assert_eq!(run.refusal(Actor::System, run.done(key)), Refusal::Repeat { revision });
    assert_eq!(
        run.refusal(Actor::System, run.failed(key)),
        Refusal::Repeat { revision },
        "a late failure changes nothing"
    );
}

#[test]
fn a_failed_write_stays_pending_and_visible() {
    let mut run = Run::new("1190.00");
    for tries in 1..=3 {
        let failed = run.failed(run.first_key());
        run.send(Actor::System, failed);
        let effect = &run.instance.effects[0];
        assert_eq!((effect.attempts, effect.last_error.as_deref()), (tries, Some("record locked")));
        assert_eq!(effect.next_try_at, Some(at(run.minutes)));
        assert!(matches!(run.instance.history.last().unwrap().kind, LogKind::ErpFailed { .. }));
    }
    assert_eq!(run.instance.status, InstanceStatus::Open);
    run.claim("anna");
    run.confirm();
    assert!(run.instance.effects.is_empty());
}

#[test]
fn nobody_acts_while_edits_are_under_way() {
    let mut run = Run::new("1190.00");
    run.claim("anna");
    run.approve_with("anna", &[("fldKostenstelle", "2000")]);
    assert!(matches!(run.instance.state, State::Syncing { .. }));
    run.confirm();
    assert!(matches!(run.instance.state, State::Syncing { .. }), "the start's confirmation is not the edits'");
    let operation = run.operation();
    let feedback = EventKind::Feedback { visit: 1, operation, text: "x".to_owned() };
    assert!(matches!(run.refusal(actor("anna"), feedback), Refusal::Stale { done: true, .. }));
    let failed = run.failed(run.first_key());
    run.send(Actor::System, failed);
    run.confirm();
    assert_eq!(run.instance.current_step.as_str(), "kaufmaennisch");
}

#[test]
fn fresh_values_reach_the_summary() {
    let mut run = Run::new("1190.00");
    run.object.insert(name("fldLieferant"), text("Meier KG"));
    run.confirm();
    assert_eq!(run.instance.summary[&name("fldLieferant")], text("Meier KG"));
    run.claim("anna");
    run.object.insert(name("fldLieferant"), text("Schulze AG"));
    let facts = run.facts(Decision::Approve);
    run.send(actor("anna"), EventKind::Decide(Box::new(facts)));
    assert_eq!(run.instance.summary[&name("fldLieferant")], text("Schulze AG"));
}

#[test]
fn evidence_is_bounded() {
    let mut run = Run::new("1190.00");
    let evidence =
        ErpEvidence { mutation: "m".repeat(50_000), answer: "ä".repeat(50_000), attempt: u32::MAX, took_ms: u64::MAX };
    let (key, error) = (run.first_key(), "e".repeat(50_000));
    run.send(Actor::System, EventKind::EffectFailed { key, error, next_try_at: at(9), evidence });
    let LogKind::ErpFailed { error, evidence, .. } = &run.instance.history.last().unwrap().kind else { panic!() };
    for kept in [error, &evidence.mutation, &evidence.answer] {
        assert_eq!(kept.chars().count(), EVIDENCE_CHARS_MAX);
        assert!(kept.ends_with('…'));
    }
}

#[test]
fn an_erp_that_asks_again_gets_its_state_again() {
    let mut run = Run::new("1190.00");
    let revision = run.instance.revision;
    assert_eq!(run.refusal(Actor::System, EventKind::RequestedAgain), Refusal::Repeat { revision }, "pending anyway");
    run.confirm();
    assert!(matches!(run.refusal(actor("anna"), EventKind::RequestedAgain), Refusal::NotAllowedHere { .. }));
    let before = run.instance.state.clone();
    run.send(Actor::System, EventKind::RequestedAgain);
    assert_eq!(run.instance.state, before, "the run goes on where it is");
    assert_eq!(run.instance.effects[0].kind, EffectKind::ErpStart);
    run.claim("anna");
    run.approve_with("anna", &[("fldKostenstelle", "2000")]);
    run.confirm();
    run.confirm();
    assert_eq!(run.instance.current_step.as_str(), "kaufmaennisch");

    let mut run = Run::new("499.99");
    run.confirm();
    run.confirm();
    assert_eq!(run.refusal(Actor::System, EventKind::RequestedAgain), Refusal::Final);
}

#[test]
fn a_request_during_pending_edits_is_answered_behind_them() {
    let mut run = Run::new("1190.00");
    run.confirm();
    run.claim("anna");
    run.approve_with("anna", &[("fldKostenstelle", "2000")]);
    run.send(Actor::System, EventKind::RequestedAgain);
    assert!(matches!(run.instance.effects[0].kind, EffectKind::ErpChanges { .. }), "the edits come first");
    assert_eq!(run.instance.effects[1].kind, EffectKind::ErpStart);
    let revision = run.instance.revision;
    assert_eq!(run.refusal(Actor::System, EventKind::RequestedAgain), Refusal::Repeat { revision }, "once is enough");
    run.confirm();
    assert_eq!(run.instance.current_step.as_str(), "kaufmaennisch");
    run.confirm();
    assert!(run.instance.effects.is_empty());
}
