//! Repairs as events, sealed documents, and the auditor's check.

use serde_json::Value;
use workflow::event::RepairFacts;
use workflow::format::{self, FormatError};
use workflow::instance::{INSTANCE_FORMAT, State};
use workflow::log::{self, AuditError, LOG_EXPORT_FORMAT, LogKind, audit, export};
use workflow::vocab::InstanceStatus;
use workflow::{Actor, EventKind, Instance, Refusal, apply};

use crate::fixture::{Run, actor, at};

fn facts(revision: u64) -> RepairFacts {
    RepairFacts {
        revision,
        reason: "it is not JSON".to_owned(),
        set_aside: Some("workflow/damaged/x".to_owned()),
        ended: None,
    }
}

fn repair(run: &Run, facts: RepairFacts) -> Result<Instance, Refusal> {
    let kind = EventKind::Repaired(facts);
    let event = workflow::Event { at: at(900), actor: Actor::System, commit_id: "repair".to_owned(), kind };
    apply(&run.blueprint, &run.instance, event).map(|step| step.instance)
}

fn finished() -> Run {
    let mut run = Run::new("1190.00");
    run.confirm();
    run.claim("anna");
    run.approve("anna");
    run.claim("bert");
    run.approve("bert");
    run.confirm();
    assert!(run.instance.is_final());
    run
}

#[test]
fn a_repair_is_a_new_revision_with_one_entry_and_changes_nothing_else() {
    let mut run = Run::new("1190.00");
    run.confirm();
    run.claim("anna");
    let before = run.instance.clone();
    let after = repair(&run, facts(before.revision + 7)).unwrap();
    after.check_invariants().unwrap();
    assert_eq!(after.revision, before.revision + 7);
    assert_eq!(after.commit_id, "repair");
    let (old, new) = after.history.split_at(before.history.len());
    assert_eq!(old, before.history);
    let [entry] = new else { panic!("{new:?}") };
    assert!(
        matches!(&entry.kind, LogKind::Repaired { restored_revision, .. } if *restored_revision == before.revision)
    );
    let same = Instance {
        revision: before.revision,
        commit_id: before.commit_id.clone(),
        history: before.history.clone(),
        ..after
    };
    assert_eq!(same, before);
}

#[test]
fn repairs_are_the_systems_and_never_go_back() {
    let mut run = Run::new("1190.00");
    let refusal = run.refusal(actor("olga"), EventKind::Repaired(facts(9)));
    assert!(matches!(refusal, Refusal::NotAllowedHere { .. }), "{refusal}");
    run.confirm();
    for revision in [0, run.instance.revision] {
        let refusal = repair(&run, facts(revision)).unwrap_err();
        assert!(matches!(refusal, Refusal::NotAllowedHere { .. }), "{refusal}");
    }
}

#[test]
fn a_finished_run_is_repaired_and_stays_finished() {
    let run = finished();
    let after = repair(&run, facts(run.instance.revision + 1)).unwrap();
    after.check_invariants().unwrap();
    assert_eq!(after.state, run.instance.state);
    assert_eq!(after.ended_at, run.instance.ended_at);
    let again = Run { instance: after, ..run };
    let refusal = again.refusal(Actor::System, EventKind::RequestedAgain);
    assert_eq!(refusal, Refusal::Final);
}

#[test]
fn a_run_that_is_proven_to_have_ended_is_over_whatever_was_restored() {
    let mut run = Run::new("1190.00");
    run.confirm();
    run.claim("anna");
    run.approve_with("anna", &[("fldKostenstelle", "2000")]);
    assert!(!run.instance.effects.is_empty());
    let ended = Some((InstanceStatus::Rejected, at(50)));
    let after = repair(&run, RepairFacts { ended, ..facts(40) }).unwrap();
    after.check_invariants().unwrap();
    assert_eq!(after.state, State::Final { status: InstanceStatus::Rejected });
    assert_eq!(after.ended_at, Some(at(50)));
    assert!(after.effects.is_empty());
    let open = Some((InstanceStatus::Open, at(50)));
    assert!(matches!(repair(&run, RepairFacts { ended: open, ..facts(40) }), Err(Refusal::Corrupt { .. })));
}

#[test]
fn no_flipped_byte_and_no_cut_passes_for_another_document() {
    let run = finished();
    let good = run.instance.to_stored().unwrap();
    assert_eq!(Instance::from_stored(&good).unwrap(), run.instance);
    for place in (0..good.len()).step_by(7) {
        let mut bad = good.clone();
        bad[place] ^= 1 << (place % 8);
        match Instance::from_stored(&bad) {
            Err(FormatError::Damaged { .. }) => {}
            Err(other) => panic!("byte {place}: {other}"),
            Ok(read) => assert_eq!(read, run.instance, "byte {place}"),
        }
    }
    for length in (0..good.len()).step_by(97) {
        assert!(matches!(Instance::from_stored(&good[..length]), Err(FormatError::Damaged { .. })), "{length}");
    }
}

#[test]
fn the_auditors_check_takes_documents_and_exports() {
    let run = finished();
    let history = &run.instance.history;
    for bytes in [run.instance.to_stored().unwrap(), export(&run.instance).unwrap()] {
        let found = audit(&bytes).unwrap();
        assert_eq!(found.entries, history.len());
        assert_eq!((&found.first, &found.last), (&history[0].hash, &history[history.len() - 1].hash));
        assert!(found.sealed);
    }
    let exported: Value = serde_json::from_slice(&export(&run.instance).unwrap()).unwrap();
    assert!(exported.get("state").is_none() && exported.get("effects").is_none(), "a log, not the document");
}

/// Whoever can seal again still can't alter an entry, the head or the state unnoticed.
#[test]
fn the_auditors_check_does_not_rely_on_the_seal() {
    let run = finished();
    let forged = |change: fn(&mut format::Members)| {
        let mut members = format::open(&LOG_EXPORT_FORMAT, &export(&run.instance).unwrap()).unwrap();
        change(&mut members);
        format::close(&LOG_EXPORT_FORMAT, members).unwrap()
    };
    let altered = audit(&forged(|log| log["history"][3]["step"] = "x".into())).unwrap_err();
    assert!(matches!(altered, AuditError::Entry { number: 4, .. }), "{altered}");
    let swapped = audit(&forged(|log| log["history"].as_array_mut().unwrap().swap(2, 3))).unwrap_err();
    assert!(matches!(swapped, AuditError::Entry { number: 3, .. }), "{swapped}");
    let head = audit(&forged(|log| log["customerID"] = "other".into())).unwrap_err();
    assert!(matches!(&head, AuditError::Head { member, .. } if member == "customerID"), "{head}");
    let empty = audit(&forged(|log| log["history"] = Value::Array(Vec::new()))).unwrap_err();
    assert_eq!(empty, AuditError::NoLog);
    let mut members = format::open(&INSTANCE_FORMAT, &run.instance.to_stored().unwrap()).unwrap();
    members["status"] = "REJECTED".into();
    let state = audit(&format::close(&INSTANCE_FORMAT, members).unwrap()).unwrap_err();
    assert!(matches!(state, AuditError::State { .. }), "{state}");
    log::verify(&run.instance.history).unwrap();
}
