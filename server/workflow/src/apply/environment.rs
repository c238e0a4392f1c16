//! What expressions see: `#object`, `#data`, `#instance`, `#history`, `#actor`, `#now` (DESIGN §7).
//!
//! Invariant: same instance, same moment, same environment; fields of type number and money enter as decimals.
//! Never: receipts, claims, other people's rights.

use chrono::{DateTime, SecondsFormat, Utc};
use vocab::{Decision, FieldValue, InstanceStatus, Person};

use crate::blueprint::Blueprint;
use crate::expr::{Env, ExprError, Value, object_value};
use crate::instance::{Instance, ObjectValues};
use crate::log::LogKind;

/// When and because of whom an expression is evaluated.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    /// `#now`.
    pub at: DateTime<Utc>,
    /// `#actor`; none = the system (at start), then `#actor` is null.
    pub actor: Option<&'a Person>,
}

/// Builds the environment for an instance's expressions.
///
/// # Errors
/// [`ExprError`] when a value does not fit its field's declared type.
pub fn environment(
    blueprint: &Blueprint,
    instance: &Instance,
    object: &ObjectValues,
    moment: Moment<'_>,
) -> Result<Env, ExprError> {
    let data = instance.data.iter().map(|(name, value)| (name.clone(), plain(value))).collect();
    Ok(Env::new()
        .with("object", object_value(&blueprint.fields, object)?)
        .with("data", Value::Map(data))
        .with("instance", instance_value(instance))
        .with("history", history_value(instance))
        .with("actor", moment.actor.map_or(Value::Null, person_value))
        .with("now", text(moment_text(moment.at))))
}

fn instance_value(instance: &Instance) -> Value {
    let start = &instance.start;
    map([
        ("objectNumber", text(start.object_number.as_str())),
        ("customerID", text(start.customer_id.as_str())),
        ("tenantID", text(start.tenant_id.as_str())),
        ("workflowId", text(start.workflow_id.as_str())),
        ("status", text(status_text(instance.status))),
        ("startedAt", text(moment_text(instance.started_at))),
    ])
}

/// The decisions so far, oldest first.
fn history_value(instance: &Instance) -> Value {
    let decisions = instance.history.iter().filter_map(|entry| {
        let LogKind::Decided { decision, comment, .. } = &entry.kind else {
            return None;
        };
        Some(map([
            ("step", entry.step.as_ref().map_or(Value::Null, |step| text(step.as_str()))),
            ("decision", text(decision_text(*decision))),
            ("by", entry.actor.as_ref().map_or(Value::Null, person_value)),
            ("comment", comment.as_deref().map_or(Value::Null, text)),
        ]))
    });
    Value::List(decisions.collect())
}

fn person_value(person: &Person) -> Value {
    map([("id", text(person.id.as_str())), ("name", text(person.name.as_str()))])
}

/// Process data has no declared types: it enters as it is.
fn plain(value: &FieldValue) -> Value {
    match value {
        FieldValue::Null => Value::Null,
        FieldValue::Bool(yes) => Value::Bool(*yes),
        FieldValue::Text(content) => text(content.as_str()),
        FieldValue::List(items) => Value::List(items.iter().map(|item| text(item.as_str())).collect()),
    }
}

fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Map(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn text(content: impl Into<String>) -> Value {
    Value::Text(content.into())
}

/// ISO 8601 in UTC, to the second.
fn moment_text(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

fn decision_text(decision: Decision) -> &'static str {
    match decision {
        Decision::Approve => "approve",
        Decision::Reject => "reject",
    }
}

/// The name that the spec gives the status.
fn status_text(status: InstanceStatus) -> &'static str {
    match status {
        InstanceStatus::Open => "OPEN",
        InstanceStatus::RetryingMicrotech => "RETRYING_MICROTECH",
        InstanceStatus::Deferred => "DEFERRED",
        InstanceStatus::Suspended => "SUSPENDED",
        InstanceStatus::Error => "ERROR",
        InstanceStatus::Approved => "APPROVED",
        InstanceStatus::Rejected => "REJECTED",
        InstanceStatus::Completed => "COMPLETED",
        InstanceStatus::Canceled => "CANCELED",
        InstanceStatus::Expired => "EXPIRED",
        InstanceStatus::Failed => "FAILED",
    }
}
