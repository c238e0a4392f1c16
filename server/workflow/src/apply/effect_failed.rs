//! The ERP did not take a write: it stays pending and visible.
//!
//! Invariant: the effect stays first in line. When only the engine's reserve is left in the log, the effect alone says
//! how often it was tried, so that an ERP that is down for weeks can't fill the log.

use chrono::{DateTime, Utc};

use super::draft::{Turn, corrupt};
use super::run::clip;
use super::{Refusal, Step, effect};
use crate::event::ErpEvidence;
use crate::instance::{EVIDENCE_CHARS_MAX, EffectKey};
use crate::log::LogKind;

pub(super) fn apply(
    turn: Turn<'_>,
    key: EffectKey,
    error: &str,
    next_try_at: DateTime<Utc>,
    evidence: &ErpEvidence,
) -> Result<Step, Refusal> {
    turn.system_only("an ERP write's failure")?;
    effect::awaited(&turn, key)?;
    let error = clip(error, EVIDENCE_CHARS_MAX);

    let mut draft = turn.draft();
    let pending = draft.instance.effects.first_mut().ok_or_else(|| corrupt("the awaited effect is gone"))?;
    pending.attempts = pending.attempts.saturating_add(1);
    pending.last_error = Some(error.clone());
    pending.next_try_at = Some(next_try_at);
    let what = pending.kind.clone();
    if draft.instance.log_has_room() {
        let (step, visit) = effect::place(&draft.instance, &what);
        let failed = LogKind::ErpFailed { effect: key, what, error, next_try_at, evidence: effect::kept(evidence) };
        draft.log(None, step.as_ref(), visit, failed)?;
    }
    Ok(draft.finish())
}
