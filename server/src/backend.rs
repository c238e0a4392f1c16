//! The task screens' backend, over the orchestrator (DESIGN §2 rule 4).
//!
//! Invariant: every method resolves the actor for the task's own tenant, asks the engine once, and projects the answer.
//! Never: a rule about rights or states.

use std::sync::Arc;

use app::backend::{TasksBackend, Viewer};
use async_trait::async_trait;
use chrono_tz::Tz;
use contract::{
    AppError, ClaimRequest, DecisionRequest, DecisionResult, DraftAnswer, DraftRequest, FeedbackRequest, LogView,
    TaskCounts, TaskDetail, TaskFilter, TaskList, TaskRow, UnclaimRequest,
};
use engine::{DecisionInput, DraftInput, DraftOutcome, EngineError, InstanceRef, Orchestrator, TaskRef};
use ports::encode_part;
use vocab::{TaskState, TenantKey};
use workflow::Refusal;
use workflow::event::Actor;
use workflow::rights::{may_list_assigned, may_see_log};

use crate::config::Settings;
use crate::failure::{app_error, changed_values};
use crate::projection::{done_rows, log_view, moment, open_row, task_detail};

/// Rows one list answer may have.
const ROWS_MAX: usize = 500;
/// Characters of a search text that are looked at.
const SEARCH_CHARS_MAX: usize = 200;

/// Implements what the screens ask for.
#[derive(Clone)]
pub struct Backend {
    engine: Orchestrator,
    settings: Arc<Settings>,
}

impl Backend {
    /// Over an engine.
    pub fn new(engine: Orchestrator, settings: Arc<Settings>) -> Self {
        Self { engine, settings }
    }

    /// The engine behind it.
    pub fn engine(&self) -> &Orchestrator {
        &self.engine
    }

    pub(crate) fn zone(&self, tenant: &TenantKey) -> Tz {
        self.settings.tenant(tenant).map_or(chrono_tz::Europe::Berlin, |settings| settings.time_zone)
    }

    async fn see(&self, viewer: &Viewer, task: &TaskRef) -> Result<TaskDetail, AppError> {
        let tenant = &task.instance.tenant;
        let actor = actor(viewer, tenant).ok_or(AppError::NotFound)?;
        let zone = self.zone(tenant);
        let opened = self.engine.open_task(task, &actor).await.map_err(|error| app_error(&error, zone))?;
        task_detail(&opened, task, &actor, &viewer.person.id, zone).ok_or(AppError::NotFound)
    }

    /// A refusal in the words of the task's own tenant and blueprint.
    async fn refused(&self, error: EngineError, at: &InstanceRef) -> AppError {
        if let EngineError::Refused(refusal @ (Refusal::ValuesChanged { .. } | Refusal::Invalid { .. })) = &error
            && let Ok((_, blueprint)) = self.engine.read_run(at).await
        {
            return changed_values(refusal, &blueprint);
        }
        app_error(&error, self.zone(&at.tenant))
    }

    async fn rows(&self, viewer: &Viewer, done: bool) -> Result<Vec<TaskRow>, AppError> {
        let tenants: Vec<TenantKey> = viewer.memberships.iter().map(|membership| membership.tenant.clone()).collect();
        let me = &viewer.person.id;
        let mut rows = Vec::new();
        for row in self.engine.open_rows(&tenants) {
            let zone = self.zone(&row.at.tenant);
            let Some(actor) = actor(viewer, &row.at.tenant) else { continue };
            let wanted = if done {
                row.decisions.iter().any(|taken| taken.by.id == *me)
            } else {
                row.task.as_ref().is_some_and(|task| may_list_assigned(&task.assign, &actor))
            };
            if !wanted {
                continue;
            }
            let blueprint = self.engine.blueprint(&row.at.tenant, &row.at.workflow_id, row.version).await;
            let blueprint = blueprint.map_err(|error| app_error(&error, zone))?;
            if done {
                rows.extend(done_rows(&(&row).into(), &blueprint, me, zone));
            } else {
                rows.extend(open_row(&row, &blueprint, &actor, me, zone));
            }
        }
        if done {
            for row in self.engine.done_rows(&tenants) {
                if !row.done.decisions.iter().any(|taken| taken.by.id == *me) {
                    continue;
                }
                let zone = self.zone(&row.at.tenant);
                let blueprint =
                    self.engine.blueprint(&row.at.tenant, &row.at.workflow_id, row.done.start.version).await;
                let blueprint = blueprint.map_err(|error| app_error(&error, zone))?;
                rows.extend(done_rows(&(&row).into(), &blueprint, me, zone));
            }
        }
        rows.sort_by(|a, b| b.opened_at.iso.cmp(&a.opened_at.iso).then_with(|| a.task_id.cmp(&b.task_id)));
        Ok(rows)
    }
}

/// The viewer as the core knows them in one tenant; none where they are nobody there.
pub(crate) fn actor(viewer: &Viewer, tenant: &TenantKey) -> Option<Actor> {
    let membership = viewer.memberships.iter().find(|membership| membership.tenant == *tenant)?;
    Some(Actor::Person {
        person: viewer.person.clone(),
        groups: membership.groups.clone(),
        roles: membership.roles.clone(),
    })
}

fn task_ref(id: &str) -> Result<TaskRef, AppError> {
    TaskRef::decode(id).ok_or(AppError::NotFound)
}

#[async_trait]
impl TasksBackend for Backend {
    async fn list(&self, viewer: &Viewer, filter: TaskFilter) -> Result<TaskList, AppError> {
        let rows = self.rows(viewer, filter.done).await?;
        let mut list = TaskList { counts: counts(&rows), ..TaskList::default() };
        for row in &rows {
            let tenant = (tenant_value(row), format!("{} / {}", row.customer, row.tenant));
            if !list.tenants.contains(&tenant) {
                list.tenants.push(tenant);
            }
            if !list.object_types.contains(&row.object_type) {
                list.object_types.push(row.object_type.clone());
            }
        }
        list.tenants.sort();
        list.object_types.sort();
        if filter.done {
            // The counts beside the tabs are those of the open tasks.
            list.counts = counts(&self.rows(viewer, false).await?);
        }
        let mut wanted: Vec<TaskRow> = rows.into_iter().filter(|row| matches(row, &filter)).collect();
        list.truncated = wanted.len() > ROWS_MAX;
        wanted.truncate(ROWS_MAX);
        list.rows = wanted;
        Ok(list)
    }

    async fn detail(&self, viewer: &Viewer, task_id: &str) -> Result<TaskDetail, AppError> {
        self.see(viewer, &task_ref(task_id)?).await
    }

    async fn claim(&self, viewer: &Viewer, request: ClaimRequest) -> Result<TaskDetail, AppError> {
        let task = task_ref(&request.task_id)?;
        let actor = actor(viewer, &task.instance.tenant).ok_or(AppError::NotFound)?;
        match self.engine.claim(&task, &actor, request.operation).await {
            Ok(_) => self.see(viewer, &task).await,
            Err(error) => Err(self.refused(error, &task.instance).await),
        }
    }

    async fn unclaim(&self, viewer: &Viewer, request: UnclaimRequest) -> Result<TaskDetail, AppError> {
        let task = task_ref(&request.task_id)?;
        let actor = actor(viewer, &task.instance.tenant).ok_or(AppError::NotFound)?;
        match self.engine.unclaim(&task, &actor, request.claim_id, request.operation).await {
            Ok(_) => self.see(viewer, &task).await,
            Err(error) => Err(self.refused(error, &task.instance).await),
        }
    }

    async fn decide(&self, viewer: &Viewer, request: DecisionRequest) -> Result<DecisionResult, AppError> {
        let task = task_ref(&request.task_id)?;
        if task.visit != request.visit {
            return Err(AppError::Stale { who: None, at: None, what: None, done: true });
        }
        let actor = actor(viewer, &task.instance.tenant).ok_or(AppError::NotFound)?;
        let input = DecisionInput {
            operation: request.operation,
            decision: request.decision,
            claim_id: request.claim_id,
            revision: request.revision,
            shown: request.shown,
            changes: request.changes,
            comment: request.comment,
        };
        match self.engine.decide(&task, &actor, input).await {
            Ok(outcome) => Ok(DecisionResult { revision: outcome.revision, erp_confirmed: outcome.erp_confirmed }),
            Err(error) => Err(self.refused(error, &task.instance).await),
        }
    }

    async fn feedback(&self, viewer: &Viewer, request: FeedbackRequest) -> Result<TaskDetail, AppError> {
        let task = task_ref(&request.task_id)?;
        if task.visit != request.visit {
            return Err(AppError::Stale { who: None, at: None, what: None, done: true });
        }
        let actor = actor(viewer, &task.instance.tenant).ok_or(AppError::NotFound)?;
        match self.engine.feedback(&task, &actor, request.operation, request.text).await {
            Ok(_) => self.see(viewer, &task).await,
            Err(error) => Err(self.refused(error, &task.instance).await),
        }
    }

    async fn save_draft(&self, viewer: &Viewer, request: DraftRequest) -> Result<DraftAnswer, AppError> {
        let task = task_ref(&request.task_id)?;
        let tenant = &task.instance.tenant;
        let actor = actor(viewer, tenant).ok_or(AppError::NotFound)?;
        let input = DraftInput { typed: request.draft.typed, comment: request.draft.comment };
        match self.engine.save_draft(&task, &actor, &request.claim_id, input).await {
            Ok(DraftOutcome::Saved { at }) => Ok(DraftAnswer::Saved { at: moment(at, self.zone(tenant)) }),
            Ok(DraftOutcome::Dropped) => Ok(DraftAnswer::Dropped),
            Ok(DraftOutcome::TooSoon { wait }) => {
                Ok(DraftAnswer::TooSoon { retry_ms: u32::try_from(wait.num_milliseconds()).unwrap_or(0) })
            }
            Err(error) => Err(self.refused(error, &task.instance).await),
        }
    }

    async fn log(&self, viewer: &Viewer, instance_id: &str) -> Result<LogView, AppError> {
        let at = InstanceRef::decode(instance_id).ok_or(AppError::NotFound)?;
        let actor = actor(viewer, &at.tenant).ok_or(AppError::NotFound)?;
        let zone = self.zone(&at.tenant);
        let (instance, blueprint) = self.engine.read_run(&at).await.map_err(|error| app_error(&error, zone))?;
        if !may_see_log(&blueprint, &actor) {
            return Err(AppError::NotFound);
        }
        Ok(log_view(&instance, &blueprint, &at, zone))
    }
}

fn counts(rows: &[TaskRow]) -> TaskCounts {
    let mut counts = TaskCounts::default();
    for row in rows {
        match row.state {
            TaskState::Open => counts.open += 1,
            TaskState::Claimed => counts.claimed += 1,
            TaskState::Done => {}
        }
        if row.mine {
            counts.mine += 1;
        }
    }
    counts
}

fn tenant_value(row: &TaskRow) -> String {
    format!("{}/{}", encode_part(&row.customer), encode_part(&row.tenant))
}

fn matches(row: &TaskRow, filter: &TaskFilter) -> bool {
    let found = |text: &str| {
        let wanted: String = text.trim().to_lowercase().chars().take(SEARCH_CHARS_MAX).collect();
        let holds = |hay: &str| hay.to_lowercase().contains(&wanted);
        holds(&row.object_number)
            || holds(&row.step_title)
            || holds(&row.workflow_name)
            || row.summary.iter().any(|cell| holds(&cell.text))
    };
    filter.tenant.as_ref().is_none_or(|tenant| tenant_value(row) == *tenant)
        && filter.object_type.as_ref().is_none_or(|kind| row.object_type == *kind)
        && filter.status.is_none_or(|status| filter.done || row.state == status)
        && (!filter.mine || filter.done || row.mine)
        && filter.q.as_deref().is_none_or(found)
}
