//! Seals, schemas and migrations, on a made-up kind of document.
#![expect(clippy::unwrap_used, reason = "a test that can't go on must fail where it stands")]

use serde_json::json;

use super::*;

const TODAY: Format = Format { name: "thing", schema: 2, migrations: &[to_sealed] };

fn renamed(members: &mut Members) -> Result<(), String> {
    let old = members.remove("colour").ok_or("colour is missing")?;
    members.insert("color".to_owned(), old);
    Ok(())
}

/// A later program: schema 3 renames a member.
const LATER: Format = Format { name: "thing", schema: 3, migrations: &[to_sealed, renamed] };

fn members(value: Value) -> Members {
    value.as_object().unwrap().clone()
}

#[test]
fn what_was_closed_opens_again() {
    let bytes = close(&TODAY, members(json!({"schema": 1, "b": 1, "a": "ü", "seal": "old"}))).unwrap();
    assert_eq!(open(&TODAY, &bytes).unwrap(), members(json!({"schema": 2, "a": "ü", "b": 1})));
}

#[test]
fn documents_without_seal_are_of_schema_1_only() {
    assert_eq!(open(&TODAY, br#"{"schema":1,"a":2}"#).unwrap(), members(json!({"schema": 2, "a": 2})));
    let error = open(&TODAY, br#"{"schema":2,"a":2}"#).unwrap_err();
    assert_eq!(error.to_string(), "it has schema 2, but no seal");
}

#[test]
fn every_schema_is_lifted_to_the_newest() {
    let new = members(json!({"schema": 3, "color": "red"}));
    assert_eq!(open(&LATER, br#"{"schema":1,"colour":"red"}"#).unwrap(), new);
    let sealed = close(&TODAY, members(json!({"colour": "red"}))).unwrap();
    assert_eq!(open(&LATER, &sealed).unwrap(), new);
    let error = open(&LATER, br#"{"schema":1}"#).unwrap_err();
    assert!(error.to_string().contains("colour is missing"), "{error}");
}

#[test]
fn a_newer_program_s_document_is_not_called_damaged() {
    let newer = close(&LATER, members(json!({"color": "red"}))).unwrap();
    let error = open(&TODAY, &newer).unwrap_err();
    assert_eq!(error, FormatError::Newer { name: "thing", found: 3, known: 2 });
    assert!(error.to_string().contains("schema 3") && error.to_string().contains("up to 2"), "{error}");
    // Even where this program can't make sense of its numbers.
    let error = open(&TODAY, br#"{"schema":4,"x":0.5,"seal":"?"}"#).unwrap_err();
    assert_eq!(error, FormatError::Newer { name: "thing", found: 4, known: 2 });
}

#[test]
fn a_flipped_schema_number_is_damage_and_no_newer_program() {
    let text = String::from_utf8(close(&TODAY, members(json!({"a": 1}))).unwrap()).unwrap();
    for other in ["\"schema\":3", "\"schema\":1", "\"schema\":0", "\"schema\":22", "\"schemb\":2"] {
        let altered = text.replace("\"schema\":2", other);
        assert_ne!(altered, text);
        assert!(matches!(open(&TODAY, altered.as_bytes()), Err(FormatError::Damaged { .. })), "{other}");
    }
}

#[test]
fn every_flipped_bit_is_noticed_or_changes_nothing() {
    let content = members(json!({"text": "a\u{1f}\"\\b", "list": [1, null, true], "map": {"k": "v"}}));
    let good = close(&TODAY, content).unwrap();
    let want = open(&TODAY, &good).unwrap();
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut bad = good.clone();
            bad[at] ^= 1 << bit;
            match open(&TODAY, &bad) {
                Err(FormatError::Damaged { .. }) => {}
                Err(other) => panic!("byte {at} bit {bit}: {other}"),
                Ok(read) => assert_eq!(read, want, "byte {at} bit {bit}"),
            }
        }
    }
    for length in 0..good.len() {
        assert!(matches!(open(&TODAY, &good[..length]), Err(FormatError::Damaged { .. })), "{length} bytes");
    }
}
