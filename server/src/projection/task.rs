//! One task with everything its step needs (`getTaskMetadata`, spec 001 §8.2).

use chrono_tz::Tz;
use contract::{DocumentState, DocumentView, Draft, DraftView, FormField, TaskDetail, TaskNotice, TaskRow};
use engine::{OpenedTask, ReceiptState, TaskRef};
use vocab::{Action, Decision, FieldName, FieldType, FieldValue, StepId, TaskState, UserId};
use workflow::blueprint::{StepField, StepKind, UserStep};
use workflow::event::Actor;
use workflow::instance::{Claim, ObjectValues, State};
use workflow::log::{LogEntry, LogKind};
use workflow::rights::{allowed_actions, may_see_log, may_see_receipt};
use workflow::{Blueprint, Instance};

use super::row::cells;
use super::{log_view, moment, shown_text};

/// The view of a task; none where the run has no such visit.
pub(crate) fn task_detail(
    opened: &OpenedTask,
    task: &TaskRef,
    actor: &Actor,
    me: &UserId,
    zone: Tz,
) -> Option<TaskDetail> {
    let OpenedTask { instance, blueprint, object, receipts, draft } = opened;
    let open = instance.open_task().filter(|open| open.visit == task.visit);
    let taken = decision_of(instance, task.visit);
    let step_id = match (&open, &taken) {
        (Some(open), _) => open.step.clone(),
        (None, Some((entry, _))) => entry.step.clone()?,
        (None, None) => instance.history.iter().find(|entry| entry.visit == Some(task.visit))?.step.clone()?,
    };
    let step = blueprint.user_step(&step_id)?;
    let actions: Vec<Action> = match open {
        Some(_) if object.is_ok() => allowed_actions(blueprint, instance, actor).into_iter().collect(),
        // Without the ERP's values nothing can be edited or decided.
        Some(_) => without_values(allowed_actions(blueprint, instance, actor)),
        None => Vec::new(),
    };
    let empty = ObjectValues::new();
    let values = match (open.is_some(), taken, object) {
        (false, Some((_, values)), _) => values,
        (_, _, Ok(object)) => object.values.clone(),
        (_, _, Err(_)) => empty,
    };
    let claim = open.and_then(|open| open.claim.cloned());
    let prominent = prominent(blueprint, step);
    let missing: &[_] = object.as_ref().map_or(&[], |object| object.missing.as_slice());
    let row = detail_row(instance, blueprint, task, step, claim.as_ref(), me, zone, &actions);
    Some(TaskDetail {
        hint: step.hint.clone(),
        visit: task.visit,
        claim_id: claim.filter(|claim| claim.by.id == *me).map(|claim| claim.id),
        fields: step
            .fields
            .iter()
            .filter(|field| field.visible && !missing.contains(&field.name))
            .map(|field| form_field(blueprint, field, &values, prominent))
            .collect(),
        missing_fields: step
            .fields
            .iter()
            .filter(|field| field.visible && missing.contains(&field.name))
            .map(|field| label(blueprint, &field.name))
            .collect(),
        erp_problem: object.as_ref().err().map(ToString::to_string).filter(|_| open.is_some()),
        documents: if may_see_receipt(blueprint, actor) {
            receipts.iter().enumerate().map(|(n, receipt)| document(task, n, receipt)).collect()
        } else {
            Vec::new()
        },
        approve_leads_to: leads_to(blueprint, &step.approve),
        reject_leads_to: leads_to(blueprint, &step.reject),
        notices: notices(instance, step, open.is_some(), me),
        log: may_see_log(blueprint, actor).then(|| log_view(instance, blueprint, &task.instance, zone)),
        instance_id: task.instance.encode(),
        draft: draft.as_ref().map(|saved| DraftView {
            draft: Draft { typed: saved.input.typed.clone(), comment: saved.input.comment.clone() },
            saved_at: moment(saved.saved_at, zone),
        }),
        allowed_actions: actions,
        row,
    })
}

fn without_values(actions: std::collections::BTreeSet<Action>) -> Vec<Action> {
    let needs_values = |action: &Action| match action {
        Action::Edit | Action::Approve | Action::Reject => true,
        Action::Claim | Action::Unclaim | Action::Feedback => false,
    };
    actions.into_iter().filter(|action| !needs_values(action)).collect()
}

/// The decision of a visit, with the values it was based on, edits included.
fn decision_of(instance: &Instance, visit: u64) -> Option<(&LogEntry, ObjectValues)> {
    instance.history.iter().find_map(|entry| match &entry.kind {
        LogKind::Decided { shown, changed, .. } if entry.visit == Some(visit) => {
            let mut values = shown.clone();
            values.extend(changed.iter().map(|change| (change.name.clone(), change.new.clone())));
            Some((entry, values))
        }
        _other => None,
    })
}

#[expect(clippy::too_many_arguments, reason = "a row is made of all of these, once")]
fn detail_row(
    instance: &Instance,
    blueprint: &Blueprint,
    task: &TaskRef,
    step: &UserStep,
    claim: Option<&Claim>,
    me: &UserId,
    zone: Tz,
    actions: &[Action],
) -> TaskRow {
    let open = instance.open_visit() == Some(task.visit);
    let holder = claim.map(|claim| &claim.by);
    let decided = instance.taken_decisions().into_iter().find(|taken| taken.visit == task.visit);
    let opened_at =
        instance.history.iter().find(|entry| entry.visit == Some(task.visit)).map_or(instance.started_at, |e| e.at);
    TaskRow {
        task_id: task.encode(),
        step_title: step.title.clone(),
        workflow_name: instance.workflow_name.clone(),
        customer: instance.start.customer_id.to_string(),
        tenant: instance.start.tenant_id.to_string(),
        object_type: instance.object_type.clone(),
        object_number: instance.start.object_number.to_string(),
        state: match (open, holder) {
            (false, _) => TaskState::Done,
            (true, Some(_)) => TaskState::Claimed,
            (true, None) => TaskState::Open,
        },
        claimed_by: holder.cloned(),
        claim_id: claim.filter(|claim| claim.by.id == *me).map(|claim| claim.id.clone()),
        mine: holder.is_some_and(|person| person.id == *me),
        opened_at: moment(opened_at, zone),
        decision: decided.map(|taken: workflow::instance::TakenDecision| -> Decision { taken.decision }),
        summary: cells(blueprint, &instance.summary),
        revision: instance.revision,
        allowed_actions: actions.to_vec(),
    }
}

/// The amount that matters: the first money field of the blueprint's `summary` that the step shows, else the first money
/// field it shows.
fn prominent<'a>(blueprint: &'a Blueprint, step: &'a UserStep) -> Option<&'a FieldName> {
    let shown = |name: &FieldName| step.fields.iter().any(|field| field.visible && field.name == *name);
    let money = |name: &FieldName| blueprint.field(name).is_some_and(|field| field.kind == FieldType::Money);
    let named = blueprint.summary.iter().find(|name| money(name) && shown(name));
    named.or_else(|| step.fields.iter().map(|field| &field.name).find(|name| money(name) && shown(name)))
}

fn form_field(
    blueprint: &Blueprint,
    field: &StepField,
    values: &ObjectValues,
    prominent: Option<&FieldName>,
) -> FormField {
    let declared = blueprint.field(&field.name);
    let value = values.get(&field.name).cloned().unwrap_or(FieldValue::Null);
    FormField {
        name: field.name.clone(),
        label: label(blueprint, &field.name),
        kind: declared.map(|declared| declared.kind).unwrap_or_default(),
        text: shown_text(declared, &value),
        value,
        prominent: prominent == Some(&field.name),
        editable: field.editable,
        required: field.required,
        options: declared.map(|declared| declared.options.clone()).unwrap_or_default(),
        currency: declared.and_then(|declared| declared.currency.clone()),
    }
}

fn label(blueprint: &Blueprint, name: &FieldName) -> String {
    blueprint.field(name).map_or_else(|| name.to_string(), |field| field.label.clone())
}

/// The title of the step, or the end's status as a key of the message files. A condition is followed no further: which
/// way it goes is not known yet, so the first user step or end that every way shares is not guessed.
fn leads_to(blueprint: &Blueprint, step: &StepId) -> String {
    match blueprint.step(step).map(|step| &step.kind) {
        Some(StepKind::User(user)) => user.title.clone(),
        Some(StepKind::End(end)) => status_key(vocab::InstanceStatus::from(end.status)),
        Some(StepKind::Condition(condition)) => {
            let ways = condition.cases.iter().map(|case| &case.next).chain([&condition.otherwise]);
            let mut titles: Vec<String> = Vec::new();
            for way in ways.filter(|way| *way != step) {
                let title = match blueprint.step(way).map(|step| &step.kind) {
                    Some(StepKind::User(user)) => user.title.clone(),
                    Some(StepKind::End(end)) => status_key(vocab::InstanceStatus::from(end.status)),
                    Some(StepKind::Condition(_)) | None => continue,
                };
                if !titles.contains(&title) {
                    titles.push(title);
                }
            }
            titles.join(" / ")
        }
        None => step.to_string(),
    }
}

/// `APPROVED` and so on, as stored.
fn status_key(status: vocab::InstanceStatus) -> String {
    serde_json::to_value(status).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn document(task: &TaskRef, n: usize, receipt: &engine::Receipt) -> DocumentView {
    DocumentView {
        name: receipt.name.clone(),
        url: format!("/api/instances/{}/documents/{n}", task.instance.encode()),
        state: match &receipt.state {
            ReceiptState::Pdf { size } => DocumentState::Pdf { size: *size },
            ReceiptState::NotPdf { seems, size } => DocumentState::NotPdf { seems: (*seems).to_owned(), size: *size },
            ReceiptState::Missing => DocumentState::Missing,
            ReceiptState::Unavailable => DocumentState::Unavailable,
        },
    }
}

fn notices(instance: &Instance, step: &UserStep, open: bool, me: &UserId) -> Vec<TaskNotice> {
    let mut notices = Vec::new();
    if let Some(effect) = instance.effects.first().filter(|effect| effect.attempts > 0) {
        notices.push(TaskNotice::ErpWritePending { error: effect.last_error.clone(), attempts: effect.attempts });
    }
    match &instance.state {
        State::Syncing { .. } | State::Ending { .. } => notices.push(TaskNotice::WaitingForErp),
        State::Task { .. } | State::Stopped { .. } | State::Final { .. } => {}
    }
    if open && instance.decided_any(me, &step.assign.not_by) {
        notices.push(TaskNotice::FourEyes);
    }
    if let Some(text) = instance.start.first_note.as_ref().filter(|text| !text.trim().is_empty()) {
        notices.push(TaskNotice::FirstNote { text: text.clone() });
    }
    notices
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    fn with_summary(summary: &str) -> Blueprint {
        let yaml = format!(
            "schema: 1\nid: x\nname: X\nobjectType: Rechnung\n\
             trigger: {{ guid: 6f1b1c1e-6a0c-4a53-9d6e-0b8f6d1f7a10 }}\n\
             object: {{ table: tblTransactions, key: fldBelegNr }}\n\
             fields:\n  fldBelegNr: {{ label: Nr }}\n  fldNetto: {{ label: Netto, type: money }}\n  \
             fldBrutto: {{ label: Brutto, type: money }}\n  fldSteuer: {{ label: Steuer, type: money }}\n\
             summary: [{summary}]\n\
             steps:\n  - id: a\n    type: user\n    title: A\n    assign: {{ groups: [g] }}\n    fields:\n      \
             - {{ name: fldBelegNr, visible: true }}\n      - {{ name: fldNetto, visible: true }}\n      \
             - {{ name: fldBrutto, visible: true }}\n    approve: {{ next: e }}\n    reject: {{ next: e }}\n  \
             - {{ id: e, type: end, status: APPROVED }}\n"
        );
        workflow::blueprint::parse(&yaml).unwrap()
    }

    #[test]
    fn the_amount_of_the_summary_is_the_large_one() {
        let large = |summary: &str| {
            let blueprint = with_summary(summary);
            let step = blueprint.user_step(&"a".into()).unwrap();
            prominent(&blueprint, step).map(ToString::to_string)
        };
        assert_eq!(large("fldBelegNr, fldBrutto, fldNetto").as_deref(), Some("fldBrutto"));
        assert_eq!(
            large("fldSteuer, fldBrutto").as_deref(),
            Some("fldBrutto"),
            "what the step hides is not shown large"
        );
        assert_eq!(large("fldBelegNr").as_deref(), Some("fldNetto"), "else the first amount");
    }
}
