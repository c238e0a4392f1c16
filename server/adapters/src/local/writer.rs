//! The one writer of the embedded store.
//!
//! Purpose: a thread that takes write requests from a queue, puts those that wait into one transaction, commits it durably
//! and then answers them.
//! Invariant: conditions are checked inside the transaction that writes, and there is one at a time, so exactly one of any
//! racing writers wins. No answer leaves before its transaction is on disk; that goes for `Lost` too, which may rest on a
//! write of the same group.
//! Never: a retry. After a failed commit nothing more is written, because what reached the disk is not known until the
//! database has been opened anew.

use bytes::Bytes;
use ports::{BucketName, Clock, Condition, Key};
use redb::{Durability, ReadableTable, Table, WriteTransaction};
use tokio::sync::{mpsc, oneshot};

use super::blobs::PendingBlob;
use super::tables::{BLOBS, BODIES, BUCKETS, OBJECTS, Shared};

/// Writes that share one transaction at most. With bodies of at most `INLINE_BYTES_MAX` it holds a few MiB.
const GROUP_WRITES_MAX: usize = 64;

/// A write and whom to tell.
pub(super) struct Request {
    pub(super) write: Write,
    pub(super) answer: oneshot::Sender<Outcome>,
}

/// What to write.
pub(super) enum Write {
    CreateBucket {
        bucket: BucketName,
    },
    Put {
        bucket: BucketName,
        key: Key,
        content: Content,
        condition: Condition,
    },
    Delete {
        bucket: BucketName,
        key: Key,
    },
    /// Ends the thread the hard way.
    #[cfg(test)]
    Panic,
}

/// A content, hashed and, if it is large, already on disk.
pub(super) struct Content {
    pub(super) etag: String,
    pub(super) size: u64,
    pub(super) body: Body,
}

pub(super) enum Body {
    Inline(Bytes),
    Blob(PendingBlob),
}

/// What became of a write.
#[derive(Debug, Clone)]
pub(super) enum Outcome {
    /// It is durable.
    Done,
    /// Its condition did not hold.
    Lost,
    /// Its bucket doesn't exist.
    NoBucket,
    /// It did not happen.
    Refused(String),
    /// It may or may not have happened.
    Unknown(String),
}

/// What a group's transaction holds before its commit.
#[derive(Default)]
struct Applied {
    outcomes: Vec<Outcome>,
    changed: bool,
    /// Blobs that no entry names any more once this is committed.
    unused: Vec<String>,
}

/// The thread's work: until every sender of requests is gone, and then until the queue is empty.
pub(super) fn run(shared: &Shared, clock: &dyn Clock, mut requests: mpsc::Receiver<Request>) {
    let mut broken = None;
    while let Some(first) = requests.blocking_recv() {
        let mut group = vec![first];
        while group.len() < GROUP_WRITES_MAX
            && let Ok(next) = requests.try_recv()
        {
            group.push(next);
        }
        let applied = write_group(shared, clock, &mut group, &mut broken);
        for (request, outcome) in group.into_iter().zip(applied.outcomes) {
            // Whoever asked may have gone; the write stands.
            let _ = request.answer.send(outcome);
        }
        for name in &applied.unused {
            shared.blobs.remove(name);
        }
    }
}

/// Writes a group in one durable transaction; one outcome for each request. `broken` says why nothing may be written any
/// more, from the first failed commit on.
fn write_group(shared: &Shared, clock: &dyn Clock, group: &mut [Request], broken: &mut Option<String>) -> Applied {
    let all = |outcome: Outcome, len: usize| Applied { outcomes: vec![outcome; len], ..Applied::default() };
    if let Some(reason) = broken {
        return all(Outcome::Refused(reason.clone()), group.len());
    }
    let applied = begin(shared).and_then(|transaction| {
        let applied = apply(&transaction, clock.now().timestamp_micros(), group)?;
        Ok((transaction, applied))
    });
    let (transaction, applied) = match applied {
        Ok(begun) => begun,
        Err(error) => {
            tracing::error!(%error, "the store refused a group of writes");
            return all(Outcome::Refused(out_of_order(&error)), group.len());
        }
    };
    if !applied.changed {
        // Nothing to make durable; dropping the transaction ends it. What the outcomes rest on was committed before.
        return applied;
    }
    match transaction.commit() {
        Ok(()) => applied,
        Err(error) => {
            let error = redb::Error::from(error);
            tracing::error!(%error, "the store could not commit; what reached the disk is known after a restart");
            let reason = broken.insert(out_of_order(&error));
            all(Outcome::Unknown(reason.clone()), group.len())
        }
    }
}

fn out_of_order(error: &redb::Error) -> String {
    format!("the embedded store can't write: {error}; check the disk and its free space, then restart")
}

fn begin(shared: &Shared) -> Result<WriteTransaction, redb::Error> {
    let mut transaction = shared.database.begin_write()?;
    transaction.set_durability(Durability::Immediate)?;
    Ok(transaction)
}

fn apply(transaction: &WriteTransaction, now_us: i64, group: &mut [Request]) -> Result<Applied, redb::Error> {
    let mut tables = Tables {
        buckets: transaction.open_table(BUCKETS)?,
        objects: transaction.open_table(OBJECTS)?,
        bodies: transaction.open_table(BODIES)?,
        blobs: transaction.open_table(BLOBS)?,
        now_us,
        changed: false,
        unused: Vec::new(),
    };
    let mut outcomes = Vec::with_capacity(group.len());
    for request in group {
        outcomes.push(match &mut request.write {
            Write::CreateBucket { bucket } => tables.create_bucket(bucket)?,
            Write::Put { bucket, key, content, condition } => tables.put(bucket, key, content, condition)?,
            Write::Delete { bucket, key } => tables.delete(bucket, key)?,
            #[cfg(test)]
            Write::Panic => panic!("a test ends the writer"),
        });
    }
    Ok(Applied { outcomes, changed: tables.changed, unused: tables.unused })
}

/// The tables within one transaction.
struct Tables<'t> {
    buckets: Table<'t, &'static str, i64>,
    objects: Table<'t, (&'static str, &'static str), (&'static str, u64, i64, Option<&'static str>)>,
    bodies: Table<'t, (&'static str, &'static str), &'static [u8]>,
    blobs: Table<'t, &'static str, ()>,
    now_us: i64,
    changed: bool,
    unused: Vec<String>,
}

impl Tables<'_> {
    fn create_bucket(&mut self, bucket: &BucketName) -> Result<Outcome, redb::Error> {
        if self.buckets.get(bucket.as_str())?.is_none() {
            self.buckets.insert(bucket.as_str(), self.now_us)?;
            self.changed = true;
        }
        Ok(Outcome::Done)
    }

    fn put(
        &mut self,
        bucket: &BucketName,
        key: &Key,
        content: &mut Content,
        condition: &Condition,
    ) -> Result<Outcome, redb::Error> {
        if self.buckets.get(bucket.as_str())?.is_none() {
            return Ok(Outcome::NoBucket);
        }
        let at = (bucket.as_str(), key.as_str());
        let current = self.objects.get(at)?.map(|entry| entry.value().0.to_owned());
        let holds = match condition {
            Condition::None => true,
            Condition::IfAbsent => current.is_none(),
            Condition::IfMatch(etag) => current.as_ref() == Some(&etag.0),
        };
        if !holds {
            return Ok(Outcome::Lost);
        }
        let blob = match &mut content.body {
            Body::Inline(bytes) => {
                self.bodies.insert(at, bytes.as_ref())?;
                None
            }
            Body::Blob(blob) => {
                // Before the commit: if that ends unknown, the file must be there.
                blob.keep();
                self.bodies.remove(at)?;
                self.blobs.insert(blob.name(), ())?;
                Some(blob.name())
            }
        };
        let entry = (content.etag.as_str(), content.size, self.now_us, blob);
        let before = self.objects.insert(at, entry)?.and_then(|entry| entry.value().3.map(ToOwned::to_owned));
        self.forget(before)?;
        self.changed = true;
        Ok(Outcome::Done)
    }

    fn delete(&mut self, bucket: &BucketName, key: &Key) -> Result<Outcome, redb::Error> {
        if self.buckets.get(bucket.as_str())?.is_none() {
            return Ok(Outcome::NoBucket);
        }
        let at = (bucket.as_str(), key.as_str());
        let before = self.objects.remove(at)?.map(|entry| entry.value().3.map(ToOwned::to_owned));
        if let Some(blob) = before {
            self.bodies.remove(at)?;
            self.forget(blob)?;
            self.changed = true;
        }
        Ok(Outcome::Done)
    }

    /// A blob whose entry was replaced or removed.
    fn forget(&mut self, blob: Option<String>) -> Result<(), redb::Error> {
        if let Some(name) = blob {
            self.blobs.remove(name.as_str())?;
            self.unused.push(name);
        }
        Ok(())
    }
}
