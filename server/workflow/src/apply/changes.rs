//! What a person entered, against what the blueprint lets them enter.
//!
//! Invariant: a value that passes is in machine form and fits its field's type; equal values are no change.
//! Never: stops at the first problem; a form is told everything that is wrong with it.

use chrono::NaiveDate;
use rust_decimal::Decimal;
use vocab::{AmountError, FieldName, FieldType, FieldValue, canonical_amount};

use super::{FieldIssue, IssueKind, Refusal};
use crate::blueprint::{Blueprint, FieldDecl, StepField, UserStep};
use crate::expr::{Env, typed_value};
use crate::instance::{ObjectValues, VALUE_CHARS_MAX};
use crate::log::Change;

/// A field with a value now and then; what the ERP does not have is null.
fn value_of(values: &ObjectValues, name: &FieldName) -> FieldValue {
    values.get(name).cloned().unwrap_or_default()
}

/// The step's visible fields, in the form's order.
fn visible(step: &UserStep) -> impl Iterator<Item = &StepField> {
    step.fields.iter().filter(|field| field.visible)
}

/// Whether the values shown are all that this step shows, and nothing else.
pub(super) fn check_shown(step: &UserStep, shown: &ObjectValues, current: &ObjectValues) -> Result<(), Refusal> {
    if let Some(missing) =
        visible(step).find(|field| current.contains_key(&field.name) && !shown.contains_key(&field.name))
    {
        let what = format!("a decision without the value shown for {}: shown is incomplete", missing.name);
        return Err(Refusal::NotAllowedHere { what });
    }
    if let Some(extra) = shown.keys().find(|name| !visible(step).any(|field| field.name == **name)) {
        return Err(Refusal::NotAllowedHere { what: format!("a value shown for {extra}: this step does not show it") });
    }
    Ok(())
}

/// Fields whose value is no longer the one that was shown: name, shown, now.
pub(super) fn moved(
    blueprint: &Blueprint,
    step: &UserStep,
    shown: &ObjectValues,
    current: &ObjectValues,
) -> Vec<(FieldName, FieldValue, FieldValue)> {
    visible(step)
        .map(|field| (field.name.clone(), value_of(shown, &field.name), value_of(current, &field.name)))
        .filter(|(name, shown, now)| !same(kind_of(blueprint, name), shown, now))
        .collect()
}

/// Edits in machine form, in the form's order, without those that change nothing.
pub(super) fn accepted(
    blueprint: &Blueprint,
    step: &UserStep,
    current: &ObjectValues,
    changes: &ObjectValues,
) -> Result<Vec<Change>, Vec<FieldIssue>> {
    let editable = |name: &FieldName| visible(step).any(|field| field.editable && field.name == *name);
    let mut problems: Vec<FieldIssue> = changes
        .keys()
        .filter(|name| !editable(name))
        .map(|name| FieldIssue::new(name, IssueKind::NotEditable))
        .collect();
    let mut accepted = Vec::new();
    for field in visible(step).filter(|field| field.editable) {
        let Some(typed) = changes.get(&field.name) else { continue };
        let old = value_of(current, &field.name);
        // Before it is read as typed: a machine-form `1.234` that was not touched is not ambiguous.
        if *typed == old {
            continue;
        }
        let Some(declared) = blueprint.field(&field.name) else {
            problems.push(FieldIssue::new(&field.name, IssueKind::NotEditable));
            continue;
        };
        match machine_form(declared, typed) {
            Ok(new) if same(declared.kind, &old, &new) => {}
            Ok(new) => accepted.push(Change { name: field.name.clone(), old, new }),
            Err(kind) => problems.push(FieldIssue::new(&field.name, kind)),
        }
    }
    if problems.is_empty() { Ok(accepted) } else { Err(problems) }
}

/// What keeps the step from being approved with these values: required fields that are blank, checks that don't say yes.
/// `env` holds everything but `#value`; none where it could not be built, then no check can say yes.
pub(super) fn incomplete(
    blueprint: &Blueprint,
    step: &UserStep,
    values: &ObjectValues,
    env: Option<&Env>,
) -> Vec<FieldIssue> {
    let issue_of = |field: &StepField| {
        let value = value_of(values, &field.name);
        if field.required && value.is_blank() {
            return Some(IssueKind::Required);
        }
        let check = field.check.as_ref()?;
        let holds = env.is_some_and(|env| {
            typed_value(kind_of(blueprint, &field.name), &value)
                .is_ok_and(|value| check.eval_bool(&env.clone().with("value", value)) == Ok(true))
        });
        (!holds).then_some(IssueKind::CheckFailed)
    };
    step.fields.iter().filter_map(|field| issue_of(field).map(|kind| FieldIssue::new(&field.name, kind))).collect()
}

/// The values after the edits.
pub(super) fn edited(current: &ObjectValues, changes: &[Change]) -> ObjectValues {
    let mut values = current.clone();
    values.extend(changes.iter().map(|change| (change.name.clone(), change.new.clone())));
    values
}

fn kind_of(blueprint: &Blueprint, name: &FieldName) -> FieldType {
    blueprint.field(name).map(|field| field.kind).unwrap_or_default()
}

/// Whether two values mean the same: amounts by their number, blank text and nothing alike.
fn same(kind: FieldType, a: &FieldValue, b: &FieldValue) -> bool {
    if a == b || (a.is_blank() && b.is_blank()) {
        return true;
    }
    match kind {
        FieldType::Number | FieldType::Money => {
            let number = |value: &FieldValue| value.as_text().and_then(|text| text.parse::<Decimal>().ok());
            number(a).is_some_and(|a| number(b) == Some(a))
        }
        FieldType::Text
        | FieldType::Multiline
        | FieldType::Date
        | FieldType::Boolean
        | FieldType::Choice
        | FieldType::Choices
        | FieldType::Lookup => false,
    }
}

/// An entered value in machine form; blank becomes null, whatever the type.
fn machine_form(declared: &FieldDecl, typed: &FieldValue) -> Result<FieldValue, IssueKind> {
    if typed.is_blank() {
        return Ok(FieldValue::Null);
    }
    let text = || typed.as_text().ok_or(IssueKind::WrongType);
    match declared.kind {
        FieldType::Text | FieldType::Lookup => free_text(text()?, |_| false),
        FieldType::Multiline => free_text(text()?, |c| c == '\n' || c == '\r'),
        FieldType::Number | FieldType::Money => {
            canonical_amount(text()?).map(FieldValue::Text).map_err(|error| match error {
                AmountError::Empty | AmountError::NotANumber => IssueKind::NotANumber,
                AmountError::Ambiguous => IssueKind::Ambiguous,
                AmountError::TooLong => IssueKind::TooLong,
            })
        }
        FieldType::Date => date(text()?),
        FieldType::Boolean => match typed {
            FieldValue::Bool(_) => Ok(typed.clone()),
            FieldValue::Null | FieldValue::Text(_) | FieldValue::List(_) => Err(IssueKind::WrongType),
        },
        FieldType::Choice => option(declared, text()?).map(FieldValue::Text),
        FieldType::Choices => match typed {
            FieldValue::List(items) => choices(declared, items),
            FieldValue::Null | FieldValue::Bool(_) | FieldValue::Text(_) => Err(IssueKind::WrongType),
        },
    }
}

/// Text without control characters but tabs and those the field takes.
fn free_text(text: &str, takes: impl Fn(char) -> bool) -> Result<FieldValue, IssueKind> {
    if text.chars().count() > VALUE_CHARS_MAX {
        return Err(IssueKind::TooLong);
    }
    if text.chars().any(|c| c.is_control() && c != '\t' && !takes(c)) {
        return Err(IssueKind::WrongType);
    }
    Ok(FieldValue::Text(text.to_owned()))
}

/// `2026-11-30` and nothing else, a real day.
fn date(text: &str) -> Result<FieldValue, IssueKind> {
    let text = text.trim();
    let shaped = text.len() == 10
        && text
            .bytes()
            .enumerate()
            .all(|(i, byte)| if i == 4 || i == 7 { byte == b'-' } else { byte.is_ascii_digit() });
    let real = shaped && text.parse::<NaiveDate>().is_ok();
    if real { Ok(FieldValue::Text(text.to_owned())) } else { Err(IssueKind::NotADate) }
}

fn option(declared: &FieldDecl, text: &str) -> Result<String, IssueKind> {
    let known = declared.options.iter().find(|option| *option == text);
    known.cloned().ok_or(IssueKind::NotAnOption)
}

/// Each option at most once, in the order of the declaration, so that equal choices are equal values.
fn choices(declared: &FieldDecl, items: &[String]) -> Result<FieldValue, IssueKind> {
    if items.iter().any(|item| !declared.options.contains(item)) {
        return Err(IssueKind::NotAnOption);
    }
    let chosen = declared.options.iter().filter(|option| items.contains(option));
    Ok(FieldValue::List(chosen.cloned().collect()))
}
