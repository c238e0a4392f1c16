//! The ERP asks for the start of a run that is under way.
//!
//! Invariant: the run goes on where it is; only `in Freigabe` is written again, as a logged effect. While a write of the
//! state is pending nothing is added: what is pending sets the state anyway. Pending edits don't, so behind them it is
//! added.

use super::draft::Turn;
use super::{Refusal, Step};
use crate::instance::{EffectKind, LOG_ENTRIES_MAX, LOG_ENTRIES_RESERVED, PendingEffect};
use crate::log::LogKind;

pub(super) fn apply(turn: Turn<'_>) -> Result<Step, Refusal> {
    turn.system_only("a request of the ERP")?;
    if turn.instance.is_final() {
        return Err(Refusal::Final);
    }
    let sets_state = |effect: &PendingEffect| match effect.kind {
        EffectKind::ErpStart | EffectKind::ErpEnd { .. } => true,
        EffectKind::ErpChanges { .. } => false,
    };
    if turn.instance.effects.iter().any(sets_state) {
        return Err(Refusal::Repeat { revision: turn.instance.revision });
    }
    if !turn.instance.log_has_room() {
        return Err(Refusal::LimitReached {
            what: "log entries of this run",
            limit: LOG_ENTRIES_MAX - LOG_ENTRIES_RESERVED,
        });
    }
    let mut draft = turn.draft();
    draft.effect(EffectKind::ErpStart);
    draft.log(None, None, None, LogKind::RequestedAgain)?;
    Ok(draft.finish())
}
