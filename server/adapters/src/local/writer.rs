//! The one writer of the embedded store.
//!
//! Purpose: a thread that takes write requests from a queue, puts those that wait into one transaction, commits it durably
//! and then answers them. Each commit also ends a few old versions, so that they go as fast as new ones come, without a
//! commit of their own.
//! Invariant: conditions are checked inside the transaction that writes, and there is one at a time, so exactly one of any
//! racing writers wins. No answer leaves before its transaction is on disk; that goes for `Lost` too, which may rest on a
//! write of the same group.
//! Never: an answer that says more than is known. After a failed commit the database is opened anew; if the commit isn't in
//! it, its writes did not happen. If it is, they may be in memory only: unknown.

use std::time::{Duration, Instant};

use bytes::Bytes;
use ports::{BucketName, Clock, Condition, Key};
use redb::WriteTransaction;
use tokio::sync::{mpsc, oneshot};

use super::blobs::PendingBlob;
use super::changes::{Changes, Tables};
use super::tables::Shared;

/// Writes that share one transaction at most. With bodies of at most `INLINE_BYTES_MAX` it holds a few MiB.
const GROUP_WRITES_MAX: usize = 64;
/// Old versions that one commit ends at most.
const EXPIRE_PER_COMMIT_MAX: usize = 2 * GROUP_WRITES_MAX;
/// After failures in a row writes are refused for so long before the disk is tried again: each try may repair the whole
/// database.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

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
    /// Nothing; a database that an I/O error has closed is opened anew on the way.
    Heal,
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

/// The thread's work: until every sender of requests is gone, and then until the queue is empty.
pub(super) fn run(shared: &Shared, clock: &dyn Clock, mut requests: mpsc::Receiver<Request>) {
    let mut writer = Writer { shared, clock, failures: 0, pause_until: None };
    while let Some(first) = requests.blocking_recv() {
        let mut group = vec![first];
        while group.len() < GROUP_WRITES_MAX
            && let Ok(next) = requests.try_recv()
        {
            group.push(next);
        }
        let (outcomes, unused) = writer.write(&mut group);
        for (request, outcome) in group.into_iter().zip(outcomes) {
            // Whoever asked may have gone; the write stands. What is dropped here takes the file of a refused content along.
            let Request { write, answer } = request;
            drop(write);
            let _ = answer.send(outcome);
        }
        for name in &unused {
            shared.blobs.remove(name);
        }
    }
}

struct Writer<'s> {
    shared: &'s Shared,
    clock: &'s dyn Clock,
    /// Failures since the last success.
    failures: u32,
    /// Until when nothing is tried.
    pause_until: Option<(Instant, String)>,
}

/// Why a group was not written.
enum Failure {
    /// Before its commit began.
    Before(String),
    /// By its commit; the store's number of commits if it landed all the same.
    Commit(String, u64),
}

impl Writer<'_> {
    /// Writes a group in one durable transaction; one outcome for each request, and the blobs that are no longer used.
    fn write(&mut self, group: &mut [Request]) -> (Vec<Outcome>, Vec<String>) {
        match self.pause_until.take() {
            Some((until, reason)) if Instant::now() < until => {
                let refused = self.refuse_in_pause(group, &reason);
                self.pause_until = Some((until, reason));
                return refused;
            }
            Some(_) | None => {}
        }
        let mut tried = self.try_group(group);
        if let Err(Failure::Before(reason)) = &tried {
            // An earlier read or write may have closed the database; nothing of this group happened yet.
            tracing::warn!(reason, "the store's database is opened anew");
            tried = match self.shared.database.reopen() {
                Ok(_) => self.try_group(group),
                Err(reason) => Err(Failure::Before(reason)),
            };
        }
        let failure = match tried {
            Ok(written) => {
                self.failures = 0;
                return written;
            }
            Err(failure) => failure,
        };
        // Also so that reads go on.
        let reopened = self.shared.database.reopen();
        let (reason, happened_not) = match (failure, reopened) {
            (Failure::Before(reason), _) => (reason, true),
            (Failure::Commit(reason, commits), Ok(found)) => (reason, found < commits),
            (Failure::Commit(reason, _), Err(_)) => (reason, false),
        };
        self.failed(&reason);
        let reason = out_of_order(&reason);
        if happened_not { refuse(group, &reason) } else { (vec![Outcome::Unknown(reason); group.len()], Vec::new()) }
    }

    /// Nothing is written, but a database that a read has closed meanwhile is opened.
    fn refuse_in_pause(&self, group: &mut [Request], reason: &str) -> (Vec<Outcome>, Vec<String>) {
        let (mut outcomes, unused) = refuse(group, reason);
        for (request, outcome) in group.iter().zip(&mut outcomes) {
            if matches!(request.write, Write::Heal)
                && (self.shared.database.begin().is_ok() || self.shared.database.reopen().is_ok())
            {
                *outcome = Outcome::Done;
            }
        }
        (outcomes, unused)
    }

    fn failed(&mut self, reason: &str) {
        tracing::error!(reason, failures = self.failures + 1, "the store could not write");
        if self.failures > 0 {
            self.pause_until = Some((Instant::now() + RETRY_PAUSE, out_of_order(reason)));
        }
        self.failures = self.failures.saturating_add(1);
    }

    fn try_group(&self, group: &mut [Request]) -> Result<(Vec<Outcome>, Vec<String>), Failure> {
        let transaction = self.shared.database.begin().map_err(Failure::Before)?;
        let applied = apply(&transaction, self.clock.now().timestamp_micros(), group);
        let (outcomes, changes) = applied.map_err(|error| Failure::Before(error.to_string()))?;
        if !changes.changed {
            // Nothing to make durable; dropping the transaction ends it. What the outcomes rest on was committed before.
            return Ok((outcomes, Vec::new()));
        }
        match transaction.commit() {
            Ok(()) => Ok((outcomes, changes.unused)),
            Err(error) => Err(Failure::Commit(redb::Error::from(error).to_string(), changes.commits)),
        }
    }
}

/// None of them happened: the files of large contents go too.
fn refuse(group: &mut [Request], reason: &str) -> (Vec<Outcome>, Vec<String>) {
    for request in group.iter_mut() {
        if let Write::Put { content: Content { body: Body::Blob(blob), .. }, .. } = &mut request.write {
            blob.give_up();
        }
    }
    (vec![Outcome::Refused(reason.to_owned()); group.len()], Vec::new())
}

fn out_of_order(reason: &str) -> String {
    format!("the embedded store can't write: {reason}; check the disk and its free space")
}

fn apply(
    transaction: &WriteTransaction,
    now_us: i64,
    group: &mut [Request],
) -> Result<(Vec<Outcome>, Changes), redb::Error> {
    let mut tables = Tables::open(transaction, now_us)?;
    let mut outcomes = Vec::with_capacity(group.len());
    for request in group {
        outcomes.push(match &mut request.write {
            Write::CreateBucket { bucket } => tables.create_bucket(bucket)?,
            Write::Put { bucket, key, content, condition } => tables.put(bucket, key, content, condition)?,
            Write::Delete { bucket, key } => tables.delete(bucket, key)?,
            Write::Heal => Outcome::Done,
            #[cfg(test)]
            Write::Panic => panic!("a test ends the writer"),
        });
    }
    if tables.changed() {
        tables.expire(EXPIRE_PER_COMMIT_MAX)?;
    }
    Ok((outcomes, tables.close()?))
}
