//! What may be entered, type by type.

use workflow::EventKind;
use workflow::apply::{IssueKind, Refusal};
use workflow::instance::EffectKind;
use workflow::vocab::{Decision, FieldValue};

use crate::fixture::{Run, actor, name, text};

/// Approves with one edit; the value as it goes to the ERP (none = no change), or what is wrong with it.
fn enter(field: &str, value: FieldValue) -> Result<Option<FieldValue>, IssueKind> {
    let mut run = Run::new("1190.00");
    run.confirm();
    run.claim("anna");
    let mut facts = run.facts(Decision::Approve);
    facts.changes.insert(name(field), value);
    match run.try_send(actor("anna"), EventKind::Decide(Box::new(facts))) {
        Ok(_) => Ok(run.instance.effects.iter().find_map(|effect| match &effect.kind {
            EffectKind::ErpChanges { fields } => {
                assert_eq!(fields.len(), 1, "exactly the changed field");
                fields.get(&name(field)).cloned()
            }
            EffectKind::ErpStart | EffectKind::ErpEnd { .. } => None,
        })),
        Err(Refusal::Invalid { problems }) => {
            assert_eq!((problems.len(), problems[0].name.as_str()), (1, field));
            Err(problems[0].kind)
        }
        Err(other) => panic!("{other}"),
    }
}

fn list(items: &[&str]) -> FieldValue {
    FieldValue::List(items.iter().map(|item| (*item).to_owned()).collect())
}

#[test]
fn values_are_taken_in_machine_form() {
    let cases = [
        ("fldKostenstelle", text("2000"), Some(text("2000"))),
        ("fldKostenstelle", text("1000"), None),
        ("fldSkonto", text("2,50"), Some(text("2.50"))),
        // Untouched, though typed it would be ambiguous.
        ("fldSkonto", text("1.234"), None),
        ("fldSkonto", text("1,2340"), None),
        ("fldSkonto", text(" "), Some(FieldValue::Null)),
        ("fldSkontoBis", text("2028-02-29"), Some(text("2028-02-29"))),
        ("fldNotiz", text("eins\nzwei"), Some(text("eins\nzwei"))),
        ("fldNotiz", text(""), None),
        ("fldText", text("a\tb"), Some(text("a\tb"))),
        ("fldGeprueft", FieldValue::Bool(false), Some(FieldValue::Bool(false))),
        ("fldMarken", list(&["IT", "eilig", "IT"]), Some(list(&["eilig", "IT"]))),
        ("fldMarken", list(&[]), None),
    ];
    for (field, value, want) in cases {
        assert_eq!(enter(field, value.clone()), Ok(want), "{field} {value:?}");
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let cases = [
        ("fldKostenstelle", text("3000"), IssueKind::NotAnOption),
        ("fldKostenstelle", text("kurz"), IssueKind::CheckFailed),
        ("fldKostenstelle", FieldValue::Null, IssueKind::Required),
        ("fldSkonto", text("1.235"), IssueKind::Ambiguous),
        ("fldSkonto", text("zwei"), IssueKind::NotANumber),
        ("fldSkonto", text("1234567890123456789"), IssueKind::TooLong),
        ("fldSkonto", FieldValue::Bool(true), IssueKind::WrongType),
        ("fldSkontoBis", text("2026-02-30"), IssueKind::NotADate),
        ("fldSkontoBis", text("24.12.2026"), IssueKind::NotADate),
        ("fldSkontoBis", text("2026-2-3"), IssueKind::NotADate),
        ("fldNotiz", text(&"x".repeat(10_001)), IssueKind::TooLong),
        ("fldNotiz", text("\u{0}x"), IssueKind::WrongType),
        ("fldText", text("eins\nzwei"), IssueKind::WrongType),
        ("fldGeprueft", text("true"), IssueKind::WrongType),
        ("fldMarken", list(&["blau"]), IssueKind::NotAnOption),
        ("fldMarken", text("IT"), IssueKind::WrongType),
        ("fldGesamtBrutto", text("1,00"), IssueKind::NotEditable),
        ("fldUnbekannt", text("1"), IssueKind::NotEditable),
    ];
    for (field, value, want) in cases {
        assert_eq!(enter(field, value.clone()), Err(want), "{field} {value:?}");
    }
}

#[test]
fn every_problem_is_told_at_once() {
    let mut run = Run::new("1190.00");
    run.claim("anna");
    let mut facts = run.facts(Decision::Reject);
    facts.comment = None;
    facts.changes = crate::fixture::values(&[("fldSkonto", "x"), ("fldKostenstelle", "y"), ("fldBelegNr", "z")]);
    let Refusal::Invalid { problems } = run.refusal(actor("anna"), EventKind::Decide(Box::new(facts))) else {
        panic!()
    };
    let said: Vec<_> = problems.iter().map(|issue| (issue.name.as_str(), issue.kind)).collect();
    assert_eq!(
        said,
        [
            ("fldBelegNr", IssueKind::NotEditable),
            ("fldKostenstelle", IssueKind::NotAnOption),
            ("fldSkonto", IssueKind::NotANumber),
            ("comment", IssueKind::Required),
        ]
    );
}

#[test]
fn a_rejection_does_not_ask_for_what_is_missing() {
    let mut run = Run::new("1190.00");
    run.claim("anna");
    let mut facts = run.facts(Decision::Reject);
    facts.changes.insert(name("fldKostenstelle"), FieldValue::Null);
    run.send(actor("anna"), EventKind::Decide(Box::new(facts)));
}
