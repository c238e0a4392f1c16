//! A two-stage blueprint built in code, people, and a run that is driven step by step.

use std::collections::BTreeSet;

use chrono::{DateTime, Duration, Utc};
use workflow::apply::{Refusal, Step};
use workflow::blueprint::{
    Assignment, Blueprint, Case, ConditionStep, DocumentTemplate, EndStatus, EndStep, FieldDecl, ObjectRef, StepDef,
    StepField, StepKind, Trigger, UserStep,
};
use workflow::event::{DecideFacts, ErpEvidence, ReceiptProof};
use workflow::expr::Expression;
use workflow::instance::{EffectKey, ObjectValues, StartFacts};
use workflow::vocab::{
    ClaimId, Decision, FieldName, FieldType, FieldValue, GroupName, OperationId, Person, Role, StepId, TriggerSource,
    UserId,
};
use workflow::{Actor, Event, EventKind, Instance, apply, start};

/// Everybody in the tests: id, groups, roles.
pub(crate) const PEOPLE: [(&str, &[&str], &[Role]); 7] = [
    ("anna", &["einkauf"], &[]),
    ("bert", &["buchhaltung"], &[]),
    ("carl", &["einkauf", "buchhaltung"], &[]),
    ("dora", &[], &[]),
    ("olga", &[], &[Role::Operator]),
    ("udo", &[], &[Role::Auditor]),
    ("fremd", &["lager"], &[Role::Admin]),
];

pub(crate) fn name(text: &str) -> FieldName {
    FieldName::new(text)
}

pub(crate) fn text(content: &str) -> FieldValue {
    FieldValue::Text(content.to_owned())
}

pub(crate) fn values(entries: &[(&str, &str)]) -> ObjectValues {
    entries.iter().map(|(field, value)| (name(field), text(value))).collect()
}

pub(crate) fn expression(source: &str) -> Expression {
    Expression::parse(source).unwrap()
}

pub(crate) fn person(id: &str) -> Person {
    let mut letters = id.chars();
    let first = letters.next().map(|c| c.to_ascii_uppercase());
    Person { id: UserId::new(id), name: first.into_iter().chain(letters).collect() }
}

pub(crate) fn actor(id: &str) -> Actor {
    let (_, groups, roles) = PEOPLE.iter().find(|(known, _, _)| *known == id).copied().unwrap();
    Actor::Person {
        person: person(id),
        groups: groups.iter().map(|group| GroupName::new(*group)).collect(),
        roles: roles.iter().copied().collect(),
    }
}

/// A person with other groups than usual.
pub(crate) fn actor_in(id: &str, groups: &[&str]) -> Actor {
    let groups = groups.iter().map(|group| GroupName::new(*group)).collect();
    Actor::Person { person: person(id), groups, roles: BTreeSet::new() }
}

fn field(field: &str, label: &str, kind: FieldType, options: &[&str]) -> FieldDecl {
    let currency = (kind == FieldType::Money).then(|| "EUR".to_owned());
    let options = options.iter().map(|option| (*option).to_owned()).collect();
    FieldDecl { name: name(field), label: label.to_owned(), kind, currency, options }
}

fn shown(field: &str) -> StepField {
    StepField { name: name(field), visible: true, editable: false, required: false, check: None }
}

fn edited(field: &str) -> StepField {
    StepField { editable: true, ..shown(field) }
}

pub(crate) fn step(id: &str, kind: StepKind) -> StepDef {
    StepDef { id: StepId::new(id), kind }
}

pub(crate) fn end(id: &str, status: EndStatus) -> StepDef {
    step(id, StepKind::End(EndStep { status }))
}

pub(crate) fn condition(id: &str, cases: &[(&str, &str)], otherwise: &str) -> StepDef {
    let cases = cases.iter().map(|(when, next)| Case { when: expression(when), next: StepId::new(*next) });
    step(id, StepKind::Condition(ConditionStep { cases: cases.collect(), otherwise: StepId::new(otherwise) }))
}

/// Sachlich, then kaufmännisch with four eyes; up to 500 nobody is asked.
pub(crate) fn blueprint() -> Blueprint {
    let cost_centre =
        StepField { required: true, check: Some(expression("#value matches '[0-9]{4}'")), ..edited("fldKostenstelle") };
    let factual = UserStep {
        title: "Sachliche Prüfung".to_owned(),
        hint: None,
        assign: Assignment { groups: vec![GroupName::new("einkauf")], ..Assignment::default() },
        fields: vec![
            shown("fldBelegNr"),
            shown("fldGesamtBrutto"),
            cost_centre,
            edited("fldSkontoBis"),
            edited("fldSkonto"),
            edited("fldNotiz"),
            edited("fldText"),
            edited("fldGeprueft"),
            edited("fldMarken"),
        ],
        approve: StepId::new("kaufmaennisch"),
        reject: StepId::new("abgelehnt"),
    };
    let commercial = UserStep {
        title: "Kaufmännische Freigabe".to_owned(),
        hint: None,
        assign: Assignment {
            groups: vec![GroupName::new("buchhaltung")],
            users: vec![UserId::new("dora")],
            not_by: vec![StepId::new("sachlich")],
        },
        fields: vec![shown("fldGesamtBrutto"), shown("fldKostenstelle")],
        approve: StepId::new("freigegeben"),
        reject: StepId::new("abgelehnt"),
    };
    Blueprint {
        id: "rechnungsfreigabe".into(),
        name: "Rechnungsfreigabe".to_owned(),
        object_type: "Eingangsrechnung".to_owned(),
        trigger: Trigger { guid: "6f1b1c1e-6a0c-4a53-9d6e-0b8f6d1f7a10".into(), poll_name: None, filter: None },
        object: ObjectRef { table: "tblTransactions".to_owned(), key: name("fldBelegNr") },
        documents: vec![DocumentTemplate {
            name: "Rechnung".to_owned(),
            key: "documents/{objectNumber}.pdf".to_owned(),
        }],
        fields: vec![
            field("fldBelegNr", "Belegnummer", FieldType::Text, &[]),
            field("fldLieferant", "Lieferant", FieldType::Text, &[]),
            field("fldGesamtBrutto", "Betrag brutto", FieldType::Money, &[]),
            field("fldKostenstelle", "Kostenstelle", FieldType::Choice, &["1000", "2000", "kurz"]),
            field("fldSkontoBis", "Skonto bis", FieldType::Date, &[]),
            field("fldSkonto", "Skonto", FieldType::Number, &[]),
            field("fldNotiz", "Notiz", FieldType::Multiline, &[]),
            field("fldText", "Text", FieldType::Text, &[]),
            field("fldGeprueft", "Geprüft", FieldType::Boolean, &[]),
            field("fldMarken", "Marken", FieldType::Choices, &["eilig", "Bau", "IT"]),
        ],
        summary: vec![name("fldLieferant"), name("fldGesamtBrutto"), name("fldKostenstelle")],
        steps: vec![
            condition("betrag", &[("#object.fldGesamtBrutto <= 500", "freigegeben")], "sachlich"),
            step("sachlich", StepKind::User(factual)),
            step("kaufmaennisch", StepKind::User(commercial)),
            end("freigegeben", EndStatus::Approved),
            end("abgelehnt", EndStatus::Rejected),
        ],
    }
}

pub(crate) fn invoice(gross: &str) -> ObjectValues {
    values(&[
        ("fldBelegNr", "ER-1001"),
        ("fldLieferant", "Müller GmbH"),
        ("fldGesamtBrutto", gross),
        ("fldKostenstelle", "1000"),
        ("fldSkonto", "1.234"),
    ])
}

pub(crate) fn facts() -> StartFacts {
    StartFacts {
        instance_id: "01900000-0000-7000-8000-000000000001".into(),
        workflow_id: "rechnungsfreigabe".into(),
        version: 1,
        customer_id: "muster".into(),
        tenant_id: "m1".into(),
        trigger_guid: "6f1b1c1e-6a0c-4a53-9d6e-0b8f6d1f7a10".into(),
        object_table: "tblTransactions".to_owned(),
        object_number: "ER-1001".into(),
        source: TriggerSource::Push,
        first_note: None,
        accepted_at: at(0),
    }
}

/// Minutes after the tests' beginning of time.
pub(crate) fn at(minutes: i64) -> DateTime<Utc> {
    DateTime::<Utc>::UNIX_EPOCH + Duration::days(20_000) + Duration::minutes(minutes)
}

pub(crate) fn evidence() -> ErpEvidence {
    ErpEvidence { mutation: "mutation { … }".to_owned(), answer: "{ok}".to_owned(), attempt: 1, took_ms: 12 }
}

/// A run with its ERP object, driven event by event; every accepted event's result is checked.
#[derive(Clone)]
pub(crate) struct Run {
    pub(crate) blueprint: Blueprint,
    pub(crate) instance: Instance,
    /// What the ERP says now.
    pub(crate) object: ObjectValues,
    pub(crate) minutes: i64,
    pub(crate) count: u64,
}

impl Run {
    pub(crate) fn new(gross: &str) -> Self {
        Self::with(blueprint(), invoice(gross))
    }

    pub(crate) fn with(blueprint: Blueprint, object: ObjectValues) -> Self {
        let step = start(&blueprint, facts(), object.clone(), None, at(0), "commit-0".to_owned()).unwrap();
        step.instance.check_invariants().unwrap();
        Self { blueprint, instance: step.instance, object, minutes: 0, count: 0 }
    }

    pub(crate) fn operation(&mut self) -> OperationId {
        self.count += 1;
        OperationId::new(format!("operation-{}", self.count))
    }

    pub(crate) fn try_send(&mut self, actor: Actor, kind: EventKind) -> Result<Step, Refusal> {
        self.count += 1;
        self.minutes += 1;
        let event = Event { at: at(self.minutes), actor, commit_id: format!("commit-{}", self.count), kind };
        let step = apply(&self.blueprint, &self.instance, event)?;
        check_step(&self.instance, &step, &format!("commit-{}", self.count));
        self.instance = step.instance.clone();
        crate::rights::check_offers(self);
        Ok(step)
    }

    pub(crate) fn send(&mut self, actor: Actor, kind: EventKind) -> Step {
        self.try_send(actor, kind).unwrap()
    }

    /// What the event would be refused with; the run stays.
    pub(crate) fn refusal(&self, actor: Actor, kind: EventKind) -> Refusal {
        self.clone().try_send(actor, kind).expect_err("must be refused")
    }

    pub(crate) fn visit(&self) -> u64 {
        self.instance.open_visit().unwrap()
    }

    pub(crate) fn claim_id(&self) -> ClaimId {
        self.instance.open_task().unwrap().claim.unwrap().id.clone()
    }

    pub(crate) fn claim_event(&mut self) -> EventKind {
        let operation = self.operation();
        EventKind::Claim { visit: self.visit(), claim_id: ClaimId::new(format!("claim-{}", self.count)), operation }
    }

    pub(crate) fn claim(&mut self, id: &str) -> ClaimId {
        let event = self.claim_event();
        self.send(actor(id), event);
        self.claim_id()
    }

    /// A decision on the open task, as a well-behaved screen would send it.
    pub(crate) fn facts(&mut self, decision: Decision) -> DecideFacts {
        let operation = self.operation();
        let task = self.instance.open_task().unwrap();
        let step = self.blueprint.user_step(task.step).unwrap();
        let shown = step.fields.iter().filter(|field| field.visible);
        let shown =
            shown.filter_map(|field| Some((field.name.clone(), self.object.get(&field.name)?.clone()))).collect();
        DecideFacts {
            visit: task.visit,
            claim_id: task.claim.map_or_else(|| ClaimId::new("none"), |claim| claim.id.clone()),
            operation,
            decision,
            revision: self.instance.revision,
            shown,
            current: self.object.clone(),
            changes: ObjectValues::new(),
            comment: (decision == Decision::Reject).then(|| "Falsch berechnet".to_owned()),
            receipts: vec![ReceiptProof {
                name: "Rechnung".to_owned(),
                key: "documents/ER-1001.pdf".to_owned(),
                version: Some("v1".to_owned()),
                sha256: Some("ab".repeat(32)),
            }],
        }
    }

    pub(crate) fn approve(&mut self, id: &str) -> Step {
        let facts = self.facts(Decision::Approve);
        self.send(actor(id), EventKind::Decide(Box::new(facts)))
    }

    pub(crate) fn approve_with(&mut self, id: &str, changes: &[(&str, &str)]) -> Step {
        let mut facts = self.facts(Decision::Approve);
        facts.changes = values(changes);
        self.send(actor(id), EventKind::Decide(Box::new(facts)))
    }

    pub(crate) fn first_key(&self) -> EffectKey {
        self.instance.first_effect().unwrap().key
    }

    pub(crate) fn done(&self, key: EffectKey) -> EventKind {
        EventKind::EffectDone { key, evidence: evidence(), object: self.object.clone() }
    }

    pub(crate) fn failed(&self, key: EffectKey) -> EventKind {
        let next_try_at = at(self.minutes + 1);
        EventKind::EffectFailed { key, error: "record locked".to_owned(), next_try_at, evidence: evidence() }
    }

    /// The ERP takes the first pending write.
    pub(crate) fn confirm(&mut self) -> Step {
        use workflow::instance::EffectKind;
        if let EffectKind::ErpChanges { fields } = self.instance.first_effect().unwrap().kind.clone() {
            self.object.extend(fields);
        }
        let event = self.done(self.first_key());
        self.send(Actor::System, event)
    }
}

/// What must hold for every accepted event.
pub(crate) fn check_step(before: &Instance, step: &Step, commit_id: &str) {
    let after = &step.instance;
    after.check_invariants().unwrap_or_else(|problem| panic!("{problem}\nafter {:#?}", after.history.last()));
    assert!(!before.is_final(), "a finished run never runs again");
    assert_eq!(after.revision, before.revision + 1);
    assert_eq!(after.commit_id, commit_id);
    assert_eq!(after.start, before.start, "the head never changes");
    let (old, new) = after.history.split_at(before.history.len());
    assert_eq!(old, before.history, "the log only grows");
    assert!(new.iter().all(|entry| entry.commit_id == commit_id), "new entries carry their commit");
    for (index, key) in (0u32..).zip(&step.effects) {
        assert_eq!(*key, EffectKey { revision: after.revision, index });
        assert!(after.effects.iter().any(|effect| effect.key == *key), "new effects are pending");
    }
}
