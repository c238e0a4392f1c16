//! The hash chain (DESIGN §5 "Execution log").
//!
//! Purpose: append an entry, and prove later that nothing was altered, left out or put in.
//! Invariant: `hash` = SHA-256 over the entry's canonical JSON without `hash`, with `prev` in it; `seq` counts from 1.
//! Never: rewrites an entry that is there.

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};
use vocab::{Person, StepId};

use super::canonical::{CanonicalError, canonical_json};
use super::{LogEntry, LogKind};

/// `prev` of the first entry.
pub const FIRST_PREV: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// What an entry says, before it has its place in the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntry {
    /// When.
    pub at: DateTime<Utc>,
    /// Who; none = the system.
    pub actor: Option<Person>,
    /// Step it belongs to.
    pub step: Option<StepId>,
    /// Its visit, for user steps.
    pub visit: Option<u64>,
    /// Commit that carries it.
    pub commit_id: String,
    /// What happened.
    pub kind: LogKind,
}

/// Where a chain breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// An entry is missing, doubled or out of order.
    #[error("log entry {found} stands where entry {wanted} belongs")]
    Sequence {
        /// The number that belongs there.
        wanted: u64,
        /// The number that stands there.
        found: u64,
    },
    /// The link to the entry before is wrong.
    #[error("log entry {seq} does not follow the entry before it: its prev is {prev}")]
    Link {
        /// Which entry.
        seq: u64,
        /// What it claims.
        prev: String,
    },
    /// The content does not have the hash that it claims.
    #[error("log entry {seq} was altered: its content has the hash {computed}")]
    Hash {
        /// Which entry.
        seq: u64,
        /// Recomputed.
        computed: String,
    },
    /// The content has no canonical text.
    #[error("log entry {seq} can't be hashed: {source}")]
    Canonical {
        /// Which entry.
        seq: u64,
        /// Why.
        source: CanonicalError,
    },
    /// The content is no JSON at all.
    #[error("log entry {seq} can't be written as JSON: {reason}")]
    Json {
        /// Which entry.
        seq: u64,
        /// Why.
        reason: String,
    },
}

/// Appends one entry with its place and hash.
///
/// # Errors
/// [`ChainError`] when the entry has no canonical text; the log is then as it was.
pub fn append(history: &mut Vec<LogEntry>, new: NewEntry) -> Result<(), ChainError> {
    let (seq, prev) = match history.last() {
        Some(last) => (last.seq + 1, last.hash.clone()),
        None => (1, FIRST_PREV.to_owned()),
    };
    let NewEntry { at, actor, step, visit, commit_id, kind } = new;
    let mut entry = LogEntry { seq, at, actor, step, visit, commit_id, kind, prev, hash: String::new() };
    entry.hash = entry_hash(&entry)?;
    history.push(entry);
    Ok(())
}

/// Recomputes every number, link and hash.
///
/// # Errors
/// The first place where the chain breaks.
pub fn verify(history: &[LogEntry]) -> Result<(), ChainError> {
    let mut prev = FIRST_PREV;
    for (wanted, entry) in (1u64..).zip(history) {
        if entry.seq != wanted {
            return Err(ChainError::Sequence { wanted, found: entry.seq });
        }
        if entry.prev != prev {
            return Err(ChainError::Link { seq: entry.seq, prev: entry.prev.clone() });
        }
        let computed = entry_hash(entry)?;
        if entry.hash != computed {
            return Err(ChainError::Hash { seq: entry.seq, computed });
        }
        prev = &entry.hash;
    }
    Ok(())
}

/// The hash an entry must have; its own `hash` does not count.
///
/// # Errors
/// [`ChainError`] when the entry has no canonical text.
pub fn entry_hash(entry: &LogEntry) -> Result<String, ChainError> {
    let value =
        serde_json::to_value(entry).map_err(|error| ChainError::Json { seq: entry.seq, reason: error.to_string() })?;
    json_hash(value).map_err(|source| ChainError::Canonical { seq: entry.seq, source })
}

/// The hash of an entry as it stands in JSON.
pub(super) fn json_hash(mut entry: serde_json::Value) -> Result<String, CanonicalError> {
    if let Some(members) = entry.as_object_mut() {
        members.remove("hash");
    }
    Ok(hex(&Sha256::digest(canonical_json(&entry)?.as_bytes())))
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        // Writing to a String can't fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}
