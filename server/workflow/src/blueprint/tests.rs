//! Tests of this module.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod problems;
mod yaml_traps;

use vocab::{FieldName, FieldType, GroupName, StepId};

use super::{Blueprint, EndStatus, StepKind, parse};

const INVOICE: &str = include_str!("../../../../blueprints/rechnungsfreigabe.yaml");
const CREDIT: &str = include_str!("../../../../blueprints/gutschrift.yaml");

/// The smallest sound blueprint.
const SMALL: &str = "\
schema: 1
id: klein
name: Klein
objectType: Beleg
trigger: { guid: 6f1b1c1e-6a0c-4a53-9d6e-0b8f6d1f7a10 }
object: { table: tblTransactions, key: fldBelegNr }
fields:
  fldBelegNr: { label: Nummer }
  fldBetrag: { label: Betrag, type: money, currency: EUR }
steps:
  - id: pruefung
    type: user
    title: Prüfung
    assign: { groups: [einkauf] }
    fields:
      - { name: fldBetrag, visible: true }
    approve: { next: ja }
    reject: { next: nein }
  - { id: ja, type: end, status: APPROVED }
  - { id: nein, type: end, status: REJECTED }
";

#[track_caller]
fn sound(yaml: &str) -> Blueprint {
    parse(yaml).unwrap_or_else(|problems| panic!("{problems}"))
}

/// `SMALL` with one part replaced, which must be there exactly once.
#[track_caller]
fn changed(from: &str, to: &str) -> String {
    assert_eq!(SMALL.matches(from).count(), 1, "{from}");
    SMALL.replace(from, to)
}

/// The problems as `line:column code`.
#[track_caller]
fn codes(yaml: &str) -> Vec<String> {
    let problems = parse(yaml).map(|blueprint| panic!("sound: {blueprint:?}")).unwrap_err();
    problems.iter().map(|p| format!("{}:{} {}", p.line, p.column, p.code.as_str())).collect()
}

/// Takes the marks `¦` out of a text and says what problems it has to have: `want` holds their codes in the order of the
/// marks, each of which stands where a problem is meant to be.
fn unmark(marked: &str, want: &[&str]) -> (String, Vec<String>) {
    let (mut text, mut places) = (String::new(), Vec::new());
    let (mut line, mut column) = (1, 1);
    for c in marked.chars() {
        match c {
            '¦' => {
                places.push((line, column));
                continue;
            }
            '\n' => (line, column) = (line + 1, 1),
            _ => column += 1,
        }
        text.push(c);
    }
    assert_eq!(places.len(), want.len(), "one mark for each problem: {marked}");
    let problems = places.into_iter().zip(want).map(|((line, column), code)| format!("{line}:{column} {code}"));
    (text, problems.collect())
}

/// The marked text has exactly these problems.
#[track_caller]
fn check_marked(marked: &str, want: &[&str]) {
    let (text, problems) = unmark(marked, want);
    assert_eq!(codes(&text), problems, "{text}");
}

fn names<'n>(names: impl IntoIterator<Item = &'n FieldName>) -> Vec<&'n str> {
    names.into_iter().map(FieldName::as_str).collect()
}

#[test]
fn the_example_invoice_reads_as_it_is_meant() {
    let blueprint = sound(INVOICE);
    assert_eq!(blueprint.id.as_str(), "rechnungsfreigabe");
    assert_eq!(blueprint.trigger.guid.as_str(), "6f1b1c1e-6a0c-4a53-9d6e-0b8f6d1f7a10");
    assert_eq!(blueprint.trigger.poll_name.as_deref(), Some("Rechnungsfreigabe"));
    assert_eq!(blueprint.documents.first().unwrap().key, "documents/{objectNumber}.pdf");
    assert_eq!(names(&blueprint.summary), ["fldLieferant", "fldGesamtBrutto", "fldSkontoBis"]);
    let ids: Vec<&str> = blueprint.steps.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(
        ids,
        ["betrag", "sachlich", "pruefgrenze", "kaufmaennisch", "geschaeftsleitung", "freigegeben", "abgelehnt"]
    );

    let cost_centre = blueprint.field(&FieldName::from("fldKostenstelle")).unwrap();
    assert_eq!((cost_centre.kind, cost_centre.options.len()), (FieldType::Choice, 4));
    let sachlich = blueprint.user_step(&StepId::from("sachlich")).unwrap();
    assert_eq!(sachlich.assign.groups, [GroupName::from("einkauf")]);
    assert_eq!(sachlich.approve, StepId::from("pruefgrenze"));
    let field = sachlich.fields.iter().find(|field| field.name.as_str() == "fldKostenstelle").unwrap();
    assert!(field.visible && field.editable && field.required);
    assert_eq!(field.check.as_ref().unwrap().source(), "#value matches '[0-9]{4}'");
    let kaufmaennisch = blueprint.user_step(&StepId::from("kaufmaennisch")).unwrap();
    assert_eq!(kaufmaennisch.assign.not_by, [StepId::from("sachlich")]);
    let StepKind::End(end) = &blueprint.step(&StepId::from("abgelehnt")).unwrap().kind else { panic!("no end") };
    assert_eq!(end.status, EndStatus::Rejected);
}

#[test]
fn both_examples_are_sound_and_have_their_own_trigger() {
    let (invoice, credit) = (sound(INVOICE), sound(CREDIT));
    assert_ne!(invoice.trigger.guid, credit.trigger.guid);
    assert_ne!(invoice.id, credit.id);
    sound(SMALL);
}

#[test]
fn what_is_read_from_the_erp_is_what_is_shown_and_named() {
    let blueprint = sound(INVOICE);
    assert_eq!(
        names(&blueprint.query_fields(None)),
        ["fldBelegart", "fldGesamtBrutto", "fldLieferant", "fldSkontoBis"]
    );
    let step = StepId::from("geschaeftsleitung");
    assert_eq!(
        names(&blueprint.query_fields(Some(&step))),
        [
            "fldBelegNr",
            "fldBelegart",
            "fldGesamtBrutto",
            "fldGesamtNetto",
            "fldKostenstelle",
            "fldLieferant",
            "fldSkontoBis",
            "fldVerwendung"
        ]
    );
    assert_eq!(
        names(&blueprint.visible_fields(&step)),
        [
            "fldBelegNr",
            "fldLieferant",
            "fldGesamtNetto",
            "fldGesamtBrutto",
            "fldKostenstelle",
            "fldSkontoBis",
            "fldVerwendung"
        ]
    );
    assert!(blueprint.visible_fields(&StepId::from("betrag")).is_empty());

    let hidden = changed(
        "{ name: fldBetrag, visible: true }",
        "{ name: fldBetrag, check: \"#value > 0 and #object.fldBelegNr != ''\" }",
    );
    let blueprint = sound(&hidden);
    let step = StepId::from("pruefung");
    assert!(blueprint.visible_fields(&step).is_empty());
    assert_eq!(names(&blueprint.query_fields(Some(&step))), ["fldBelegNr"]);
}
