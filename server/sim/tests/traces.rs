//! Ten ways a plausible start/step/finish protocol goes wrong, each as a test by its name, and the six rules of the lock
//! (DESIGN §4 "Lock and start"). Two nodes on one store, scripted pauses and crashes, paused time.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::time::Duration;

use engine::{EngineError, TriggerError};
use ports::vocab::Decision;
use ports::workflow::instance::{ErpOutcome, State};
use ports::workflow::log::LogKind;
use ports::workflow::{Refusal, vocab};
use ports::{Condition, ErpState, Key};
use sim::world::{ChangedBy, Moment, Verdict};
use support::*;

const LOCK: &str = "workflow/locks/RE1.json";

async fn lock_phase(two: &Two) -> String {
    let key = Key::new(LOCK).unwrap();
    let stored = two.world.store.get(&bucket(), &key).await.unwrap().unwrap();
    let value: serde_json::Value = serde_json::from_slice(&stored.bytes).unwrap();
    value["phase"].as_str().unwrap().to_owned()
}

async fn runs(two: &Two) -> Vec<String> {
    keys(two.world.store.as_ref(), "workflow/docs/").await
}

fn state(two: &Two) -> ErpState {
    two.world.erp.row("RE1").unwrap().state
}

/// Whoever takes over finishes the start that stands in the lock, never its own.
#[tokio::test(start_paused = true)]
async fn takeover_own_start() {
    let mut two = Two::new().await;
    let mut gate = two.gates.hold("a", Moment::Before, "put workflow/active/");
    let engine = two.a.engine.clone();
    let first = two.a.request(async move { trigger(&engine, GUID, "RE1").await });
    gate.reached().await;
    // Another GUID asks meanwhile: B finishes A's start under A's blueprint, and then says whose run it is.
    let other = trigger(&two.b.engine, OTHER_GUID, "RE1").await;
    let Err(TriggerError::OtherRun { run, workflow, .. }) = &other else { panic!("{other:?}") };
    assert_eq!(workflow.as_str(), "freigabe");
    gate.open(Verdict::Go);
    let first = first.await.unwrap().unwrap();
    assert_eq!(named(&first).instance_id, *run, "A answers with the run that B created for it");
    assert_eq!(runs(&two).await.len(), 1);
    pause(60).await;
    assert_eq!(lock_phase(&two).await, "pointer");
    assert_eq!(state(&two), ErpState::Running);
}

/// A start is never undone, whether its write lands late or never.
#[tokio::test(start_paused = true)]
async fn undo_after_unknown() {
    for lands in [true, false] {
        let two = Two::new().await;
        two.gates.answer("a", Moment::Before, "put workflow/docs/", if lands { late(10) } else { Verdict::Fail });
        for _ in 0..3 {
            two.gates.answer("a", Moment::Before, "put workflow/docs/", Verdict::Fail);
        }
        let first = trigger(&two.a.engine, GUID, "RE1").await;
        assert!(matches!(first, Err(TriggerError::Engine(EngineError::OutcomeUnknown { .. }))), "{first:?}");
        assert_eq!(runs(&two).await.len(), 0);
        assert_eq!(lock_phase(&two).await, "starting", "the lock stays");
        assert_eq!(keys(two.world.store.as_ref(), "workflow/active/").await.len(), 1, "the active key stays");
        // The repeat may come to either node, before or after the late write.
        let repeat = trigger(&two.a.engine, GUID, "RE1").await;
        assert!(is_already_running(&repeat), "{repeat:?}");
        pause(20).await;
        let again = trigger(&two.b.engine, GUID, "RE1").await;
        assert_eq!(named(&repeat), named(&again));
        assert_eq!(runs(&two).await.len(), 1);
        assert!(stored(two.world.store.as_ref(), &named(&again)).await.check_invariants().is_ok());
    }
}

fn late(seconds: u64) -> Verdict {
    Verdict::Late(Duration::from_secs(seconds))
}

/// As `undo_after_unknown`, with the late write landing before anybody asks again.
#[tokio::test(start_paused = true)]
async fn a_late_first_write_is_the_run() {
    let two = Two::new().await;
    two.gates.answer("a", Moment::Before, "put workflow/docs/", late(10));
    for _ in 0..3 {
        two.gates.answer("a", Moment::Before, "put workflow/docs/", Verdict::Fail);
    }
    assert!(trigger(&two.a.engine, GUID, "RE1").await.is_err());
    pause(11).await;
    assert_eq!(runs(&two).await.len(), 1);
    let repeat = trigger(&two.b.engine, GUID, "RE1").await;
    assert!(is_already_running(&repeat), "{repeat:?}");
    // Nobody was told that the run exists, so nobody wrote `in Freigabe`: the node that saw it does.
    pause(60).await;
    assert_eq!(state(&two), ErpState::Running);
    assert_eq!(runs(&two).await.len(), 1);
}

/// A lock whose instance exists is a pointer, whatever it says.
#[tokio::test(start_paused = true)]
async fn never_startable() {
    let mut two = Two::new().await;
    // The lock's first write takes it, its second releases it.
    let mut created = two.gates.hold("a", Moment::After, "put workflow/docs/");
    let engine = two.a.engine.clone();
    let _lost = two.a.request(async move { trigger(&engine, GUID, "RE1").await });
    created.reached().await;
    two.a.crash();
    let repeat = trigger(&two.b.engine, GUID, "RE1").await;
    assert!(is_already_running(&repeat), "{repeat:?}");
    let first = named(&repeat);
    pause(60).await;
    assert_eq!(state(&two), ErpState::Running, "B does what A left behind");
    finish(&two.world, &two.b.engine, &first).await;
    assert_eq!(lock_phase(&two).await, "starting", "nobody has released it");
    assert_eq!(state(&two), ErpState::Ended(ErpOutcome::Rejected));
    two.world.erp.request("RE1");
    let second = trigger(&two.b.engine, GUID, "RE1").await;
    assert!(is_started(&second), "{second:?}");
    assert_ne!(named(&second), first);
}

/// One request, one run: a delayed copy starts nothing, wherever it was delayed.
#[tokio::test(start_paused = true)]
async fn delayed_copy() {
    let mut two = Two::new().await;
    // One copy has already read the object when it is delayed, one stands before its catalog.
    let mut read = two.gates.hold("a", Moment::After, "erp read RE1");
    let engine = two.a.engine.clone();
    let copy = two.a.request(async move { trigger(&engine, GUID, "RE1").await });
    read.reached().await;
    let first = trigger(&two.b.engine, GUID, "RE1").await;
    assert!(is_started(&first), "{first:?}");
    pause(1).await;
    finish(&two.world, &two.b.engine, &named(&first)).await;
    read.open(Verdict::Go);
    let copy = copy.await.unwrap().unwrap();
    assert!(is_ignored(&copy), "{copy:?}");
    let later = trigger(&two.a.engine, GUID, "RE1").await;
    assert!(is_ignored(&later), "{later:?}");
    assert_eq!(runs(&two).await.len(), 1);
    assert_eq!(state(&two), ErpState::Ended(ErpOutcome::Rejected), "the ERP keeps the result");
    assert_eq!(keys(two.world.store.as_ref(), "workflow/triggers/").await.len(), 2, "both stand in the journal");
}

/// A start without instance is finished, not swept, and stays reachable.
#[tokio::test(start_paused = true)]
async fn swept_start() {
    for created_by_a in [true, false] {
        let mut two = Two::new().await;
        let mut gate = two.gates.hold("a", Moment::Before, "put workflow/docs/");
        let engine = two.a.engine.clone();
        let _lost = two.a.request(async move { trigger(&engine, GUID, "RE1").await });
        gate.reached().await;
        if created_by_a {
            // The sweep meets the key while A still lives, and A creates the instance after it.
            two.b.engine.recover_tenant(&tenant()).await.unwrap();
            gate.open(Verdict::Go);
            pause(1).await;
        }
        two.a.crash();
        let c = two.node("c", 3);
        pause(2).await;
        assert_eq!(runs(&two).await.len(), 1);
        assert_eq!(keys(two.world.store.as_ref(), "workflow/active/").await.len(), 1);
        assert_eq!(c.engine.open_rows(&[tenant()]).len(), 1, "the run is in the list of a node that starts now");
        assert_eq!(state(&two), ErpState::Running);
        let repeat = trigger(&c.engine, GUID, "RE1").await;
        assert!(is_already_running(&repeat), "{repeat:?}");
    }
}

/// The LSN read before the look at the instance fences a late write: first try and retry.
#[tokio::test(start_paused = true)]
async fn zombie_effect() {
    for retry in [false, true] {
        let mut two = Two::new().await;
        if retry {
            two.gates.answer("a", Moment::Before, "erp write RE1 start", Verdict::Fail);
        }
        let first = if retry { Some(trigger(&two.a.engine, GUID, "RE1").await) } else { None };
        if retry {
            pause(1).await;
        }
        let mut gate = two.gates.hold("a", Moment::Before, "erp write RE1 start");
        let engine = two.a.engine.clone();
        let first = match first {
            Some(first) => first,
            None => two.a.request(async move { trigger(&engine, GUID, "RE1").await }).await.unwrap().unwrap(),
        };
        gate.reached().await;
        let at = named(&first);
        // B learns of the run, does the effect that A seems to have left, and the run goes to its end.
        assert_eq!(named(&trigger(&two.b.engine, GUID, "RE1").await), at);
        pause(200).await;
        assert_eq!(state(&two), ErpState::Running, "B wrote it");
        finish(&two.world, &two.b.engine, &at).await;
        let changes = two.world.erp.changes();
        gate.open(Verdict::Go);
        pause(200).await;
        assert_eq!(state(&two), ErpState::Ended(ErpOutcome::Rejected));
        assert_eq!(two.world.erp.changes(), changes, "the zombie's write changed nothing");
        assert!(stored(two.world.store.as_ref(), &at).await.check_invariants().is_ok());
    }
}

/// A request that comes while the run ends is served by a run of its own.
#[tokio::test(start_paused = true)]
async fn request_during_end() {
    let mut two = Two::new().await;
    let first = named(&trigger(&two.a.engine, GUID, "RE1").await);
    pause(1).await;
    let mut written = two.gates.hold("a", Moment::After, "erp write RE1 end");
    decide(&two.world, &two.a.engine, &first, "anna", Decision::Reject).await.unwrap();
    written.reached().await;
    assert_eq!(state(&two), ErpState::Ended(ErpOutcome::Rejected), "the end is written, not committed");
    two.world.erp.request("RE1");
    // The effect is A's until it crashes; B is told to come back, not that the request is served.
    let during = trigger(&two.b.engine, GUID, "RE1").await;
    assert!(matches!(during, Err(TriggerError::Busy { .. })), "{during:?}");
    two.a.crash();
    pause(2).await;
    assert!(stored(two.world.store.as_ref(), &first).await.is_final());
    assert_eq!(state(&two), ErpState::Started, "the request is left standing");
    let second = trigger(&two.b.engine, GUID, "RE1").await;
    assert!(is_started(&second), "{second:?}");
    pause(1).await;
    assert_eq!(state(&two), ErpState::Running);
    assert_eq!(runs(&two).await.len(), 2);
}

/// No 2xx before the instance exists.
#[tokio::test(start_paused = true)]
async fn silent_repeat() {
    let mut two = Two::new().await;
    let mut gate = two.gates.hold("a", Moment::Before, "put workflow/active/");
    let engine = two.a.engine.clone();
    let _lost = two.a.request(async move { trigger(&engine, GUID, "RE1").await });
    gate.reached().await;
    two.a.crash();
    // As long as B can't create it, nobody is told anything else.
    for _ in 0..4 {
        two.gates.answer("b", Moment::Before, "put workflow/docs/", Verdict::Fail);
    }
    let repeat = trigger(&two.b.engine, GUID, "RE1").await;
    assert!(repeat.is_err(), "{repeat:?}");
    assert_eq!(state(&two), ErpState::Started);
    let repeat = trigger(&two.b.engine, GUID, "RE1").await;
    assert!(is_already_running(&repeat), "{repeat:?}");
    let (run, _) = two.b.engine.read_run(&named(&repeat)).await.unwrap();
    assert_eq!(run.start.instance_id, named(&repeat).instance_id);
    pause(1).await;
    assert_eq!(state(&two), ErpState::Running);
}

/// Old bytes that somebody puts back make no finished run go on: both nodes have seen the newer revision. (A node that
/// has not seen it has the store's versions to go by; that is the repair's test.)
#[tokio::test(start_paused = true)]
async fn rollback_bytes() {
    let two = Two::new().await;
    let store = two.world.store.as_ref();
    let at = named(&trigger(&two.a.engine, GUID, "RE1").await);
    pause(1).await;
    let task = claim(&two.a.engine, store, &at, "anna").await;
    assert_eq!(named(&trigger(&two.b.engine, GUID, "RE1").await), at, "B learns of the run");
    let input = input(&two.world, &at, Decision::Reject, "decide").await;
    let old = store.get(&bucket(), &instance_key(&at)).await.unwrap().unwrap().bytes;
    two.a.engine.decide(&task, &person("anna"), input.clone()).await.unwrap();
    pause(1).await;
    let last = stored(store, &at).await;
    assert!(last.is_final());
    // Final is refused, whoever asks and however.
    let refused = two.b.engine.decide(&task, &person("bert"), input.clone()).await;
    assert!(matches!(refused, Err(EngineError::Refused(_))), "{refused:?}");
    store.put(&bucket(), &instance_key(&at), old, Condition::None).await.unwrap();
    let changes = two.world.erp.changes();
    let mut again = input;
    again.operation = op("another decision");
    for engine in [&two.a.engine, &two.b.engine] {
        let refused = engine.decide(&task, &person("anna"), again.clone()).await;
        assert!(refused.is_err(), "old bytes were obeyed: {refused:?}");
    }
    pause(120).await;
    assert_eq!(two.world.erp.changes(), changes, "nothing was written because of old bytes");
}

/// Every event names what it is meant for.
#[tokio::test(start_paused = true)]
async fn stale_meaning() {
    let mut two = Two::new().await;
    let at = named(&trigger(&two.a.engine, GUID, "RE1").await);
    pause(1).await;
    // A decision that has to be applied again never lands on the next step.
    let task = claim(&two.a.engine, two.world.store.as_ref(), &at, "anna").await;
    let mine = input(&two.world, &at, Decision::Approve, "from A").await;
    let mut gate = two.gates.hold("a", Moment::Before, "put workflow/docs/");
    let (engine, meant, sent) = (two.a.engine.clone(), task.clone(), mine.clone());
    let slow = two.a.request(async move { engine.decide(&meant, &person("anna"), sent).await });
    gate.reached().await;
    let faster = engine::DecisionInput { operation: op("from B"), ..mine };
    two.b.engine.decide(&task, &person("anna"), faster).await.unwrap();
    gate.open(Verdict::Go);
    let slow = slow.await.unwrap().unwrap();
    assert!(matches!(slow, Err(EngineError::Refused(Refusal::Stale { done: true, .. }))), "{slow:?}");
    let now = stored(two.world.store.as_ref(), &at).await;
    assert_eq!((now.current_step.as_str(), now.taken_decisions().len()), ("kasse", 1));

    // A delayed copy of a refused decision does not execute after a new claim.
    let task = claim(&two.b.engine, two.world.store.as_ref(), &at, "bert").await;
    let refused = input(&two.world, &at, Decision::Approve, "refused").await;
    two.world.erp.edit("RE1", "fldBetrag", "1200.00");
    let answer = two.b.engine.decide(&task, &person("bert"), refused.clone()).await;
    assert!(matches!(answer, Err(EngineError::Refused(Refusal::ValuesChanged { .. }))), "{answer:?}");
    let claim_id = refused.claim_id.clone();
    two.b.engine.unclaim(&task, &person("bert"), claim_id, op("give back")).await.unwrap();
    claim(&two.b.engine, two.world.store.as_ref(), &at, "bert").await;
    two.world.erp.edit("RE1", "fldBetrag", "1190.00");
    let copy = two.a.engine.decide(&task, &person("bert"), refused).await;
    assert!(matches!(copy, Err(EngineError::Refused(Refusal::Stale { done: false, .. }))), "{copy:?}");
    assert_eq!(stored(two.world.store.as_ref(), &at).await.taken_decisions().len(), 1);
}

/// An old expiry does not free a new claim (`stale_meaning`, second half).
#[tokio::test(start_paused = true)]
async fn an_old_expiry_frees_no_new_claim() {
    let mut two = Two::new().await;
    // One node alone lets claims lapse, so that its own late write is what comes in the end.
    two.b.crash();
    let at = named(&trigger(&two.a.engine, GUID, "RE1").await);
    pause(1).await;
    let task = claim(&two.a.engine, two.world.store.as_ref(), &at, "anna").await;
    let mut gate = two.gates.hold("a", Moment::Before, "put workflow/docs/");
    tokio::time::timeout(Duration::from_secs(25 * 3_600), gate.reached()).await.unwrap();
    // A is about to free anna's claim. She gives it back herself, and bert takes the task.
    let old = stored(two.world.store.as_ref(), &at).await.open_task().unwrap().claim.unwrap().id.clone();
    let c = two.node("c", 3);
    c.engine.unclaim(&task, &person("anna"), old, op("give back")).await.unwrap();
    claim(&c.engine, two.world.store.as_ref(), &at, "bert").await;
    gate.open(Verdict::Go);
    pause(10).await;
    let now = stored(two.world.store.as_ref(), &at).await;
    assert_eq!(now.claimed_by.as_ref().map(|by| by.id.as_str()), Some("bert"));
    assert!(!now.history.iter().any(|entry| matches!(entry.kind, LogKind::ClaimLapsed { .. })));
}

/// Rule 1: the lock with the whole start, then the active key, then the instance, then the pointer.
#[tokio::test(start_paused = true)]
async fn rule_1_the_order_of_a_start() {
    let two = Two::new().await;
    two.gates.clear_calls();
    let at = named(&trigger(&two.a.engine, GUID, "RE1").await);
    let puts: Vec<String> = two.gates.calls().into_iter().filter(|call| call.starts_with("a put")).collect();
    let (active, docs) = (format!("a put workflow/active/freigabe/{}", at.instance_id), instance_key(&at));
    let lock = format!("a put {LOCK}");
    assert_eq!(puts, [lock.clone(), active, format!("a put {docs}"), lock]);
    let stored = two.world.store.get(&bucket(), &Key::new(LOCK).unwrap()).await.unwrap().unwrap();
    let lock: serde_json::Value = serde_json::from_slice(&stored.bytes).unwrap();
    for member in ["instanceId", "workflowId", "version", "triggerGUID", "source", "acceptedAt"] {
        assert!(!lock["start"][member].is_null(), "{member}: {lock}");
    }
    assert_eq!(lock["phase"], "pointer");
}

/// Rule 2: who wants in waits, but not longer than two seconds, and then helps; a lock that ran out is not waited for.
#[tokio::test(start_paused = true)]
async fn rule_2_wait_then_help() {
    for (later, waits) in [(0, true), (301, false)] {
        let mut two = Two::new().await;
        let mut gate = two.gates.hold("a", Moment::Before, "put workflow/active/");
        let engine = two.a.engine.clone();
        let _held = two.a.request(async move { trigger(&engine, GUID, "RE1").await });
        gate.reached().await;
        pause(later).await;
        let began = tokio::time::Instant::now();
        let answer = trigger(&two.b.engine, GUID, "RE1").await;
        assert!(is_already_running(&answer), "{answer:?}");
        let took = began.elapsed();
        assert_eq!(took >= Duration::from_secs(2), waits, "{took:?}");
        assert!(took < Duration::from_secs(3), "{took:?}");
    }
}

/// Rule 2, the wait: a start that is finished meanwhile needs no help.
#[tokio::test(start_paused = true)]
async fn rule_2_a_start_that_ends_in_time_is_left_alone() {
    let mut two = Two::new().await;
    let mut gate = two.gates.hold("a", Moment::Before, "put workflow/active/");
    let engine = two.a.engine.clone();
    let first = two.a.request(async move { trigger(&engine, GUID, "RE1").await });
    gate.reached().await;
    two.gates.clear_calls();
    let engine = two.b.engine.clone();
    let second = two.b.request(async move { trigger(&engine, GUID, "RE1").await });
    tokio::time::sleep(Duration::from_millis(500)).await;
    gate.open(Verdict::Go);
    let (first, second) = (first.await.unwrap().unwrap(), second.await.unwrap().unwrap());
    assert!(is_started(&first) && is_already_running(&second), "{first:?} {second:?}");
    assert_eq!(named(&first), named(&second));
    let touched = two.gates.calls().iter().any(|call| call.starts_with("b put workflow/active"));
    assert!(!touched, "B did not help: {:?}", two.gates.calls());
}

/// Rule 3: a start that can't go on stays as it is, and is finished once it can.
#[tokio::test(start_paused = true)]
async fn rule_3_a_start_that_cannot_go_on_stays() {
    let mut two = Two::new().await;
    let mut gate = two.gates.hold("a", Moment::Before, "put workflow/active/");
    let engine = two.a.engine.clone();
    let _lost = two.a.request(async move { trigger(&engine, GUID, "RE1").await });
    gate.reached().await;
    two.a.crash();
    // B can't finish it: its second look at the ERP fails (the first is its own trigger's).
    let mut own = two.gates.hold("b", Moment::After, "erp read RE1");
    let engine = two.b.engine.clone();
    let refused = two.b.request(async move { trigger(&engine, GUID, "RE1").await });
    own.reached().await;
    two.gates.answer("b", Moment::Before, "erp read RE1", Verdict::Fail);
    own.open(Verdict::Go);
    let refused = refused.await.unwrap().unwrap();
    assert!(matches!(refused, Err(TriggerError::Engine(EngineError::Erp(_)))), "{refused:?}");
    assert_eq!(lock_phase(&two).await, "starting");
    assert_eq!(runs(&two).await.len(), 0);
    let repeat = trigger(&two.b.engine, GUID, "RE1").await;
    assert!(is_already_running(&repeat), "{repeat:?}");
    assert_eq!(lock_phase(&two).await, "pointer");
}

/// Rule 4 with a create whose answer gets lost: told only when it is there.
#[tokio::test(start_paused = true)]
async fn rule_4_what_is_named_can_be_read() {
    let two = Two::new().await;
    two.gates.answer("a", Moment::After, "put workflow/docs/", Verdict::Fail);
    two.gates.answer("a", Moment::After, LOCK, Verdict::Fail);
    two.gates.answer("a", Moment::After, "put workflow/active/", Verdict::Fail);
    let answer = trigger(&two.a.engine, GUID, "RE1").await;
    assert!(is_started(&answer), "{answer:?}");
    assert!(two.b.engine.read_run(&named(&answer)).await.is_ok());
    pause(1).await;
    assert_eq!(state(&two), ErpState::Running);
    assert_eq!(runs(&two).await.len(), 1);
}

/// Rule 5: what a pointer answers.
#[tokio::test(start_paused = true)]
async fn rule_5_what_a_pointer_answers() {
    let two = Two::new().await;
    let first = named(&trigger(&two.a.engine, GUID, "RE1").await);
    pause(1).await;
    // The same GUID, upper case: already running; nothing is written, the ERP did not ask again.
    let before = two.world.erp.changes().len();
    let same = trigger(&two.b.engine, &GUID.to_uppercase(), "RE1").await;
    assert_eq!((is_already_running(&same), named(&same) == first), (true, true));
    pause(40).await;
    assert_eq!(two.world.erp.changes().len(), before);
    // Another GUID: refused, naming the run.
    let other = trigger(&two.b.engine, OTHER_GUID, "RE1").await;
    assert!(matches!(other, Err(TriggerError::OtherRun { ref run, .. }) if *run == first.instance_id), "{other:?}");
    // The ERP asks again: its state is written again, as a logged effect.
    two.world.erp.request("RE1");
    let again = trigger(&two.b.engine, GUID, "RE1").await;
    assert!(is_already_running(&again), "{again:?}");
    pause(1).await;
    assert_eq!(state(&two), ErpState::Running);
    let logged = stored(two.world.store.as_ref(), &first).await;
    assert!(logged.history.iter().any(|entry| matches!(entry.kind, LogKind::RequestedAgain)));
    // A final run: only an object that asks is started.
    finish(&two.world, &two.a.engine, &first).await;
    assert!(is_ignored(&trigger(&two.b.engine, GUID, "RE1").await));
    two.world.erp.request("RE1");
    let second = trigger(&two.b.engine, OTHER_GUID, "RE1").await;
    assert!(is_started(&second), "{second:?}");
    assert_eq!(runs(&two).await.len(), 2);
}

/// Rule 6: what a dead node left behind is found by one that only lists, not only by one that starts.
#[tokio::test(start_paused = true)]
async fn rule_6_the_hourly_listing_finishes_lost_starts() {
    let mut two = Two::new().await;
    let mut gate = two.gates.hold("a", Moment::Before, "put workflow/docs/");
    let engine = two.a.engine.clone();
    let _lost = two.a.request(async move { trigger(&engine, GUID, "RE1").await });
    gate.reached().await;
    two.a.crash();
    pause(3_700).await;
    assert_eq!(runs(&two).await.len(), 1);
    assert_eq!(two.b.engine.open_rows(&[tenant()]).len(), 1);
    assert_eq!(state(&two), ErpState::Running);
}

/// A final run whose tidying failed is tidied later; an active key that comes late does not stay.
#[tokio::test(start_paused = true)]
async fn active_keys_of_final_runs_go() {
    let mut two = Two::new().await;
    // A writes its active key after B has finished its start and the run is over.
    let mut gate = two.gates.hold("a", Moment::Before, "put workflow/active/");
    let engine = two.a.engine.clone();
    let first = two.a.request(async move { trigger(&engine, GUID, "RE1").await });
    gate.reached().await;
    let at = named(&trigger(&two.b.engine, GUID, "RE1").await);
    pause(1).await;
    finish(&two.world, &two.b.engine, &at).await;
    gate.open(Verdict::Go);
    assert_eq!(named(&first.await.unwrap().unwrap()), at);
    assert_eq!(keys(two.world.store.as_ref(), "workflow/active/").await, Vec::<String>::new());
    // The delete fails.
    two.world.erp.request("RE1");
    let second = named(&trigger(&two.b.engine, GUID, "RE1").await);
    pause(1).await;
    two.gates.answer("b", Moment::Before, "delete workflow/active/", Verdict::Fail);
    finish(&two.world, &two.b.engine, &second).await;
    assert_eq!(keys(two.world.store.as_ref(), "workflow/active/").await.len(), 1);
    pause(3_700).await;
    assert_eq!(keys(two.world.store.as_ref(), "workflow/active/").await, Vec::<String>::new());
    assert_eq!(keys(two.world.store.as_ref(), "workflow/done/").await.len(), 2);
}

/// An ERP write that landed and whose result got lost is not made again.
#[tokio::test(start_paused = true)]
async fn an_effect_whose_answer_got_lost_is_not_repeated() {
    let two = Two::new().await;
    two.gates.answer("a", Moment::After, "erp write RE1 start", Verdict::Fail);
    let at = named(&trigger(&two.a.engine, GUID, "RE1").await);
    pause(120).await;
    two.gates.answer("a", Moment::After, "erp write RE1 end", Verdict::Fail);
    decide(&two.world, &two.a.engine, &at, "anna", Decision::Reject).await.unwrap();
    pause(120).await;
    let run = stored(two.world.store.as_ref(), &at).await;
    assert!(matches!(run.state, State::Final { status: vocab::InstanceStatus::Rejected }), "{:?}", run.state);
    let writes = two.world.erp.changes().into_iter().filter(|change| change.by != ChangedBy::User).count();
    assert_eq!(writes, 2, "{:?}", two.world.erp.changes());
}

/// A delayed copy whose filter now says no leaves the result of the finished run alone.
#[tokio::test(start_paused = true)]
async fn a_filters_no_does_not_wipe_out_a_result() {
    let two = Two::new().await;
    let yaml = blueprint("freigabe", GUID, "Freigabe")
        .replace(&format!("guid: {GUID} }}"), &format!("guid: {GUID}, filter: \"#object.fldBetrag > 100\" }}"));
    two.a.engine.publish(&tenant(), &yaml, "anna", None).await.unwrap();
    let at = named(&trigger(&two.a.engine, GUID, "RE1").await);
    pause(1).await;
    finish(&two.world, &two.a.engine, &at).await;
    two.world.erp.edit("RE1", "fldBetrag", "50.00");
    assert!(is_ignored(&trigger(&two.b.engine, GUID, "RE1").await));
    assert_eq!(state(&two), ErpState::Ended(ErpOutcome::Rejected));
    two.world.erp.request("RE1");
    assert!(is_ignored(&trigger(&two.b.engine, GUID, "RE1").await));
    assert_eq!(state(&two), ErpState::None, "a request that the filter refuses is taken back");
}

/// A decision whose look at the object is older than another node's write does not leave a request standing that was
/// answered since (found by the simulation: without a write, no LSN fences).
#[tokio::test(start_paused = true)]
async fn a_request_answered_meanwhile_is_not_left_standing() {
    let mut two = Two::new().await;
    let at = named(&trigger(&two.a.engine, GUID, "RE1").await);
    pause(1).await;
    let task = claim(&two.a.engine, two.world.store.as_ref(), &at, "anna").await;
    let sent = input(&two.world, &at, Decision::Reject, "decide").await;
    two.world.erp.request("RE1");
    let mut gate = two.gates.hold("a", Moment::Before, "put workflow/docs/");
    let engine = two.a.engine.clone();
    let decided = two.a.request(async move { engine.decide(&task, &person("anna"), sent).await });
    gate.reached().await;
    assert!(is_already_running(&trigger(&two.b.engine, GUID, "RE1").await));
    pause(1).await;
    assert_eq!(state(&two), ErpState::Running);
    gate.open(Verdict::Go);
    decided.await.unwrap().unwrap().unwrap();
    pause(120).await;
    assert!(stored(two.world.store.as_ref(), &at).await.is_final());
    assert_eq!(state(&two), ErpState::Ended(ErpOutcome::Rejected));
}
