//! One case for each sort of problem; `¦` marks where it has to be.

use super::super::{BYTES_MAX, parse};
use super::{SMALL, changed, check_marked, codes};

/// `SMALL` with one part replaced has exactly these problems at the marks.
#[track_caller]
fn check(from: &str, to: &str, want: &[&str]) {
    check_marked(&changed(from, to), want);
}

/// The problems as people read them.
#[track_caller]
fn said(from: &str, to: &str) -> String {
    parse(&changed(from, to)).unwrap_err().to_string()
}

#[test]
fn keys_are_checked() {
    let marked = format!("¦{}", changed("objectType: Beleg", "¦objektType: Beleg"));
    check_marked(&marked, &["missing", "unknown-key"]);
    let text = said("    title: Prüfung", "    titel: Prüfung");
    assert!(text.contains("13:5: a user step has no key `titel` [unknown-key]; write `title`"), "{text}");
    check("name: Klein\n", "name: Klein\n¦name: Groß\n", &["duplicate-key"]);
    check("name: Klein", "¦name:", &["missing"]);
    check("name: Klein", "name: ¦[a]", &["wrong-type"]);
    check("schema: 1", "schema: ¦2", &["bad-value"]);
    check("schema: 1", "schema: ¦1.0", &["bad-value"]);
    check("id: klein", "id: ¦Klein_1", &["bad-value"]);
    check("6f1b1c1e-6a0c", "¦6f1b1c1e-6a0", &["bad-value"]);
    check("fldBelegNr }\nfields", "¦fld-Beleg }\nfields", &["bad-value"]);
}

#[test]
fn what_comes_later_is_named_as_such() {
    for key in ["due: P2D", "remind: [P1D]", "escalate: {}", "expire: {}", "askBack: [pruefung]"] {
        check("    approve: {", &format!("    ¦{key}\n    approve: {{"), &["not-available"]);
    }
    for kind in ["branch", "function", "wait", "waitExternal", "hold"] {
        let step = format!("status: REJECTED }}\n  - {{ id: spaeter, type: ¦{kind}, next: ja }}");
        check("status: REJECTED }", &step, &["not-available"]);
    }
    let text = said("steps:", "outputs: []\nsteps:");
    assert_eq!(
        text,
        "10:1: `outputs` of the blueprint is part of the language but not available in this version [not-available]; \
         remove it for now"
    );
    check("type: user", "type: ¦usr", &["bad-value"]);
}

#[test]
fn fields_are_checked() {
    check("type: money", "type: ¦mony", &["bad-value"]);
    check("type: money, currency: EUR", "currency: ¦EUR", &["bad-value"]);
    check("currency: EUR", "currency: ¦Euro", &["bad-value"]);
    check("{ label: Betrag, type: money, currency: EUR", "¦{ label: Betrag, type: choice", &["missing"]);
    check("type: money, currency: EUR", "type: choice, options: [a, b, ¦a]", &["duplicate-id"]);
    check("type: money, currency: EUR", "options: ¦[a]", &["bad-value"]);
    let marked = changed("  fldBetrag: {", "  ¦fld Betrag: {").replace("name: fldBetrag", "name: ¦fldBetrag");
    check_marked(&marked, &["bad-value", "unknown-field"]);
    check("{ label: Nummer }", "¦{ }", &["missing"]);
    check("steps:", "summary: [¦fldBetrg]\nsteps:", &["unknown-field"]);
    check("steps:", "summary: [fldBetrag, ¦fldBetrag]\nsteps:", &["duplicate-id"]);
    let seven = "summary: [fldBetrag, fldBelegNr, a, b, c, d, e]\nsteps:";
    assert!(codes(&changed("steps:", seven)).contains(&"10:10 limit".to_owned()));
}

#[test]
fn document_keys_stay_in_their_place() {
    let keys = [
        "{objectNumber}.pdf",
        "documents/../x.pdf",
        "documents/{number}.pdf",
        "documents/a//b",
        "documents/",
        "documents/{x",
    ];
    for key in keys {
        check("steps:", &format!("documents:\n  - {{ name: A, key: ¦\"{key}\" }}\nsteps:"), &["bad-value"]);
    }
    check("steps:", "documents:\n  - ¦{ key: documents/a.pdf }\nsteps:", &["missing"]);
}

#[test]
fn steps_are_checked() {
    let without = changed("    assign: { groups: [einkauf] }\n", "").replace("- id: pruefung", "- ¦id: pruefung");
    check_marked(&without, &["no-assignee"]);
    check("{ groups: [einkauf]", "¦{ groups: []", &["no-assignee"]);
    check("[einkauf] }", "[einkauf], notBy: [¦pruefung, ¦ja, ¦weg] }", &["bad-value", "bad-value", "unknown-step"]);
    check("visible: true", "editable: ¦true", &["not-visible"]);
    check("visible: true", "visible: ¦yes", &["bad-value"]);
    check("visible: true", "visible: ¦\"true\"", &["bad-value"]);
    check("name: fldBetrag, v", "name: ¦fldBetrug, v", &["unknown-field"]);
    check("visible: true }", "visible: true }\n      - { name: ¦fldBetrag }", &["duplicate-id"]);
    let without = changed("    reject: { next: nein }\n", "").replace("- id: pruefung", "- ¦id: pruefung");
    check_marked(&without, &["missing"]);
    check("approve: { next: ja }", "approve: ¦ja", &["wrong-type"]);
    check("approve: { next: ja }", "approve: ¦{}", &["missing"]);
    check("next: nein", "next: ¦nien", &["unknown-step"]);
    assert!(said("next: nein", "next: nien").contains("the step `nien` does not exist [unknown-step]; write `nein`"));
    let twice = SMALL
        .replace("next: ja", "next: ¦ja")
        .replace("id: ja,", "id: nein,")
        .replace("id: nein, type: end, status: REJ", "id: ¦nein, type: end, status: REJ");
    check_marked(&twice, &["unknown-step", "duplicate-id"]);
    check("status: APPROVED", "status: ¦FREIGEGEBEN", &["bad-value"]);
    check(
        "status: APPROVED }",
        "status: APPROVED }\n  - { id: ¦weit, type: end, status: EXPIRED }",
        &["unreachable-step"],
    );
    check("  - id: pruefung\n    type", "  -\n    ¦type", &["missing"]);
    let circle = changed("next: ja", "next: pruefung");
    check_marked(&circle.replace("id: ja", "id: ¦ja"), &["unreachable-step"]);
    let marked = circle.replace("next: nein", "next: pruefung").replace("id: pruefung", "id: ¦pruefung");
    let marked = marked.replace("id: ja", "id: ¦ja").replace("id: nein", "id: ¦nein");
    check_marked(&marked, &["never-ends", "unreachable-step", "unreachable-step"]);
}

/// `SMALL` that begins with conditions.
fn conditions(steps: &str) -> String {
    changed("steps:\n", &format!("steps:\n{steps}"))
}

fn with_when(when: &str) -> String {
    let cases = format!("    cases:\n      - {{ when: {when}, next: ja }}\n    else: pruefung\n");
    conditions(&format!("  - id: a\n    type: condition\n{cases}"))
}

#[test]
fn expressions_are_checked_at_their_own_column() {
    parse(&with_when("\"#object.fldBetrag > 5\"")).unwrap();
    for (when, want) in [
        ("\"#object.fldBetrag ¦>\"", "expression"),
        ("\"#object.fldBetrag > 5 and #object.¦fldBetrug > 5\"", "unknown-field"),
        ("'#object[''¦fldBetrug''] > 5'", "unknown-field"),
        ("'''ä'' == #object[''¦fldBetrug'']'", "unknown-field"),
        ("\"'\\u00e4\\t\\\"' == #object.¦fldBetrug\"", "unknown-field"),
        ("\"¦#objekt.fldBetrag > 5\"", "unknown-variable"),
        ("\"¦#value > 5\"", "unknown-variable"),
        ("\"¦#object == null\"", "expression"),
        ("\"#object.fldBetrag.¦length > 5\"", "expression"),
        ("\"¦T(java.lang.Runtime)\"", "expression"),
        ("\"#object.fldBelegNr matches ¦'('\"", "expression"),
        ("¦[]", "wrong-type"),
    ] {
        check_marked(&with_when(when), &[want]);
    }
    let folded = "  - id: a\n    type: condition\n    cases:\n      - when: >-\n          #object.fldBetrag > 5\n          and\n          #object.¦fldWeg > 1\n        next: ja\n    else: pruefung\n";
    check_marked(&conditions(folded), &["unknown-field"]);
    check_marked(&conditions(&folded.replace(">-", "|")), &["unknown-field"]);
    let quoted = folded.replace(">-\n          #object", "\"#object").replace("> 1\n", "> 1\"\n");
    check_marked(&conditions(&quoted), &["unknown-field"]);
    // Without quotes, # after a space begins a comment.
    let comment = folded.replace(">-\n          #object.fldBetrag > 5", "1 == 1 ¦and #object.fldBetrag > 5");
    let comment = comment.replace("          and\n          #object.¦fldWeg > 1\n", "");
    check_marked(&conditions(&comment), &["expression"]);
}

#[test]
fn conditions_are_checked() {
    check_marked(
        &conditions("  - ¦{ id: a, type: condition, cases: [{ when: \"1 == 1\", next: pruefung }] }\n"),
        &["missing"],
    );
    check_marked(&conditions("  - { id: a, type: condition, cases: ¦[], else: pruefung }\n"), &["missing"]);
    let circle = "  - { id: ¦a, type: condition, cases: [{ when: \"1 == 1\", next: pruefung }], else: b }\n\
                  \x20 - { id: b, type: condition, cases: [{ when: \"1 == 1\", next: ja }], else: a }\n";
    check_marked(&conditions(circle), &["endless-loop"]);
    let itself = "  - { id: ¦a, type: condition, cases: [{ when: \"1 == 1\", next: pruefung }], else: a }\n";
    check_marked(&conditions(itself), &["endless-loop"]);
}

#[test]
fn the_filter_sees_the_object_only() {
    let with_filter = |filter: &str| changed("0b8f6d1f7a10 }", &format!("0b8f6d1f7a10, filter: \"{filter}\" }}"));
    parse(&with_filter("#object.fldBelegNr != ''")).unwrap();
    check_marked(&with_filter("¦#data.x == 1"), &["unknown-variable"]);
}

#[test]
fn all_problems_come_at_once_and_in_order() {
    let marked = SMALL
        .replace("id: klein", "id: ¦Klein")
        .replace("{ groups: [einkauf]", "¦{ groups: []")
        .replace("next: nein", "next: ¦weg")
        .replace("type: money", "type: ¦geld");
    // Which steps are reached is not said while a way is unknown.
    check_marked(&marked, &["bad-value", "bad-value", "no-assignee", "unknown-step"]);
}

#[test]
fn limits_are_named() {
    let long = format!("{SMALL}#{}", "x".repeat(BYTES_MAX));
    let text = parse(&long).unwrap_err().to_string();
    assert!(text.starts_with("1:1: the blueprint has ") && text.contains("at most 262144 are read [limit]"), "{text}");
    let deep = changed("groups: [einkauf]", &format!("groups: {}{}", "[".repeat(14), "]".repeat(14)));
    let text = parse(&deep).unwrap_err().to_string();
    assert!(text.contains("nested deeper than 16 [limit]"), "{text}");
    let deeper = changed("groups: [einkauf]", &format!("groups: {}", "[".repeat(100_000)));
    assert_eq!(codes(&deeper).len(), 1);
    let steps: String = (0..201).map(|i| format!("  - {{ id: s{i}, type: end, status: APPROVED }}\n")).collect();
    assert!(codes(&format!("{SMALL}{steps}")).contains(&"11:3 limit".to_owned()));
    let fields: String = (0..301).map(|i| format!("  f{i}: {{ label: x }}\n")).collect();
    let text = parse(&changed("steps:\n", &format!("{fields}steps:\n"))).unwrap_err().to_string();
    assert!(text.contains("fields has 303 entries; at most 300 are allowed [limit]"), "{text}");
    check("title: Prüfung", &format!("title: ¦{}", "x".repeat(201)), &["limit"]);
    let many = format!("{SMALL}{}", (0..1_000).map(|i| format!("k{i}: 1\n")).collect::<String>());
    assert_eq!(codes(&many).len(), 100);
}
