//! Limits, each with its unit (DESIGN §2 rule 7).

use std::time::Duration;

/// Lock time to live (spec 001 §3.4).
pub(crate) const LOCK_TTL: chrono::TimeDelta = chrono::TimeDelta::minutes(5);
/// How long a trigger waits for a lock that somebody else holds before it helps (DESIGN §4 rule 2).
pub(crate) const LOCK_WAIT: Duration = Duration::from_secs(2);
/// How often a held lock is looked at meanwhile.
pub(crate) const LOCK_POLL: Duration = Duration::from_millis(100);
/// Tries to send the same bytes when it is not known whether they arrived.
pub(crate) const WRITE_TRIES_MAX: u32 = 4;
/// First pause between those tries; doubles.
pub(crate) const WRITE_PAUSE: Duration = Duration::from_millis(50);
/// Tries to reload and apply again after a lost write.
pub(crate) const STEP_TRIES_MAX: u32 = 8;
/// Tries to get through the lock of one object.
pub(crate) const START_TRIES_MAX: u32 = 8;
/// A failed ERP write is tried again after this time; the full retry rules come with the retry issue.
pub(crate) const EFFECT_RETRY: chrono::TimeDelta = chrono::TimeDelta::minutes(1);
/// Tries to repair a document that others write meanwhile.
pub(crate) const REPAIR_TRIES_MAX: u32 = 8;
/// Versions of a document that a repair looks at, the newest first.
pub(crate) const REPAIR_VERSIONS_MAX: u32 = 200;
/// Versions read at once.
pub(crate) const REPAIR_READS: usize = 8;
/// Damaged runs remembered for the operators.
pub(crate) const DAMAGED_RUNS_MAX: usize = 10_000;
/// Months in which a run's summary is looked for.
pub(crate) const DONE_MONTHS_MAX: usize = 120;
/// Between two writes of one draft (DESIGN §4: at most one PUT in 5 s).
pub(crate) const DRAFT_PAUSE: chrono::TimeDelta = chrono::TimeDelta::seconds(5);
/// Bytes of a draft's document.
pub(crate) const DRAFT_BYTES_MAX: usize = 256 * 1024;
/// Drafts whose last write a node remembers.
pub(crate) const DRAFTS_REMEMBERED_MAX: usize = 10_000;
/// A pending write or lapsed claim that another node left behind is taken up after this time; that node is given the time
/// to do it itself.
pub(crate) const FOREIGN_GRACE: chrono::TimeDelta = chrono::TimeDelta::seconds(30);
/// Objects whose lock is known to exist; remembered to save a write that must fail.
pub(crate) const LOCKS_SEEN_MAX: usize = 100_000;
/// Instances read at once when the index is rebuilt.
pub(crate) const REBUILD_READS: usize = 64;
/// Keys per listing page.
pub(crate) const LIST_PAGE: u32 = 1_000;
/// Finished runs kept in the index for the list "Erledigt".
pub(crate) const DONE_ROWS_MAX: usize = 10_000;
/// Bytes of a receipt that are hashed for the log and served at all.
pub(crate) const RECEIPT_BYTES_MAX: u64 = 200 * 1024 * 1024;
/// Bytes of a stored document that are read.
pub(crate) const DOCUMENT_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// Characters an object number may have.
pub(crate) const OBJECT_NUMBER_CHARS_MAX: usize = 200;
