//! The embedded store: the contract suite, and what only it can break.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeZone, Utc};
use ports::contract_suite::run_store_suite;

use super::tables::{FORMAT, FORMAT_KEY, META};
use super::*;
use crate::system::SystemClock;

/// A clock that stands still.
struct Noon;

impl Clock for Noon {
    fn now(&self) -> DateTime<Utc> {
        Utc.with_ymd_and_hms(2026, 11, 30, 12, 0, 0).unwrap()
    }
}

fn open(folder: &Path) -> LocalStore {
    LocalStore::open(folder, Arc::new(SystemClock)).unwrap()
}

fn bucket() -> BucketName {
    BucketName::configured("muster-m1-test-mbcom-cloud").unwrap()
}

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

fn large(byte: u8) -> Bytes {
    vec![byte; INLINE_BYTES_MAX + 1].into()
}

/// Files of large objects, finished or not.
fn blob_files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder.join(BLOB_FOLDER)).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    run_store_suite(Arc::new(open(folder.path()))).await;
}

#[tokio::test]
async fn everything_is_there_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalStore::open(folder.path(), Arc::new(Noon)).unwrap();
    store.create_bucket(&bucket()).await.unwrap();
    let etag = store.put(&bucket(), &key("a/small"), "small".into(), Condition::IfAbsent).await.unwrap();
    store.put(&bucket(), &key("a/large"), large(7), Condition::IfAbsent).await.unwrap();
    drop(store);

    let store = open(folder.path());
    let small = store.get(&bucket(), &key("a/small")).await.unwrap().unwrap();
    assert_eq!(small.bytes, "small");
    assert_eq!(small.info, ObjectInfo { etag, size: 5, version: small.info.version.clone(), modified: Noon.now() });
    assert_eq!(store.get(&bucket(), &key("a/large")).await.unwrap().unwrap().bytes, large(7));
    assert_eq!(store.list(&bucket(), "a/", None, 10).await.unwrap().keys, [key("a/large"), key("a/small")]);
}

#[tokio::test]
async fn a_folder_has_one_owner() {
    let folder = tempfile::tempdir().unwrap();
    let first = open(folder.path());
    let error = LocalStore::open(folder.path(), Arc::new(SystemClock)).unwrap_err();
    assert!(matches!(error, LocalStoreError::Locked { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains(&folder.path().display().to_string()) && text.contains("stop that process"), "{text}");
    drop(first);
    open(folder.path());
}

#[test]
fn folders_that_cannot_be_used_say_why() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "no folder").unwrap();
    let error = LocalStore::open(&file, Arc::new(SystemClock)).unwrap_err();
    assert!(matches!(&error, LocalStoreError::Io { path, .. } if *path == file), "{error}");

    let foreign = folder.path().join("foreign");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join(DATABASE_FILE), "this is no database ".repeat(1_000)).unwrap();
    let error = LocalStore::open(&foreign, Arc::new(SystemClock)).unwrap_err();
    assert!(matches!(error, LocalStoreError::Database { .. }), "{error}");
}

#[test]
fn a_newer_format_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()));
    let database = Database::open(folder.path().join(DATABASE_FILE)).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(META).unwrap().insert(FORMAT_KEY, FORMAT + 1).unwrap();
    transaction.commit().unwrap();
    drop(database);
    for _ in 0..2 {
        let error = LocalStore::open(folder.path(), Arc::new(SystemClock)).unwrap_err();
        assert!(matches!(error, LocalStoreError::Format { found: 3, expected: 2, .. }), "{error}");
    }
}

#[tokio::test]
async fn only_large_objects_are_files_and_lost_ones_leave_none() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.create_bucket(&bucket()).await.unwrap();
    let put = async |at: &str, bytes: Bytes, condition| store.put(&bucket(), &key(at), bytes, condition).await;
    put("inline", vec![0; INLINE_BYTES_MAX].into(), Condition::None).await.unwrap();
    assert!(blob_files(folder.path()).is_empty(), "64 KiB still fit into the database");
    put("one", large(1), Condition::None).await.unwrap();
    put("two", large(1), Condition::None).await.unwrap();
    assert_eq!(blob_files(folder.path()).len(), 2);
    assert_eq!(put("one", large(2), Condition::IfAbsent).await, Err(PutError::Lost));
    assert_eq!(blob_files(folder.path()).len(), 2, "a content that lost leaves no file");
    put("one", large(3), Condition::None).await.unwrap();
    put("two", "small".into(), Condition::None).await.unwrap();
    store.delete(&bucket(), &key("one")).await.unwrap();
    assert_eq!(blob_files(folder.path()).len(), 3, "replaced and deleted contents stay as versions");
}

#[tokio::test]
async fn leftovers_of_a_crash_are_removed_and_foreign_files_stay() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.create_bucket(&bucket()).await.unwrap();
    store.put(&bucket(), &key("kept"), large(1), Condition::None).await.unwrap();
    drop(store);
    let blobs = folder.path().join(BLOB_FOLDER);
    fs::write(blobs.join("0b8d0c1e5b0c4f0b9c3f0a4c4d1e2f30"), "never named").unwrap();
    fs::write(blobs.join("0b8d0c1e5b0c4f0b9c3f0a4c4d1e2f31.tmp"), "never finished").unwrap();
    fs::write(blobs.join("notes.txt"), "somebody's").unwrap();
    let store = open(folder.path());
    assert_eq!(blob_files(folder.path()).len(), 2, "the one in use and the foreign one");
    assert!(blobs.join("notes.txt").exists());
    assert_eq!(store.get(&bucket(), &key("kept")).await.unwrap().unwrap().bytes, large(1));
}

#[tokio::test]
async fn blobs_without_their_database_are_never_swept() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.create_bucket(&bucket()).await.unwrap();
    store.put(&bucket(), &key("receipt"), large(1), Condition::None).await.unwrap();
    drop(store);
    let (database, aside) = (folder.path().join(DATABASE_FILE), folder.path().join("aside"));
    fs::rename(&database, &aside).unwrap();
    for _ in 0..2 {
        let error = LocalStore::open(folder.path(), Arc::new(SystemClock)).unwrap_err();
        assert!(matches!(error, LocalStoreError::Incomplete { .. }), "{error}");
    }
    fs::rename(&aside, &database).unwrap();
    let store = open(folder.path());
    assert_eq!(store.get(&bucket(), &key("receipt")).await.unwrap().unwrap().bytes, large(1));
}

#[tokio::test]
async fn damaged_files_are_found_out() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.create_bucket(&bucket()).await.unwrap();
    let at = key("receipt");
    store.put(&bucket(), &at, large(1), Condition::None).await.unwrap();
    let file = blob_files(folder.path()).remove(0);
    let damages: [(&str, Option<Bytes>); 3] =
        [("hash", Some(large(2))), ("bytes instead of", Some("x".into())), ("missing", None)];
    for (expected, content) in damages {
        match content {
            Some(bytes) => fs::write(&file, bytes).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
        match store.get(&bucket(), &at).await {
            Err(StoreError::Damaged { key, reason }) => {
                assert_eq!(key, "receipt");
                assert!(reason.contains(expected), "{reason}");
            }
            other => panic!("a damaged object must not be read: {other:?}"),
        }
    }
    store.put(&bucket(), &at, large(3), Condition::None).await.unwrap();
    assert_eq!(store.get(&bucket(), &at).await.unwrap().unwrap().bytes, large(3), "writing it anew heals it");
}

#[tokio::test]
async fn writes_that_cannot_reach_the_disk_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.create_bucket(&bucket()).await.unwrap();
    let too_large = vec![0; OBJECT_BYTES_MAX + 1].into();
    let refused = store.put(&bucket(), &key("huge"), too_large, Condition::None).await;
    assert!(matches!(&refused, Err(PutError::Refused { reason }) if reason.contains("268435456")), "{refused:?}");
    fs::remove_dir(folder.path().join(BLOB_FOLDER)).unwrap();
    let refused = store.put(&bucket(), &key("large"), large(1), Condition::None).await;
    assert!(matches!(&refused, Err(PutError::Refused { reason }) if reason.contains("blobs")), "{refused:?}");
    assert_eq!(store.get(&bucket(), &key("large")).await, Ok(None));
    store.put(&bucket(), &key("small"), "still works".into(), Condition::None).await.unwrap();
}

#[tokio::test]
async fn a_dead_writer_refuses_instead_of_hanging() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.create_bucket(&bucket()).await.unwrap();
    store.put(&bucket(), &key("before"), "x".into(), Condition::None).await.unwrap();
    store.end_writer().await;
    let all = async {
        // While the thread is still unwinding, a write may be accepted and never answered: that is honestly unknown.
        let put = loop {
            match store.put(&bucket(), &key("after"), "x".into(), Condition::None).await {
                Err(PutError::Unknown { .. }) => tokio::time::sleep(Duration::from_millis(10)).await,
                other => break other,
            }
        };
        assert!(matches!(&put, Err(PutError::Refused { reason }) if reason.contains("restart")), "{put:?}");
        let large_put = store.put(&bucket(), &key("after"), large(1), Condition::None).await;
        assert!(matches!(large_put, Err(PutError::Refused { .. })), "{large_put:?}");
        let delete = store.delete(&bucket(), &key("before")).await;
        assert!(matches!(delete, Err(StoreError::Unavailable { .. })), "{delete:?}");
        assert_eq!(store.get(&bucket(), &key("before")).await.unwrap().unwrap().bytes, "x", "reads go on");
    };
    tokio::time::timeout(Duration::from_secs(20), all).await.unwrap();
    assert!(blob_files(folder.path()).is_empty(), "a refused large object leaves no file");
    drop(store);
    let store = open(folder.path());
    store.put(&bucket(), &key("after"), "x".into(), Condition::IfAbsent).await.unwrap();
}

#[tokio::test]
async fn dropping_the_store_finishes_what_was_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.create_bucket(&bucket()).await.unwrap();
    let content = store.prepare("x".into()).await.unwrap();
    let (answer, outcome) = oneshot::channel();
    let write = Write::Put { bucket: bucket(), key: key("last"), content, condition: Condition::None };
    store.requests.as_ref().unwrap().try_send(Request { write, answer }).map_err(|_| "full").unwrap();
    drop(outcome);
    drop(store);
    assert!(open(folder.path()).get(&bucket(), &key("last")).await.unwrap().is_some(), "nobody waited, it was written");
}
