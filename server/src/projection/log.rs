//! The execution log as people read it (`getExecutionLog`, spec 001 §§4, 8.3).

use chrono_tz::Tz;
use contract::{LogEntryView, LogFact, LogView};
use engine::InstanceRef;
use vocab::{Decision, FieldName, FieldValue};
use workflow::event::{ErpEvidence, ReceiptProof};
use workflow::instance::{EffectKind, ErpOutcome, ObjectValues};
use workflow::log::{ConditionResult, LogEntry, LogKind, verify};
use workflow::{Blueprint, Instance};

use super::{moment, shown_text};

/// The view of a run's log, its chain checked anew.
pub(crate) fn log_view(instance: &Instance, blueprint: &Blueprint, at: &InstanceRef, zone: Tz) -> LogView {
    let reader = Reader { blueprint };
    LogView {
        instance_id: at.encode(),
        instance: instance.start.instance_id.to_string(),
        workflow_id: instance.start.workflow_id.to_string(),
        workflow_name: instance.workflow_name.clone(),
        version: instance.start.version,
        customer: instance.start.customer_id.to_string(),
        tenant: instance.start.tenant_id.to_string(),
        trigger_guid: instance.start.trigger_guid.to_string(),
        object_number: instance.start.object_number.to_string(),
        source: instance.start.source,
        started_at: moment(instance.started_at, zone),
        ended_at: instance.ended_at.map(|end| moment(end, zone)),
        status: instance.status,
        entries: instance.history.iter().map(|entry| reader.entry(entry, zone)).collect(),
        chain_intact: verify(&instance.history).is_ok(),
        pending: instance
            .effects
            .iter()
            .map(|effect| fact("error", &effect_label(&effect.kind), effect.last_error.clone().unwrap_or_default()))
            .collect(),
    }
}

fn fact(kind: &str, label: &str, value: impl Into<String>) -> LogFact {
    LogFact { kind: kind.to_owned(), label: label.to_owned(), old: None, value: value.into() }
}

/// The state or fields that an effect sets, in the ERP's own words.
fn effect_label(kind: &EffectKind) -> String {
    match kind {
        EffectKind::ErpStart => "in Freigabe".to_owned(),
        EffectKind::ErpChanges { fields } => fields.keys().map(FieldName::as_str).collect::<Vec<_>>().join(", "),
        EffectKind::ErpEnd { outcome } => match outcome {
            ErpOutcome::Released => "freigegeben".to_owned(),
            ErpOutcome::Rejected => "abgelehnt".to_owned(),
            ErpOutcome::None => "none".to_owned(),
        },
    }
}

struct Reader<'a> {
    blueprint: &'a Blueprint,
}

impl Reader<'_> {
    fn entry(&self, entry: &LogEntry, zone: Tz) -> LogEntryView {
        let (kind, comment, facts) = self.kind(&entry.kind);
        let title = entry.step.as_ref().and_then(|step| self.blueprint.user_step(step)).map(|step| step.title.clone());
        LogEntryView {
            seq: entry.seq,
            at: moment(entry.at, zone),
            actor: entry.actor.clone(),
            step: entry.step.as_ref().map(ToString::to_string),
            step_title: title,
            kind: kind.to_owned(),
            comment,
            facts,
            hash: entry.hash.clone(),
        }
    }

    fn kind(&self, kind: &LogKind) -> (&'static str, Option<String>, Vec<LogFact>) {
        match kind {
            LogKind::Started { object, filter, .. } => {
                let mut facts = self.values("shown", object);
                facts.extend(filter.iter().flat_map(condition));
                ("started", None, facts)
            }
            LogKind::Condition { cases, next_step, error } => {
                let mut facts: Vec<LogFact> = cases.iter().flat_map(condition).collect();
                facts.extend(next_step.iter().map(|step| fact("next", "", self.title(step))));
                facts.extend(error.iter().map(|error| fact("error", "", error.clone())));
                ("condition", None, facts)
            }
            LogKind::TaskOpened { groups, users } => {
                let to = groups.iter().chain(users).cloned().collect::<Vec<_>>().join(", ");
                ("task-opened", None, vec![fact("next", "", to)])
            }
            LogKind::Claimed { .. } => ("claimed", None, Vec::new()),
            LogKind::Unclaimed { .. } => ("unclaimed", None, Vec::new()),
            LogKind::ClaimLapsed { by, .. } => ("claim-lapsed", None, vec![fact("note", "", by.name.clone())]),
            LogKind::Decided { decision, shown, changed, comment, receipts, next_step } => {
                let mut facts = self.values("shown", shown);
                for change in changed {
                    facts.push(LogFact {
                        old: Some(self.text(&change.name, &change.old)),
                        ..fact("changed", &self.label(&change.name), self.text(&change.name, &change.new))
                    });
                }
                facts.extend(receipts.iter().map(receipt));
                facts.push(fact("next", "", self.title(next_step)));
                let kind = match decision {
                    Decision::Approve => "approved",
                    Decision::Reject => "rejected",
                };
                (kind, comment.clone(), facts)
            }
            LogKind::Feedback { text } => ("feedback", Some(text.clone()), Vec::new()),
            LogKind::RequestedAgain => ("requested-again", None, Vec::new()),
            LogKind::ErpWritten { what, evidence, .. } => ("erp-written", None, sent(what, evidence)),
            LogKind::ErpFailed { what, error, evidence, .. } => {
                let mut facts = sent(what, evidence);
                facts.push(fact("error", "", error.clone()));
                ("erp-failed", None, facts)
            }
            LogKind::EndReached { status } => ("end-reached", None, vec![fact("next", "", key(*status))]),
            LogKind::Ended { status } => ("ended", None, vec![fact("next", "", key(*status))]),
            LogKind::Stopped { reason } => ("stopped", None, vec![fact("error", "", reason.clone())]),
            LogKind::Repaired { reason, set_aside, restored_revision } => {
                let mut facts = vec![fact("error", "", reason.clone())];
                facts.extend(set_aside.iter().map(|key| fact("note", "", key.clone())));
                facts.push(fact("note", "", format!("revision {restored_revision}")));
                ("repaired", None, facts)
            }
        }
    }

    fn values(&self, kind: &str, values: &ObjectValues) -> Vec<LogFact> {
        values.iter().map(|(name, value)| fact(kind, &self.label(name), self.text(name, value))).collect()
    }

    fn label(&self, name: &FieldName) -> String {
        self.blueprint.field(name).map_or_else(|| name.to_string(), |field| field.label.clone())
    }

    fn text(&self, name: &FieldName, value: &FieldValue) -> String {
        shown_text(self.blueprint.field(name), value)
    }

    fn title(&self, step: &vocab::StepId) -> String {
        self.blueprint.user_step(step).map_or_else(|| step.to_string(), |user| user.title.clone())
    }
}

fn condition(result: &ConditionResult) -> Vec<LogFact> {
    let mut facts: Vec<LogFact> =
        result.compared.iter().map(|compared| fact("compared", &compared.path, compared.value.clone())).collect();
    let outcome = result.result.map_or_else(|| "?".to_owned(), |result| result.to_string());
    facts.push(fact("condition", &result.when, outcome));
    facts
}

fn receipt(proof: &ReceiptProof) -> LogFact {
    fact("receipt", &proof.name, proof.sha256.as_deref().unwrap_or("–"))
}

fn sent(what: &EffectKind, evidence: &ErpEvidence) -> Vec<LogFact> {
    let mut facts = vec![fact("note", "", effect_label(what)), fact("attempt", "", evidence.attempt.to_string())];
    if !evidence.mutation.is_empty() {
        facts.push(fact("mutation", "", evidence.mutation.clone()));
    }
    if !evidence.answer.is_empty() {
        facts.push(fact("answer", "", evidence.answer.clone()));
    }
    facts
}

fn key(status: vocab::InstanceStatus) -> String {
    serde_json::to_value(status).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
