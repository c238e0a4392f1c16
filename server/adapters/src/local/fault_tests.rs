//! The embedded store on a disk that fails: at any call, for good, or because it is full.
//!
//! Invariant tested: every acknowledged write is there afterwards, in the running store, after a restart and after a power
//! loss; a refused one is nowhere; an unknown one is there whole or not at all. The store goes on by itself.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use redb::StorageBackend;

use super::*;
use crate::system::SystemClock;

/// Rounds of the test that fails each time at another call.
const ROUNDS: u64 = 60;
/// Keys that the writes go to.
const KEYS: u64 = 5;
/// Writes of each round.
const WRITES: u64 = 30;

/// A disk in memory that can fail and can lose its power.
#[derive(Debug, Default)]
struct Platter {
    /// What the process sees.
    bytes: Vec<u8>,
    /// What survives a power loss for certain.
    durable: Vec<u8>,
    /// Writes since the last sync, in order: each may or may not have reached the disk.
    unsynced: Vec<(u64, Vec<u8>)>,
    /// Calls that change something, so far.
    calls: u64,
    /// The call that fails.
    fail_at: Option<u64>,
    /// Calls that fail from there on; one if not said.
    fail_times: u64,
    /// Bytes the disk has.
    capacity: Option<u64>,
    /// Whether reads fail.
    unreadable: bool,
}

#[derive(Debug, Clone, Default)]
struct Disk(Arc<Mutex<Platter>>);

impl Disk {
    fn platter(&self) -> MutexGuard<'_, Platter> {
        self.0.lock().unwrap()
    }

    fn opener(&self) -> Opener {
        let disk = self.clone();
        Box::new(move || Database::builder().create_with_backend(disk.clone()))
    }

    /// The disk as it may be after a power loss: of what was not synced some writes are there, chosen by the seed.
    fn after_power_loss(&self, mut seed: u64) -> Self {
        let platter = self.platter();
        let mut bytes = platter.durable.clone();
        for (offset, data) in &platter.unsynced {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if seed >> 63 == 1 {
                write_at(&mut bytes, *offset, data);
            }
        }
        Self(Arc::new(Mutex::new(Platter { durable: bytes.clone(), bytes, ..Platter::default() })))
    }
}

fn write_at(bytes: &mut Vec<u8>, offset: u64, data: &[u8]) {
    let start = usize::try_from(offset).unwrap();
    let end = start + data.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[start..end].copy_from_slice(data);
}

impl Platter {
    fn change(&mut self) -> Result<(), Error> {
        self.calls += 1;
        match self.fail_at {
            Some(at) if (at..at + self.fail_times.max(1)).contains(&self.calls) => Err(Error::other("injected")),
            Some(_) | None => Ok(()),
        }
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> Result<u64, Error> {
        Ok(self.platter().bytes.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        let platter = self.platter();
        if platter.unreadable {
            return Err(Error::other("injected"));
        }
        let start = usize::try_from(offset).unwrap();
        let part = platter.bytes.get(start..start + out.len()).ok_or(ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(part);
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<(), Error> {
        let mut platter = self.platter();
        platter.change()?;
        if platter.capacity.is_some_and(|capacity| len > capacity) {
            return Err(ErrorKind::StorageFull.into());
        }
        // A file's length is kept by the file system's journal.
        let len = usize::try_from(len).unwrap();
        platter.bytes.resize(len, 0);
        platter.durable.resize(len, 0);
        Ok(())
    }

    fn sync_data(&self) -> Result<(), Error> {
        let mut platter = self.platter();
        platter.change()?;
        for (offset, data) in std::mem::take(&mut platter.unsynced) {
            write_at(&mut platter.durable, offset, &data);
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), Error> {
        let mut platter = self.platter();
        platter.change()?;
        write_at(&mut platter.bytes, offset, data);
        platter.unsynced.push((offset, data.to_vec()));
        Ok(())
    }
}

fn bucket() -> BucketName {
    BucketName::configured("fault-test").unwrap()
}

fn key(number: u64) -> Key {
    Key::new(format!("k/{number}")).unwrap()
}

fn content(number: u64) -> Bytes {
    format!("write {number};").repeat(if number.is_multiple_of(7) { 3_000 } else { 40 }).into()
}

fn open(folder: &Path, disk: &Disk) -> LocalStore {
    LocalStore::open_with(folder, Arc::new(SystemClock), disk.opener()).unwrap()
}

/// What became of the writes to a key, in order: `true` acknowledged, `false` unknown. Refused ones are not in it.
type History = BTreeMap<u64, Vec<(u64, bool)>>;

/// Everything acknowledged is there; nothing is there that was refused or that nobody wrote.
async fn check(store: &LocalStore, history: &History, what: &str) {
    for at in 0..KEYS {
        let writes = history.get(&at).map_or(&[][..], Vec::as_slice);
        let listed = store.versions(&bucket(), &key(at), 1_000).await.unwrap();
        let mut found = Vec::new();
        for info in listed.iter().rev() {
            let stored = store.get_version(&bucket(), &key(at), info.version.as_ref().unwrap()).await.unwrap().unwrap();
            let text = String::from_utf8(stored.bytes.to_vec()).unwrap();
            let number: u64 = text.split([' ', ';']).nth(1).unwrap().parse().unwrap();
            assert_eq!(stored.bytes, content(number), "{what}: key {at}: half a write");
            found.push(number);
        }
        let possible: Vec<u64> = writes.iter().map(|(number, _)| *number).filter(|n| found.contains(n)).collect();
        assert_eq!(found, possible, "{what}: key {at} has what was written, in order and no refused write");
        for (number, acknowledged) in writes {
            assert!(!acknowledged || found.contains(number), "{what}: key {at} lost the acknowledged write {number}");
        }
        let current = store.get(&bucket(), &key(at)).await.unwrap().map(|stored| stored.bytes);
        assert_eq!(current, found.last().map(|number| content(*number)), "{what}: key {at} shows its newest version");
    }
}

/// Number of acknowledged writes.
fn acknowledged(history: &History) -> usize {
    history.values().flatten().filter(|(_, acknowledged)| *acknowledged).count()
}

/// A write, noted in the history unless it was refused; whether it was noted.
async fn put(store: &LocalStore, number: u64, history: &mut History) -> bool {
    let at = number % KEYS;
    match store.put(&bucket(), &key(at), content(number), Condition::None).await {
        Ok(_) => history.entry(at).or_default().push((number, true)),
        Err(PutError::Unknown { .. }) => history.entry(at).or_default().push((number, false)),
        Err(PutError::Refused { .. }) => return false,
        Err(other) => panic!("write {number}: {other}"),
    }
    true
}

#[tokio::test]
async fn a_failing_call_costs_no_acknowledged_write_and_no_restart() {
    let (mut unknown, mut refused) = (0, 0);
    for round in 0..ROUNDS {
        let (folder, disk, mut history) = (tempfile::tempdir().unwrap(), Disk::default(), History::new());
        let store = open(folder.path(), &disk);
        store.create_bucket(&bucket()).await.unwrap();
        {
            let mut platter = disk.platter();
            platter.fail_at = Some(platter.calls + 1 + round);
            platter.fail_times = 1 + round % 2;
        }
        for number in 0..WRITES {
            let before = acknowledged(&history);
            refused += u32::from(!put(&store, number, &mut history).await);
            if acknowledged(&history) == before {
                check(&store, &history, &format!("round {round}, right after the failure")).await;
            }
        }
        check(&store, &history, &format!("round {round}, at its end")).await;
        unknown += history.values().flatten().count() - acknowledged(&history);
        let (calls, fail_at) = {
            let platter = disk.platter();
            (platter.calls, platter.fail_at.unwrap())
        };
        assert!(calls > fail_at, "round {round}: the failure was met");
        let last = history.values().flatten().filter(|(_, acknowledged)| *acknowledged).map(|(n, _)| *n).max();
        assert_eq!(last, Some(WRITES - 1), "round {round}: the store went on by itself");
        for loss in 0..4 {
            let (elsewhere, after) = (tempfile::tempdir().unwrap(), disk.after_power_loss(round * 7 + loss));
            check(&open(elsewhere.path(), &after), &history, &format!("round {round}, power loss {loss}")).await;
        }
        drop(store);
        disk.platter().fail_at = None;
        check(&open(folder.path(), &disk), &history, &format!("round {round}, restarted")).await;
    }
    assert!(unknown + refused as usize >= 20, "the failures were noticed: {unknown} unknown, {refused} refused");
}

#[tokio::test]
async fn a_full_disk_refuses_and_reads_go_on_until_there_is_room() {
    let (folder, disk, mut history) = (tempfile::tempdir().unwrap(), Disk::default(), History::new());
    let store = open(folder.path(), &disk);
    store.create_bucket(&bucket()).await.unwrap();
    {
        let mut platter = disk.platter();
        platter.capacity = Some(platter.bytes.len() as u64 + 200_000);
    }
    let (mut number, mut failures) = (0, 0);
    while failures < 5 {
        number += 1;
        let before = acknowledged(&history);
        put(&store, number, &mut history).await;
        failures += u32::from(acknowledged(&history) == before);
        assert!(number < 5_000, "a disk of this size is full by now");
    }
    check(&store, &history, "full").await;
    let huge = vec![0; INLINE_BYTES_MAX].into();
    match store.put(&bucket(), &key(99), huge, Condition::None).await {
        Err(PutError::Refused { reason } | PutError::Unknown { reason }) => {
            assert!(reason.contains("free space"), "{reason}");
        }
        other => panic!("a full disk takes nothing large: {other:?}"),
    }

    disk.platter().capacity = None;
    let again = async {
        loop {
            number += 1;
            if put(&store, number, &mut history).await {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), again).await.unwrap();
    check(&store, &history, "room again").await;
    drop(store);
    check(&open(folder.path(), &disk), &history, "restarted").await;
}

#[tokio::test]
async fn a_failed_read_does_not_close_the_store() {
    let (folder, disk, mut history) = (tempfile::tempdir().unwrap(), Disk::default(), History::new());
    drop(open(folder.path(), &disk));
    let store = open(folder.path(), &disk);
    store.create_bucket(&bucket()).await.unwrap();
    for number in 0..WRITES {
        put(&store, number, &mut history).await;
    }
    drop(store);
    // Without a cache every read goes to the disk.
    let uncached = disk.clone();
    let opener: Opener = Box::new(move || Database::builder().set_cache_size(0).create_with_backend(uncached.clone()));
    let store = LocalStore::open_with(folder.path(), Arc::new(SystemClock), opener).unwrap();
    disk.platter().unreadable = true;
    assert!(matches!(store.get(&bucket(), &key(1)).await, Err(StoreError::Unavailable { .. })), "an unreadable disk");
    disk.platter().unreadable = false;
    let again = async {
        while store.get(&bucket(), &key(1)).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), again).await.unwrap();
    check(&store, &history, "readable again").await;
    assert!(put(&store, WRITES, &mut history).await, "and it writes");
    check(&store, &history, "written again").await;
}
