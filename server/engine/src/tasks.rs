//! What people do: list, open, claim, give back, decide, remark.
//!
//! Invariant: the core decides what is allowed; here only the ERP's values and the receipts are fetched for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ports::{ErpError, ErpFields, ErpObject};
use workflow::event::{Actor, DecideFacts};
use workflow::vocab::{ClaimId, Decision, FieldName, FieldType, FieldValue, OperationId, Person, StepId, TenantKey};
use workflow::{Blueprint, EventKind, Instance, Refusal};

use crate::drafts::SavedDraft;
use crate::effects::target;
use crate::index::{DoneRow, TaskRowData};
use crate::instances::Loaded;
use crate::receipts::Receipt;
use crate::{EngineError, InstanceRef, Orchestrator, TaskRef};

/// A task with everything its step needs, from one moment.
#[derive(Debug, Clone)]
pub struct OpenedTask {
    /// The run.
    pub instance: Arc<Instance>,
    /// Its pinned blueprint.
    pub blueprint: Arc<Blueprint>,
    /// The ERP's values, or why there are none.
    pub object: Result<ErpObject, ErpError>,
    /// Receipts.
    pub receipts: Vec<Receipt>,
    /// What the person who opens it typed and hasn't sent.
    pub draft: Option<SavedDraft>,
}

/// A decision as a person sends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionInput {
    /// Intent.
    pub operation: OperationId,
    /// What.
    pub decision: Decision,
    /// Claim meant.
    pub claim_id: ClaimId,
    /// Revision shown.
    pub revision: u64,
    /// Values shown.
    pub shown: BTreeMap<FieldName, FieldValue>,
    /// Edits.
    pub changes: BTreeMap<FieldName, FieldValue>,
    /// Comment.
    pub comment: Option<String>,
}

/// What became of an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Revision it made (a repeat names the first one's).
    pub revision: u64,
    /// Whether nothing waits for the ERP.
    pub erp_confirmed: bool,
}

impl Orchestrator {
    /// The fields to read for a step, with their types; without a step those that conditions and the summary need.
    pub(crate) fn fields(&self, blueprint: &Blueprint, step: Option<&StepId>) -> ErpFields {
        let mut names: BTreeSet<FieldName> = blueprint.query_fields(step);
        names.insert(blueprint.object.key.clone());
        names
            .into_iter()
            .map(|name| {
                let kind = blueprint.field(&name).map_or(FieldType::Text, |field| field.kind);
                (name, kind)
            })
            .collect()
    }

    /// Rows of unfinished runs in some tenants.
    pub fn open_rows(&self, tenants: &[TenantKey]) -> Vec<TaskRowData> {
        self.index.open(tenants)
    }

    /// Finished runs in some tenants.
    pub fn done_rows(&self, tenants: &[TenantKey]) -> Vec<DoneRow> {
        self.index.done(tenants)
    }

    /// The row of one unfinished run.
    pub fn row(&self, at: &InstanceRef) -> Option<TaskRowData> {
        self.index.row(at)
    }

    /// One finished run, while the index remembers it.
    pub fn done_row(&self, at: &InstanceRef) -> Option<DoneRow> {
        self.index.done_row(at)
    }

    /// A run and its pinned blueprint.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] and the store's.
    pub async fn read_run(&self, at: &InstanceRef) -> Result<(Arc<Instance>, Arc<Blueprint>), EngineError> {
        if !self.knows(&at.tenant) {
            return Err(EngineError::NotFound { what: "run", id: at.instance_id.to_string() });
        }
        let loaded = self.load_known(at).await?;
        Ok((Arc::new(loaded.instance), loaded.blueprint))
    }

    /// Opens a task: never claims it. A person without the right to see it gets [`Refusal::NotFound`].
    ///
    /// # Errors
    /// [`EngineError`]; an ERP that is down is no error, the answer says so.
    pub async fn open_task(&self, task: &TaskRef, actor: &Actor) -> Result<OpenedTask, EngineError> {
        let (instance, blueprint) = self.read_run(&task.instance).await?;
        if !workflow::rights::may_see_task(&blueprint, actor) {
            return Err(Refusal::NotFound.into());
        }
        let step = step_of_visit(&instance, task.visit);
        if step.is_none() {
            return Err(EngineError::NotFound { what: "task", id: task.visit.to_string() });
        }
        let target = target(&task.instance, &blueprint, &instance);
        let fields = self.fields(&blueprint, step.as_ref());
        let object = self.erp().read(&target, &fields).await;
        let receipts = self.receipts(&instance, &blueprint).await?;
        let draft = match actor {
            Actor::Person { person, .. } => self.load_draft(task, &instance, person).await,
            Actor::System => None,
        };
        Ok(OpenedTask { instance, blueprint, object, receipts, draft })
    }

    /// Takes a task over.
    ///
    /// # Errors
    /// The core's [`Refusal`]s and the store's errors.
    pub async fn claim(&self, task: &TaskRef, actor: &Actor, operation: OperationId) -> Result<Outcome, EngineError> {
        let claim_id = ClaimId::new(self.ids().random_id());
        let event = EventKind::Claim { visit: task.visit, claim_id, operation };
        self.act(&task.instance, actor, event).await
    }

    /// Gives a task back.
    ///
    /// # Errors
    /// The core's [`Refusal`]s and the store's errors.
    pub async fn unclaim(
        &self,
        task: &TaskRef,
        actor: &Actor,
        claim_id: ClaimId,
        operation: OperationId,
    ) -> Result<Outcome, EngineError> {
        self.act(&task.instance, actor, EventKind::Unclaim { claim_id, operation }).await
    }

    /// Leaves a remark.
    ///
    /// # Errors
    /// The core's [`Refusal`]s and the store's errors.
    pub async fn feedback(
        &self,
        task: &TaskRef,
        actor: &Actor,
        operation: OperationId,
        text: String,
    ) -> Result<Outcome, EngineError> {
        self.act(&task.instance, actor, EventKind::Feedback { visit: task.visit, operation, text }).await
    }

    /// Approves or rejects. The ERP's values are read again; where they are not the ones shown, nothing is decided.
    ///
    /// # Errors
    /// The core's [`Refusal`]s, the ERP's and the store's errors; nothing is decided then.
    pub async fn decide(&self, task: &TaskRef, actor: &Actor, input: DecisionInput) -> Result<Outcome, EngineError> {
        let loaded = self.load_seen(&task.instance, actor).await?;
        let Loaded { instance, blueprint, .. } = &loaded;
        if let Some(first) = repeated(instance, actor, &input) {
            return Ok(first);
        }
        let step = instance.open_task().filter(|open| open.visit == task.visit).map(|open| open.step.clone());
        let object = match &step {
            Some(step) => {
                let target = target(&task.instance, blueprint, instance);
                Some(self.erp().read(&target, &self.fields(blueprint, Some(step))).await?)
            }
            // The visit is over: the core says who was faster, no need to ask the ERP.
            None => None,
        };
        let current = object.as_ref().map_or_else(|| input.shown.clone(), |object| object.values.clone());
        let receipts = self.receipt_proofs(instance, blueprint).await?;
        let facts = DecideFacts {
            visit: task.visit,
            claim_id: input.claim_id,
            operation: input.operation,
            decision: input.decision,
            revision: input.revision,
            shown: input.shown,
            current,
            changes: input.changes,
            comment: input.comment,
            receipts,
        };
        let outcome =
            self.act_from(&task.instance, actor, EventKind::Decide(Box::new(facts)), Some(loaded), object).await?;
        if let Actor::Person { person, .. } = actor {
            self.drop_draft(task, person).await;
        }
        Ok(outcome)
    }

    pub(crate) async fn load_seen(&self, at: &InstanceRef, actor: &Actor) -> Result<Loaded, EngineError> {
        if !self.knows(&at.tenant) {
            return Err(EngineError::NotFound { what: "run", id: at.instance_id.to_string() });
        }
        let loaded = self.load_known(at).await?;
        if workflow::rights::may_try(&loaded.blueprint, &loaded.instance, actor) {
            Ok(loaded)
        } else {
            Err(Refusal::NotFound.into())
        }
    }

    /// One event of a person; a repeat gets the first one's answer.
    async fn act(&self, at: &InstanceRef, actor: &Actor, kind: EventKind) -> Result<Outcome, EngineError> {
        self.act_from(at, actor, kind, None, None).await
    }

    /// As [`Self::act`], with the revision and the ERP's object that are at hand.
    async fn act_from(
        &self,
        at: &InstanceRef,
        actor: &Actor,
        kind: EventKind,
        known: Option<Loaded>,
        seen: Option<ErpObject>,
    ) -> Result<Outcome, EngineError> {
        if !self.knows(&at.tenant) {
            return Err(EngineError::NotFound { what: "run", id: at.instance_id.to_string() });
        }
        match self.step_from(at, actor, &kind, known).await {
            Ok(committed) => {
                let outcome = Outcome {
                    revision: committed.instance.revision,
                    erp_confirmed: committed.instance.effects.is_empty(),
                };
                self.kick_seen(committed, seen);
                Ok(outcome)
            }
            Err(EngineError::Refused(Refusal::Repeat { revision })) => Ok(Outcome { revision, erp_confirmed: false }),
            Err(error) => Err(error),
        }
    }
}

/// The first answer to a decision this person already had taken. An operation that did something else before is no
/// repeat: the core refuses it, so that nobody is told that a rejection happened which did not.
fn repeated(instance: &Instance, actor: &Actor, input: &DecisionInput) -> Option<Outcome> {
    let kind = match input.decision {
        Decision::Approve => "approve",
        Decision::Reject => "reject",
    };
    let Actor::Person { person: Person { id, .. }, .. } = actor else { return None };
    let mut operations = instance.operations.iter().filter(|record| record.id == input.operation);
    let record = operations.find(|record| record.by.id == *id && record.kind == kind)?;
    Some(Outcome { revision: record.revision, erp_confirmed: instance.effects.is_empty() })
}

/// The step of a visit: the open one, or an earlier one by the log.
fn step_of_visit(instance: &Instance, visit: u64) -> Option<StepId> {
    if let Some(open) = instance.open_task()
        && open.visit == visit
    {
        return Some(open.step.clone());
    }
    instance.history.iter().find(|entry| entry.visit == Some(visit)).and_then(|entry| entry.step.clone())
}
