//! What the simulated ERP holds: fields with their kinds, values, objects.
//!
//! Invariant: a value always fits its field's kind; amounts are exact decimal text, never a float, until they are
//! answered as one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Characters one field may hold.
pub(super) const TEXT_CHARS_MAX: usize = 10_000;
/// Digits before the point of an amount.
const INTEGER_DIGITS_MAX: usize = 15;
/// Digits after it.
const FRACTION_DIGITS_MAX: usize = 6;

/// State field, customer-defined (DESIGN §6).
pub const STATE_FIELD: &str = "fldSel30312";
/// Blueprint name for polled starts.
pub const BLUEPRINT_FIELD: &str = "fldSel30313";
/// Trigger definition's GUID.
pub const TRIGGER_GUID_FIELD: &str = "fldSel30314";
/// External-processing flag.
pub const EXTERNAL_FIELD: &str = "fldInExtBeaKz";
/// When the record was last saved.
pub const CHANGED_FIELD: &str = "fldAendDat";
/// Key.
pub const KEY_FIELD: &str = "fldBelegNr";
/// Row version.
pub const LSN_FIELD: &str = "fldModifyLSN";
/// The state a trigger sets.
pub const STATE_STARTED: &str = "MT Freigabe gestartet";
/// The state without a workflow.
pub const STATE_NONE: &str = "none";

/// What a field can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The key: text that can't be set.
    Key,
    Text,
    /// Decimal text.
    Money,
    /// ISO date.
    Date,
    /// Set by the ERP at each save.
    Stamp,
    Boolean,
}

/// The table's fields.
pub(super) const FIELDS: [(&str, Kind); 17] = [
    (KEY_FIELD, Kind::Key),
    ("fldBelegart", Kind::Text),
    ("fldLieferant", Kind::Text),
    ("fldRechnungsNr", Kind::Text),
    ("fldDat", Kind::Date),
    ("fldGesamtNetto", Kind::Money),
    ("fldGesamtBrutto", Kind::Money),
    ("fldKostenstelle", Kind::Text),
    ("fldSkontoBis", Kind::Date),
    ("fldVerwendung", Kind::Text),
    ("fldInfo", Kind::Text),
    (STATE_FIELD, Kind::Text),
    (BLUEPRINT_FIELD, Kind::Text),
    (TRIGGER_GUID_FIELD, Kind::Text),
    (EXTERNAL_FIELD, Kind::Boolean),
    ("fldInExtBeaInfo", Kind::Text),
    (CHANGED_FIELD, Kind::Stamp),
];

/// The kind of a field of the table.
pub(super) fn kind_of(field: &str) -> Option<Kind> {
    FIELDS.iter().find(|(name, _)| *name == field).map(|(_, kind)| *kind)
}

/// One value.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SimValue {
    /// Nothing.
    #[default]
    Null,
    /// Yes or no.
    Bool(bool),
    /// Text, exact decimal or ISO date, as the field's kind says.
    Text(String),
}

impl SimValue {
    /// Text, the common case.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// The text, where it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Null | Self::Bool(_) => None,
        }
    }
}

/// One object of the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SimObject {
    /// Number, the table's key.
    pub number: String,
    /// Row version; the ERP gives it.
    pub lsn: u64,
    /// Whether a user has it open: writes come back null.
    pub locked: bool,
    /// All other fields.
    pub fields: BTreeMap<String, SimValue>,
}

impl SimObject {
    /// An object without a workflow. Fields that the table doesn't have are refused when the ERP is opened.
    pub fn new(number: impl Into<String>, fields: impl IntoIterator<Item = (&'static str, SimValue)>) -> Self {
        let mut fields: BTreeMap<String, SimValue> =
            fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        fields.entry(STATE_FIELD.into()).or_insert_with(|| SimValue::text(STATE_NONE));
        fields.entry(EXTERNAL_FIELD.into()).or_insert(SimValue::Bool(false));
        Self { number: number.into(), lsn: 0, locked: false, fields }
    }

    /// One field's value; the key included.
    pub fn value(&self, field: &str) -> SimValue {
        if field == KEY_FIELD {
            return SimValue::Text(self.number.clone());
        }
        self.fields.get(field).cloned().unwrap_or_default()
    }

    /// The workflow state's text.
    pub fn state(&self) -> &str {
        self.fields.get(STATE_FIELD).and_then(SimValue::as_text).unwrap_or_default()
    }

    /// The external-processing flag.
    pub fn external(&self) -> bool {
        matches!(self.fields.get(EXTERNAL_FIELD), Some(SimValue::Bool(true)))
    }
}

/// Takes JSON for a field: `Err` says why it doesn't fit.
pub(super) fn coerce(field: &str, json: &Value) -> Result<SimValue, String> {
    let kind = kind_of(field).ok_or_else(|| format!("there is no field {field}"))?;
    let wrong = || format!("{json} does not fit field {field}");
    match (kind, json) {
        (Kind::Key | Kind::Stamp, _) => Err(format!("field {field} can't be set")),
        (_, Value::Null) => Ok(SimValue::Null),
        (Kind::Text, Value::String(text)) if text.chars().count() <= TEXT_CHARS_MAX => Ok(SimValue::text(text)),
        (Kind::Text, Value::String(_)) => Err(format!("field {field} holds at most {TEXT_CHARS_MAX} characters")),
        (Kind::Text, Value::Number(number)) => Ok(SimValue::Text(number.to_string())),
        (Kind::Money, Value::Number(number)) => {
            let text = number.as_i64().map(|n| n.to_string()).or_else(|| number.as_f64().map(|n| n.to_string()));
            text.and_then(|text| amount(&text)).map(SimValue::Text).ok_or_else(wrong)
        }
        (Kind::Money, Value::String(text)) => amount(text).map(SimValue::Text).ok_or_else(wrong),
        (Kind::Date, Value::String(text)) => match chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d") {
            Ok(day) => Ok(SimValue::Text(day.format("%Y-%m-%d").to_string())),
            Err(_) => Err(wrong()),
        },
        (Kind::Boolean, Value::Bool(yes)) => Ok(SimValue::Bool(*yes)),
        (Kind::Boolean, Value::String(text)) if text == "true" || text == "false" => Ok(SimValue::Bool(text == "true")),
        (Kind::Text | Kind::Money | Kind::Date | Kind::Boolean, _) => Err(wrong()),
    }
}

/// Decimal text with at least two digits after the point.
fn amount(text: &str) -> Option<String> {
    let (sign, body) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (integer, fraction) = body.split_once('.').unwrap_or((body, "0"));
    let digits = |text: &str, max: usize| {
        !text.is_empty() && text.len() <= max && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    if !digits(integer, INTEGER_DIGITS_MAX) || !digits(fraction, FRACTION_DIGITS_MAX) {
        return None;
    }
    Some(format!("{sign}{integer}.{fraction:0<2}"))
}

/// How a field may be answered (the schema's `As`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    Text,
    Float,
    String,
    Int,
    DisplayText,
    Boolean,
}

impl Form {
    pub(super) const NAMES: [&'static str; 6] = ["TEXT", "FLOAT", "STRING", "INT", "DISPLAY_TEXT", "BOOLEAN"];

    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "TEXT" => Self::Text,
            "FLOAT" => Self::Float,
            "STRING" => Self::String,
            "INT" => Self::Int,
            "DISPLAY_TEXT" => Self::DisplayText,
            "BOOLEAN" => Self::Boolean,
            _ => return None,
        })
    }
}

/// The field's value in the form asked for.
pub(super) fn answer(object: &SimObject, field: &str, form: Form) -> Value {
    let kind = kind_of(field).unwrap_or(Kind::Text);
    let value = object.value(field);
    let text = match &value {
        SimValue::Null => return Value::Null,
        SimValue::Bool(yes) => yes.to_string(),
        SimValue::Text(text) => text.clone(),
    };
    let float = || text.parse::<f64>().ok().filter(|number| number.is_finite());
    match (form, &value) {
        (Form::Plain | Form::Boolean, SimValue::Bool(yes)) => Value::Bool(*yes),
        (Form::Text | Form::DisplayText, SimValue::Bool(yes)) => Value::from(if *yes { "Ja" } else { "Nein" }),
        (Form::Float, SimValue::Bool(yes)) => Value::from(f64::from(u8::from(*yes))),
        (Form::Int, SimValue::Bool(yes)) => Value::from(u8::from(*yes)),
        (Form::Plain | Form::Float, _) if kind == Kind::Money => Value::from(float()),
        (Form::Float, _) => Value::from(float()),
        // An ERP's INT of an amount loses its cents; so does this one.
        (Form::Int, _) => Value::from(text.split('.').next().and_then(|integer| integer.parse::<i64>().ok())),
        (Form::Boolean, _) => Value::Bool(matches!(text.as_str(), "1" | "true" | "Ja")),
        (Form::Text | Form::DisplayText, _) => Value::from(localised(kind, &text)),
        (Form::Plain | Form::String, _) => Value::from(text),
    }
}

/// As people at the ERP read it.
fn localised(kind: Kind, text: &str) -> String {
    match kind {
        Kind::Money => format!("{} EUR", german_amount(text)),
        Kind::Date => match text.split('-').collect::<Vec<_>>()[..] {
            [year, month, day] => format!("{day}.{month}.{year}"),
            _ => text.to_owned(),
        },
        Kind::Key | Kind::Text | Kind::Stamp | Kind::Boolean => text.to_owned(),
    }
}

/// `25480.5` as `25.480,5`.
pub(crate) fn german_amount(text: &str) -> String {
    let (sign, body) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (integer, fraction) = body.split_once('.').unwrap_or((body, ""));
    let mut grouped = String::new();
    for (i, digit) in integer.chars().enumerate() {
        if i > 0 && (integer.len() - i).is_multiple_of(3) {
            grouped.push('.');
        }
        grouped.push(digit);
    }
    if fraction.is_empty() { format!("{sign}{grouped}") } else { format!("{sign}{grouped},{fraction}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object() -> SimObject {
        SimObject::new(
            "ER-1",
            [("fldGesamtBrutto", SimValue::text("25480.00")), ("fldDat", SimValue::text("2026-12-24"))],
        )
    }

    #[test]
    fn each_form_answers_as_documented() {
        let cases = [
            ("fldGesamtBrutto", Form::Plain, json!(25480.0)),
            ("fldGesamtBrutto", Form::Text, json!("25.480,00 EUR")),
            ("fldGesamtBrutto", Form::String, json!("25480.00")),
            ("fldGesamtBrutto", Form::Int, json!(25480)),
            ("fldDat", Form::Plain, json!("2026-12-24")),
            ("fldDat", Form::Text, json!("24.12.2026")),
            (EXTERNAL_FIELD, Form::Boolean, json!(false)),
            (EXTERNAL_FIELD, Form::Text, json!("Nein")),
            ("fldBelegNr", Form::Plain, json!("ER-1")),
            ("fldKostenstelle", Form::Text, json!(null)),
        ];
        for (field, form, want) in cases {
            assert_eq!(answer(&object(), field, form), want, "{field} {form:?}");
        }
    }

    #[test]
    fn only_fitting_values_are_taken() {
        assert_eq!(coerce("fldGesamtNetto", &json!(1000)), Ok(SimValue::text("1000.00")));
        assert_eq!(coerce("fldGesamtNetto", &json!("7.5")), Ok(SimValue::text("7.50")));
        assert_eq!(coerce(EXTERNAL_FIELD, &json!(true)), Ok(SimValue::Bool(true)));
        assert_eq!(coerce("fldDat", &json!(null)), Ok(SimValue::Null));
        for (field, json) in [
            ("fldGesamtNetto", json!("1.000,00")),
            ("fldGesamtNetto", json!(true)),
            ("fldDat", json!("24.12.2026")),
            ("fldDat", json!(5)),
            (EXTERNAL_FIELD, json!("vielleicht")),
            ("fldBelegNr", json!("ER-2")),
            (CHANGED_FIELD, json!("2026-12-24")),
            ("fldNichtDa", json!("x")),
            ("fldInfo", json!("x".repeat(TEXT_CHARS_MAX + 1))),
        ] {
            assert!(coerce(field, &json).is_err(), "{field} {json}");
        }
    }
}
