//! Load, apply, commit, publish: the only way an instance changes.

use std::sync::Arc;

use ports::{Condition, ETag, Hint};
use workflow::event::Actor;
use workflow::{Blueprint, Event, EventKind, Instance, Refusal};

use crate::commit::{Written, conditional_write};
use crate::documents::{DoneSummary, read_json, to_bytes};
use crate::index::{DoneRow, TaskRowData};
use crate::limits::{FOREIGN_GRACE, STEP_TRIES_MAX};
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
    /// Its tag; none where the write was found to be ours only by reading back: somebody may have built on it since.
    etag: Option<ETag>,
}

impl Committed {
    /// The revision as it would be loaded, to save the reading.
    pub(crate) fn loaded(&self) -> Option<Loaded> {
        let etag = self.etag.clone()?;
        Some(Loaded { instance: self.instance.as_ref().clone(), etag, blueprint: Arc::clone(&self.blueprint) })
    }
}

impl Orchestrator {
    /// Reads an instance.
    pub(crate) async fn load(&self, at: &InstanceRef) -> Result<Option<Loaded>, EngineError> {
        let bucket = self.bucket(&at.tenant).await?;
        let key = keys::instance(&at.tenant.tenant, &at.workflow_id, &at.instance_id)?;
        let Some((instance, etag)) = read_json::<Instance>(self.store(), &bucket, &key).await? else { return Ok(None) };
        let belongs = instance.start.tenant_key() == at.tenant
            && instance.start.instance_id == at.instance_id
            && instance.start.workflow_id == at.workflow_id;
        if !belongs {
            let reason = "it names another tenant, blueprint or run than its key".to_owned();
            return Err(EngineError::Damaged { key: key.to_string(), reason });
        }
        if self.index.is_past(at, instance.revision) {
            let reason =
                format!("revision {} came back after a newer one; old bytes are never put back", instance.revision);
            return Err(EngineError::Damaged { key: key.to_string(), reason });
        }
        let blueprint = self.blueprint(&at.tenant, &at.workflow_id, instance.start.version).await?;
        self.learn(at, &instance, &blueprint);
        Ok(Some(Loaded { instance, etag, blueprint }))
    }

    /// What was read may be news to this node: another node's run, or its progress.
    fn learn(&self, at: &InstanceRef, instance: &Instance, blueprint: &Blueprint) {
        if !self.index.is_behind(at, instance.revision) {
            return;
        }
        match DoneSummary::of(instance) {
            Some(done) => self.index.learn_end(DoneRow { at: at.clone(), done }),
            None => self.index.learn(TaskRowData::of(at, blueprint, instance), self.now() + FOREIGN_GRACE),
        }
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
        self.step_from(at, actor, kind, None).await
    }

    /// As [`Self::step`], beginning with a revision that is at hand. Only the store's own answer counts: a revision that
    /// is no longer the newest loses the write, and what it refuses is asked again of the newest.
    pub(crate) async fn step_from(
        &self,
        at: &InstanceRef,
        actor: &Actor,
        kind: &EventKind,
        known: Option<Loaded>,
    ) -> Result<Committed, EngineError> {
        let mut known = known;
        let bucket = self.bucket(&at.tenant).await?;
        let key = keys::instance(&at.tenant.tenant, &at.workflow_id, &at.instance_id)?;
        for _ in 0..STEP_TRIES_MAX {
            let at_hand = known.take();
            let may_be_old = at_hand.is_some();
            let Loaded { instance, etag, blueprint } = match at_hand {
                Some(loaded) => loaded,
                None => self.load_known(at).await?,
            };
            let commit_id = self.ids().random_id();
            let event =
                Event { at: self.now(), actor: actor.clone(), commit_id: commit_id.clone(), kind: kind.clone() };
            let next = match workflow::apply(&blueprint, &instance, event) {
                Ok(step) => step.instance,
                Err(_) if may_be_old => continue,
                Err(refusal) => return Err(refusal.into()),
            };
            check(&next)?;
            let bytes = to_bytes(&key, &next)?;
            match conditional_write(self.store(), &bucket, &key, bytes, Condition::IfMatch(etag), &commit_id).await? {
                Written::Won(etag) => return Ok(self.committed(at, next, blueprint, etag)),
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
            Written::Won(etag) => Ok(Some(self.committed(at, instance, blueprint, etag))),
            Written::Lost => Ok(None),
        }
    }

    /// Wraps what was read from the store: it was committed by whoever wrote it.
    pub(crate) fn as_committed(at: &InstanceRef, loaded: Loaded) -> Committed {
        let Loaded { instance, etag, blueprint } = loaded;
        Committed { at: at.clone(), instance: Arc::new(instance), blueprint, etag: Some(etag) }
    }

    fn committed(
        &self,
        at: &InstanceRef,
        instance: Instance,
        blueprint: Arc<Blueprint>,
        etag: Option<ETag>,
    ) -> Committed {
        let committed = Committed { at: at.clone(), instance: Arc::new(instance), blueprint, etag };
        self.publish_commit(&committed);
        committed
    }

    /// After a commit: index, hint, and for final runs the bookkeeping.
    fn publish_commit(&self, committed: &Committed) {
        let Committed { at, instance, blueprint, etag: _ } = committed;
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
fn check(instance: &Instance) -> Result<(), EngineError> {
    instance
        .check_invariants()
        .map_err(|reason| EngineError::Refused(Refusal::Corrupt { reason: format!("not stored: {reason}") }))
}
