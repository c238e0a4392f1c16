//! From a trigger to a run: lock, active key, instance, pointer (spec 001 §§2.2, 3.4; DESIGN §4 "Lock and start").
//!
//! Invariant: no answer names an instance that can't be read; a start that stands in a lock is finished, never undone;
//! one request makes one run, whatever dies when.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use ports::{BucketName, Condition, ETag, ErpError, ErpObject, ErpTarget};
use serde::{Deserialize, Serialize};
use workflow::event::Actor;
use workflow::expr::Env;
use workflow::instance::StartFacts;
use workflow::log::ConditionResult;
use workflow::vocab::{
    CustomerId, InstanceId, ObjectNumber, TenantId, TenantKey, TriggerGuid, TriggerSource, WorkflowId,
};
use workflow::{Blueprint, EventKind, Instance, Refusal};

use crate::commit::{Written, conditional_write};
use crate::documents::{ActiveDoc, to_bytes};
use crate::instances::Loaded;
use crate::limits::{LOCK_POLL, LOCK_WAIT, OBJECT_NUMBER_CHARS_MAX, START_TRIES_MAX};
use crate::lock::{HeldLock, LockDoc, LockPhase};
use crate::{EngineError, InstanceRef, Orchestrator, keys};

/// `WorkflowTriggerEvent` (spec 001 §3.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriggerRequest {
    /// Kunde.
    #[serde(rename = "customerID")]
    pub customer_id: CustomerId,
    /// Mandant.
    #[serde(rename = "tenantID")]
    pub tenant_id: TenantId,
    /// Trigger definition.
    #[serde(rename = "triggerGUID")]
    pub trigger_guid: TriggerGuid,
    /// Belegnummer.
    #[serde(rename = "objectNumber")]
    pub object_number: ObjectNumber,
}

impl TriggerRequest {
    /// The pair it is for.
    pub fn tenant(&self) -> TenantKey {
        TenantKey { customer: self.customer_id.clone(), tenant: self.tenant_id.clone() }
    }
}

/// What became of a trigger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TriggerAnswer {
    /// A run was started.
    Started(InstanceRef),
    /// The same trigger's run is unfinished.
    AlreadyRunning(InstanceRef),
    /// Nothing was started, on purpose.
    Ignored {
        /// Why.
        reason: String,
    },
}

/// Why a trigger was not taken.
#[derive(Debug, thiserror::Error)]
pub enum TriggerError {
    /// Not this way.
    #[error("objectNumber has {chars} characters, at most {OBJECT_NUMBER_CHARS_MAX} are possible")]
    ObjectNumberTooLong {
        /// Its length.
        chars: usize,
    },
    /// No active blueprint for this GUID.
    #[error("no active blueprint answers to triggerGUID {guid}: publish one, or correct the trigger in the ERP")]
    NoBlueprint {
        /// GUID.
        guid: TriggerGuid,
    },
    /// The ERP has no such object.
    #[error("the ERP has no object {number}: check objectNumber")]
    NoObject {
        /// Number.
        number: String,
    },
    /// Another blueprint's run is unfinished for this object.
    #[error(
        "object {number} is in run {run} of blueprint {workflow}, which is not finished: finish or cancel it first"
    )]
    OtherRun {
        /// Object.
        number: ObjectNumber,
        /// The run.
        run: InstanceId,
        /// Its blueprint.
        workflow: WorkflowId,
    },
    /// The filter has no answer.
    #[error("the trigger's filter could not be evaluated: {reason}")]
    Filter {
        /// Why.
        reason: String,
    },
    /// Try again in a moment.
    #[error("not now: {reason}")]
    Busy {
        /// Why.
        reason: String,
    },
    /// The engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// A trigger with everything that was found out about it.
struct Case {
    request: TriggerRequest,
    source: TriggerSource,
    bucket: BucketName,
    blueprint: Arc<Blueprint>,
    version: u32,
    target: ErpTarget,
    lock: ports::Key,
    filter: Option<ConditionResult>,
}

impl Orchestrator {
    /// Takes a trigger.
    ///
    /// # Errors
    /// [`TriggerError`]; every error leaves the ERP's request standing, so that recovery or a repeat can serve it.
    pub async fn trigger(&self, request: TriggerRequest, source: TriggerSource) -> Result<TriggerAnswer, TriggerError> {
        let chars = request.object_number.as_str().chars().count();
        if chars > OBJECT_NUMBER_CHARS_MAX {
            return Err(TriggerError::ObjectNumberTooLong { chars });
        }
        // GUIDs are the same in any case; blueprints hold them in lower case.
        let mut request = request;
        request.trigger_guid = TriggerGuid::new(request.trigger_guid.as_str().to_lowercase());
        let bucket = self.bucket(&request.tenant()).await?;
        let Some((blueprint, version)) = self.answering(&request, &bucket).await? else {
            let reason = "no active blueprint answers to this triggerGUID";
            self.journal(&bucket, &request, source, "refused", reason, None).await?;
            return Err(TriggerError::NoBlueprint { guid: request.trigger_guid });
        };
        let target = ErpTarget {
            tenant: request.tenant(),
            table: blueprint.object.table.clone(),
            key: blueprint.object.key.clone(),
            number: request.object_number.clone(),
        };
        let object = self.read_object(&target, &blueprint).await?;
        let (filter, passes) = filter(&blueprint, &object)?;
        let lock = keys::lock(&blueprint.object.table, &request.object_number).map_err(EngineError::from)?;
        let case = Case { request, source, bucket, blueprint, version, target, lock, filter };
        if !passes {
            return self.filtered(case, object).await;
        }
        self.start(case, object).await
    }

    async fn answering(
        &self,
        request: &TriggerRequest,
        bucket: &BucketName,
    ) -> Result<Option<(Arc<Blueprint>, u32)>, EngineError> {
        let (catalog, _) = self.catalog(bucket).await?;
        let mut active = catalog.workflows.iter().filter(|(_, entry)| entry.active);
        let Some((id, entry)) = active.find(|(_, entry)| entry.guid == request.trigger_guid) else { return Ok(None) };
        Ok(Some((self.blueprint(&request.tenant(), id, entry.version).await?, entry.version)))
    }

    async fn read_object(&self, target: &ErpTarget, blueprint: &Blueprint) -> Result<ErpObject, TriggerError> {
        match self.erp().read(target, &self.fields(blueprint, None)).await {
            Ok(object) => Ok(object),
            Err(ErpError::NoObject { number, .. }) => Err(TriggerError::NoObject { number }),
            Err(error) => Err(EngineError::from(error).into()),
        }
    }

    /// The filter says no: journal, then the ERP is told. An unfinished run of the object is never disturbed.
    async fn filtered(&self, case: Case, object: ErpObject) -> Result<TriggerAnswer, TriggerError> {
        if let Some((held, etag)) = self.read_lock(&case.bucket, &case.lock).await?
            && let Some(answer) = self.unfinished(&case, &held, etag, &object).await?
        {
            return Ok(answer);
        }
        let reason = case.blueprint.trigger.filter.as_ref().map_or("", |expression| expression.source());
        let reason = format!("the filter `{reason}` of blueprint {} says no", case.blueprint.id);
        let Case { request, source, bucket, target, filter, .. } = case;
        let journaled = self.journal(&bucket, &request, source, "ignored", &reason, filter).await?;
        if let Err(error) = self.write_refusal(&journaled, target, object.lsn).await {
            tracing::warn!(object = %request.object_number, %error, "the ERP was not told that the filter said no");
        }
        Ok(TriggerAnswer::Ignored { reason })
    }

    async fn start(&self, case: Case, object: ErpObject) -> Result<TriggerAnswer, TriggerError> {
        let facts = StartFacts {
            instance_id: self.ids().instance_id(),
            workflow_id: case.blueprint.id.clone(),
            version: case.version,
            customer_id: case.request.customer_id.clone(),
            tenant_id: case.request.tenant_id.clone(),
            trigger_guid: case.request.trigger_guid.clone(),
            object_table: case.blueprint.object.table.clone(),
            object_number: case.request.object_number.clone(),
            source: case.source,
            first_note: object.note.clone(),
            accepted_at: self.now(),
        };
        let mut condition = Condition::IfAbsent;
        let mut object = object;
        for _ in 0..START_TRIES_MAX {
            if let Some(held) = self.take_lock(&case.bucket, &case.lock, &facts, condition).await? {
                let at = self.finish_start(&case.bucket, &case.lock, &held, &object, case.filter.clone()).await?;
                return Ok(TriggerAnswer::Started(at));
            }
            let Some((held, etag)) = self.settled_lock(&case).await? else {
                condition = Condition::IfAbsent;
                continue;
            };
            if let Some(answer) = self.unfinished(&case, &held, etag.clone(), &object).await? {
                return Ok(answer);
            }
            // A pointer to a final run. Only now the object is read again: a delayed copy of an old request finds that
            // the object no longer asks for anything (trace `delayed_copy`).
            object = self.read_object(&case.target, &case.blueprint).await?;
            if !object.state.asks_for_start() {
                let reason = format!(
                    "run {} of this object is finished and the ERP asks for no new one",
                    held.start.instance_id
                );
                self.journal(&case.bucket, &case.request, case.source, "ignored", &reason, None).await?;
                return Ok(TriggerAnswer::Ignored { reason });
            }
            condition = Condition::IfMatch(etag);
        }
        Err(EngineError::TooBusy { key: case.lock.to_string(), tries: START_TRIES_MAX }.into())
    }

    /// The object's lock; while a start is under way, waits a little for it.
    async fn settled_lock(&self, case: &Case) -> Result<Option<(LockDoc, ETag)>, EngineError> {
        let began = tokio::time::Instant::now();
        loop {
            let Some((held, etag)) = self.read_lock(&case.bucket, &case.lock).await? else { return Ok(None) };
            if held.phase == LockPhase::Pointer || began.elapsed() >= LOCK_WAIT || held.expires_at <= self.now() {
                return Ok(Some((held, etag)));
            }
            tokio::time::sleep(LOCK_POLL).await;
        }
    }

    /// What to answer while the lock's run is unfinished; none when it is final. A start under way is finished first:
    /// exactly the one that stands in the lock, never our own (DESIGN §4 rule 2, trace `takeover_own_start`).
    async fn unfinished(
        &self,
        case: &Case,
        held: &LockDoc,
        etag: ETag,
        object: &ErpObject,
    ) -> Result<Option<TriggerAnswer>, TriggerError> {
        let at = instance_ref(&held.start);
        let loaded = match self.load(&at).await? {
            Some(loaded) => loaded,
            None => self.help(case, held, etag).await?,
        };
        let Loaded { instance, blueprint, .. } = &loaded;
        if instance.is_final() {
            return Ok(None);
        }
        if instance.start.trigger_guid != case.request.trigger_guid {
            let error = TriggerError::OtherRun {
                number: instance.start.object_number.clone(),
                run: instance.start.instance_id.clone(),
                workflow: blueprint.id.clone(),
            };
            self.journal(&case.bucket, &case.request, case.source, "refused", &error.to_string(), None).await?;
            return Err(error);
        }
        if is_ending(instance) {
            self.kick(Self::as_committed(&at, loaded));
            return Err(TriggerError::Busy { reason: format!("run {} is just ending", at.instance_id) });
        }
        // Read before the run was: an object that asked then may just be the run's own beginning, seen too early. Only one
        // that asks now, after its state was confirmed, was asked for again.
        if object.state.asks_for_start()
            && instance.effects.is_empty()
            && self.read_object(&case.target, blueprint).await?.state.asks_for_start()
        {
            self.reassert(&at).await?;
        }
        Ok(Some(TriggerAnswer::AlreadyRunning(at)))
    }

    /// Finishes the start that stands in a lock.
    async fn help(&self, case: &Case, held: &LockDoc, etag: ETag) -> Result<Loaded, TriggerError> {
        let at = instance_ref(&held.start);
        if self.take_lock(&case.bucket, &case.lock, &held.start, Condition::IfMatch(etag)).await?.is_some() {
            self.resume_start(&held.start).await?;
        }
        let missing = || TriggerError::Busy { reason: format!("the start of run {} is under way", at.instance_id) };
        self.load(&at).await?.ok_or_else(missing)
    }

    /// Finishes a start known only by its facts, after a crash or for somebody else.
    pub(crate) async fn resume_start(&self, facts: &StartFacts) -> Result<(), EngineError> {
        let tenant = facts.tenant_key();
        let bucket = self.bucket(&tenant).await?;
        let blueprint = self.blueprint(&tenant, &facts.workflow_id, facts.version).await?;
        let target = ErpTarget {
            tenant,
            table: facts.object_table.clone(),
            key: blueprint.object.key.clone(),
            number: facts.object_number.clone(),
        };
        let object = self.erp().read(&target, &self.fields(&blueprint, None)).await?;
        let lock = keys::lock(&facts.object_table, &facts.object_number)?;
        let Some((doc, etag)) = self.read_lock(&bucket, &lock).await? else {
            return Err(EngineError::NotFound { what: "lock", id: lock.to_string() });
        };
        let held = HeldLock { doc, etag: Some(etag) };
        if held.doc.start.instance_id != facts.instance_id {
            return Err(EngineError::Damaged {
                key: lock.to_string(),
                reason: format!("it stands for run {}, not for {}", held.doc.start.instance_id, facts.instance_id),
            });
        }
        let filter = filter(&blueprint, &object).ok().and_then(|(result, _)| result);
        match self.finish_start(&bucket, &lock, &held, &object, filter).await {
            Ok(_) => Ok(()),
            Err(TriggerError::Engine(error)) => Err(error),
            Err(error) => Err(EngineError::Blueprint { reason: error.to_string() }),
        }
    }

    /// Active key → instance → lock becomes pointer. Every part is safe to repeat by whoever finishes the start.
    async fn finish_start(
        &self,
        bucket: &BucketName,
        lock: &ports::Key,
        held: &HeldLock,
        object: &ErpObject,
        filter: Option<ConditionResult>,
    ) -> Result<InstanceRef, TriggerError> {
        let facts = &held.doc.start;
        let at = instance_ref(facts);
        let active = keys::active(&facts.workflow_id, &facts.instance_id).map_err(EngineError::from)?;
        let body = to_bytes(&active, &ActiveDoc::of(facts))?;
        let mark = facts.instance_id.as_str();
        let written = conditional_write(self.store(), bucket, &active, body, Condition::IfAbsent, mark).await?;
        tracing::debug!(run = %facts.instance_id, first = (written != Written::Lost), "active key");
        let blueprint = self.blueprint(&at.tenant, &facts.workflow_id, facts.version).await?;
        let now: DateTime<Utc> = self.now();
        let first =
            workflow::start(&blueprint, facts.clone(), object.values.clone(), filter, now, self.ids().random_id())
                .map_err(EngineError::from)?;
        let created = self.create(&at, first.instance, blueprint).await?;
        self.point_lock(bucket, lock, held).await;
        if let Some(committed) = created {
            self.kick(committed);
        }
        Ok(at)
    }

    /// Releases the lock as pointer. Failing here loses nothing: a lock whose instance exists is a pointer anyway.
    async fn point_lock(&self, bucket: &BucketName, lock: &ports::Key, held: &HeldLock) {
        if let Err(error) = self.release_lock(bucket, lock, held).await {
            tracing::warn!(%lock, %error, "lock not released as pointer; its run exists, so it counts as one");
        }
    }

    /// The ERP asks again for a run that is under way: `in Freigabe` is written again, as a logged effect.
    async fn reassert(&self, at: &InstanceRef) -> Result<(), EngineError> {
        match self.step(at, &Actor::System, &EventKind::RequestedAgain).await {
            Ok(committed) => {
                self.kick(committed);
                Ok(())
            }
            Err(EngineError::Refused(Refusal::Repeat { .. } | Refusal::Final | Refusal::LimitReached { .. })) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

pub(crate) fn instance_ref(facts: &StartFacts) -> InstanceRef {
    InstanceRef {
        tenant: facts.tenant_key(),
        workflow_id: facts.workflow_id.clone(),
        instance_id: facts.instance_id.clone(),
    }
}

fn is_ending(instance: &Instance) -> bool {
    match instance.state {
        workflow::instance::State::Ending { .. } => true,
        workflow::instance::State::Task { .. }
        | workflow::instance::State::Syncing { .. }
        | workflow::instance::State::Stopped { .. }
        | workflow::instance::State::Final { .. } => false,
    }
}

/// The filter's result for the log, and whether the object passes.
fn filter(blueprint: &Blueprint, object: &ErpObject) -> Result<(Option<ConditionResult>, bool), TriggerError> {
    let Some(expression) = &blueprint.trigger.filter else { return Ok((None, true)) };
    let values = workflow::expr::object_value(&blueprint.fields, &object.values)
        .map_err(|error| TriggerError::Filter { reason: error.to_string() })?;
    let (result, error) = workflow::apply::evaluate(expression, &Env::new().with("object", values));
    match (result.result, error) {
        (Some(passes), _) => Ok((Some(result), passes)),
        (None, error) => {
            Err(TriggerError::Filter { reason: error.map_or_else(|| "no answer".to_owned(), |e| e.to_string()) })
        }
    }
}
