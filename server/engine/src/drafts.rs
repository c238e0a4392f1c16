//! What a person typed into a task and hasn't sent (DESIGN §4 `workflow/drafts/…`).
//!
//! Purpose: typed input survives the browser: it is there again wherever its author opens the task.
//! Invariant: one draft per visit and person, written by the holder of the claim only and read by its author only; at
//! most one PUT in [`DRAFT_PAUSE`] per draft and node. A draft is no part of the run: losing one costs typing, never
//! truth, so it is written without a condition and the last one wins.
//! Never: looks at what was typed; whether it fits is looked at when it is sent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use ports::{BucketName, Condition, Key, PutError};
use serde::{Deserialize, Serialize};
use workflow::event::Actor;
use workflow::rights::allowed_actions;
use workflow::vocab::{Action, ClaimId, FieldName, FieldValue, Person};
use workflow::{Instance, Refusal};

use crate::documents::{read_json, to_bytes};
use crate::instances::Loaded;
use crate::limits::{DRAFT_BYTES_MAX, DRAFT_PAUSE, DRAFTS_REMEMBERED_MAX};
use crate::{EngineError, Orchestrator, TaskRef, keys};

/// What was typed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DraftInput {
    /// Inputs that were touched, as typed.
    pub typed: BTreeMap<FieldName, FieldValue>,
    /// The comment.
    pub comment: String,
}

impl DraftInput {
    /// Whether there is nothing worth keeping.
    pub fn is_empty(&self) -> bool {
        self.typed.is_empty() && self.comment.is_empty()
    }
}

/// A draft as it lies in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedDraft {
    /// When it was saved.
    pub saved_at: DateTime<Utc>,
    /// What was typed.
    #[serde(flatten)]
    pub input: DraftInput,
}

/// What became of a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DraftOutcome {
    /// It is in the store.
    Saved {
        /// Since when.
        at: DateTime<Utc>,
    },
    /// There is none any more.
    Dropped,
    /// The last one was saved too short a time ago; ask again after this time.
    TooSoon {
        /// How long.
        wait: TimeDelta,
    },
}

/// What this node knows of drafts: which may be in the store, and when each was written.
#[derive(Debug, Default)]
pub(crate) struct DraftBook {
    known: Mutex<BTreeMap<(BucketName, Key), Option<DateTime<Utc>>>>,
}

impl DraftBook {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<(BucketName, Key), Option<DateTime<Utc>>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Books a write, or says how long it has to wait.
    fn book(&self, place: &(BucketName, Key), now: DateTime<Utc>) -> Result<(), TimeDelta> {
        let mut known = self.lock();
        if let Some(Some(last)) = known.get(place) {
            let wait = *last + DRAFT_PAUSE - now;
            if wait > TimeDelta::zero() {
                return Err(wait);
            }
        }
        if known.len() >= DRAFTS_REMEMBERED_MAX {
            // Those that may be written again anyway; a forgotten draft that is decided stays behind, unread.
            known.retain(|_, last| last.is_some_and(|last| last + DRAFT_PAUSE > now));
        }
        known.insert(place.clone(), Some(now));
        Ok(())
    }

    fn note(&self, place: (BucketName, Key)) {
        let mut known = self.lock();
        if known.len() < DRAFTS_REMEMBERED_MAX {
            known.entry(place).or_insert(None);
        }
    }

    fn forget(&self, place: &(BucketName, Key)) -> bool {
        self.lock().remove(place).is_some()
    }
}

impl Orchestrator {
    /// Keeps what the holder of a claim typed; an empty draft is dropped. Other edits than the step allows are left out.
    ///
    /// # Errors
    /// The core's [`Refusal`]s for somebody who may not edit the task now, [`Refusal::Invalid`] for more than
    /// [`DRAFT_BYTES_MAX`], and the store's errors.
    pub async fn save_draft(
        &self,
        task: &TaskRef,
        actor: &Actor,
        claim_id: &ClaimId,
        mut input: DraftInput,
    ) -> Result<DraftOutcome, EngineError> {
        let Loaded { instance, blueprint, .. } = self.load_seen(&task.instance, actor).await?;
        let (person, open) = workflow::rights::holding(&blueprint, &instance, actor, task.visit, claim_id)?;
        let editable: BTreeSet<&FieldName> = match blueprint.user_step(open.step) {
            Some(step) if allowed_actions(&blueprint, &instance, actor).contains(&Action::Edit) => {
                step.fields.iter().filter(|field| field.visible && field.editable).map(|field| &field.name).collect()
            }
            Some(_) | None => BTreeSet::new(),
        };
        input.typed.retain(|name, _| editable.contains(name));
        let place = self.draft_place(task, person).await?;
        if input.is_empty() {
            // Also where this node knows of none: another node, or this one before a restart, may have written it.
            self.store().delete(&place.0, &place.1).await?;
            self.drafts.forget(&place);
            return Ok(DraftOutcome::Dropped);
        }
        let now = self.now();
        let bytes = to_bytes(&place.1, &SavedDraft { saved_at: now, input })?;
        if bytes.len() > DRAFT_BYTES_MAX {
            let issue = workflow::apply::FieldIssue::new(&FieldName::new("draft"), workflow::apply::IssueKind::TooLong);
            return Err(Refusal::Invalid { problems: vec![issue] }.into());
        }
        if let Err(wait) = self.drafts.book(&place, now) {
            return Ok(DraftOutcome::TooSoon { wait });
        }
        match self.store().put(&place.0, &place.1, bytes, Condition::None).await {
            Ok(_) => Ok(DraftOutcome::Saved { at: now }),
            Err(PutError::Refused { reason }) => Err(EngineError::WriteRefused { key: place.1.to_string(), reason }),
            Err(error) => Err(EngineError::OutcomeUnknown { key: place.1.to_string(), reason: error.to_string() }),
        }
    }

    /// What this person typed at this visit, while they have the task. A draft that can't be read is none: it must not
    /// stand between a person and the task.
    pub async fn load_draft(&self, task: &TaskRef, instance: &Instance, person: &Person) -> Option<SavedDraft> {
        let open = instance.open_task().filter(|open| open.visit == task.visit)?;
        open.claim.filter(|claim| claim.by.id == person.id)?;
        let place = self.draft_place(task, person).await.ok()?;
        match read_json::<SavedDraft>(self.store(), &place.0, &place.1).await {
            Ok(Some((draft, _))) => {
                self.drafts.note(place);
                Some(draft)
            }
            Ok(None) => None,
            Err(error) => {
                tracing::warn!(%error, "draft can't be read");
                None
            }
        }
    }

    /// After a decision nobody reads the draft again. One that this node knows nothing of stays behind; its visit is over.
    pub(crate) async fn drop_draft(&self, task: &TaskRef, person: &Person) {
        let Ok(place) = self.draft_place(task, person).await else { return };
        if self.drafts.forget(&place)
            && let Err(error) = self.store().delete(&place.0, &place.1).await
        {
            tracing::warn!(key = %place.1, %error, "draft of a decided task not deleted");
        }
    }

    async fn draft_place(&self, task: &TaskRef, person: &Person) -> Result<(BucketName, Key), EngineError> {
        let bucket = self.bucket(&task.instance.tenant).await?;
        Ok((bucket, keys::draft(&task.instance.instance_id, task.visit, &person.id)?))
    }
}
