//! Versions of the embedded store: their end, their limits, the room they take, and stores written before there were any.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, TimeDelta, TimeZone, Utc};
use ports::VERSION_DAYS_MIN;
use redb::{Database, ReadableDatabase, ReadableTable};

use super::migrate::{BODIES_1, FORMAT_1, OBJECTS_1};
use super::tables::{BLOBS, BUCKETS, CONTENTS, CURRENT, FORMAT, FORMAT_KEY, META, RETIRED, VERSIONS};
use super::*;

/// A clock that is set by hand (seconds after its start).
struct Hand(AtomicI64);

impl Hand {
    fn new() -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(0)))
    }

    fn forward(&self, delta: TimeDelta) {
        self.0.fetch_add(delta.num_seconds(), Ordering::SeqCst);
    }
}

impl Clock for Hand {
    fn now(&self) -> DateTime<Utc> {
        Utc.with_ymd_and_hms(2026, 11, 30, 12, 0, 0).unwrap() + TimeDelta::seconds(self.0.load(Ordering::SeqCst))
    }
}

fn open(folder: &Path, clock: &Arc<Hand>) -> LocalStore {
    LocalStore::open(folder, Arc::clone(clock) as Arc<dyn Clock>).unwrap()
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

async fn put(store: &LocalStore, at: &str, bytes: impl Into<Bytes>) {
    store.put(&bucket(), &key(at), bytes.into(), Condition::None).await.unwrap();
}

/// Bytes of all versions, newest first.
async fn contents(store: &LocalStore, at: &str) -> Vec<Bytes> {
    let mut contents = Vec::new();
    for info in store.versions(&bucket(), &key(at), 1_000).await.unwrap() {
        let stored = store.get_version(&bucket(), &key(at), &info.version.clone().unwrap()).await.unwrap().unwrap();
        assert_eq!(stored.info, info);
        contents.push(stored.bytes);
    }
    contents
}

fn files(folder: &Path) -> usize {
    fs::read_dir(folder.join(BLOB_FOLDER)).unwrap().count()
}

/// Entries of (current, versions, contents, retired).
fn entries(folder: &Path) -> [u64; 4] {
    let database = Database::open(folder.join(DATABASE_FILE)).unwrap();
    let snapshot = database.begin_read().unwrap();
    let count = |entries: usize| entries as u64;
    [
        count(snapshot.open_table(CURRENT).unwrap().iter().unwrap().count()),
        count(snapshot.open_table(VERSIONS).unwrap().iter().unwrap().count()),
        count(snapshot.open_table(CONTENTS).unwrap().iter().unwrap().count()),
        count(snapshot.open_table(RETIRED).unwrap().iter().unwrap().count()),
    ]
}

#[tokio::test]
async fn versions_outlive_a_restart_and_number_on() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Hand::new());
    let store = open(folder.path(), &clock);
    store.create_bucket(&bucket()).await.unwrap();
    put(&store, "a", "one").await;
    put(&store, "a", large(2)).await;
    drop(store);
    let store = open(folder.path(), &clock);
    put(&store, "a", "three").await;
    assert_eq!(contents(&store, "a").await, [Bytes::from("three"), large(2), "one".into()]);
    let ids: Vec<_> =
        store.versions(&bucket(), &key("a"), 9).await.unwrap().into_iter().map(|info| info.version.unwrap()).collect();
    assert_eq!(ids, ["00000000000000000003", "00000000000000000002", "00000000000000000001"]);
}

#[tokio::test]
async fn overwritten_and_deleted_versions_end_by_age_and_current_ones_never() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Hand::new());
    let store = open(folder.path(), &clock);
    store.create_bucket(&bucket()).await.unwrap();
    put(&store, "kept", "the only one").await;
    put(&store, "old", large(1)).await;
    put(&store, "old", "second").await;
    put(&store, "gone", large(2)).await;
    clock.forward(TimeDelta::days(10));
    store.delete(&bucket(), &key("gone")).await.unwrap();
    put(&store, "old", "third").await;

    // The first one was overwritten on day 0, not on the day it was looked at.
    clock.forward(TimeDelta::days(i64::from(VERSION_DAYS_MIN) - 10) - TimeDelta::seconds(1));
    put(&store, "tick", "1").await;
    assert_eq!(contents(&store, "old").await, [Bytes::from("third"), "second".into(), large(1)], "never too early");
    assert_eq!(files(folder.path()), 2);
    clock.forward(TimeDelta::seconds(1));
    put(&store, "tick", "2").await;
    assert_eq!(contents(&store, "old").await, ["third", "second"], "the next commit ends what is due");
    // The writer removes files after it has answered; one more answer later it has.
    store.create_bucket(&bucket()).await.unwrap();
    assert_eq!(files(folder.path()), 1, "its file went too");
    assert_eq!(contents(&store, "gone").await, [large(2)], "deleted ten days later");
    drop(store);

    clock.forward(TimeDelta::days(10));
    let store = open(folder.path(), &clock);
    assert_eq!(contents(&store, "old").await, ["third"], "opening ends what became due meanwhile");
    assert!(contents(&store, "gone").await.is_empty());
    assert_eq!(files(folder.path()), 0);
    assert_eq!(store.get(&bucket(), &key("kept")).await.unwrap().unwrap().bytes, "the only one");
    drop(store);
    assert_eq!(entries(folder.path()), [3, 4, 4, 1], "nothing of the ended ones is left, in no table");
}

#[tokio::test]
async fn a_key_has_a_limit_of_versions_and_of_their_bytes() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Hand::new());
    let store = open(folder.path(), &clock);
    store.create_bucket(&bucket()).await.unwrap();
    for at in 0..VERSIONS_PER_KEY_MAX + 40 {
        put(&store, "session", at.to_string()).await;
    }
    let kept = contents(&store, "session").await;
    assert_eq!(kept.len() as u64, VERSIONS_PER_KEY_MAX);
    assert_eq!((&kept[0], kept.last().unwrap()), (&Bytes::from("295"), &Bytes::from("40")), "the newest");

    // A log that is rewritten with every entry: its bytes are what counts.
    let megabyte = |byte: u8| Bytes::from(vec![byte; 1024 * 1024]);
    for at in 0..20 {
        put(&store, "log", megabyte(at)).await;
    }
    assert_eq!(contents(&store, "log").await.len() as u64, VERSION_BYTES_PER_KEY_MAX / (1024 * 1024));
    store.create_bucket(&bucket()).await.unwrap();
    assert_eq!(files(folder.path()), 16, "the others' files are gone");

    // However large they are, some stay.
    for at in 0..VERSIONS_PER_KEY_KEPT + 2 {
        put(&store, "scan", vec![u8::try_from(at).unwrap(); 4 * 1024 * 1024]).await;
    }
    assert_eq!(contents(&store, "scan").await.len() as u64, VERSIONS_PER_KEY_KEPT);
    store.delete(&bucket(), &key("session")).await.unwrap();
    put(&store, "session", "again").await;
    assert_eq!(contents(&store, "session").await.len() as u64, VERSIONS_PER_KEY_MAX, "a deleted key counts on");
    drop(store);
    assert_eq!(entries(folder.path())[3], 255 + 15 + 7, "no ended version waits for its age");
}

/// Writes a store as the layout without versions had it: an inline object, an empty one, and one with a blob.
fn write_format_1(folder: &Path, modified_us: i64) {
    let database = Database::create(folder.join(DATABASE_FILE)).unwrap();
    let transaction = database.begin_write().unwrap();
    {
        transaction.open_table(META).unwrap().insert(FORMAT_KEY, FORMAT_1).unwrap();
        transaction.open_table(BUCKETS).unwrap().insert(bucket().as_str(), modified_us).unwrap();
        let (mut objects, mut bodies) =
            (transaction.open_table(OBJECTS_1).unwrap(), transaction.open_table(BODIES_1).unwrap());
        let name = bucket();
        for (at, bytes) in [("a/inline", "inline"), ("a/empty", "")] {
            let etag = etag_of(bytes.as_bytes());
            objects.insert((name.as_str(), at), (etag.as_str(), bytes.len() as u64, modified_us, None)).unwrap();
            bodies.insert((name.as_str(), at), bytes.as_bytes()).unwrap();
        }
        let (blob, bytes) = ("0b8d0c1e5b0c4f0b9c3f0a4c4d1e2f30", large(9));
        fs::create_dir_all(folder.join(BLOB_FOLDER)).unwrap();
        fs::write(folder.join(BLOB_FOLDER).join(blob), &bytes).unwrap();
        let etag = etag_of(&bytes);
        objects
            .insert((name.as_str(), "a/large"), (etag.as_str(), bytes.len() as u64, modified_us, Some(blob)))
            .unwrap();
        transaction.open_table(BLOBS).unwrap().insert(blob, ()).unwrap();
    }
    transaction.commit().unwrap();
}

#[tokio::test]
async fn a_store_from_before_versions_opens_with_one_each() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Hand::new());
    write_format_1(folder.path(), clock.now().timestamp_micros());
    clock.forward(TimeDelta::days(400));
    for round in 0..2 {
        let store = open(folder.path(), &clock);
        let expected: [(&str, Bytes); 3] =
            [("a/inline", "inline".into()), ("a/empty", "".into()), ("a/large", large(9))];
        for (at, bytes) in expected {
            let stored = store.get(&bucket(), &key(at)).await.unwrap().unwrap();
            assert_eq!(stored.bytes, bytes, "round {round}: {at}");
            assert_eq!(stored.info.modified, clock.now() - TimeDelta::days(400), "round {round}: {at}");
            assert_eq!(store.versions(&bucket(), &key(at), 9).await.unwrap(), [stored.info], "round {round}: {at}");
        }
        let keys = store.list(&bucket(), "a/", None, 9).await.unwrap().keys;
        assert_eq!(keys, [key("a/empty"), key("a/inline"), key("a/large")]);
    }
    let store = open(folder.path(), &clock);
    let etag = store.head(&bucket(), &key("a/inline")).await.unwrap().unwrap().etag;
    store.put(&bucket(), &key("a/inline"), "new".into(), Condition::IfMatch(etag)).await.unwrap();
    assert_eq!(contents(&store, "a/inline").await, ["new", "inline"], "and counts on from there");
    drop(store);
    let database = Database::open(folder.path().join(DATABASE_FILE)).unwrap();
    let snapshot = database.begin_read().unwrap();
    assert_eq!(snapshot.open_table(META).unwrap().get(FORMAT_KEY).unwrap().unwrap().value(), FORMAT);
    assert!(
        snapshot.open_table(OBJECTS_1).is_err() && snapshot.open_table(BODIES_1).is_err(),
        "the old tables are gone"
    );
}

#[tokio::test]
async fn room_is_used_again_and_given_back() {
    /// Bytes of an object: all stay in the database.
    const BYTES: usize = 60_000;
    /// Objects: some 24 MB.
    const OBJECTS: usize = 400;
    let (folder, clock) = (tempfile::tempdir().unwrap(), Hand::new());
    let file_bytes = || fs::metadata(folder.path().join(DATABASE_FILE)).unwrap().len();
    let store = Arc::new(open(folder.path(), &clock));
    store.create_bucket(&bucket()).await.unwrap();
    // At once, so that they share their commits.
    let rewrite = async |store: &Arc<LocalStore>| {
        let mut writes = tokio::task::JoinSet::new();
        for at in 0..OBJECTS {
            let store = Arc::clone(store);
            let bytes = vec![u8::try_from(at % 251).unwrap(); BYTES];
            writes.spawn(async move { put(&store, &format!("docs/{at}"), bytes).await });
        }
        writes.join_all().await;
    };
    rewrite(&store).await;
    rewrite(&store).await;
    let two_generations = file_bytes();
    for _ in 0..4 {
        clock.forward(TimeDelta::days(i64::from(VERSION_DAYS_MIN) + 1));
        rewrite(&store).await;
    }
    // Each generation ends the one before the last: the room of what ended is written anew.
    assert!(file_bytes() <= 2 * two_generations, "{} of {two_generations}", file_bytes());
    for at in 0..OBJECTS {
        store.delete(&bucket(), &key(&format!("docs/{at}"))).await.unwrap();
    }
    put(&store, "small", "x").await;
    drop(store);
    let full = file_bytes();
    clock.forward(TimeDelta::days(i64::from(VERSION_DAYS_MIN) + 1));
    let store = Arc::new(open(folder.path(), &clock));
    assert!(file_bytes() < full / 4, "an almost empty file of {full} bytes still has {}", file_bytes());
    assert_eq!(store.get(&bucket(), &key("small")).await.unwrap().unwrap().bytes, "x");
    rewrite(&store).await;
    drop(store);
    let store = Arc::new(open(folder.path(), &clock));
    assert_eq!(store.list(&bucket(), "docs/", None, 1_000).await.unwrap().keys.len(), OBJECTS, "it goes on as before");
}
