//! Effects: work on the ERP after its commit (DESIGN §5 "Effects").
//!
//! Invariant: one function holds `ErpWrite`, and it takes a [`Committed`] (or a journaled refusal). The order is: read
//! the object with its LSN → read the instance and see that the effect is still pending → write with *that* LSN. So a
//! zombie or a late repeat can't overwrite what came after.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use ports::{ErpError, ErpMutation, ErpObject, ErpSet, ErpTarget, ErpWrite};
use workflow::event::{Actor, ErpEvidence};
use workflow::instance::{EffectKind, ErpOutcome, PendingEffect};
use workflow::vocab::FieldType;
use workflow::{Blueprint, EventKind, Instance, Refusal};

use crate::instances::Committed;
use crate::journal::Journaled;
use crate::limits::EFFECT_RETRY;
use crate::{EngineError, InstanceRef, Orchestrator};

/// Effects one call works off before it yields to the timer.
const EFFECTS_PER_CALL_MAX: usize = 50;

/// Holds the ERP's writing side; one run's effects are worked off by one caller at a time.
pub(crate) struct EffectRunner {
    erp_write: Arc<dyn ErpWrite>,
    busy: Mutex<BTreeMap<InstanceRef, Arc<tokio::sync::Mutex<()>>>>,
    /// Runs the timer is already looking after.
    timed: Mutex<BTreeSet<InstanceRef>>,
}

impl EffectRunner {
    pub(crate) fn new(erp_write: Arc<dyn ErpWrite>) -> Self {
        Self { erp_write, busy: Mutex::default(), timed: Mutex::default() }
    }

    /// Whether the timer may look after this run now; it must say [`Self::stop_once`] when done.
    pub(crate) fn start_once(&self, at: &InstanceRef) -> bool {
        self.timed.lock().unwrap_or_else(PoisonError::into_inner).insert(at.clone())
    }

    pub(crate) fn stop_once(&self, at: &InstanceRef) {
        self.timed.lock().unwrap_or_else(PoisonError::into_inner).remove(at);
    }

    fn turn(&self, at: &InstanceRef) -> Arc<tokio::sync::Mutex<()>> {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        busy.retain(|_, turn| Arc::strong_count(turn) > 1);
        Arc::clone(busy.entry(at.clone()).or_default())
    }
}

/// What an attempt showed.
enum Attempt {
    Done(ErpEvidence),
    Failed(String, ErpEvidence),
}

impl Orchestrator {
    /// Works off the pending effects of a run in the background.
    pub(crate) fn kick(&self, committed: Committed) {
        if committed.instance.effects.is_empty() && !committed.instance.is_final() {
            return;
        }
        let engine = self.clone();
        tokio::spawn(async move {
            let run = committed.at.instance_id.clone();
            if let Err(error) = engine.run_effects(committed).await {
                tracing::warn!(%run, %error, "effects stay pending and are tried again");
            }
        });
    }

    /// Works off the pending effects of a run, in their order, until one fails or none is left.
    pub(crate) async fn run_effects(&self, committed: Committed) -> Result<(), EngineError> {
        let turn = self.effects.turn(&committed.at);
        let _mine = turn.lock().await;
        let mut committed = committed;
        for _ in 0..EFFECTS_PER_CALL_MAX {
            if committed.instance.is_final() {
                return self.tidy_up(&committed.at, &committed.instance).await;
            }
            match self.run_first(&committed).await? {
                Some(next) => committed = next,
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// Tries the first pending effect; none when nothing is due.
    async fn run_first(&self, committed: &Committed) -> Result<Option<Committed>, EngineError> {
        let at = &committed.at;
        let target = target(at, &committed.blueprint, &committed.instance);
        // 1. the object with its LSN …
        let read = self.erp().read(&target, &self.fields(&committed.blueprint, committed.instance.state.step())).await;
        // 2. … then the instance: is the effect still pending?
        let loaded = self.load_known(at).await?;
        let fresh = Self::as_committed(at, loaded);
        if fresh.instance.is_final() {
            return Ok(Some(fresh));
        }
        let Some(effect) = fresh.instance.effects.first().cloned() else { return Ok(None) };
        if effect.next_try_at.is_some_and(|when| when > self.now()) {
            return Ok(None);
        }
        // 3. … then the write with that LSN.
        let kind = match read {
            Ok(object) => self.try_effect(&fresh, &target, &effect, object).await,
            Err(error) => {
                let (reason, evidence) = failure(&error);
                self.postponed(&effect, reason, evidence)
            }
        };
        let failed = matches!(kind, EventKind::EffectFailed { .. });
        match self.step(at, &Actor::System, &kind).await {
            Ok(_) if failed => Ok(None),
            Ok(next) => Ok(Some(next)),
            // Somebody else had the same answer first.
            Err(EngineError::Refused(Refusal::Repeat { .. })) => Ok(Some(fresh)),
            Err(error) => Err(error),
        }
    }

    /// Tries one effect and says what came of it.
    async fn try_effect(
        &self,
        fresh: &Committed,
        target: &ErpTarget,
        effect: &PendingEffect,
        object: ErpObject,
    ) -> EventKind {
        let evidence = match self.attempt(fresh, target, effect, &object).await {
            Attempt::Done(evidence) => evidence,
            Attempt::Failed(error, evidence) => return self.postponed(effect, error, evidence),
        };
        let values = match &effect.kind {
            EffectKind::ErpStart | EffectKind::ErpEnd { .. } => object.values,
            // The steps that follow see the object as the ERP has it now.
            EffectKind::ErpChanges { .. } => {
                match self.erp().read(target, &self.fields(&fresh.blueprint, fresh.instance.state.step())).await {
                    Ok(object) => object.values,
                    Err(error) => return self.postponed(effect, error.to_string(), evidence),
                }
            }
        };
        EventKind::EffectDone { key: effect.key, evidence: numbered(evidence, effect), object: values }
    }

    fn postponed(&self, effect: &PendingEffect, error: String, evidence: ErpEvidence) -> EventKind {
        let evidence = numbered(evidence, effect);
        EventKind::EffectFailed { key: effect.key, error, next_try_at: self.now() + EFFECT_RETRY, evidence }
    }

    /// The only place that writes to the ERP for a run.
    async fn attempt(
        &self,
        committed: &Committed,
        target: &ErpTarget,
        effect: &PendingEffect,
        object: &ErpObject,
    ) -> Attempt {
        let set = match &effect.kind {
            EffectKind::ErpStart => ErpSet::Start,
            EffectKind::ErpChanges { fields } => {
                if fields.iter().all(|(name, value)| object.values.get(name) == Some(value)) {
                    return Attempt::Done(without_write("the fields already have these values"));
                }
                let kind = |name| committed.blueprint.field(name).map_or(FieldType::Text, |field| field.kind);
                ErpSet::Fields(fields.iter().map(|(name, value)| (name.clone(), kind(name), value.clone())).collect())
            }
            EffectKind::ErpEnd { .. } if object.state.asks_for_start() => {
                return Attempt::Done(without_write("the object asks for a new run: the request is left standing"));
            }
            EffectKind::ErpEnd { outcome } => ErpSet::End(*outcome),
        };
        let key = effect.key;
        let mutation = ErpMutation {
            target: target.clone(),
            lsn: object.lsn.clone(),
            set,
            idempotency_key: format!("{}-{}-{}", committed.at.instance_id, key.revision, key.index),
        };
        let began = Instant::now();
        match self.effects.erp_write.write(&mutation).await {
            Ok(written) => Attempt::Done(written.evidence),
            Err(error) => {
                let (reason, mut evidence) = failure(&error);
                evidence.took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
                Attempt::Failed(reason, evidence)
            }
        }
    }

    /// A filter that said no: state := `none`, flag released, so that recovery does not find it again. The journal entry
    /// is the commit; the LSN read before the filter fences the write.
    pub(crate) async fn write_refusal(
        &self,
        journaled: &Journaled,
        target: ErpTarget,
        lsn: String,
    ) -> Result<(), EngineError> {
        let mutation = ErpMutation {
            target,
            lsn,
            set: ErpSet::End(ErpOutcome::None),
            idempotency_key: format!("refused-{}", journaled.id),
        };
        self.effects.erp_write.write(&mutation).await?;
        Ok(())
    }
}

/// Where a run's object lies in the ERP.
pub(crate) fn target(at: &InstanceRef, blueprint: &Blueprint, instance: &Instance) -> ErpTarget {
    ErpTarget {
        tenant: at.tenant.clone(),
        table: instance.start.object_table.clone(),
        key: blueprint.object.key.clone(),
        number: instance.start.object_number.clone(),
    }
}

fn failure(error: &ErpError) -> (String, ErpEvidence) {
    let evidence = match error {
        ErpError::NotConfirmed { evidence, .. } | ErpError::Refused { evidence, .. } => evidence.as_ref().clone(),
        ErpError::Unavailable { .. }
        | ErpError::NoObject { .. }
        | ErpError::UnknownFields { .. }
        | ErpError::NotConfigured { .. } => ErpEvidence::default(),
    };
    (error.to_string(), evidence)
}

fn without_write(why: &str) -> ErpEvidence {
    ErpEvidence { answer: why.to_owned(), ..ErpEvidence::default() }
}

fn numbered(evidence: ErpEvidence, effect: &PendingEffect) -> ErpEvidence {
    ErpEvidence { attempt: effect.attempts + 1, ..evidence }
}
