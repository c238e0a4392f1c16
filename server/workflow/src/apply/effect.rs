//! What results of effects have in common.
//!
//! Invariant: effects are confirmed in the order in which they were created; a result for one that is confirmed already
//! is a repeat.

use vocab::StepId;

use super::Refusal;
use super::draft::Turn;
use super::run::clip;
use crate::event::ErpEvidence;
use crate::instance::{EVIDENCE_CHARS_MAX, EffectKey, EffectKind, Instance, PendingEffect};
use crate::log::JSON_INTEGER_MAX;

/// The pending effect that a result is about: the first one.
pub(super) fn awaited<'a>(turn: &Turn<'a>, key: EffectKey) -> Result<&'a PendingEffect, Refusal> {
    let EffectKey { revision, index } = key;
    match turn.instance.first_effect() {
        Some(first) if first.key == key => Ok(first),
        Some(first) if turn.instance.effects.iter().any(|effect| effect.key == key) => {
            let what = format!(
                "a result of effect {revision}/{index}: effect {}/{} comes first",
                first.key.revision, first.key.index
            );
            Err(Refusal::NotAllowedHere { what })
        }
        Some(_) | None if turn.instance.effect_confirmed(key) => {
            Err(Refusal::Repeat { revision: turn.instance.revision })
        }
        Some(_) | None => Err(Refusal::NotAllowedHere {
            what: format!("a result of effect {revision}/{index}: this run has no such effect"),
        }),
    }
}

/// Step and visit that an effect belongs to; the start belongs to none.
pub(super) fn place(instance: &Instance, what: &EffectKind) -> (Option<StepId>, Option<u64>) {
    match what {
        EffectKind::ErpStart => (None, None),
        EffectKind::ErpChanges { .. } => (instance.state.step().cloned(), Some(instance.visits)),
        EffectKind::ErpEnd { .. } => (instance.state.step().cloned(), None),
    }
}

/// Evidence as it is kept: cut to [`EVIDENCE_CHARS_MAX`], its numbers within what JSON holds.
pub(super) fn kept(evidence: &ErpEvidence) -> ErpEvidence {
    ErpEvidence {
        mutation: clip(&evidence.mutation, EVIDENCE_CHARS_MAX),
        answer: clip(&evidence.answer, EVIDENCE_CHARS_MAX),
        attempt: evidence.attempt,
        took_ms: evidence.took_ms.min(JSON_INTEGER_MAX),
    }
}
