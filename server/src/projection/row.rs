//! Rows of the inbox and of "Erledigt".

use chrono_tz::Tz;
use contract::{SummaryCell, TaskRow};
use engine::{DecisionSummary, DoneRow, InstanceRef, TaskRef, TaskRowData};
use vocab::{FieldType, TaskState, UserId};
use workflow::Blueprint;
use workflow::event::Actor;
use workflow::instance::ObjectValues;
use workflow::rights::row_actions;

use super::{moment, shown_text};

/// The row of an open task; none where no person's turn it is.
pub(crate) fn open_row(
    row: &TaskRowData,
    blueprint: &Blueprint,
    actor: &Actor,
    me: &UserId,
    zone: Tz,
) -> Option<TaskRow> {
    let task = row.task.as_ref()?;
    let holder = task.claim.as_ref().map(|claim| &claim.by);
    let decided = |step: &vocab::StepId| row.decisions.iter().any(|taken| taken.step == *step && taken.by.id == *me);
    Some(TaskRow {
        task_id: TaskRef { instance: row.at.clone(), visit: task.visit }.encode(),
        step_title: task.title.clone(),
        workflow_name: row.workflow_name.clone(),
        customer: row.at.tenant.customer.to_string(),
        tenant: row.at.tenant.tenant.to_string(),
        object_type: row.object_type.clone(),
        object_number: row.object_number.to_string(),
        state: if holder.is_some() { TaskState::Claimed } else { TaskState::Open },
        claimed_by: holder.cloned(),
        claim_id: task.claim.as_ref().filter(|claim| claim.by.id == *me).map(|claim| claim.id.clone()),
        mine: holder.is_some_and(|person| person.id == *me),
        opened_at: moment(task.opened_at, zone),
        decision: None,
        summary: cells(blueprint, &row.summary),
        revision: row.revision,
        allowed_actions: row_actions(&task.assign, holder, decided, row.log_has_room, actor).into_iter().collect(),
    })
}

/// What somebody decided, one row per decision.
pub(crate) struct Decided<'a> {
    pub(crate) at: &'a InstanceRef,
    pub(crate) workflow_name: &'a str,
    pub(crate) object_type: &'a str,
    pub(crate) object_number: &'a str,
    pub(crate) summary: &'a ObjectValues,
    pub(crate) decisions: &'a [DecisionSummary],
    pub(crate) revision: u64,
}

impl<'a> From<&'a TaskRowData> for Decided<'a> {
    fn from(row: &'a TaskRowData) -> Self {
        Self {
            at: &row.at,
            workflow_name: &row.workflow_name,
            object_type: &row.object_type,
            object_number: row.object_number.as_str(),
            summary: &row.summary,
            decisions: &row.decisions,
            revision: row.revision,
        }
    }
}

impl<'a> From<&'a DoneRow> for Decided<'a> {
    fn from(row: &'a DoneRow) -> Self {
        Self {
            at: &row.at,
            workflow_name: &row.done.workflow_name,
            object_type: &row.done.object_type,
            object_number: row.done.start.object_number.as_str(),
            summary: &row.done.summary,
            decisions: &row.done.decisions,
            revision: row.done.revision,
        }
    }
}

/// Rows for the list "Erledigt", newest first within one run.
pub(crate) fn done_rows(run: &Decided<'_>, blueprint: &Blueprint, me: &UserId, zone: Tz) -> Vec<TaskRow> {
    let mine = run.decisions.iter().rev().filter(|taken| taken.by.id == *me);
    mine.map(|taken| TaskRow {
        task_id: TaskRef { instance: run.at.clone(), visit: taken.visit }.encode(),
        step_title: blueprint.user_step(&taken.step).map_or_else(|| taken.step.to_string(), |step| step.title.clone()),
        workflow_name: run.workflow_name.to_owned(),
        customer: run.at.tenant.customer.to_string(),
        tenant: run.at.tenant.tenant.to_string(),
        object_type: run.object_type.to_owned(),
        object_number: run.object_number.to_owned(),
        state: TaskState::Done,
        claimed_by: None,
        claim_id: None,
        mine: false,
        opened_at: moment(taken.at, zone),
        decision: Some(taken.decision),
        summary: cells(blueprint, run.summary),
        revision: run.revision,
        allowed_actions: Vec::new(),
    })
    .collect()
}

/// Names every task of a run that a page may be showing, so that a hint finds all of them.
pub(crate) fn seen_revision(at: &InstanceRef, open: Option<u64>, decisions: &[DecisionSummary]) -> Vec<String> {
    let mut visits: Vec<u64> = decisions.iter().map(|taken| taken.visit).chain(open).collect();
    visits.dedup();
    visits.into_iter().map(|visit| TaskRef { instance: at.clone(), visit }.encode()).collect()
}

/// The blueprint's summary fields.
pub(crate) fn cells(blueprint: &Blueprint, values: &ObjectValues) -> Vec<SummaryCell> {
    let cell = |name: &vocab::FieldName| {
        let field = blueprint.field(name);
        SummaryCell {
            label: field.map_or_else(|| name.to_string(), |field| field.label.clone()),
            text: values.get(name).map_or_else(String::new, |value| shown_text(field, value)),
            kind: field.map_or(FieldType::Text, |field| field.kind),
        }
    };
    blueprint.summary.iter().map(cell).collect()
}
