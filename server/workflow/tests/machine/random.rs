//! Random sequences of events by random people: whatever they try, the invariants hold.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use workflow::apply::Refusal;
use workflow::rights::allowed_actions;
use workflow::vocab::{Action, ClaimId, Decision, OperationId};
use workflow::{Actor, Event, EventKind, apply};

use crate::fixture::{PEOPLE, Run, actor, at, check_step, name, text};

/// What somebody tries.
#[derive(Debug, Clone)]
enum Try {
    Claim { who: usize, visit_back: u64, repeat: bool },
    Unclaim { who: usize, stale: bool },
    Decide { who: usize, approve: bool, edit: Option<usize>, comment: bool, drift: bool, stale: bool, visit_back: u64 },
    Feedback { who: usize, visit_back: u64 },
    Lapse { stale: bool, late: bool },
    AskAgain,
    Done { which: usize },
    Failed { which: usize },
}

const EDITS: [(&str, &str); 5] = [
    ("fldKostenstelle", "2000"),
    ("fldKostenstelle", "1000"),
    ("fldSkontoBis", "2026-12-24"),
    ("fldSkonto", "1.235"),
    ("fldGesamtBrutto", "1"),
];

fn any_try() -> impl Strategy<Value = Try> {
    let who = 0..PEOPLE.len();
    // Mostly the present; now and then something from the past.
    let back = prop_oneof![6 => Just(0u64), 1 => 1u64..3];
    let seldom = prop::bool::weighted(0.1);
    prop_oneof![
        6 => (who.clone(), back.clone(), seldom).prop_map(|(who, visit_back, repeat)| Try::Claim { who, visit_back, repeat }),
        1 => (who.clone(), seldom).prop_map(|(who, stale)| Try::Unclaim { who, stale }),
        6 => (who.clone(), prop::bool::weighted(0.8), prop::option::of(0..EDITS.len()), any::<bool>(), seldom, seldom, back.clone())
            .prop_map(|(who, approve, edit, comment, drift, stale, visit_back)| Try::Decide { who, approve, edit, comment, drift, stale, visit_back }),
        1 => (who, back).prop_map(|(who, visit_back)| Try::Feedback { who, visit_back }),
        1 => (seldom, any::<bool>()).prop_map(|(stale, late)| Try::Lapse { stale, late }),
        1 => Just(Try::AskAgain),
        4 => prop_oneof![6 => Just(0usize), 1 => 1usize..3].prop_map(|which| Try::Done { which }),
        1 => prop_oneof![6 => Just(0usize), 1 => 1usize..3].prop_map(|which| Try::Failed { which }),
    ]
}

/// The person who has the task, most of the time, so that sequences get somewhere.
fn somebody(run: &Run, who: usize) -> Actor {
    let holder = run.instance.claimed_by.as_ref().filter(|_| who.is_multiple_of(2));
    holder.map_or_else(|| actor(PEOPLE[who].0), |holder| actor(holder.id.as_str()))
}

fn claim_id(run: &Run, stale: bool) -> ClaimId {
    let current = run.instance.open_task().and_then(|task| task.claim).map(|claim| claim.id.clone());
    let logged = run.instance.history.iter().find_map(|entry| match &entry.kind {
        workflow::log::LogKind::Claimed { claim_id } => Some(ClaimId::new(claim_id.clone())),
        _ => None,
    });
    if stale { logged.or(current) } else { current.or(logged) }.unwrap_or_else(|| ClaimId::new("none"))
}

fn event_of(run: &mut Run, attempt: &Try) -> (Actor, EventKind) {
    let visits = run.instance.visits;
    let operation = run.operation();
    match *attempt {
        Try::Claim { who, visit_back, repeat } => {
            let claim_id = ClaimId::new(format!("claim-{}", run.count));
            let known = run.instance.operations.last().map(|record| record.id.clone()).filter(|_| repeat);
            let visit = visits.saturating_sub(visit_back);
            (actor(PEOPLE[who].0), EventKind::Claim { visit, claim_id, operation: known.unwrap_or(operation) })
        }
        Try::Unclaim { who, stale } => {
            (somebody(run, who), EventKind::Unclaim { claim_id: claim_id(run, stale), operation })
        }
        Try::Decide { who, approve, edit, comment, drift, stale, visit_back } => {
            let acting = somebody(run, who);
            let decision = if approve { Decision::Approve } else { Decision::Reject };
            let mut facts = if run.instance.open_task().is_some() {
                run.facts(decision)
            } else {
                // As a page that was opened before would send it.
                let mut fresh = Run::new("1190.00");
                fresh.count = run.count;
                fresh.facts(decision)
            };
            facts.operation = operation;
            facts.visit = visits.saturating_sub(visit_back);
            facts.claim_id = claim_id(run, stale);
            if let Some((field, value)) = edit.map(|index| EDITS[index]) {
                facts.changes.insert(name(field), text(value));
            }
            if !comment {
                facts.comment = None;
            }
            if drift {
                facts.current.insert(name("fldGesamtBrutto"), text("9999.00"));
            }
            (acting, EventKind::Decide(Box::new(facts)))
        }
        Try::Feedback { who, visit_back } => {
            let visit = visits.saturating_sub(visit_back);
            (actor(PEOPLE[who].0), EventKind::Feedback { visit, operation, text: "Hinweis".to_owned() })
        }
        Try::Lapse { stale, late } => {
            run.minutes += if late { 24 * 60 } else { 0 };
            (Actor::System, EventKind::ClaimLapsed { claim_id: claim_id(run, stale) })
        }
        Try::AskAgain => (Actor::System, EventKind::RequestedAgain),
        Try::Done { which } => {
            let key = run.instance.effects.get(which).or(run.instance.effects.first()).map(|effect| effect.key);
            let key = key.unwrap_or(workflow::instance::EffectKey { revision: 1, index: 0 });
            (Actor::System, run.done(key))
        }
        Try::Failed { which } => {
            let key = run.instance.effects.get(which).or(run.instance.effects.first()).map(|effect| effect.key);
            let key = key.unwrap_or(workflow::instance::EffectKey { revision: 1, index: 0 });
            (Actor::System, run.failed(key))
        }
    }
}

/// A well-formed event for an action on the open task.
fn well_formed(run: &mut Run, action: Action) -> EventKind {
    let visit = run.visit();
    let claim_id = claim_id(run, false);
    let operation = OperationId::new("probe");
    match action {
        Action::Claim => EventKind::Claim { visit, claim_id: ClaimId::new("probe"), operation },
        Action::Unclaim => EventKind::Unclaim { claim_id, operation },
        Action::Feedback => EventKind::Feedback { visit, operation, text: "Hinweis".to_owned() },
        Action::Approve | Action::Reject | Action::Edit => {
            let decision = if action == Action::Reject { Decision::Reject } else { Decision::Approve };
            let mut facts = run.facts(decision);
            facts.operation = operation;
            if action == Action::Edit {
                facts.changes.insert(name("fldNotiz"), text("neu"));
            }
            EventKind::Decide(Box::new(facts))
        }
    }
}

/// What is offered is exactly what would be accepted.
fn check_offers(run: &Run) -> Result<(), TestCaseError> {
    let all = [Action::Claim, Action::Unclaim, Action::Edit, Action::Approve, Action::Reject, Action::Feedback];
    for (id, _, _) in PEOPLE {
        let offered = allowed_actions(&run.blueprint, &run.instance, &actor(id));
        if run.instance.open_task().is_none() {
            prop_assert!(offered.is_empty());
            continue;
        }
        for action in all {
            let kind = well_formed(&mut run.clone(), action);
            let event = Event { at: at(run.minutes + 1), actor: actor(id), commit_id: "probe".to_owned(), kind };
            let answer = apply(&run.blueprint, &run.instance, event);
            prop_assert_eq!(answer.is_ok(), offered.contains(&action), "{} {:?}: {:?}", id, action, answer.err());
        }
    }
    Ok(())
}

/// Nobody decided a step that four eyes forbid them, and only people of the step's groups decided at all.
fn check_decisions(run: &Run) -> Result<(), TestCaseError> {
    let decisions = run.instance.taken_decisions();
    for taken in &decisions {
        let step = run.blueprint.user_step(&taken.step).unwrap();
        prop_assert!(workflow::rights::may_list(step, &actor(taken.by.id.as_str())));
        for earlier in decisions.iter().filter(|other| step.assign.not_by.contains(&other.step)) {
            prop_assert_ne!(&earlier.by, &taken.by);
        }
    }
    Ok(())
}

/// Lets everybody try; the run it ended with.
fn drive(tries: &[Try]) -> Result<Run, TestCaseError> {
    let mut run = Run::new("1190.00");
    for attempt in tries {
        let (acting, kind) = event_of(&mut run, attempt);
        run.count += 1;
        run.minutes += 1;
        let commit_id = format!("commit-{}", run.count);
        let before = run.instance.clone();
        let event = Event { at: at(run.minutes), actor: acting, commit_id: commit_id.clone(), kind };
        match apply(&run.blueprint, &run.instance, event) {
            Ok(step) => {
                check_step(&before, &step, &commit_id);
                prop_assert!(step.instance.history.len() > before.history.len(), "one entry at least");
                run.instance = step.instance;
                check_offers(&run)?;
            }
            Err(refusal) => {
                prop_assert_eq!(&run.instance, &before);
                prop_assert!(!matches!(refusal, Refusal::Corrupt { .. }), "{}", refusal);
            }
        }
        check_decisions(&run)?;
    }
    Ok(run)
}

#[test]
fn invariants_hold_whatever_is_tried() {
    const CASES: u32 = 64;
    let (finished, both_groups) = (Cell::new(0u32), Cell::new(0u32));
    let config = ProptestConfig { cases: CASES, source_file: Some(file!()), ..ProptestConfig::default() };
    let outcome = TestRunner::new(config).run(&proptest::collection::vec(any_try(), 1..60), |tries| {
        let run = drive(&tries)?;
        let stored = serde_json::to_string(&run.instance).unwrap();
        let read: workflow::Instance = serde_json::from_str(&stored).unwrap();
        prop_assert_eq!(&read, &run.instance);
        prop_assert!(read.check_invariants().is_ok());
        finished.set(finished.get() + u32::from(run.instance.is_final()));
        let carl_decided = run.instance.taken_decisions().iter().any(|taken| taken.by.id.as_str() == "carl");
        both_groups.set(both_groups.get() + u32::from(carl_decided));
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    // Sequences that never get anywhere would prove nothing.
    assert!(finished.get() > 0, "none of {CASES} sequences finished");
    assert!(both_groups.get() > 0, "in none of {CASES} sequences a person of both groups decided");
}
