//! What must hold for every stored instance, checked after every event in tests and by whoever doubts a document.
//!
//! Never: repairs anything.

use std::collections::BTreeSet;

use super::{EffectKind, INSTANCE_SCHEMA, Instance, LOG_ENTRIES_MAX, OPERATIONS_MAX, State};
use crate::log::{self, LogKind};

impl Instance {
    /// Checks that state, status, claim, step, effects, operations and log agree.
    ///
    /// # Errors
    /// Names the first rule that does not hold, with the values at fault.
    pub fn check_invariants(&self) -> Result<(), String> {
        self.check_head()?;
        self.check_state()?;
        self.check_effects()?;
        self.check_operations()?;
        self.check_log()
    }

    fn check_head(&self) -> Result<(), String> {
        ensure(self.schema == INSTANCE_SCHEMA, || format!("schema is {}, not {INSTANCE_SCHEMA}", self.schema))?;
        ensure(self.revision >= 1, || "revision is 0; it counts from 1".to_owned())?;
        ensure(!self.commit_id.is_empty(), || "commit id is empty".to_owned())?;
        ensure(self.status_matches(), || format!("status {:?} does not match state {:?}", self.status, self.state))?;
        ensure(self.ended_at.is_some() == self.is_final(), || {
            format!("ended at {:?} does not match state {:?}", self.ended_at, self.state)
        })
    }

    fn check_state(&self) -> Result<(), String> {
        if let Some(step) = self.state.step() {
            ensure(self.current_step == *step, || {
                format!("current step {} is not the state's {step}", self.current_step)
            })?;
        }
        let holder = self.open_task().and_then(|task| task.claim).map(|claim| &claim.by);
        ensure(self.claimed_by.as_ref() == holder, || {
            format!("claimed by {:?} does not match the state's claim {holder:?}", self.claimed_by)
        })?;
        match &self.state {
            State::Task { visit, claim, .. } => {
                ensure(*visit == self.visits, || format!("open visit {visit} is not the latest, {}", self.visits))?;
                let lapses = claim.as_ref().is_none_or(|claim| claim.until > claim.at);
                ensure(lapses, || format!("claim {claim:?} lapses before it begins"))
            }
            State::Syncing { visit, .. } => {
                ensure(*visit == self.visits, || format!("decided visit {visit} is not the latest, {}", self.visits))
            }
            State::Ending { status, .. } | State::Final { status } => {
                ensure(status.is_final(), || format!("ending with {status:?}, which is no end"))
            }
            State::Stopped { reason, .. } => ensure(!reason.is_empty(), || "stopped without a reason".to_owned()),
        }
    }

    fn check_effects(&self) -> Result<(), String> {
        let ordered = self.effects.is_sorted_by(|a, b| a.key < b.key);
        ensure(ordered, || format!("effects are not unique and in order: {:?}", self.effects))?;
        for effect in &self.effects {
            ensure(effect.key.revision <= self.revision, || format!("effect {:?} comes from the future", effect.key))?;
            ensure(!self.effect_confirmed(effect.key), || format!("effect {:?} is pending and confirmed", effect.key))?;
        }
        let changes = self.effects.iter().filter(|effect| matches!(effect.kind, EffectKind::ErpChanges { .. })).count();
        let syncing = matches!(self.state, State::Syncing { .. });
        ensure(changes == usize::from(syncing), || format!("{changes} pending change(s) in state {:?}", self.state))?;
        let ends = self.effects.iter().filter(|effect| matches!(effect.kind, EffectKind::ErpEnd { .. })).count();
        let ending = matches!(self.state, State::Ending { .. });
        ensure(ends == usize::from(ending), || format!("{ends} pending end(s) in state {:?}", self.state))?;
        let end_last = self.effects.last().is_some_and(|effect| matches!(effect.kind, EffectKind::ErpEnd { .. }));
        ensure(!ending || end_last, || "the ERP's final state is not the last effect".to_owned())?;
        ensure(self.effects.is_empty() || !self.is_final(), || format!("final with pending effects {:?}", self.effects))
    }

    fn check_operations(&self) -> Result<(), String> {
        ensure(self.operations.len() <= OPERATIONS_MAX, || {
            format!("{} operations are remembered", self.operations.len())
        })?;
        let ids: BTreeSet<_> = self.operations.iter().map(|operation| &operation.id).collect();
        ensure(ids.len() == self.operations.len(), || "an operation id is remembered twice".to_owned())?;
        ensure(self.operations.iter().all(|operation| operation.revision <= self.revision), || {
            "an operation's revision comes from the future".to_owned()
        })
    }

    fn check_log(&self) -> Result<(), String> {
        log::verify(&self.history).map_err(|error| error.to_string())?;
        ensure(self.history.len() <= LOG_ENTRIES_MAX, || format!("the log has {} entries", self.history.len()))?;
        let head_matches = self.history.first().is_some_and(|entry| {
            matches!(&entry.kind, LogKind::Started { run, workflow_name, .. }
                if **run == self.start && *workflow_name == self.workflow_name)
        });
        ensure(head_matches, || "the log does not begin with this run's start".to_owned())?;
        let ends = self.history.iter().filter(|entry| matches!(entry.kind, LogKind::Ended { .. })).count();
        ensure(ends == usize::from(self.is_final()), || format!("{ends} end(s) logged in state {:?}", self.state))?;
        // Only the repair of a finished run's document comes after its end.
        let mut lived = self.history.iter().rev().filter(|entry| !matches!(entry.kind, LogKind::Repaired { .. }));
        let last_ends = matches!(lived.next().map(|entry| &entry.kind), Some(LogKind::Ended { .. }));
        ensure(last_ends == self.is_final(), || "the log goes on after the end".to_owned())?;
        let decisions = self.taken_decisions();
        let visits: BTreeSet<u64> = decisions.iter().map(|taken| taken.visit).collect();
        ensure(visits.len() == decisions.len(), || "a visit was decided twice".to_owned())?;
        let open_decided = self.open_visit().is_some_and(|visit| visits.contains(&visit));
        ensure(!open_decided, || format!("the open visit {} is decided already", self.visits))
    }
}

fn ensure(holds: bool, problem: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(problem()) }
}
