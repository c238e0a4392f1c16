//! What can be read off an instance without looking anything up.
//!
//! Invariant: decisions are derived from the log, never stored twice.
//! Never: changes anything.

use chrono::{DateTime, Utc};
use vocab::{InstanceStatus, StepId, UserId};

use super::{Claim, EffectKey, Instance, LOG_ENTRIES_MAX, LOG_ENTRIES_RESERVED, PendingEffect, State, TakenDecision};
use crate::log::LogKind;

/// The open task of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenTask<'a> {
    /// User step.
    pub step: &'a StepId,
    /// Names this visit.
    pub visit: u64,
    /// Since when.
    pub opened_at: DateTime<Utc>,
    /// Who has it.
    pub claim: Option<&'a Claim>,
}

impl State {
    /// The status that this state means (DESIGN §5).
    pub fn status(&self) -> InstanceStatus {
        match self {
            Self::Task { .. } | Self::Syncing { .. } | Self::Ending { .. } => InstanceStatus::Open,
            Self::Stopped { .. } => InstanceStatus::Error,
            Self::Final { status } => *status,
        }
    }

    /// The step the run stands at; none when it is over.
    pub fn step(&self) -> Option<&StepId> {
        match self {
            Self::Task { step, .. }
            | Self::Syncing { step, .. }
            | Self::Ending { step, .. }
            | Self::Stopped { step, .. } => Some(step),
            Self::Final { .. } => None,
        }
    }
}

impl Instance {
    /// The open task, if a person's turn it is.
    pub fn open_task(&self) -> Option<OpenTask<'_>> {
        match &self.state {
            State::Task { step, visit, opened_at, claim } => {
                Some(OpenTask { step, visit: *visit, opened_at: *opened_at, claim: claim.as_ref() })
            }
            State::Syncing { .. } | State::Ending { .. } | State::Stopped { .. } | State::Final { .. } => None,
        }
    }

    /// The visit of the open task.
    pub fn open_visit(&self) -> Option<u64> {
        self.open_task().map(|task| task.visit)
    }

    /// Whether the run is over.
    pub fn is_final(&self) -> bool {
        match self.state {
            State::Final { .. } => true,
            State::Task { .. } | State::Syncing { .. } | State::Ending { .. } | State::Stopped { .. } => false,
        }
    }

    /// Whether the stored status is the one that the state means.
    pub fn status_matches(&self) -> bool {
        self.status == self.state.status()
    }

    /// The decisions of this run, oldest first.
    pub fn taken_decisions(&self) -> Vec<TakenDecision> {
        self.history
            .iter()
            .filter_map(|entry| match &entry.kind {
                LogKind::Decided { decision, .. } => Some(TakenDecision {
                    step: entry.step.clone()?,
                    visit: entry.visit?,
                    by: entry.actor.clone()?,
                    decision: *decision,
                    at: entry.at,
                }),
                LogKind::Started { .. }
                | LogKind::Condition { .. }
                | LogKind::TaskOpened { .. }
                | LogKind::Claimed { .. }
                | LogKind::Unclaimed { .. }
                | LogKind::ClaimLapsed { .. }
                | LogKind::Feedback { .. }
                | LogKind::RequestedAgain
                | LogKind::ErpWritten { .. }
                | LogKind::ErpFailed { .. }
                | LogKind::EndReached { .. }
                | LogKind::Ended { .. }
                | LogKind::Stopped { .. }
                | LogKind::Repaired { .. } => None,
            })
            .collect()
    }

    /// Whether this person decided one of these steps in this run (four eyes).
    pub fn decided_any(&self, user: &UserId, steps: &[StepId]) -> bool {
        !steps.is_empty()
            && self.taken_decisions().iter().any(|taken| taken.by.id == *user && steps.contains(&taken.step))
    }

    /// The effect that must happen next.
    pub fn first_effect(&self) -> Option<&PendingEffect> {
        self.effects.first()
    }

    /// Whether the ERP has confirmed this effect.
    pub fn effect_confirmed(&self, key: EffectKey) -> bool {
        self.history.iter().any(|entry| matches!(&entry.kind, LogKind::ErpWritten { effect, .. } if *effect == key))
    }

    /// Whether people's acts still have room in the log.
    pub fn log_has_room(&self) -> bool {
        self.history.len() < LOG_ENTRIES_MAX - LOG_ENTRIES_RESERVED
    }
}
