//! Lives of runs that go as they should.

use workflow::Actor;
use workflow::EventKind;
use workflow::instance::{EffectKey, EffectKind, ErpOutcome, State};
use workflow::log::LogKind;
use workflow::vocab::{Decision, InstanceStatus};

use crate::fixture::{Run, actor, at, name, text, values};

#[test]
fn two_people_approve_and_the_object_is_released() {
    let mut run = Run::new("1190.00");
    assert_eq!(run.instance.effects[0].kind, EffectKind::ErpStart);
    assert_eq!(run.first_key(), EffectKey { revision: 1, index: 0 });
    assert_eq!(run.instance.current_step.as_str(), "sachlich");
    run.confirm();
    run.claim("anna");
    assert_eq!(run.instance.claimed_by.as_ref().unwrap().name, "Anna");

    let step = run.approve_with("anna", &[("fldKostenstelle", "2000")]);
    assert_eq!(step.effects.len(), 1);
    assert_eq!(run.instance.effects[0].kind, EffectKind::ErpChanges { fields: values(&[("fldKostenstelle", "2000")]) });
    assert!(matches!(&run.instance.state, State::Syncing { next, .. } if next.as_str() == "kaufmaennisch"));
    assert_eq!(run.instance.summary[&name("fldKostenstelle")], text("2000"));
    run.confirm();
    assert_eq!(run.instance.current_step.as_str(), "kaufmaennisch");

    run.claim("bert");
    run.approve("bert");
    assert_eq!(run.instance.status, InstanceStatus::Open, "final only once the ERP has confirmed it");
    assert_eq!(run.instance.effects[0].kind, EffectKind::ErpEnd { outcome: ErpOutcome::Released });
    run.confirm();
    assert_eq!(run.instance.status, InstanceStatus::Approved);
    assert_eq!(run.instance.ended_at, Some(at(run.minutes)));
    let decided: Vec<_> =
        run.instance.taken_decisions().into_iter().map(|taken| (taken.by.name, taken.decision)).collect();
    assert_eq!(decided, [("Anna".to_owned(), Decision::Approve), ("Bert".to_owned(), Decision::Approve)]);
}

#[test]
fn a_small_amount_ends_at_once_with_two_effects_in_order() {
    let mut run = Run::new("499.99");
    let kinds: Vec<_> = run.instance.effects.iter().map(|effect| (effect.key.index, effect.kind.clone())).collect();
    assert_eq!(kinds, [(0, EffectKind::ErpStart), (1, EffectKind::ErpEnd { outcome: ErpOutcome::Released })]);
    run.confirm();
    assert!(!run.instance.is_final());
    run.confirm();
    assert_eq!(run.instance.status, InstanceStatus::Approved);
    let LogKind::Condition { cases, next_step, error } = &run.instance.history[1].kind else {
        panic!("{:?}", run.instance.history[1])
    };
    assert_eq!(cases[0].compared[0].value, "499.99");
    assert_eq!((cases[0].result, next_step.as_ref().unwrap().as_str(), error), (Some(true), "freigegeben", &None));
}

#[test]
fn a_rejections_edits_stay_in_the_log() {
    let mut run = Run::new("1190.00");
    run.confirm();
    run.claim("anna");
    let mut facts = run.facts(Decision::Reject);
    facts.changes = values(&[("fldKostenstelle", "2000")]);
    facts.comment = Some("  Lieferschein fehlt ".to_owned());
    run.send(actor("anna"), EventKind::Decide(Box::new(facts)));
    assert_eq!(run.instance.effects.len(), 1);
    assert_eq!(run.instance.effects[0].kind, EffectKind::ErpEnd { outcome: ErpOutcome::Rejected });
    assert_eq!(run.instance.summary[&name("fldKostenstelle")], text("1000"));
    let decided = run.instance.history.iter().find_map(|entry| match &entry.kind {
        LogKind::Decided { changed, comment, next_step, .. } => Some((changed, comment, next_step)),
        _ => None,
    });
    let (changed, comment, next_step) = decided.unwrap();
    assert_eq!((changed[0].old.clone(), changed[0].new.clone()), (text("1000"), text("2000")));
    assert_eq!((comment.as_deref(), next_step.as_str()), (Some("Lieferschein fehlt"), "abgelehnt"));
    run.confirm();
    assert_eq!(run.instance.status, InstanceStatus::Rejected);
}

#[test]
fn a_task_given_back_or_lapsed_is_open_to_the_next() {
    let mut run = Run::new("1190.00");
    let claim_id = run.claim("anna");
    let operation = run.operation();
    run.send(actor("anna"), EventKind::Unclaim { claim_id, operation });
    assert_eq!(run.instance.claimed_by, None);

    let claim_id = run.claim("carl");
    let until = run.instance.open_task().unwrap().claim.unwrap().until;
    assert_eq!(until, at(run.minutes) + chrono::Duration::hours(24));
    run.minutes += 24 * 60;
    run.send(Actor::System, EventKind::ClaimLapsed { claim_id });
    assert_eq!(run.instance.claimed_by, None);
    run.claim("anna");
}

#[test]
fn whoever_left_the_group_can_still_give_the_task_back() {
    let mut run = Run::new("1190.00");
    let claim_id = run.claim("anna");
    let operation = run.operation();
    run.send(crate::fixture::actor_in("anna", &[]), EventKind::Unclaim { claim_id, operation });
    assert_eq!(run.instance.claimed_by, None);
}

#[test]
fn a_remark_changes_nothing_but_the_log() {
    let mut run = Run::new("1190.00");
    run.claim("anna");
    let before = run.instance.clone();
    let operation = run.operation();
    let visit = run.visit();
    run.send(actor("carl"), EventKind::Feedback { visit, operation, text: " Bitte eilig ".to_owned() });
    assert_eq!(run.instance.state, before.state);
    assert_eq!(run.instance.history.last().unwrap().kind, LogKind::Feedback { text: "Bitte eilig".to_owned() });
}

#[test]
fn steps_after_edits_see_the_confirmed_object_and_who_decided() {
    let mut blueprint = crate::fixture::blueprint();
    blueprint.steps.insert(
        2,
        crate::fixture::condition(
            "danach",
            &[(
                "#actor.id == 'anna' and #object.fldKostenstelle == '2000' and #history[0].decision == 'approve'",
                "freigegeben",
            )],
            "kaufmaennisch",
        ),
    );
    if let workflow::blueprint::StepKind::User(user) = &mut blueprint.steps[1].kind {
        user.approve = "danach".into();
    }
    let mut run = Run::with(blueprint, crate::fixture::invoice("1190.00"));
    run.confirm();
    run.claim("anna");
    run.approve_with("anna", &[("fldKostenstelle", "2000")]);
    run.confirm();
    assert_eq!(run.instance.current_step.as_str(), "freigegeben");
}

#[test]
fn a_condition_without_an_answer_stops_the_run_by_name() {
    let mut object = crate::fixture::invoice("1190.00");
    object.remove(&name("fldGesamtBrutto"));
    let mut run = Run::with(crate::fixture::blueprint(), object);
    assert_eq!(run.instance.status, InstanceStatus::Error);
    let State::Stopped { step, reason } = &run.instance.state else { panic!("{:?}", run.instance.state) };
    assert_eq!(step.as_str(), "betrag");
    assert!(reason.contains("#object.fldGesamtBrutto <= 500"), "{reason}");
    let kinds: Vec<_> = run.instance.history.iter().map(|entry| &entry.kind).collect();
    assert!(matches!(
        kinds[..],
        [LogKind::Started { .. }, LogKind::Condition { error: Some(_), .. }, LogKind::Stopped { .. }]
    ));
    // The ERP still learns that the run has begun.
    run.confirm();
    assert_eq!(run.instance.status, InstanceStatus::Error);
}

#[test]
fn the_document_survives_being_stored() {
    let mut run = Run::new("1190.00");
    run.claim("anna");
    run.approve_with("anna", &[("fldKostenstelle", "2000"), ("fldSkontoBis", "2026-12-24")]);
    let stored = serde_json::to_string(&run.instance).unwrap();
    let read: workflow::Instance = serde_json::from_str(&stored).unwrap();
    assert_eq!(read, run.instance);
    read.check_invariants().unwrap();
    let document: serde_json::Value = serde_json::from_str(&stored).unwrap();
    for given in
        ["currentStep", "claimedBy", "history", "data", "sync_error_note", "customerID", "tenantID", "triggerGUID"]
    {
        assert!(document.get(given).is_some(), "the spec's name {given}");
    }
}
