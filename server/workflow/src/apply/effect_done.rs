//! The ERP confirmed a write.
//!
//! Invariant: the step after an approval with edits starts only here; a run becomes final only with its last effect.

use super::draft::{Turn, corrupt};
use super::{Refusal, Step, effect};
use crate::event::ErpEvidence;
use crate::instance::{EffectKey, EffectKind, ObjectValues, State};
use crate::log::LogKind;

pub(super) fn apply(
    turn: Turn<'_>,
    key: EffectKey,
    evidence: &ErpEvidence,
    object: &ObjectValues,
) -> Result<Step, Refusal> {
    turn.system_only("an ERP write's result")?;
    let what = effect::awaited(&turn, key)?.kind.clone();

    let mut draft = turn.draft();
    draft.instance.effects.remove(0);
    draft.refresh_summary(object);
    let (step, visit) = effect::place(&draft.instance, &what);
    let written = LogKind::ErpWritten { effect: key, what: what.clone(), evidence: effect::kept(evidence) };
    draft.log(None, step.as_ref(), visit, written)?;

    match what {
        // Confirmed while the run is busy with something else: nothing follows from it.
        EffectKind::ErpStart => {}
        EffectKind::ErpChanges { .. } => {
            let State::Syncing { visit, next, .. } = draft.instance.state.clone() else {
                return Err(corrupt(format!("edits are pending in state {:?}", draft.instance.state)));
            };
            let decisions = draft.instance.taken_decisions();
            let cause = decisions.into_iter().find(|taken| taken.visit == visit).map(|taken| taken.by);
            draft.advance(&next, object, cause.as_ref())?;
        }
        EffectKind::ErpEnd { .. } => {
            let State::Ending { step, status } = draft.instance.state.clone() else {
                return Err(corrupt(format!("the end is pending in state {:?}", draft.instance.state)));
            };
            draft.instance.ended_at = Some(draft.at);
            draft.log(None, Some(&step), None, LogKind::Ended { status })?;
            draft.enter(State::Final { status });
        }
    }
    Ok(draft.finish())
}
