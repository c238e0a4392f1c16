//! The stores for tests keep their promises: the port's contract, the counts, each fault as it is named.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use ports::{BucketName, Clock, Condition, Key, PutError, Store, StoreError};
use sim::store::{CountingStore, Fault, FaultRates, FaultStore, MemoryStore, Op, When};

/// A clock that stands until it is moved.
struct Standing(Mutex<DateTime<Utc>>);

impl Standing {
    fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(DateTime::UNIX_EPOCH)))
    }
    fn advance(&self, days: i64) {
        *self.0.lock().unwrap() += TimeDelta::days(days);
    }
}

impl Clock for Standing {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock().unwrap()
    }
}

fn bucket() -> BucketName {
    BucketName::configured("test-bucket").unwrap()
}

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

async fn memory() -> Arc<MemoryStore> {
    let store = Arc::new(MemoryStore::new(Standing::new()));
    store.create_bucket(&bucket()).await.unwrap();
    store
}

async fn put(store: &impl Store, name: &str, text: &'static str, condition: Condition) -> Result<(), PutError> {
    store.put(&bucket(), &key(name), Bytes::from_static(text.as_bytes()), condition).await.map(|_| ())
}

async fn text(store: &MemoryStore, name: &str) -> Option<String> {
    let stored = store.get(&bucket(), &key(name)).await.unwrap()?;
    Some(String::from_utf8(stored.bytes.to_vec()).unwrap())
}

fn is_unknown<T>(answer: &Result<T, PutError>) -> bool {
    matches!(answer, Err(PutError::Unknown { .. }))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_in_memory_keeps_the_contract() {
    ports::contract_suite::run_store_suite(Arc::new(MemoryStore::new(Standing::new()))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_counting_store_and_a_healthy_fault_store_keep_the_contract() {
    let memory = Arc::new(MemoryStore::new(Standing::new()));
    let faulty = Arc::new(FaultStore::new(memory, 1, FaultRates::NONE));
    ports::contract_suite::run_store_suite(Arc::new(CountingStore::new(faulty))).await;
}

#[tokio::test]
async fn versions_are_kept_by_age_and_survive_a_delete() {
    let clock = Standing::new();
    let store = MemoryStore::new(clock.clone());
    store.create_bucket(&bucket()).await.unwrap();
    for content in ["one", "two", "one"] {
        put(&store, "a", content, Condition::None).await.unwrap();
    }
    let versions = store.versions(&bucket(), &key("a"), 10).await.unwrap();
    let ids: Vec<&str> = versions.iter().map(|info| info.version.as_deref().unwrap()).collect();
    assert_eq!(ids, ["000000000003", "000000000002", "000000000001"], "newest first");
    assert_eq!(versions[0].etag, versions[2].etag, "equal contents have equal tags");
    assert_ne!(versions[0].etag, versions[1].etag);
    assert_eq!(store.versions(&bucket(), &key("a"), 2).await.unwrap(), versions[..2]);
    let two = store.get_version(&bucket(), &key("a"), ids[1]).await.unwrap().unwrap();
    assert_eq!(two.bytes, "two");

    store.delete(&bucket(), &key("a")).await.unwrap();
    assert_eq!(store.get(&bucket(), &key("a")).await.unwrap(), None);
    assert_eq!(store.versions(&bucket(), &key("a"), 10).await.unwrap(), versions, "a delete keeps the versions");
    clock.advance(30);
    assert_eq!(store.versions(&bucket(), &key("a"), 10).await.unwrap().len(), 3, "30 days are kept");
    clock.advance(1);
    assert_eq!(store.versions(&bucket(), &key("a"), 10).await.unwrap(), [], "then they go");
    assert_eq!(store.get_version(&bucket(), &key("a"), ids[1]).await.unwrap(), None);
}

#[tokio::test]
async fn the_current_content_never_expires() {
    let clock = Standing::new();
    let store = MemoryStore::new(clock.clone());
    store.create_bucket(&bucket()).await.unwrap();
    put(&store, "a", "old", Condition::None).await.unwrap();
    put(&store, "a", "current", Condition::None).await.unwrap();
    clock.advance(400);
    assert_eq!(store.versions(&bucket(), &key("a"), 10).await.unwrap().len(), 1);
    assert_eq!(text(&store, "a").await.as_deref(), Some("current"));
}

#[tokio::test]
async fn calls_are_counted_with_their_keys() {
    let store = CountingStore::new(memory().await);
    put(&store, "a/1", "x", Condition::IfAbsent).await.unwrap();
    put(&store, "a/1", "x", Condition::IfAbsent).await.unwrap_err();
    store.get(&bucket(), &key("a/1")).await.unwrap();
    store.get_range(&bucket(), &key("a/1"), 0..1).await.unwrap();
    store.head(&bucket(), &key("a/1")).await.unwrap();
    store.list(&bucket(), "a/", None, 10).await.unwrap();
    store.versions(&bucket(), &key("a/1"), 10).await.unwrap();
    store.get_version(&bucket(), &key("a/1"), "x").await.unwrap();
    store.delete(&bucket(), &key("a/1")).await.unwrap();
    store.create_bucket(&bucket()).await.unwrap();
    let counts = store.reset();
    assert_eq!((counts.reads(), counts.writes(), counts.calls().len()), (6, 3, 10), "{counts}");
    assert_eq!((counts.of(Op::Put, "a/"), counts.of(Op::Put, "b/")), (2, 0));
    assert!(counts.to_string().contains("put test-bucket a/1"), "{counts}");
    assert_eq!((store.counts().reads(), store.counts().writes()), (0, 0), "reset is reset");
}

#[tokio::test(start_paused = true)]
async fn each_fault_of_a_write_is_what_its_name_says() {
    let cases = [
        (Fault::Before, true, None),
        (Fault::Busy, true, None),
        (Fault::AnswerLost, true, Some("new")),
        (Fault::Conflict, false, None),
        (Fault::ConflictAfter, false, Some("new")),
        (Fault::Late { calls: 2 }, true, None),
    ];
    for (fault, unknown, expected) in cases {
        let store = FaultStore::scripted(memory().await, [(When::put("a"), fault)]);
        let answer = put(&store, "a", "new", Condition::IfAbsent).await;
        assert_eq!(is_unknown(&answer), unknown, "{fault:?}: {answer:?}");
        assert_eq!(answer == Err(PutError::Conflict), !unknown, "{fault:?}: {answer:?}");
        assert_eq!(text(store.inner(), "a").await.as_deref(), expected, "{fault:?}");
        assert_eq!(store.fired().len(), 1);
        assert!(store.unmet().is_empty());
    }
}

#[tokio::test]
async fn a_late_write_lands_after_later_calls_and_under_its_own_condition() {
    let store = FaultStore::scripted(memory().await, [(When::put("*"), Fault::Late { calls: 2 })]);
    assert!(is_unknown(&put(&store, "a", "late", Condition::IfAbsent).await));
    assert_eq!(store.get(&bucket(), &key("a")).await.unwrap(), None, "not yet");
    let stored = store.get(&bucket(), &key("a")).await.unwrap().unwrap();
    assert_eq!(stored.bytes, "late", "it lands with the second later call");

    store.on(When::put("b"), Fault::Late { calls: 9 });
    assert!(is_unknown(&put(&store, "b", "late", Condition::IfAbsent).await));
    put(&store, "b", "ours", Condition::IfAbsent).await.unwrap();
    assert_eq!(store.pending(), 1);
    store.settle().await;
    assert_eq!(store.pending(), 0);
    assert_eq!(text(store.inner(), "b").await.as_deref(), Some("ours"), "its condition didn't hold any more");

    store.on(When::op(Op::Delete, "b"), Fault::Late { calls: 1 });
    store.delete(&bucket(), &key("b")).await.unwrap_err();
    assert_eq!(text(store.inner(), "b").await.as_deref(), Some("ours"));
    assert_eq!(store.get(&bucket(), &key("b")).await.unwrap(), None, "deletes are late too");
}

#[tokio::test(start_paused = true)]
async fn a_slow_call_that_is_given_up_happened_or_not_by_its_place() {
    let second = Duration::from_secs(1);
    for (fault, expected) in [(Fault::SlowBefore(second * 5), None), (Fault::SlowAfter(second * 5), Some("new"))] {
        let store = FaultStore::scripted(memory().await, [(When::put("a"), fault)]);
        let given_up = tokio::time::timeout(second, put(&store, "a", "new", Condition::None)).await;
        assert!(given_up.is_err());
        assert_eq!(text(store.inner(), "a").await.as_deref(), expected, "{fault:?}");
    }
}

#[tokio::test]
async fn a_node_dies_before_or_after_a_call() {
    for (fault, expected) in [(Fault::HangBefore, None), (Fault::HangAfter, Some("new"))] {
        let store = Arc::new(FaultStore::scripted(memory().await, [(When::put("a"), fault)]));
        let theirs = Arc::clone(&store);
        let node = tokio::spawn(async move { put(theirs.as_ref(), "a", "new", Condition::None).await });
        store.hung().await;
        node.abort();
        assert!(node.await.unwrap_err().is_cancelled());
        assert_eq!(text(store.inner(), "a").await.as_deref(), expected, "{fault:?}");
    }
}

#[tokio::test]
async fn reads_fail_as_unavailable_and_never_lie() {
    for fault in [Fault::Before, Fault::Busy, Fault::AnswerLost, Fault::Conflict, Fault::Late { calls: 1 }] {
        let store = FaultStore::scripted(memory().await, [(When::op(Op::Get, "a"), fault)]);
        let answer = store.get(&bucket(), &key("a")).await;
        assert!(matches!(answer, Err(StoreError::Unavailable { .. })), "{fault:?}: {answer:?}");
        assert_eq!(store.get(&bucket(), &key("a")).await.unwrap(), None);
    }
}

/// A fixed sequence of calls; the answers as text, and the faults.
async fn run(seed: u64) -> (Vec<String>, Vec<sim::store::Fired>, String) {
    let store = FaultStore::new(memory().await, seed, FaultRates::even(300));
    let mut answers = Vec::new();
    for round in 0..200 {
        let name = format!("k/{}", round % 7);
        let condition = if round % 2 == 0 { Condition::None } else { Condition::IfAbsent };
        answers.push(format!("{:?}", put(&store, &name, "x", condition).await));
        answers.push(format!("{:?}", store.get(&bucket(), &key(&name)).await));
        if round % 5 == 0 {
            answers.push(format!("{:?}", store.delete(&bucket(), &key(&name)).await));
        }
    }
    store.heal().await;
    (answers, store.fired(), store.inner().digest())
}

#[tokio::test(start_paused = true)]
async fn a_seed_fixes_the_whole_run() {
    let first = run(42).await;
    assert_eq!(first, run(42).await, "the same seed gives the same run");
    assert_ne!(first.1, run(43).await.1, "another seed gives another one");
    assert!(first.1.len() > 50, "faults must happen: {}", first.1.len());
}

#[tokio::test(start_paused = true)]
async fn healing_ends_all_faults() {
    let store = FaultStore::new(memory().await, 3, FaultRates::even(1_000));
    store.on(When::put("never"), Fault::Before);
    for _ in 0..20 {
        let _ = put(&store, "a", "x", Condition::None).await;
    }
    store.heal().await;
    let before = store.fired().len();
    assert!(before >= 15);
    for _ in 0..50 {
        put(&store, "never", "x", Condition::None).await.unwrap();
    }
    assert_eq!((store.fired().len(), store.pending(), store.unmet().len()), (before, 0, 0));
}
