//! The next revision while it is being made.
//!
//! Invariant: a [`Draft`] starts as the instance with the next revision and the event's commit id; whatever is refused
//! after that throws it away whole.
//! Never: decides anything; the events do.

use chrono::{DateTime, Utc};
use vocab::{OperationId, Person, StepId};

use super::{Refusal, Step};
use crate::blueprint::Blueprint;
use crate::event::Actor;
use crate::instance::{
    EffectKey, EffectKind, Instance, OPERATIONS_MAX, ObjectValues, OperationRecord, PendingEffect, State,
};
use crate::log::{self, LogKind, NewEntry};

/// One event's turn: everything it may look at.
pub(super) struct Turn<'a> {
    pub(super) blueprint: &'a Blueprint,
    pub(super) instance: &'a Instance,
    pub(super) actor: &'a Actor,
    pub(super) at: DateTime<Utc>,
    pub(super) commit_id: String,
}

impl<'a> Turn<'a> {
    /// The blueprint must be the one that the run is pinned to.
    pub(super) fn check_blueprint(&self) -> Result<(), Refusal> {
        let pinned = &self.instance.start.workflow_id;
        if *pinned == self.blueprint.id {
            Ok(())
        } else {
            Err(corrupt(format!("the run is pinned to blueprint {pinned}, not to {}", self.blueprint.id)))
        }
    }

    /// Results of effects and lapses come from the engine only.
    pub(super) fn system_only(&self, what: &str) -> Result<(), Refusal> {
        match self.actor {
            Actor::System => Ok(()),
            Actor::Person { .. } => {
                Err(Refusal::NotAllowedHere { what: format!("{what} by a person; the engine reports it") })
            }
        }
    }

    /// Starts the next revision.
    pub(super) fn draft(self) -> Draft<'a> {
        let mut instance = self.instance.clone();
        instance.revision += 1;
        instance.commit_id = self.commit_id;
        Draft { blueprint: self.blueprint, instance, at: self.at, created: Vec::new() }
    }
}

/// The next revision while it is being made.
pub(super) struct Draft<'a> {
    pub(super) blueprint: &'a Blueprint,
    pub(super) instance: Instance,
    pub(super) at: DateTime<Utc>,
    pub(super) created: Vec<EffectKey>,
}

impl Draft<'_> {
    /// Appends to the log.
    pub(super) fn log(
        &mut self,
        actor: Option<&Person>,
        step: Option<&StepId>,
        visit: Option<u64>,
        kind: LogKind,
    ) -> Result<(), Refusal> {
        let entry = NewEntry {
            at: self.at,
            actor: actor.cloned(),
            step: step.cloned(),
            visit,
            commit_id: self.instance.commit_id.clone(),
            kind,
        };
        log::append(&mut self.instance.history, entry).map_err(|error| corrupt(error.to_string()))
    }

    /// Leaves work for the ERP behind.
    pub(super) fn effect(&mut self, kind: EffectKind) {
        let index = u32::try_from(self.created.len()).unwrap_or(u32::MAX);
        let key = EffectKey { revision: self.instance.revision, index };
        self.created.push(key);
        self.instance.effects.push(PendingEffect { key, kind, attempts: 0, last_error: None, next_try_at: None });
    }

    /// Remembers an operation, so that its repeat gets the first one's answer.
    pub(super) fn remember(&mut self, id: OperationId, by: &Person, kind: &str) {
        let revision = self.instance.revision;
        self.instance.operations.push(OperationRecord { id, by: by.clone(), kind: kind.to_owned(), revision });
        let surplus = self.instance.operations.len().saturating_sub(OPERATIONS_MAX);
        self.instance.operations.drain(..surplus);
    }

    /// Takes over the summary's fields from fresh values; what they don't hold stays.
    pub(super) fn refresh_summary(&mut self, object: &ObjectValues) {
        for name in &self.blueprint.summary {
            if let Some(value) = object.get(name) {
                self.instance.summary.insert(name.clone(), value.clone());
            }
        }
    }

    /// Moves to a state; status, current step and holder follow from it.
    pub(super) fn enter(&mut self, state: State) {
        self.instance.status = state.status();
        if let Some(step) = state.step() {
            self.instance.current_step = step.clone();
        }
        self.instance.claimed_by = match &state {
            State::Task { claim, .. } => claim.as_ref().map(|claim| claim.by.clone()),
            State::Syncing { .. } | State::Ending { .. } | State::Stopped { .. } | State::Final { .. } => None,
        };
        self.instance.state = state;
    }

    /// The finished revision.
    pub(super) fn finish(self) -> Step {
        Step { instance: self.instance, effects: self.created }
    }
}

/// The document and the blueprint don't fit.
pub(super) fn corrupt(reason: impl Into<String>) -> Refusal {
    Refusal::Corrupt { reason: reason.into() }
}
