//! From data to sentences: the only place that turns statuses, errors and log kinds into text for people.
//!
//! Invariant: every sentence comes from `locales/`; what has no sentence is shown as it came, never hidden.
//! Never: decisions; markup.

use contract::{
    AppError, FieldProblemKind, RefusalReason, RequestFault, TaskRow,
    vocab::{Decision, InstanceStatus, TaskAct, TaskState, TriggerSource},
};
use leptos_i18n::td_string;

pub(crate) use crate::i18n::Locale;
use crate::language::{locale_of, use_language};

/// A text of the message files in the given locale: `say!(locale, inbox.title)`.
macro_rules! say {
    ($locale:expr, $($key:tt)+) => {
        leptos_i18n::td_string!($locale, $($key)+)
    };
}
pub(crate) use say;

/// The locale of this page. Changing it reloads the page, so nothing needs to track it.
pub(crate) fn use_locale() -> Locale {
    locale_of(use_language())
}

/// Puts values into a text's `{name}` places.
pub(crate) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(template.len() + 16);
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let Some((name, behind)) = after.split_once('}') else {
            out.push('{');
            rest = after;
            continue;
        };
        match values.iter().find(|(key, _)| *key == name) {
            Some((_, value)) => out.push_str(value),
            None => {
                out.push('{');
                out.push_str(name);
                out.push('}');
            }
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// What a row's state is called, with the name of who has it.
pub(crate) fn state(locale: Locale, row: &TaskRow) -> String {
    let fixed = match (row.state, row.decision) {
        (TaskState::Done, Some(Decision::Approve)) => td_string!(locale, state.approved),
        (TaskState::Done, Some(Decision::Reject)) => td_string!(locale, state.rejected),
        (TaskState::Done, None) => td_string!(locale, state.done),
        (TaskState::Open, _) => td_string!(locale, state.open),
        (TaskState::Claimed, _) => {
            let name = if row.mine { Some(td_string!(locale, app.me)) } else { None };
            let name = name.or(row.claimed_by.as_ref().map(|person| person.name.as_str()));
            return match name {
                Some(name) => fill(td_string!(locale, state.claimed_by), &[("name", name)]),
                None => td_string!(locale, state.claimed).to_owned(),
            };
        }
    };
    fixed.to_owned()
}

/// The CSS class and icon key of a row's state: `open`, `claimed`, `mine`, `approved`, `rejected`, `done`.
pub(crate) fn state_tone(row: &TaskRow) -> &'static str {
    match (row.state, row.decision) {
        (TaskState::Done, Some(Decision::Approve)) => "approved",
        (TaskState::Done, Some(Decision::Reject)) => "rejected",
        (TaskState::Done, None) => "done",
        (TaskState::Open, _) => "open",
        (TaskState::Claimed, _) if row.mine => "mine",
        (TaskState::Claimed, _) => "claimed",
    }
}

/// An error in plain words.
pub(crate) fn error(locale: Locale, error: &AppError) -> String {
    let fixed = match error {
        AppError::SignedOut => td_string!(locale, error.signed_out),
        AppError::NotFound => td_string!(locale, error.not_found),
        AppError::Refused { reason } => refusal(locale, *reason),
        AppError::Stale { who, at, what, done } => {
            let template = match (what, who.is_some(), done) {
                (Some(TaskAct::Approved), true, _) => td_string!(locale, error.stale_approved),
                (Some(TaskAct::Rejected), true, _) => td_string!(locale, error.stale_rejected),
                (Some(TaskAct::Claimed), true, _) => td_string!(locale, error.stale_claimed),
                (Some(TaskAct::Unclaimed), true, _) => td_string!(locale, error.stale_unclaimed),
                (Some(TaskAct::Remarked), true, _) => td_string!(locale, error.stale_remarked),
                (Some(TaskAct::Lapsed), _, _) => td_string!(locale, error.stale_lapsed),
                (_, _, true) => td_string!(locale, error.stale_done),
                (_, _, false) => td_string!(locale, error.stale),
            };
            let who = who.as_ref().map_or("", |person| person.name.as_str());
            let at = at.as_ref().map_or("", |moment| moment.text.as_str());
            return fill(template, &[("who", who), ("at", at)]).replace(" ()", "");
        }
        AppError::ValuesChanged { .. } => td_string!(locale, error.values_changed),
        AppError::Invalid { problems } if problems.is_empty() => td_string!(locale, error.invalid_request),
        AppError::BadRequest { fault: RequestFault::TooLarge, .. } => td_string!(locale, error.too_large),
        AppError::BadRequest { .. } => td_string!(locale, error.invalid_request),
        AppError::Invalid { .. } => td_string!(locale, error.invalid),
        AppError::Unavailable { what, retry_s } => {
            let template = match what.as_str() {
                "erp" => td_string!(locale, error.unavailable_erp),
                "store" => td_string!(locale, error.unavailable_store),
                "server" => td_string!(locale, error.unavailable_server),
                _ => td_string!(locale, error.unavailable),
            };
            return fill(template, &[("what", what), ("seconds", &retry_s.to_string())]);
        }
        AppError::Internal { incident } => {
            return fill(td_string!(locale, error.internal), &[("incident", incident)]);
        }
    };
    fixed.to_owned()
}

fn refusal(locale: Locale, reason: RefusalReason) -> &'static str {
    match reason {
        RefusalReason::NotInGroup => td_string!(locale, error.not_in_group),
        RefusalReason::NotClaimedByYou => td_string!(locale, error.not_claimed_by_you),
        RefusalReason::FourEyes => td_string!(locale, error.four_eyes),
        RefusalReason::NotDecidable => td_string!(locale, error.not_decidable),
        RefusalReason::NotAllowedHere => td_string!(locale, error.not_allowed_here),
    }
}

/// What is wrong with an input.
pub(crate) fn problem(locale: Locale, kind: FieldProblemKind) -> &'static str {
    match kind {
        FieldProblemKind::Required => td_string!(locale, problem.required),
        FieldProblemKind::NotANumber => td_string!(locale, problem.not_a_number),
        FieldProblemKind::Ambiguous => td_string!(locale, problem.ambiguous),
        FieldProblemKind::NotADate => td_string!(locale, problem.not_a_date),
        FieldProblemKind::NotAnOption => td_string!(locale, problem.not_an_option),
        FieldProblemKind::TooLong => td_string!(locale, problem.too_long),
        FieldProblemKind::CheckFailed => td_string!(locale, problem.check_failed),
        FieldProblemKind::NotEditable => td_string!(locale, problem.not_editable),
    }
}

/// A run's status.
pub(crate) fn instance_status(locale: Locale, status: InstanceStatus) -> &'static str {
    match status {
        InstanceStatus::Open => td_string!(locale, instance.open),
        InstanceStatus::RetryingMicrotech => td_string!(locale, instance.retrying_microtech),
        InstanceStatus::Deferred => td_string!(locale, instance.deferred),
        InstanceStatus::Suspended => td_string!(locale, instance.suspended),
        InstanceStatus::Error => td_string!(locale, instance.error),
        InstanceStatus::Approved => td_string!(locale, instance.approved),
        InstanceStatus::Rejected => td_string!(locale, instance.rejected),
        InstanceStatus::Completed => td_string!(locale, instance.completed),
        InstanceStatus::Canceled => td_string!(locale, instance.canceled),
        InstanceStatus::Expired => td_string!(locale, instance.expired),
        InstanceStatus::Failed => td_string!(locale, instance.failed),
    }
}

/// Where a decision leads: an end status in words, a step's title as it is.
pub(crate) fn target(locale: Locale, target: &str) -> String {
    match status_by_key(target) {
        Some(status) => instance_status(locale, status).to_owned(),
        None => target.to_owned(),
    }
}

fn status_by_key(key: &str) -> Option<InstanceStatus> {
    let status = match key {
        "OPEN" => InstanceStatus::Open,
        "RETRYING_MICROTECH" => InstanceStatus::RetryingMicrotech,
        "DEFERRED" => InstanceStatus::Deferred,
        "SUSPENDED" => InstanceStatus::Suspended,
        "ERROR" => InstanceStatus::Error,
        "APPROVED" => InstanceStatus::Approved,
        "REJECTED" => InstanceStatus::Rejected,
        "COMPLETED" => InstanceStatus::Completed,
        "CANCELED" => InstanceStatus::Canceled,
        "EXPIRED" => InstanceStatus::Expired,
        "FAILED" => InstanceStatus::Failed,
        _ => return None,
    };
    Some(status)
}

/// What started a run.
pub(crate) fn source(locale: Locale, source: TriggerSource) -> &'static str {
    match source {
        TriggerSource::Push => td_string!(locale, log.source_push),
        TriggerSource::Poll => td_string!(locale, log.source_poll),
        TriggerSource::Recovery => td_string!(locale, log.source_recovery),
        TriggerSource::Manual => td_string!(locale, log.source_manual),
    }
}

/// A log entry's kind; an unknown one as it is.
pub(crate) fn log_kind(locale: Locale, kind: &str) -> String {
    let text = match kind {
        "started" => td_string!(locale, kind.started),
        "condition" => td_string!(locale, kind.condition),
        "task-opened" => td_string!(locale, kind.task_opened),
        "claimed" => td_string!(locale, kind.claimed),
        "unclaimed" => td_string!(locale, kind.unclaimed),
        "claim-lapsed" => td_string!(locale, kind.claim_lapsed),
        "approved" => td_string!(locale, kind.approved),
        "rejected" => td_string!(locale, kind.rejected),
        "decided" => td_string!(locale, kind.decided),
        "feedback" => td_string!(locale, kind.feedback),
        "requested-again" => td_string!(locale, kind.requested_again),
        "erp-written" => td_string!(locale, kind.erp_written),
        "erp-failed" => td_string!(locale, kind.erp_failed),
        "end-reached" => td_string!(locale, kind.end_reached),
        "ended" => td_string!(locale, kind.ended),
        "stopped" => td_string!(locale, kind.stopped),
        "repaired" => td_string!(locale, kind.repaired),
        other => return other.to_owned(),
    };
    text.to_owned()
}

/// A fact's kind; an unknown one as it is.
pub(crate) fn fact_kind(locale: Locale, kind: &str) -> String {
    let text = match kind {
        "shown" => td_string!(locale, fact.shown),
        "changed" => td_string!(locale, fact.changed),
        "compared" => td_string!(locale, fact.compared),
        "condition" => td_string!(locale, fact.condition),
        "next" => td_string!(locale, fact.next),
        "mutation" => td_string!(locale, fact.mutation),
        "answer" => td_string!(locale, fact.answer),
        "attempt" => td_string!(locale, fact.attempt),
        "error" => td_string!(locale, fact.error),
        "receipt" => td_string!(locale, fact.receipt),
        "note" => td_string!(locale, fact.note),
        other => return other.to_owned(),
    };
    text.to_owned()
}

/// What a thing that is no PDF seems to be.
pub(crate) fn seems(locale: Locale, seems: &str) -> &'static str {
    match seems {
        "html" => td_string!(locale, receipt.seems_html),
        "png" | "jpeg" | "gif" | "tiff" => td_string!(locale, receipt.seems_image),
        "xml" => td_string!(locale, receipt.seems_xml),
        "empty" => td_string!(locale, receipt.seems_empty),
        _ => td_string!(locale, receipt.seems_unknown),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use contract::{Moment, vocab::Person};

    use super::*;

    #[test]
    fn values_fill_their_places_and_nothing_else() {
        assert_eq!(fill("{a} und {b}", &[("a", "1"), ("b", "{a}")]), "1 und {a}");
        assert_eq!(fill("offen { bleibt", &[("a", "1")]), "offen { bleibt");
        assert_eq!(fill("{fremd}", &[("a", "1")]), "{fremd}");
    }

    #[test]
    fn a_lost_race_names_the_winner() {
        let who = Person { id: "u2".into(), name: "Erika Einkauf".to_owned() };
        let at = Moment { iso: "2026-11-30T13:05:00Z".to_owned(), text: "30.11.2026 14:05".to_owned() };
        let stale = AppError::Stale { who: Some(who), at: Some(at), what: Some(TaskAct::Claimed), done: false };
        assert_eq!(
            error(Locale::de, &stale),
            "Erika Einkauf war schneller und hat die Aufgabe übernommen (30.11.2026 14:05)."
        );
    }

    #[test]
    fn both_languages_have_the_same_keys_and_places() {
        let de = flat(include_str!("../locales/de.json"));
        let en = flat(include_str!("../locales/en.json"));
        assert_eq!(de, en);
    }

    fn flat(json: &str) -> BTreeMap<String, BTreeSet<String>> {
        fn walk(prefix: &str, value: &serde_json::Value, out: &mut BTreeMap<String, BTreeSet<String>>) {
            match value {
                serde_json::Value::Object(map) => {
                    for (key, value) in map {
                        walk(&format!("{prefix}.{key}"), value, out);
                    }
                }
                other => {
                    let text = other.as_str().unwrap_or_default();
                    let places = text.split('{').skip(1).filter_map(|part| part.split_once('}'));
                    out.insert(prefix.to_owned(), places.map(|(name, _)| name.to_owned()).collect());
                }
            }
        }
        let mut out = BTreeMap::new();
        if let Ok(value) = serde_json::from_str(json) {
            walk("", &value, &mut out);
        }
        assert!(!out.is_empty(), "the message file is not JSON");
        out
    }
}
