//! The index of open tasks: in memory, rebuilt from `workflow/active/`, kept current by this node's commits.
//!
//! Invariant: a row never goes back to an older revision.
//! Never: the truth; whoever acts reads the instance.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use chrono::{DateTime, Utc};
use workflow::blueprint::Assignment;
use workflow::instance::{Claim, EffectKey, ObjectValues};
use workflow::vocab::{InstanceStatus, ObjectNumber, StepId, TenantKey};
use workflow::{Blueprint, Instance};

use crate::InstanceRef;
use crate::documents::{DecisionSummary, DoneSummary, decisions};
use crate::limits::DONE_ROWS_MAX;

/// An unfinished run as lists need it.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskRowData {
    /// Which run.
    pub at: InstanceRef,
    /// Revision.
    pub revision: u64,
    /// Blueprint version.
    pub version: u32,
    /// Blueprint's name.
    pub workflow_name: String,
    /// Object type.
    pub object_type: String,
    /// Belegnummer.
    pub object_number: ObjectNumber,
    /// Status.
    pub status: InstanceStatus,
    /// The open task, where a person's turn it is.
    pub task: Option<OpenRow>,
    /// Whether people's acts still have room in the run's log.
    pub log_has_room: bool,
    /// Decisions so far.
    pub decisions: Vec<DecisionSummary>,
    /// Summary fields.
    pub summary: ObjectValues,
    /// The first ERP write that is not confirmed.
    pub pending: Option<PendingWrite>,
}

/// The open task of a row.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenRow {
    /// Step.
    pub step: StepId,
    /// Its title.
    pub title: String,
    /// Visit.
    pub visit: u64,
    /// Since when.
    pub opened_at: DateTime<Utc>,
    /// Who has it.
    pub claim: Option<Claim>,
    /// Who gets it.
    pub assign: Assignment,
}

/// A write that waits for the ERP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingWrite {
    /// Which.
    pub key: EffectKey,
    /// Tries so far.
    pub attempts: u32,
    /// Last error.
    pub error: Option<String>,
    /// Not before.
    pub next_try_at: Option<DateTime<Utc>>,
}

/// A finished run as the list "Erledigt" needs it.
#[derive(Debug, Clone, PartialEq)]
pub struct DoneRow {
    /// Which run.
    pub at: InstanceRef,
    /// Its summary.
    pub done: DoneSummary,
}

impl TaskRowData {
    /// The row of an instance.
    pub(crate) fn of(at: &InstanceRef, blueprint: &Blueprint, instance: &Instance) -> Self {
        let task = instance.open_task().and_then(|task| {
            let step = blueprint.user_step(task.step)?;
            Some(OpenRow {
                step: task.step.clone(),
                title: step.title.clone(),
                visit: task.visit,
                opened_at: task.opened_at,
                claim: task.claim.cloned(),
                assign: step.assign.clone(),
            })
        });
        let pending = instance.effects.first().map(|effect| PendingWrite {
            key: effect.key,
            attempts: effect.attempts,
            error: effect.last_error.clone(),
            next_try_at: effect.next_try_at,
        });
        Self {
            at: at.clone(),
            revision: instance.revision,
            version: instance.start.version,
            workflow_name: instance.workflow_name.clone(),
            object_type: instance.object_type.clone(),
            object_number: instance.start.object_number.clone(),
            status: instance.status,
            task,
            log_has_room: instance.log_has_room(),
            decisions: decisions(instance),
            summary: instance.summary.clone(),
            pending,
        }
    }
}

/// The index.
#[derive(Debug, Default)]
pub(crate) struct TaskIndex {
    rows: RwLock<Rows>,
}

#[derive(Debug, Default)]
struct Rows {
    open: BTreeMap<InstanceRef, TaskRowData>,
    done: BTreeMap<InstanceRef, DoneRow>,
    /// Rows whose newest revision another node made: what is due there is left to it until then.
    foreign: BTreeMap<InstanceRef, DateTime<Utc>>,
}

impl TaskIndex {
    /// Takes a newer row; an older one is dropped.
    pub(crate) fn put(&self, row: TaskRowData) {
        let mut rows = self.rows.write().unwrap_or_else(PoisonError::into_inner);
        if rows.done.contains_key(&row.at) {
            return;
        }
        rows.foreign.remove(&row.at);
        match rows.open.get(&row.at) {
            Some(known) if known.revision >= row.revision => {}
            Some(_) | None => {
                rows.open.insert(row.at.clone(), row);
            }
        }
    }

    /// Whether this revision would be news.
    pub(crate) fn is_behind(&self, at: &InstanceRef, revision: u64) -> bool {
        let rows = self.rows.read().unwrap_or_else(PoisonError::into_inner);
        !rows.done.contains_key(at) && rows.open.get(at).is_none_or(|known| known.revision < revision)
    }

    /// Takes a newer row that another node made; what is due there is ours only after `not_before`.
    pub(crate) fn learn(&self, row: TaskRowData, not_before: DateTime<Utc>) {
        let at = row.at.clone();
        self.put(row);
        let mut rows = self.rows.write().unwrap_or_else(PoisonError::into_inner);
        if rows.open.contains_key(&at) {
            rows.foreign.insert(at, not_before);
        }
    }

    /// Another node ended a run. One that this node never listed is left out: it may be older than what the list shows.
    pub(crate) fn learn_end(&self, row: DoneRow) {
        if self.row(&row.at).is_some() {
            self.finish(row);
        }
    }

    /// A run is over.
    pub(crate) fn finish(&self, row: DoneRow) {
        let mut rows = self.rows.write().unwrap_or_else(PoisonError::into_inner);
        rows.open.remove(&row.at);
        rows.foreign.remove(&row.at);
        rows.done.insert(row.at.clone(), row);
        if rows.done.len() > DONE_ROWS_MAX {
            let oldest = rows.done.values().min_by_key(|row| row.done.ended_at).map(|row| row.at.clone());
            if let Some(at) = oldest {
                rows.done.remove(&at);
            }
        }
    }

    /// Rows of some tenants.
    pub(crate) fn open(&self, tenants: &[TenantKey]) -> Vec<TaskRowData> {
        let rows = self.rows.read().unwrap_or_else(PoisonError::into_inner);
        rows.open.values().filter(|row| tenants.contains(&row.at.tenant)).cloned().collect()
    }

    /// Finished runs of some tenants.
    pub(crate) fn done(&self, tenants: &[TenantKey]) -> Vec<DoneRow> {
        let rows = self.rows.read().unwrap_or_else(PoisonError::into_inner);
        rows.done.values().filter(|row| tenants.contains(&row.at.tenant)).cloned().collect()
    }

    /// One unfinished run.
    pub(crate) fn row(&self, at: &InstanceRef) -> Option<TaskRowData> {
        self.rows.read().unwrap_or_else(PoisonError::into_inner).open.get(at).cloned()
    }

    /// One finished run.
    pub(crate) fn done_row(&self, at: &InstanceRef) -> Option<DoneRow> {
        self.rows.read().unwrap_or_else(PoisonError::into_inner).done.get(at).cloned()
    }

    /// The newest revision of a run that this node has seen, open or finished.
    pub(crate) fn revision(&self, at: &InstanceRef) -> Option<u64> {
        let rows = self.rows.read().unwrap_or_else(PoisonError::into_inner);
        let open = rows.open.get(at).map(|row| row.revision);
        open.max(rows.done.get(at).map(|row| row.done.revision))
    }

    /// Runs whose ERP write or claim is due.
    pub(crate) fn due(&self, now: DateTime<Utc>) -> Vec<TaskRowData> {
        let rows = self.rows.read().unwrap_or_else(PoisonError::into_inner);
        rows.open
            .values()
            .filter(|row| rows.foreign.get(&row.at).is_none_or(|not_before| *not_before <= now))
            .filter(|row| {
                let write = row.pending.as_ref().is_some_and(|p| p.next_try_at.is_none_or(|at| at <= now));
                let claim = row.task.as_ref().and_then(|task| task.claim.as_ref()).is_some_and(|c| c.until <= now);
                write || claim
            })
            .cloned()
            .collect()
    }
}
