//! Checks a log as an auditor holds it: the stored document or an export, as a file (DESIGN §8 `log verify`).
//!
//! Invariant: entries are hashed as they stand in the file, also members that this program does not know, so that nothing
//! put into an entry goes unnoticed. Document and export keep the entries under the same name, `history`.
//! Never: needs a store, a blueprint or the program that wrote the file.

use serde_json::Value;

use super::chain::{FIRST_PREV, json_hash};
use crate::format::{self, Format, FormatError, to_sealed};
use crate::instance::{INSTANCE_FORMAT, Instance};

/// What an exported log says of itself under `document`.
pub const LOG_EXPORT: &str = "execution-log";
/// The format of an exported log: the instance's head and its whole log, without state and pending effects.
pub const LOG_EXPORT_FORMAT: Format = Format { name: "exported log", schema: 2, migrations: &[to_sealed] };
/// Members of the instance that an export leaves out: where the run stands is not part of its log.
const NOT_EXPORTED: [&str; 5] = ["state", "effects", "operations", "data", "summary"];

/// A log that is whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audit {
    /// `execution-log`, or `instance`.
    pub document: &'static str,
    /// The run.
    pub instance_id: String,
    /// Entries.
    pub entries: usize,
    /// Hash of the first entry.
    pub first: String,
    /// Hash of the last entry: kept elsewhere, it proves later that nothing was cut off at the end.
    pub last: String,
    /// Whether the file has a seal; documents of schema 1 have none.
    pub sealed: bool,
}

/// Why a log is not whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuditError {
    /// The file as a whole.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// There is no log in it.
    #[error("the file holds no log: its `history` is missing or empty")]
    NoLog,
    /// A broken entry.
    #[error("entry {number} is broken: {problem}")]
    Entry {
        /// Its place in the file, from 1.
        number: usize,
        /// What differs.
        problem: String,
    },
    /// The head does not say what the first entry says.
    #[error("the head's `{member}` is {head}, but the first entry says {logged}")]
    Head {
        /// Which member.
        member: String,
        /// In the head.
        head: String,
        /// In the first entry.
        logged: String,
    },
    /// State and log disagree.
    #[error("the document contradicts its log: {reason}")]
    State {
        /// How.
        reason: String,
    },
}

/// The export of a run's log: what [`audit`] takes.
///
/// # Errors
/// [`FormatError::Damaged`] when it can't be written as JSON.
pub fn export(instance: &Instance) -> Result<Vec<u8>, FormatError> {
    let unfit = |reason: String| FormatError::Damaged { reason };
    let value = serde_json::to_value(instance).map_err(|error| unfit(error.to_string()))?;
    let Value::Object(mut members) = value else { return Err(unfit("an instance is no JSON object".to_owned())) };
    for name in NOT_EXPORTED {
        members.remove(name);
    }
    members.insert("document".to_owned(), Value::from(LOG_EXPORT));
    format::close(&LOG_EXPORT_FORMAT, members)
}

/// Checks seal, numbers, links, hashes and head of a file.
///
/// # Errors
/// The first thing that does not hold.
pub fn audit(bytes: &[u8]) -> Result<Audit, AuditError> {
    let raw: Option<Value> = serde_json::from_slice(bytes).ok();
    let is_export = raw.as_ref().and_then(|value| value.get("document")).and_then(Value::as_str) == Some(LOG_EXPORT);
    let sealed = raw.as_ref().is_some_and(|value| value.get("seal").is_some());
    // The broken entry is worth more to an auditor than the broken seal that comes with it, so the entries go first.
    let broken = raw.as_ref().map(|value| check_entries(value.get("history")));
    if let Some(Err(error @ AuditError::Entry { .. })) = broken {
        return Err(error);
    }
    let members = format::open(if is_export { &LOG_EXPORT_FORMAT } else { &INSTANCE_FORMAT }, bytes)?;
    let (entries, first, last) = check_entries(members.get("history"))?;
    check_head(&members)?;
    if !is_export {
        let instance = Instance::from_stored(bytes)?;
        instance.check_invariants().map_err(|reason| AuditError::State { reason })?;
    }
    let instance_id = members.get("instanceId").and_then(Value::as_str).unwrap_or_default().to_owned();
    let document = if is_export { LOG_EXPORT } else { "instance" };
    Ok(Audit { document, instance_id, entries, first, last, sealed })
}

/// Number of entries, hash of the first and of the last one.
fn check_entries(history: Option<&Value>) -> Result<(usize, String, String), AuditError> {
    let Some(entries) = history.and_then(Value::as_array).filter(|entries| !entries.is_empty()) else {
        return Err(AuditError::NoLog);
    };
    let mut first = None;
    let mut prev = FIRST_PREV.to_owned();
    for (number, entry) in (1..).zip(entries) {
        let broken = |problem: String| AuditError::Entry { number, problem };
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let seq = entry.get("seq").and_then(Value::as_u64);
        if seq != u64::try_from(number).ok() {
            let seq = entry.get("seq").map_or_else(|| "no number".to_owned(), Value::to_string);
            return Err(broken(format!("it carries {seq}; entries are missing, doubled or out of order")));
        }
        if text("prev") != prev {
            return Err(broken(format!("it follows an entry with the hash {}, but that one has {prev}", text("prev"))));
        }
        let computed = json_hash(entry.clone()).map_err(|error| broken(error.to_string()))?;
        if text("hash") != computed {
            return Err(broken(format!("its content has the hash {computed}, it claims {}", text("hash"))));
        }
        first.get_or_insert_with(|| computed.clone());
        prev = computed;
    }
    Ok((entries.len(), first.unwrap_or_default(), prev))
}

/// The chain covers the head through the first entry; the copy beside it must say the same.
fn check_head(members: &format::Members) -> Result<(), AuditError> {
    let first = members.get("history").and_then(|history| history.get(0));
    let Some(Value::Object(run)) = first.and_then(|entry| entry.get("run")) else {
        return Err(AuditError::Entry { number: 1, problem: "it is not the start of a run".to_owned() });
    };
    for (member, logged) in run {
        let head = members.get(member).unwrap_or(&Value::Null);
        if head != logged {
            return Err(AuditError::Head {
                member: member.clone(),
                head: head.to_string(),
                logged: logged.to_string(),
            });
        }
    }
    Ok(())
}
