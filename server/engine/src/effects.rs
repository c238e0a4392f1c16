//! Effects: work on the ERP after its commit (DESIGN §5 "Effects").
//!
//! Invariant: one function holds `ErpWrite`, and it takes a [`Committed`] (or a journaled refusal). The order is: read
//! the object with its LSN → read the instance and see that the effect is still pending → write with *that* LSN. So a
//! zombie or a late repeat can't overwrite what came after. Winning the commit that made the effect is such a look, too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use ports::{ErpError, ErpMutation, ErpObject, ErpSet, ErpState, ErpTarget, ErpWrite};
use tokio::time::Instant;
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

    /// Whether somebody on this node works on the run's effects just now.
    pub(crate) fn is_busy(&self, at: &InstanceRef) -> bool {
        let busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        busy.get(at).is_some_and(|turn| Arc::strong_count(turn) > 1)
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
    /// The object was locked or changed since it was read.
    Stale(String, ErpEvidence),
    Failed(String, ErpEvidence),
}

/// What came of trying one effect.
struct Tried {
    kind: EventKind,
    /// The object as it was read after the write, where it was.
    after: Option<ErpObject>,
    /// Whether the object was not as it had been read.
    stale: bool,
}

impl Orchestrator {
    /// Works off the pending effects of a run in the background.
    pub(crate) fn kick(&self, committed: Committed) {
        self.kick_seen(committed, None);
    }

    /// As [`Self::kick`], with the object as it was read *before* the commit. Then the commit itself was the look at the
    /// instance that has to come between reading and writing, and neither is read again.
    pub(crate) fn kick_seen(&self, committed: Committed, seen: Option<ErpObject>) {
        if committed.instance.effects.is_empty() && !committed.instance.is_final() {
            return;
        }
        let engine = self.clone();
        self.background.spawn(async move {
            let run = committed.at.instance_id.clone();
            if let Err(error) = engine.run_effects(committed, seen).await {
                tracing::warn!(%run, %error, "effects stay pending and are tried again");
            }
        });
    }

    /// Works off the pending effects of a run, in their order, until one fails or none is left.
    pub(crate) async fn run_effects(&self, committed: Committed, seen: Option<ErpObject>) -> Result<(), EngineError> {
        let turn = self.effects.turn(&committed.at);
        let (_mine, mut seen) = match turn.try_lock() {
            Ok(mine) => (mine, seen),
            // Somebody works on this run just now: what was seen before is old by then.
            Err(_) => (turn.lock().await, None),
        };
        let mut committed = committed;
        for _ in 0..EFFECTS_PER_CALL_MAX {
            if committed.instance.is_final() {
                return self.tidy_up(&committed.at, &committed.instance).await;
            }
            match self.run_first(committed, seen).await? {
                Some((next, object)) => (committed, seen) = (next, object),
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// Tries the first pending effect; none when nothing is due. With the next revision comes the object, where it was
    /// read before that commit.
    async fn run_first(
        &self,
        committed: Committed,
        seen: Option<ErpObject>,
    ) -> Result<Option<(Committed, Option<ErpObject>)>, EngineError> {
        let at = &committed.at;
        let Some(effect) = self.due_effect(&committed) else { return Ok(None) };
        let target = target(at, &committed.blueprint, &committed.instance);
        if let Some(object) = seen {
            let tried = self.try_effect(&committed, &target, &effect, object).await;
            if !tried.stale {
                return self.report(committed, tried).await;
            }
            tracing::debug!(run = %at.instance_id, "the object changed since it was read: read again");
        }
        // 1. the object with its LSN …
        let read = self.erp().read(&target, &self.fields(&committed.blueprint, committed.instance.state.step())).await;
        // 2. … then the instance: is the effect still pending?
        let fresh = Self::as_committed(at, self.load_known(at).await?);
        if fresh.instance.is_final() {
            return Ok(Some((fresh, None)));
        }
        let Some(effect) = self.due_effect(&fresh) else { return Ok(None) };
        // 3. … then the write with that LSN.
        let tried = match read {
            Ok(object) => self.try_effect(&fresh, &target, &effect, object).await,
            Err(error) => {
                let (reason, evidence) = failure(&error);
                self.postponed(&effect, reason, evidence)
            }
        };
        self.report(fresh, tried).await
    }

    /// The first pending effect, when it is its time.
    fn due_effect(&self, committed: &Committed) -> Option<PendingEffect> {
        let first = committed.instance.first_effect()?;
        first.next_try_at.is_none_or(|when| when <= self.now()).then(|| first.clone())
    }

    /// Commits what came of an effect.
    async fn report(
        &self,
        fresh: Committed,
        tried: Tried,
    ) -> Result<Option<(Committed, Option<ErpObject>)>, EngineError> {
        let Tried { kind, after, stale: _ } = tried;
        let failed = matches!(kind, EventKind::EffectFailed { .. });
        match self.step_from(&fresh.at, &Actor::System, &kind, fresh.loaded()).await {
            Ok(_) if failed => Ok(None),
            Ok(next) => Ok(Some((next, after))),
            // Somebody else had the same answer first.
            Err(EngineError::Refused(Refusal::Repeat { .. })) => Ok(Some((fresh, None))),
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
    ) -> Tried {
        let evidence = match self.attempt(fresh, target, effect, &object).await {
            Attempt::Done(evidence) => evidence,
            Attempt::Stale(error, evidence) => {
                return Tried { stale: true, ..self.postponed(effect, error, evidence) };
            }
            Attempt::Failed(error, evidence) => return self.postponed(effect, error, evidence),
        };
        let (values, after) = match &effect.kind {
            EffectKind::ErpStart | EffectKind::ErpEnd { .. } => (object.values, None),
            // The steps that follow see the object as the ERP has it now.
            EffectKind::ErpChanges { .. } => {
                match self.erp().read(target, &self.fields(&fresh.blueprint, fresh.instance.state.step())).await {
                    Ok(object) => (object.values.clone(), Some(object)),
                    Err(error) => return self.postponed(effect, error.to_string(), evidence),
                }
            }
        };
        let kind = EventKind::EffectDone { key: effect.key, evidence: numbered(evidence, effect), object: values };
        Tried { kind, after, stale: false }
    }

    fn postponed(&self, effect: &PendingEffect, error: String, evidence: ErpEvidence) -> Tried {
        let evidence = numbered(evidence, effect);
        let next_try_at = self.now() + EFFECT_RETRY;
        let kind = EventKind::EffectFailed { key: effect.key, error, next_try_at, evidence };
        Tried { kind, after: None, stale: false }
    }

    /// The only place that writes to the ERP for a run.
    async fn attempt(
        &self,
        committed: &Committed,
        target: &ErpTarget,
        effect: &PendingEffect,
        object: &ErpObject,
    ) -> Attempt {
        let set = match plan(committed, effect, object) {
            Plan::Write(set) => set,
            Plan::Nothing(why) => return self.confirm_nothing(committed, target, effect, why).await,
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
                match error {
                    ErpError::NotConfirmed { .. } => Attempt::Stale(reason, evidence),
                    ErpError::Unavailable { .. }
                    | ErpError::NoObject { .. }
                    | ErpError::UnknownFields { .. }
                    | ErpError::Refused { .. }
                    | ErpError::NotConfigured { .. } => Attempt::Failed(reason, evidence),
                }
            }
        }
    }

    /// Without a write no LSN fences: what was read may be older than what another node has written since. So only what
    /// the object shows *after* the look at the instance counts.
    async fn confirm_nothing(
        &self,
        committed: &Committed,
        target: &ErpTarget,
        effect: &PendingEffect,
        why: &str,
    ) -> Attempt {
        let fields = self.fields(&committed.blueprint, committed.instance.state.step());
        match self.erp().read(target, &fields).await {
            Ok(now) => match plan(committed, effect, &now) {
                Plan::Nothing(_) => Attempt::Done(without_write(why)),
                Plan::Write(_) => {
                    Attempt::Stale("the object changed while it was looked at".to_owned(), ErpEvidence::default())
                }
            },
            Err(error) => {
                let (reason, evidence) = failure(&error);
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

/// What an effect needs, going by the object as it was read.
enum Plan {
    Write(ErpSet),
    Nothing(&'static str),
}

fn plan(committed: &Committed, effect: &PendingEffect, object: &ErpObject) -> Plan {
    match &effect.kind {
        // A write that landed and whose result got lost is not repeated.
        EffectKind::ErpStart if object.state == ErpState::Running && object.external => {
            Plan::Nothing("the object is in this state already")
        }
        EffectKind::ErpStart => Plan::Write(ErpSet::Start),
        EffectKind::ErpChanges { fields } => {
            if fields.iter().all(|(name, value)| object.values.get(name) == Some(value)) {
                return Plan::Nothing("the fields already have these values");
            }
            let kind = |name| committed.blueprint.field(name).map_or(FieldType::Text, |field| field.kind);
            let fields = fields.iter().map(|(name, value)| (name.clone(), kind(name), value.clone()));
            Plan::Write(ErpSet::Fields(fields.collect()))
        }
        EffectKind::ErpEnd { .. } if object.state.asks_for_start() => {
            Plan::Nothing("the object asks for a new run: the request is left standing")
        }
        EffectKind::ErpEnd { outcome } if object.state == state_after(*outcome) && !object.external => {
            Plan::Nothing("the object is in this state already")
        }
        EffectKind::ErpEnd { outcome } => Plan::Write(ErpSet::End(*outcome)),
    }
}

/// The object's state once this outcome is written.
fn state_after(outcome: ErpOutcome) -> ErpState {
    match outcome {
        ErpOutcome::Released | ErpOutcome::Rejected => ErpState::Ended(outcome),
        ErpOutcome::None => ErpState::None,
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
