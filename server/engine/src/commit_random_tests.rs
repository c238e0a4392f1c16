//! The commit helper against a store that fails at random: nothing acknowledged is lost, nothing is done twice.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use ports::{BucketName, Clock, Condition, Key, Store, Stored};
use sim::store::{Fault, FaultRates, FaultStore, MemoryStore};

use super::{Written, conditional_write};
use crate::EngineError;

/// Tasks that write the same object.
const WRITERS: usize = 4;
/// Increments of each of them.
const INCREMENTS: usize = 50;
/// Calls per thousand that go wrong.
const FAULTS_PER_MILLE: u16 = 200;
/// Seeds that are tried.
const SEEDS: u64 = 10;

/// A clock that stands: the test is about conditions.
struct Standing;

impl Clock for Standing {
    fn now(&self) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH
    }
}

type Faulty = FaultStore<MemoryStore>;

fn place() -> (BucketName, Key) {
    (BucketName::configured("test-bucket").unwrap(), Key::new("counter").unwrap())
}

/// Reads until an answer comes.
async fn read(store: &Faulty) -> Stored {
    let (bucket, key) = place();
    loop {
        if let Ok(stored) = store.get(&bucket, &key).await {
            return stored.unwrap();
        }
    }
}

/// The object: one line per increment, each with its own mark, as the log of an instance keeps every commit's id.
fn marks(bytes: &[u8]) -> Vec<String> {
    std::str::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
}

/// One increment, until it is known to have happened. Returns how often its outcome stayed unknown in between.
async fn increment(store: &Faulty, mark: &str) -> usize {
    let (bucket, key) = place();
    let mut unknown = 0;
    loop {
        let stored = read(store).await;
        let mut lines = marks(&stored.bytes);
        if lines.iter().any(|line| line == mark) {
            return unknown;
        }
        lines.push(mark.to_owned());
        let bytes = Bytes::from(lines.join("\n"));
        let condition = Condition::IfMatch(stored.info.etag);
        match conditional_write(store, &bucket, &key, bytes, condition, mark).await {
            Ok(Written::Won(_)) => return unknown,
            Ok(Written::Lost) => {}
            Err(EngineError::OutcomeUnknown { .. }) => unknown += 1,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Everybody counts; the lines at the end, and what the store did.
async fn count(seed: u64) -> (Vec<String>, Arc<Faulty>) {
    let (bucket, key) = place();
    let memory = Arc::new(MemoryStore::new(Arc::new(Standing)));
    memory.create_bucket(&bucket).await.unwrap();
    memory.put(&bucket, &key, Bytes::new(), Condition::IfAbsent).await.unwrap();
    let store = Arc::new(FaultStore::new(memory, seed, FaultRates::even(FAULTS_PER_MILLE)));
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let store = Arc::clone(&store);
        writers.spawn(async move {
            for at in 0..INCREMENTS {
                increment(&store, &format!("<{writer}-{at}>")).await;
            }
        });
    }
    writers.join_all().await;
    store.heal().await;
    (marks(&read(&store).await.bytes), store)
}

#[tokio::test(start_paused = true)]
async fn of_200_increments_under_faults_none_is_lost_and_none_doubled() {
    for seed in 0..SEEDS {
        let (lines, store) = count(seed).await;
        let distinct: BTreeSet<&String> = lines.iter().collect();
        assert_eq!(lines.len(), WRITERS * INCREMENTS, "seed {seed}: every acknowledged increment is there, once");
        assert_eq!(distinct.len(), lines.len(), "seed {seed}: no increment is there twice");
        let fired = store.fired();
        for (name, is_it) in [
            ("answer lost", (|fault| matches!(fault, Fault::AnswerLost)) as fn(&Fault) -> bool),
            ("conflict after the write", |fault| matches!(fault, Fault::ConflictAfter)),
            ("late", |fault| matches!(fault, Fault::Late { .. })),
        ] {
            assert!(fired.iter().any(|fired| is_it(&fired.fault)), "seed {seed}: `{name}` must have happened");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_seed_gives_the_same_run_again() {
    let (first, second) = (count(7).await, count(7).await);
    assert_eq!(first.0, second.0);
    assert_eq!(first.1.fired(), second.1.fired());
}
