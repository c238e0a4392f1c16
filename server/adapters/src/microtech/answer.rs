//! What an answer's error list means.
//!
//! Invariant: a field is named unknown only when every error says exactly that, in a known phrase, about a field that
//! we selected ourselves. A suggestion, an argument, a missing right or any mixture never is (DESIGN §6
//! "Self-correction").

use std::collections::BTreeSet;

use serde_json::Value;

/// Characters of one error's message that are kept.
const MESSAGE_CHARS_MAX: usize = 500;
/// Errors of one answer that are named.
const ERRORS_NAMED_MAX: usize = 5;
/// How servers say that a type lacks a field: text before the name, text after it.
const UNKNOWN_FIELD_PHRASES: [(&str, &str); 2] = [
    ("Cannot query field \"", "\" on type \""), // graphql-js and those that took over its words
    ("Unknown field \"", "\" on type \""),      // async-graphql
];
/// Words that say a record is held by somebody; lower case.
const LOCK_WORDS: [&str; 4] = ["locked", "gesperrt", "in bearbeitung", "wird bearbeitet"];

/// What the answer says besides data.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Complaint {
    /// Nothing.
    Nothing,
    /// Only that these of our fields don't exist.
    UnknownFields(BTreeSet<String>),
    /// A user holds the record.
    Locked(String),
    /// Anything else.
    Other(String),
}

/// Sorts the answer's errors. `selected` are the fields we asked for.
pub(super) fn complaint(body: &Value, selected: &BTreeSet<&str>) -> Complaint {
    let errors = match body.get("errors") {
        None | Some(Value::Null) => return Complaint::Nothing,
        Some(Value::Array(errors)) if errors.is_empty() => return Complaint::Nothing,
        Some(Value::Array(errors)) => errors,
        Some(_) => return Complaint::Other("its error list is no list".into()),
    };
    let messages: Vec<&str> =
        errors.iter().map(|error| error.get("message").and_then(Value::as_str).unwrap_or("(no message)")).collect();
    let unknown: Option<BTreeSet<String>> = messages
        .iter()
        .map(|message| unknown_field(message).filter(|name| selected.contains(name)).map(str::to_owned))
        .collect();
    if let Some(unknown) = unknown {
        return Complaint::UnknownFields(unknown);
    }
    let said = messages
        .iter()
        .take(ERRORS_NAMED_MAX)
        .map(|message| message.chars().take(MESSAGE_CHARS_MAX).collect::<String>())
        .collect::<Vec<_>>()
        .join("; ");
    let locked = |message: &&str| {
        let message = message.to_lowercase();
        LOCK_WORDS.iter().any(|word| message.contains(word))
    };
    if messages.iter().all(locked) { Complaint::Locked(said) } else { Complaint::Other(said) }
}

fn unknown_field(message: &str) -> Option<&str> {
    UNKNOWN_FIELD_PHRASES.iter().find_map(|(before, after)| {
        let rest = message.strip_prefix(before)?;
        let (name, rest) = rest.split_once(after)?;
        (!name.contains('"') && rest.contains('"')).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(messages: &[&str]) -> Complaint {
        let errors: Vec<Value> = messages.iter().map(|message| json!({ "message": message })).collect();
        complaint(&json!({ "errors": errors }), &BTreeSet::from(["fldA", "fldB"]))
    }

    fn unknown(names: &[&str]) -> Complaint {
        Complaint::UnknownFields(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn only_our_own_unknown_fields_count() {
        assert_eq!(check(&[]), Complaint::Nothing);
        assert_eq!(check(&["Unknown field \"fldA\" on type \"Row\". Did you mean \"fldB\"?"]), unknown(&["fldA"]));
        assert_eq!(
            check(&["Cannot query field \"fldA\" on type \"Row\".", "Cannot query field \"fldB\" on type \"Row\"."]),
            unknown(&["fldA", "fldB"])
        );
    }

    #[test]
    fn anything_else_drops_nothing() {
        for messages in [
            vec!["Cannot query field \"tblTransaktionen\" on type \"Query\"."],
            vec!["Unknown argument \"set\" on field \"fldA\" of type \"Row\"."],
            vec!["Unknown field \"fldA\" on type \"Row\".", "Unknown argument \"limit\" on field \"rowRead\"."],
            vec!["Invalid value for argument \"filter\", unknown field \"fldA\" of type \"Filter\""],
            vec!["it said: Cannot query field \"fldA\" on type \"Row\"."],
            vec![""],
        ] {
            assert!(matches!(check(&messages), Complaint::Other(_)), "{messages:?}");
        }
        assert!(matches!(check(&["Record is locked by user \"MEIER\"."]), Complaint::Locked(_)));
        assert_eq!(complaint(&json!({ "errors": null }), &BTreeSet::new()), Complaint::Nothing);
        assert!(matches!(complaint(&json!({ "errors": "no" }), &BTreeSet::new()), Complaint::Other(_)));
    }
}
