//! A damaged document was set aside and an older revision restored (DESIGN §4 "Versioning and repair").
//!
//! Invariant: the restored content goes on as a *new* revision above every one that was ever there, so that no old bytes
//! come back, no ETag recurs and no effect key is used twice. Pending effects stay pending: they are safe to repeat.
//! A run that is proven to have ended is over, whatever revision was restored.

use super::draft::{Turn, corrupt};
use super::{Refusal, Step};
use crate::event::RepairFacts;
use crate::instance::{EVIDENCE_CHARS_MAX, LOG_ENTRIES_MAX, State};
use crate::log::LogKind;

/// Entries a repair may add.
const ENTRIES: usize = 2;

pub(super) fn apply(turn: Turn<'_>, facts: RepairFacts) -> Result<Step, Refusal> {
    turn.system_only("a repair")?;
    let restored_revision = turn.instance.revision;
    let RepairFacts { revision, reason, set_aside, ended } = facts;
    if revision <= restored_revision {
        let what = format!("revision {revision} for a repair of revision {restored_revision}: it must be a later one");
        return Err(Refusal::NotAllowedHere { what });
    }
    if turn.instance.history.len() + ENTRIES > LOG_ENTRIES_MAX {
        return Err(Refusal::LimitReached { what: "log entries of this run", limit: LOG_ENTRIES_MAX });
    }
    let mut draft = turn.draft();
    draft.instance.revision = revision;
    let reason = super::run::clip(&reason, EVIDENCE_CHARS_MAX);
    draft.log(None, None, None, LogKind::Repaired { reason, set_aside, restored_revision })?;
    if let Some((status, at)) = ended
        && !draft.instance.is_final()
    {
        if !status.is_final() {
            return Err(corrupt(format!("a run that ended with {status:?}, which is no end")));
        }
        // The end was only reached once the ERP had confirmed everything.
        draft.instance.effects.clear();
        draft.instance.ended_at = Some(at);
        draft.log(None, None, None, LogKind::Ended { status })?;
        draft.enter(State::Final { status });
    }
    Ok(draft.finish())
}
