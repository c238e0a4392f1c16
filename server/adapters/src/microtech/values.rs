//! From the ERP's JSON to machine form and back.
//!
//! Invariant: numbers and amounts become canonical decimal text through the shortest text of what the ERP sent; nothing
//! is rounded here, and nothing localised is guessed at.

use ports::vocab::{FieldType, FieldValue};
use serde_json::Value;

use super::query::string_literal;

/// Joins several choices in one text field.
const CHOICES_SEPARATOR: char = ';';

/// The `as:` argument that makes the ERP answer in machine form; none where the plain field already does.
pub(super) fn as_argument(field_type: FieldType) -> Option<&'static str> {
    match field_type {
        FieldType::Number | FieldType::Money => Some("FLOAT"),
        FieldType::Boolean => Some("BOOLEAN"),
        FieldType::Text
        | FieldType::Multiline
        | FieldType::Date
        | FieldType::Choice
        | FieldType::Choices
        | FieldType::Lookup => None,
    }
}

/// Decodes what the ERP sent for a field of this type.
pub(super) fn decode(field_type: FieldType, value: &Value) -> Result<FieldValue, String> {
    if value.is_null() {
        return Ok(FieldValue::Null);
    }
    match field_type {
        FieldType::Text | FieldType::Multiline | FieldType::Choice | FieldType::Lookup => {
            text(value).map(FieldValue::Text)
        }
        FieldType::Choices => choices(value),
        FieldType::Number => decimal(value, 0),
        FieldType::Money => decimal(value, 2),
        FieldType::Boolean => match boolean(value) {
            Some(yes) => Ok(FieldValue::Bool(yes)),
            None if value.as_str().is_some_and(|text| text.trim().is_empty()) => Ok(FieldValue::Null),
            None => Err(format!("{value} is neither yes nor no")),
        },
        FieldType::Date => date(value),
    }
}

/// Text as the ERP means it; a number or a truth value in a text field is its own text.
pub(super) fn text(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(plain_number(number)),
        Value::Bool(yes) => Ok(yes.to_string()),
        Value::Null => Ok(String::new()),
        Value::Array(_) | Value::Object(_) => Err("a list or an object came where a text was expected".into()),
    }
}

/// Yes or no as ERPs send it; none where it is neither.
pub(super) fn boolean(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(yes) => Some(*yes),
        Value::Number(number) => number.as_f64().map(|number| number != 0.0),
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "1" | "-1" | "ja" | "j" => Some(true),
            "false" | "0" | "nein" | "n" => Some(false),
            _ => None,
        },
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn choices(value: &Value) -> Result<FieldValue, String> {
    match value {
        Value::Array(items) => items.iter().map(text).collect::<Result<_, _>>().map(FieldValue::List),
        Value::String(joined) => Ok(FieldValue::List(
            joined.split(CHOICES_SEPARATOR).map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect(),
        )),
        Value::Number(_) | Value::Bool(_) => text(value).map(|text| FieldValue::List(vec![text])),
        Value::Null => Ok(FieldValue::Null),
        Value::Object(_) => Err("an object came where choices were expected".into()),
    }
}

fn decimal(value: &Value, digits_min: usize) -> Result<FieldValue, String> {
    let raw = match value {
        Value::Number(number) => plain_number(number),
        Value::String(text) if text.trim().is_empty() => return Ok(FieldValue::Null),
        Value::String(text) => text.trim().to_owned(),
        _ => return Err(format!("{value} is no number")),
    };
    canonical_decimal(&raw, digits_min).map(FieldValue::Text).ok_or_else(|| format!("{raw:?} is no number"))
}

/// A JSON number without exponent. Rust shows a float with the fewest digits that mean it, which is the text the ERP
/// wrote for every amount of up to 15 digits.
fn plain_number(number: &serde_json::Number) -> String {
    match (number.as_i64(), number.as_u64(), number.as_f64()) {
        (Some(integer), _, _) => integer.to_string(),
        (None, Some(integer), _) => integer.to_string(),
        (None, None, Some(float)) => float.to_string(),
        (None, None, None) => number.to_string(),
    }
}

/// Canonical text of a plain decimal (`-007.50` → `-7.5`, with two digits at least: `-7.50`); none for anything else.
pub(super) fn canonical_decimal(raw: &str, digits_min: usize) -> Option<String> {
    let (negative, body) = raw.strip_prefix('-').map_or((false, raw), |rest| (true, rest));
    let (integer, fraction) = body.split_once('.').unwrap_or((body, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if integer.is_empty() || !digits(integer) || !digits(fraction) || body.ends_with('.') {
        return None;
    }
    let integer = integer.trim_start_matches('0');
    let integer = if integer.is_empty() { "0" } else { integer };
    let mut fraction = fraction.trim_end_matches('0').to_owned();
    let zero = integer == "0" && fraction.is_empty();
    while fraction.len() < digits_min {
        fraction.push('0');
    }
    let sign = if negative && !zero { "-" } else { "" };
    Some(if fraction.is_empty() { format!("{sign}{integer}") } else { format!("{sign}{integer}.{fraction}") })
}

fn date(value: &Value) -> Result<FieldValue, String> {
    let Value::String(raw) = value else { return Err(format!("{value} is no date")) };
    let raw = raw.trim();
    if raw.is_empty() {
        return Ok(FieldValue::Null);
    }
    // A date with a time of day counts as its day.
    let day = raw.split_once(['T', ' ']).map_or(raw, |(day, _)| day);
    match chrono::NaiveDate::parse_from_str(day, "%Y-%m-%d") {
        Ok(day) => Ok(FieldValue::Text(day.format("%Y-%m-%d").to_string())),
        Err(_) => Err(format!("{raw:?} is no ISO date")),
    }
}

/// The input of a `set:` argument; `{}` clears the field.
pub(super) fn set_literal(field_type: FieldType, value: &FieldValue) -> Result<String, String> {
    let text = match value {
        FieldValue::Null => return Ok("{}".into()),
        FieldValue::Bool(yes) if field_type == FieldType::Boolean => return Ok(format!("{{boolean: {yes}}}")),
        FieldValue::List(items) if field_type == FieldType::Choices => {
            if let Some(bad) = items.iter().find(|item| item.contains(CHOICES_SEPARATOR)) {
                return Err(format!("choice {bad:?} holds the separator {CHOICES_SEPARATOR:?}"));
            }
            items.join(&CHOICES_SEPARATOR.to_string())
        }
        FieldValue::Bool(_) | FieldValue::List(_) => return Err("the value does not fit the field's type".into()),
        FieldValue::Text(text) => text.clone(),
    };
    match field_type {
        FieldType::Number | FieldType::Money if text.trim().is_empty() => Ok("{}".into()),
        FieldType::Number | FieldType::Money => canonical_decimal(text.trim(), 1)
            .map(|number| format!("{{float: {number}}}"))
            .ok_or_else(|| format!("{text:?} is no decimal number")),
        FieldType::Date => match date(&Value::String(text))? {
            FieldValue::Text(day) => Ok(format!("{{localdate: {}}}", string_literal(&day))),
            FieldValue::Null | FieldValue::Bool(_) | FieldValue::List(_) => Ok("{}".into()),
        },
        FieldType::Boolean => boolean(&Value::String(text.clone()))
            .map(|yes| format!("{{boolean: {yes}}}"))
            .ok_or_else(|| format!("{text:?} is neither true nor false")),
        FieldType::Text | FieldType::Multiline | FieldType::Choice | FieldType::Choices | FieldType::Lookup => {
            Ok(format!("{{string: {}}}", string_literal(&text)))
        }
    }
}

/// Whether what came back is what was wanted. ERPs trim trailing blanks and know no difference between empty and
/// absent, so neither counts.
pub(super) fn same(field_type: FieldType, wanted: &FieldValue, got: &FieldValue) -> bool {
    if wanted.is_blank() && got.is_blank() {
        return true;
    }
    let normal = |value: &FieldValue| -> Option<String> {
        match (field_type, value) {
            (_, FieldValue::Null) => None,
            (FieldType::Number | FieldType::Money, FieldValue::Text(text)) => canonical_decimal(text.trim(), 0),
            (FieldType::Boolean, FieldValue::Text(text)) => {
                boolean(&Value::String(text.clone())).map(|yes| yes.to_string())
            }
            (_, FieldValue::Text(text)) => Some(text.replace("\r\n", "\n").trim_end().to_owned()),
            (_, FieldValue::Bool(yes)) => Some(yes.to_string()),
            (_, FieldValue::List(items)) => Some(items.join(&CHOICES_SEPARATOR.to_string())),
        }
    };
    normal(wanted).is_some_and(|wanted| normal(got) == Some(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn machine_forms_are_read() {
        let text = |text: &str| Ok(FieldValue::Text(text.into()));
        let cases = [
            (FieldType::Money, json!(1190.0), text("1190.00")),
            (FieldType::Money, json!(1190), text("1190.00")),
            (FieldType::Money, json!(0.1), text("0.10")),
            (FieldType::Money, json!(89.905), text("89.905")),
            (FieldType::Money, json!(-12.5), text("-12.50")),
            (FieldType::Money, json!(1e15), text("1000000000000000.00")),
            (FieldType::Money, json!("25480.5"), text("25480.50")),
            (FieldType::Number, json!(3.0), text("3")),
            (FieldType::Number, json!(-0.0), text("0")),
            (FieldType::Date, json!("2026-12-01"), text("2026-12-01")),
            (FieldType::Date, json!("2026-12-01T10:00:00"), text("2026-12-01")),
            (FieldType::Date, json!(""), Ok(FieldValue::Null)),
            (FieldType::Boolean, json!(true), Ok(FieldValue::Bool(true))),
            (FieldType::Boolean, json!(0), Ok(FieldValue::Bool(false))),
            (FieldType::Text, json!(9_007_199_254_740_993_u64), text("9007199254740993")),
            (FieldType::Choices, json!("a; b"), Ok(FieldValue::List(vec!["a".into(), "b".into()]))),
            (FieldType::Text, json!(null), Ok(FieldValue::Null)),
        ];
        for (field_type, sent, want) in cases {
            assert_eq!(decode(field_type, &sent), want, "{field_type:?} {sent}");
        }
    }

    #[test]
    fn localised_and_foreign_forms_are_refused() {
        for (field_type, sent) in [
            (FieldType::Money, json!("99,95 EUR")),
            (FieldType::Money, json!("1.190,00")),
            (FieldType::Money, json!(true)),
            (FieldType::Date, json!("24.12.2026")),
            (FieldType::Date, json!("2026-02-30")),
            (FieldType::Boolean, json!("vielleicht")),
            (FieldType::Text, json!({"a": 1})),
        ] {
            assert!(decode(field_type, &sent).is_err(), "{field_type:?} {sent}");
        }
    }

    #[test]
    fn values_become_set_inputs() {
        let text = |text: &str| FieldValue::Text(text.into());
        let good = [
            (FieldType::Text, text("a\"b"), "{string: \"a\\\"b\"}"),
            (FieldType::Money, text("1190.00"), "{float: 1190.0}"),
            (FieldType::Money, text("007.125"), "{float: 7.125}"),
            (FieldType::Date, text("2026-12-01"), "{localdate: \"2026-12-01\"}"),
            (FieldType::Boolean, FieldValue::Bool(false), "{boolean: false}"),
            (FieldType::Money, FieldValue::Null, "{}"),
        ];
        for (field_type, value, want) in good {
            assert_eq!(set_literal(field_type, &value).as_deref(), Ok(want));
        }
        for (field_type, value) in [
            (FieldType::Money, text("1} rowSave { fldX")),
            (FieldType::Date, text("morgen")),
            (FieldType::Text, FieldValue::Bool(true)),
            (FieldType::Choices, FieldValue::List(vec!["a;b".into()])),
        ] {
            assert!(set_literal(field_type, &value).is_err(), "{value:?}");
        }
    }

    #[test]
    fn sameness_ignores_only_what_means_nothing() {
        let text = |text: &str| FieldValue::Text(text.into());
        assert!(same(FieldType::Money, &text("1190.00"), &text("1190.0")));
        assert!(same(FieldType::Text, &text("a\nb "), &text("a\r\nb")));
        assert!(same(FieldType::Text, &text(""), &FieldValue::Null));
        assert!(!same(FieldType::Money, &text("1190.00"), &text("1190.01")));
        assert!(!same(FieldType::Text, &text("1000"), &text("2000")));
        assert!(!same(FieldType::Boolean, &FieldValue::Bool(true), &FieldValue::Null));
        assert!(!same(FieldType::Text, &text("x"), &FieldValue::Null));
    }
}
