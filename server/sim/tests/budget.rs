//! The request budget of DESIGN §4 "Cost", held against a counting store: a hard limit, not an observation.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[expect(dead_code, reason = "each test target uses its part of it")]
mod support;

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use engine::InstanceRef;
use ports::vocab::{Decision, FieldName, FieldValue};
use ports::{ErpState, Store};
use sim::store::CountingStore;
use sim::world::{Hook, NoHook, Node, World};
use support::*;

/// One node over a store that counts; blueprint, tenant and people are known already.
struct Counted {
    world: World,
    node: Node,
    counting: Arc<CountingStore<dyn Store>>,
}

impl Counted {
    async fn new() -> Self {
        let counting = Arc::new(CountingStore::new(memory_store()));
        let world = World::new(Arc::<CountingStore<dyn Store>>::clone(&counting));
        let hook: Arc<dyn Hook> = Arc::new(NoHook);
        let node = world.node("a", &hook, TimeDelta::zero(), 1);
        node.engine.publish(&tenant(), &blueprint("freigabe", GUID, "Freigabe"), "anna", None).await.unwrap();
        for number in ["RE0", "RE1"] {
            world.erp.add(number, &[("fldBetrag", "1190.00"), ("fldKostenstelle", "1000")]);
            world.erp.request(number);
        }
        // The first run of a node reads the blueprint's version, once in its life.
        assert!(is_started(&trigger(&node.engine, GUID, "RE0").await));
        pause(1).await;
        let counted = Self { world, node, counting };
        counted.counting.reset();
        counted
    }

    /// What was asked since the last look: reads, writes.
    fn asked(&self) -> (usize, usize) {
        let counts = self.counting.reset();
        (counts.reads(), counts.writes())
    }

    /// A run of RE1, `in Freigabe` confirmed.
    async fn running(&self) -> InstanceRef {
        let at = named(&trigger(&self.node.engine, GUID, "RE1").await);
        settle().await;
        self.counting.reset();
        at
    }
}

/// Long enough for what was kicked off, too short for a retry.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(500)).await;
}

#[tokio::test(start_paused = true)]
async fn a_start_costs_four_writes_and_one_read() {
    let counted = Counted::new().await;
    assert!(is_started(&trigger(&counted.node.engine, GUID, "RE1").await));
    let told = counted.counting.counts();
    assert_eq!((told.reads(), told.writes()), (1, 4), "until the answer: {told}");
    settle().await;
    assert_eq!(counted.world.erp.row("RE1").unwrap().state, ErpState::Running);
    let all = counted.counting.counts();
    assert_eq!((all.reads(), all.writes()), (1, 5), "with `in Freigabe` confirmed: {all}");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_had_a_run_costs_two_reads_more() {
    let counted = Counted::new().await;
    let first = counted.running().await;
    finish(&counted.world, &counted.node.engine, &first).await;
    counted.world.erp.request("RE1");
    counted.counting.reset();
    assert!(is_started(&trigger(&counted.node.engine, GUID, "RE1").await));
    settle().await;
    let all = counted.counting.counts();
    assert_eq!((all.reads(), all.writes()), (3, 5), "{all}");
}

/// A node that never met the object can't know that a create must fail: that one refused write is the whole difference.
#[tokio::test(start_paused = true)]
async fn a_node_that_does_not_know_the_lock_tries_once_in_vain() {
    let counted = Counted::new().await;
    let first = counted.running().await;
    finish(&counted.world, &counted.node.engine, &first).await;
    let hook: Arc<dyn Hook> = Arc::new(NoHook);
    let other = counted.world.node("b", &hook, TimeDelta::zero(), 2);
    pause(1).await;
    assert!(is_ignored(&trigger(&other.engine, GUID, "RE1").await), "fills the caches, and it learns of the lock");
    counted.world.erp.request("RE1");
    counted.counting.reset();
    assert!(is_started(&trigger(&other.engine, GUID, "RE1").await));
    settle().await;
    let all = counted.counting.counts();
    assert_eq!((all.reads(), all.writes()), (3, 5), "{all}");
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_costs_no_write() {
    let counted = Counted::new().await;
    counted.running().await;
    assert!(is_already_running(&trigger(&counted.node.engine, GUID, "RE1").await));
    settle().await;
    assert_eq!(counted.asked(), (3, 0));
}

#[tokio::test(start_paused = true)]
async fn a_claim_costs_one_write() {
    let counted = Counted::new().await;
    let at = counted.running().await;
    let visit = stored(counted.counting.inner().as_ref(), &at).await.open_visit().unwrap();
    let task = engine::TaskRef { instance: at, visit };
    counted.node.engine.claim(&task, &person("anna"), op("claim")).await.unwrap();
    settle().await;
    assert_eq!(counted.asked(), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_decision_costs_one_write_and_one_more_when_its_edits_are_confirmed() {
    for (edits, writes) in [(false, 1), (true, 2)] {
        let counted = Counted::new().await;
        let at = counted.running().await;
        let task = claim(&counted.node.engine, counted.counting.inner().as_ref(), &at, "anna").await;
        let mut sent = input(&counted.world, &at, Decision::Approve, "decide").await;
        if edits {
            sent.changes.insert(FieldName::new("fldKostenstelle"), FieldValue::Text("2000".to_owned()));
        }
        counted.counting.reset();
        counted.node.engine.decide(&task, &person("anna"), sent).await.unwrap();
        settle().await;
        let all = counted.counting.counts();
        assert_eq!((all.reads(), all.writes()), (1, writes), "{all}");
        let now = stored(counted.counting.inner().as_ref(), &at).await;
        assert_eq!((now.current_step.as_str(), now.effects.len()), ("kasse", 0));
    }
}

#[tokio::test(start_paused = true)]
async fn an_end_costs_one_put_and_one_delete_more() {
    let counted = Counted::new().await;
    let at = counted.running().await;
    let task = claim(&counted.node.engine, counted.counting.inner().as_ref(), &at, "anna").await;
    let sent = input(&counted.world, &at, Decision::Reject, "decide").await;
    counted.counting.reset();
    counted.node.engine.decide(&task, &person("anna"), sent).await.unwrap();
    settle().await;
    let all = counted.counting.counts();
    // Decision, its ERP write's confirmation, summary, active key.
    assert_eq!((all.reads(), all.writes()), (1, 4), "{all}");
    assert!(stored(counted.counting.inner().as_ref(), &at).await.is_final());
}

#[tokio::test(start_paused = true)]
async fn a_task_list_costs_nothing_and_neither_does_waiting() {
    let counted = Counted::new().await;
    counted.running().await;
    assert_eq!(counted.node.engine.open_rows(&[tenant()]).len(), 2);
    assert!(counted.node.engine.done_rows(&[tenant()]).is_empty());
    assert_eq!(counted.asked(), (0, 0));
    pause(3_000).await;
    assert_eq!(counted.asked(), (0, 0), "timers ask for nothing when nothing is due");
}

/// A row that another node has moved on is read once, not with every tick.
#[tokio::test(start_paused = true)]
async fn a_stale_row_is_read_once() {
    let counted = Counted::new().await;
    let hook: Arc<dyn Hook> = Arc::new(NoHook);
    let other = counted.world.node("b", &hook, TimeDelta::zero(), 2);
    let at = counted.running().await;
    let task = claim(&counted.node.engine, counted.world.store.as_ref(), &at, "anna").await;
    let claimed = stored(counted.world.store.as_ref(), &at).await.open_task().unwrap().claim.unwrap().id.clone();
    // B gives the claim back; A's row still says that anna has it, and that it lapses in 24 hours.
    other.engine.unclaim(&task, &person("anna"), claimed, op("give back")).await.unwrap();
    pause(24 * 3_600 + 60).await;
    counted.counting.reset();
    pause(600).await;
    let all = counted.counting.counts();
    assert_eq!((all.reads(), all.writes()), (0, 0), "{all}");
}
