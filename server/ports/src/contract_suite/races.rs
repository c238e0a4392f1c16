//! Races: the rule that makes the commit protocol safe (DESIGN §4).
//!
//! Invariant: of any number of writers under the same condition exactly one wins, and everybody reads the winner's bytes.
//! Never: a sleep; the writers meet at a barrier and the rounds are many.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::{StoreSuite, key, must};
use crate::{Condition, ETag, Key, PutError};

/// Writers of one race.
const RACERS: usize = 64;
/// Races of each kind.
const ROUNDS: usize = 20;
/// Tasks that count together.
const COUNTERS: usize = 16;
/// Increments of each of them.
const INCREMENTS: usize = 10;
/// Tries an increment may take: far more than any fair store needs.
const INCREMENT_TRIES_MAX: usize = 20_000;

/// 64 writers that create the same key: one wins, 20 times over.
///
/// # Panics
/// If none or more than one wins, or if a reader sees another's bytes.
pub async fn racing_creators_have_one_winner(suite: &StoreSuite) {
    for round in 0..ROUNDS {
        let key = key(&format!("race/create/{round}"));
        race(suite, &key, Condition::IfAbsent, "create").await;
    }
}

/// 64 writers that replace the same content: one wins, 20 times over, each round on the last winner's etag.
///
/// # Panics
/// If none or more than one wins, or if a reader sees another's bytes.
pub async fn racing_updaters_have_one_winner(suite: &StoreSuite) {
    let key = key("race/update");
    let mut etag = suite.write(&key, "start").await;
    for round in 0..ROUNDS {
        etag = race(suite, &key, Condition::IfMatch(etag), &format!("update {round}")).await;
    }
}

/// One race; the winner's etag.
async fn race(suite: &StoreSuite, key: &Key, condition: Condition, label: &str) -> ETag {
    let start = Arc::new(Barrier::new(RACERS));
    let mut racers = JoinSet::new();
    for racer in 0..RACERS {
        let (store, bucket, key) = (Arc::clone(&suite.store), suite.bucket.clone(), key.clone());
        let (condition, start) = (condition.clone(), Arc::clone(&start));
        let bytes = Bytes::from(format!("{label}: racer {racer}"));
        racers.spawn(async move {
            start.wait().await;
            (store.put(&bucket, &key, bytes.clone(), condition).await, bytes)
        });
    }
    let mut winners = Vec::new();
    for (answer, bytes) in racers.join_all().await {
        match answer {
            Ok(etag) => winners.push((etag, bytes)),
            Err(PutError::Lost | PutError::Conflict) => {}
            Err(error @ (PutError::Unknown { .. } | PutError::Refused { .. })) => {
                panic!("a racer must win, lose or conflict in a healthy store: {error}")
            }
        }
    }
    assert_eq!(winners.len(), 1, "exactly one of {RACERS} racers wins `{key}` ({label}), not {winners:?}");
    let (etag, bytes) = winners.remove(0);
    let stored = suite.read(key).await;
    assert_eq!((&stored.info.etag, &stored.bytes), (&etag, &bytes), "everybody reads the winner's bytes ({label})");
    etag
}

/// 16 tasks that count in one object by compare-and-set: no increment is lost or done twice.
///
/// # Panics
/// If the end isn't exactly the number of increments.
pub async fn racing_increments_lose_nothing(suite: &StoreSuite) {
    let key = key("race/counter");
    suite.write(&key, "0").await;
    let mut counters = JoinSet::new();
    for _ in 0..COUNTERS {
        let (store, bucket, key) = (Arc::clone(&suite.store), suite.bucket.clone(), key.clone());
        let suite = StoreSuite { store, bucket, other: suite.other.clone(), missing: suite.missing.clone() };
        counters.spawn(async move {
            for _ in 0..INCREMENTS {
                increment(&suite, &key).await;
            }
        });
    }
    counters.join_all().await;
    let end = count(&suite.read(&key).await.bytes);
    assert_eq!(end, COUNTERS * INCREMENTS, "every increment counts exactly once");
}

async fn increment(suite: &StoreSuite, key: &Key) {
    for _ in 0..INCREMENT_TRIES_MAX {
        let stored = suite.read(key).await;
        let next = (count(&stored.bytes) + 1).to_string();
        match suite.put(key, next, Condition::IfMatch(stored.info.etag)).await {
            Ok(_) => return,
            Err(PutError::Lost | PutError::Conflict) => tokio::task::yield_now().await,
            Err(error @ (PutError::Unknown { .. } | PutError::Refused { .. })) => {
                panic!("an increment must win, lose or conflict in a healthy store: {error}")
            }
        }
    }
    panic!("an increment did not get through in {INCREMENT_TRIES_MAX} tries");
}

fn count(bytes: &Bytes) -> usize {
    let text = must(std::str::from_utf8(bytes), "keep a counter readable");
    must(text.parse(), "keep a counter a number")
}

/// Readers beside a writer that replaces a large object again and again see one whole content, never a mix and never
/// nothing.
///
/// # Panics
/// If a reader sees anything else.
pub async fn racing_readers_see_whole_objects(suite: &StoreSuite) {
    const READERS: usize = 4;
    const READS: usize = 40;
    let key = key("race/whole");
    let content = |round: usize| {
        let len = if round.is_multiple_of(3) { 100 } else { 150_000 + round * 1_000 };
        Bytes::from(vec![u8::try_from(round % 251).unwrap_or(0); len])
    };
    suite.write(&key, content(1)).await;
    let mut readers = JoinSet::new();
    for _ in 0..READERS {
        let (store, bucket, key) = (Arc::clone(&suite.store), suite.bucket.clone(), key.clone());
        readers.spawn(async move {
            for _ in 0..READS {
                let stored = must(store.get(&bucket, &key).await, "read beside a writer");
                let stored = stored.unwrap_or_else(|| panic!("an object that is being replaced is always there"));
                let first = stored.bytes.first().copied();
                assert!(stored.bytes.iter().all(|byte| Some(*byte) == first), "a reader saw two contents mixed");
                assert_eq!(
                    stored.info.size,
                    stored.bytes.len() as u64,
                    "a reader saw one content's size, another's bytes"
                );
            }
        });
    }
    let mut round = 2;
    let first = loop {
        if let Some(done) = readers.try_join_next() {
            break done;
        }
        suite.write(&key, content(round)).await;
        round += 1;
    };
    must(first, "serve its readers");
    readers.join_all().await;
    assert_eq!(suite.read(&key).await.bytes, content(round - 1), "the last write stays");
}
