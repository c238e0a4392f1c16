//! Load, apply, commit, publish: the only way an instance changes.

use std::sync::Arc;

use ports::{Condition, ETag, Hint};
use workflow::event::Actor;
use workflow::{Blueprint, Event, EventKind, Instance, Refusal};

use crate::commit::{Written, conditional_write};
use crate::documents::{DoneSummary, to_bytes};
use crate::index::{DoneRow, TaskRowData};
use crate::limits::STEP_TRIES_MAX;
use crate::repair::Depth;
use crate::{EngineError, InstanceRef, Orchestrator, keys};

/// An instance as it lies in the store, with its pinned blueprint.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    pub(crate) instance: Instance,
    pub(crate) etag: ETag,
    pub(crate) blueprint: Arc<Blueprint>,
}

/// Proof that a revision is in the store. Made only here; effects run only with it (DESIGN §2 rule 3).
#[derive(Debug, Clone)]
pub(crate) struct Committed {
    pub(crate) at: InstanceRef,
    pub(crate) instance: Arc<Instance>,
    pub(crate) blueprint: Arc<Blueprint>,
    seal: (),
}

impl Orchestrator {
    /// Reads an instance; a damaged one is repaired first.
    pub(crate) async fn load(&self, at: &InstanceRef) -> Result<Option<Loaded>, EngineError> {
        self.load_sound(at, Depth::Quick).await
    }

    /// Reads an instance that must be there.
    pub(crate) async fn load_known(&self, at: &InstanceRef) -> Result<Loaded, EngineError> {
        let missing = || EngineError::NotFound { what: "run", id: at.instance_id.to_string() };
        self.load(at).await?.ok_or_else(missing)
    }

    /// Applies one event: load → apply → one conditional PUT, again when somebody else was faster. The event names what
    /// it is meant for, so that applying it again never means something else.
    pub(crate) async fn step(
        &self,
        at: &InstanceRef,
        actor: &Actor,
        kind: &EventKind,
    ) -> Result<Committed, EngineError> {
        let bucket = self.bucket(&at.tenant).await?;
        let key = keys::instance(&at.tenant.tenant, &at.workflow_id, &at.instance_id)?;
        for _ in 0..STEP_TRIES_MAX {
            let Loaded { instance, etag, blueprint } = self.load_known(at).await?;
            let commit_id = self.ids().random_id();
            let event =
                Event { at: self.now(), actor: actor.clone(), commit_id: commit_id.clone(), kind: kind.clone() };
            let next = workflow::apply(&blueprint, &instance, event)?.instance;
            check(&next)?;
            let bytes = to_bytes(&key, &next)?;
            match conditional_write(self.store(), &bucket, &key, bytes, Condition::IfMatch(etag), &commit_id).await? {
                Written::Won(_) => return Ok(self.committed(at, next, blueprint)),
                Written::Lost => {}
            }
        }
        Err(EngineError::TooBusy { key: key.to_string(), tries: STEP_TRIES_MAX })
    }

    /// Creates the first revision; none when the instance is already there.
    pub(crate) async fn create(
        &self,
        at: &InstanceRef,
        instance: Instance,
        blueprint: Arc<Blueprint>,
    ) -> Result<Option<Committed>, EngineError> {
        check(&instance)?;
        let bucket = self.bucket(&at.tenant).await?;
        let key = keys::instance(&at.tenant.tenant, &at.workflow_id, &at.instance_id)?;
        let bytes = to_bytes(&key, &instance)?;
        let mark = instance.commit_id.clone();
        match conditional_write(self.store(), &bucket, &key, bytes, Condition::IfAbsent, &mark).await? {
            Written::Won(_) => Ok(Some(self.committed(at, instance, blueprint))),
            Written::Lost => Ok(None),
        }
    }

    /// Wraps what was read from the store: it was committed by whoever wrote it.
    pub(crate) fn as_committed(at: &InstanceRef, loaded: Loaded) -> Committed {
        Committed { at: at.clone(), instance: Arc::new(loaded.instance), blueprint: loaded.blueprint, seal: () }
    }

    pub(crate) fn committed(&self, at: &InstanceRef, instance: Instance, blueprint: Arc<Blueprint>) -> Committed {
        let committed = Committed { at: at.clone(), instance: Arc::new(instance), blueprint, seal: () };
        self.publish_commit(&committed);
        committed
    }

    /// After a commit: index, hint, and for final runs the bookkeeping.
    fn publish_commit(&self, committed: &Committed) {
        let Committed { at, instance, blueprint, seal: () } = committed;
        match DoneSummary::of(instance) {
            Some(done) => self.index.finish(DoneRow { at: at.clone(), done }),
            None => self.index.put(TaskRowData::of(at, blueprint, instance)),
        }
        self.hints().publish(Hint {
            tenant: at.tenant.clone(),
            workflow_id: at.workflow_id.clone(),
            instance_id: at.instance_id.clone(),
            revision: instance.revision,
        });
    }

    /// A final run: summary first, then the active key goes (DESIGN §4). Safe to repeat.
    pub(crate) async fn tidy_up(&self, at: &InstanceRef, instance: &Instance) -> Result<(), EngineError> {
        let Some(done) = DoneSummary::of(instance) else { return Ok(()) };
        let bucket = self.bucket(&at.tenant).await?;
        let key = keys::done(done.ended_at, &at.instance_id)?;
        let bytes = to_bytes(&key, &done)?;
        conditional_write(self.store(), &bucket, &key, bytes, Condition::IfAbsent, &instance.commit_id).await?;
        self.store().delete(&bucket, &keys::active(&at.workflow_id, &at.instance_id)?).await?;
        Ok(())
    }
}

/// Named invariants run before every write: a document that breaks one is never stored.
pub(crate) fn check(instance: &Instance) -> Result<(), EngineError> {
    instance
        .check_invariants()
        .map_err(|reason| EngineError::Refused(Refusal::Corrupt { reason: format!("not stored: {reason}") }))
}
