//! YAML that means something else than it looks, or wants to do harm.

use proptest::prelude::*;

use super::super::parse;
use super::{INVOICE, SMALL, changed, check_marked, codes, sound, unmark};

#[test]
fn text_stays_text() {
    let yaml = changed("name: Klein", "name: NO").replace("[einkauf]", "[on, 1.10, 0x1F, 2026-11-30, Yes]");
    let blueprint = sound(&yaml);
    assert_eq!(blueprint.name, "NO");
    let step = blueprint.user_step(&blueprint.steps.first().unwrap().id).unwrap();
    let groups: Vec<&str> = step.assign.groups.iter().map(|group| group.as_str()).collect();
    assert_eq!(groups, ["on", "1.10", "0x1F", "2026-11-30", "Yes"]);
    let options = changed("type: money, currency: EUR", "type: choice, options: [1000, 007, 1.10, \"null\"]");
    let blueprint = sound(&options);
    assert_eq!(blueprint.fields.last().unwrap().options, ["1000", "007", "1.10", "null"]);
}

#[test]
fn references_and_tags_are_refused() {
    check_marked(&changed("[einkauf]", "¦&g [einkauf]"), &["yaml-feature"]);
    assert!(codes(&changed("[einkauf]", "*g")).contains(&"14:23 yaml-feature".to_owned()));
    check_marked(&changed("name: Klein", "name: ¦!!str Klein"), &["yaml-feature"]);
    check_marked(&changed("{ label: Nummer }", "{ label: Nummer, ¦<<: {} }"), &["yaml-feature"]);
    check_marked(&format!("{SMALL}¦---\nschema: 1\n"), &["yaml-feature"]);
    check_marked(&format!("¦%YAML 1.2\n---\n{SMALL}"), &["yaml"]);
    let bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n";
    assert!(codes(bomb).contains(&"2:8 yaml-feature".to_owned()));
}

#[test]
fn broken_yaml_says_where() {
    check_marked("schema: 1\n  id¦: x\n", &["yaml"]);
    check_marked("schema: ¦[1\n", &["yaml"]);
    check_marked("¦", &["missing"]);
    check_marked("¦# nur ein Kommentar\n", &["missing"]);
    check_marked("¦- a\n", &["wrong-type"]);
    assert_eq!(codes("[a]: 1\n").first().map(String::as_str), Some("1:1 wrong-type"));
}

#[test]
fn line_ends_and_a_byte_order_mark_move_nothing() {
    let marked =
        changed("next: nein", "next: ¦weg").replace("0b8f6d1f7a10 }", "0b8f6d1f7a10, filter: \"#object.¦weg == 1\" }");
    let (wrong, problems) = unmark(&marked, &["unknown-field", "unknown-step"]);
    assert_eq!(codes(&wrong), problems);
    assert_eq!(codes(&wrong.replace('\n', "\r\n")), problems);
    assert_eq!(codes(&format!("\u{feff}{wrong}")), problems);
}

#[test]
fn columns_count_characters() {
    let to = "0b8f6d1f7a10, pollName: Größe 🧾, filter: \"'ß' == #object.¦weg\" }";
    check_marked(&changed("0b8f6d1f7a10 }", to), &["unknown-field"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_text_makes_it_panic(text in "(\\PC|\n){0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn no_yaml_like_text_makes_it_panic(parts in prop::collection::vec(prop::sample::select(vec![
        "schema: 1", "id: a", "steps:", "fields:", "- ", "  ", "\n", "{", "}", "[", "]", ": ", ", ", "'", "\"", "#", "|",
        ">", "&a", "*a", "!t", "---", "...", "%", "\t", "type: user", "when: ", "next: a", "a", "ü", "\\", "?", "<<",
    ]), 0..60)) {
        let _ = parse(&parts.concat());
    }

    #[test]
    fn no_change_of_the_example_makes_it_panic(at in 0..6_000_usize, length in 0..40_usize, put in "(\\PC|\n){0,5}") {
        let chars: Vec<char> = INVOICE.chars().collect();
        let at = at.min(chars.len());
        let end = (at + length).min(chars.len());
        let text: String = chars.iter().take(at).copied().chain(put.chars()).chain(chars.iter().skip(end).copied()).collect();
        let _ = parse(&text);
    }
}
