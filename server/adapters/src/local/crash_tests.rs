//! `kill -9` at any moment: every acknowledged write is there afterwards (DESIGN §4).
//!
//! The test starts itself anew as a child that writes and reports each acknowledged write, kills it in full flight, and
//! opens its folder.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use super::*;
use crate::system::SystemClock;

/// Tells the child its folder; without it the child's test does nothing.
const FOLDER_VARIABLE: &str = "LOCAL_STORE_CRASH_TEST_FOLDER";
/// Begins a line of the child: `ack {writer} {number}`.
const ACK: &str = "ack";
/// Tasks that write at the same time, so that kills hit groups.
const WRITERS: u32 = 4;
/// Every so many writes one is large, so that kills hit files too.
const LARGE_EVERY: u64 = 7;
/// Kills, all in the same folder.
const KILLS: u64 = 6;

fn bucket() -> BucketName {
    BucketName::configured("crash-test").unwrap()
}

fn key(writer: u32, number: u64) -> Key {
    Key::new(format!("{writer}/{number:06}")).unwrap()
}

fn counter(writer: u32) -> Key {
    Key::new(format!("{writer}/counter")).unwrap()
}

fn content(writer: u32, number: u64) -> Bytes {
    let text = format!("writer {writer} number {number};");
    if number.is_multiple_of(LARGE_EVERY) { text.repeat(5_000).into() } else { text.into() }
}

/// The child. It is a test only to be reachable in the test's own executable.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn child_that_writes_until_it_is_killed() {
    let Ok(folder) = std::env::var(FOLDER_VARIABLE) else { return };
    let store = Arc::new(LocalStore::open(Path::new(&folder), Arc::new(SystemClock)).unwrap());
    store.create_bucket(&bucket()).await.unwrap();
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let store = Arc::clone(&store);
        writers.spawn(async move {
            let counted = store.get(&bucket(), &counter(writer)).await.unwrap();
            let mut number: u64 = counted.map_or(0, |stored| String::from_utf8_lossy(&stored.bytes).parse().unwrap());
            loop {
                number += 1;
                // The last run may have written this one and died before counting it.
                store.put(&bucket(), &key(writer, number), content(writer, number), Condition::None).await.unwrap();
                store.put(&bucket(), &counter(writer), number.to_string().into(), Condition::None).await.unwrap();
                // Straight to the pipe, not through the test harness' capture.
                writeln!(std::io::stdout(), "{ACK} {writer} {number}").unwrap();
            }
        });
    }
    writers.join_all().await;
}

/// Runs the child until it has reported so many writes, kills it, and adds all that it reported.
fn run_and_kill(folder: &Path, acks_before_kill: u64, acknowledged: &mut BTreeMap<u32, u64>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "local::crash_tests::child_that_writes_until_it_is_killed", "--nocapture"])
        .env(FOLDER_VARIABLE, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut seen = 0;
    // After the kill the pipe still holds what was reported before it: read it to the end.
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        // The harness may have begun the line with its own words.
        let Some((_, ack)) = line.split_once(&format!("{ACK} ")) else { continue };
        let Some((writer, number)) = ack.split_once(' ') else { continue };
        acknowledged.insert(writer.parse().unwrap(), number.parse().unwrap());
        seen += 1;
        if seen == acks_before_kill {
            // SIGKILL on Unix.
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(seen >= acks_before_kill, "the child ended by itself after {seen} writes");
}

#[tokio::test]
async fn kill_9_loses_no_acknowledged_write() {
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged = BTreeMap::new();
    for kill in 0..KILLS {
        run_and_kill(folder.path(), 20 + kill * 13, &mut acknowledged);
        let store = LocalStore::open(folder.path(), Arc::new(SystemClock)).unwrap();
        let mut large_objects = 0;
        for writer in 0..WRITERS {
            let last = acknowledged.get(&writer).copied().unwrap_or(0);
            let counted = store.get(&bucket(), &counter(writer)).await.unwrap();
            let counted: u64 = counted.map_or(0, |stored| String::from_utf8_lossy(&stored.bytes).parse().unwrap());
            assert!(counted >= last, "writer {writer} reported {last}, the store knows {counted}");
            for number in 1..=counted {
                let stored = store.get(&bucket(), &key(writer, number)).await.unwrap();
                let stored = stored.unwrap_or_else(|| panic!("kill {kill}: write {number} of writer {writer} is lost"));
                assert_eq!(stored.bytes, content(writer, number), "kill {kill}: writer {writer} number {number}");
            }
            // One more may have been under way, and landed without being counted. A repeat is one more version.
            for number in (1..=counted + 1).filter(|number| number.is_multiple_of(LARGE_EVERY)) {
                large_objects += store.versions(&bucket(), &key(writer, number), 1_000).await.unwrap().len() as u64;
            }
        }
        let files = std::fs::read_dir(folder.path().join(BLOB_FOLDER)).unwrap().count() as u64;
        assert_eq!(files, large_objects, "kill {kill}: one file for each large version and none besides");
    }
}
