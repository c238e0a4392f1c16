//! The values expressions work on.
//!
//! Purpose: SpEL's data types without objects.
//! Invariant: amounts are decimals with their scale; a binary floating point number ([`Value::Double`]) only comes
//! from a literal such as `1.5` and becomes decimal as soon as it meets one.
//! Never: an object with behaviour.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use rust_decimal::Decimal;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// Yes or no.
    Bool(bool),
    /// A whole number as SpEL writes them (32 bit, wraps).
    Int(i32),
    /// A whole number with `L` (64 bit, wraps).
    Long(i64),
    /// A literal with a point or exponent.
    Double(f64),
    /// An amount or number of the ERP; the scale counts.
    Decimal(Decimal),
    /// Text; dates are ISO text.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// A map, e.g. `#object`.
    Map(BTreeMap<String, Value>),
}

impl Value {
    /// What sort of value it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Int(_) | Self::Long(_) => "whole number",
            Self::Double(_) => "number",
            Self::Decimal(_) => "decimal",
            Self::Text(_) => "text",
            Self::List(_) => "list",
            Self::Map(_) => "map",
        }
    }

    /// JSON for logs: decimals and doubles as text, because JSON numbers lose digits on their way.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Null => serde_json::Value::Null,
            Self::Bool(value) => (*value).into(),
            Self::Int(value) => (*value).into(),
            Self::Long(value) => (*value).into(),
            Self::Double(_) | Self::Decimal(_) => self.to_string().into(),
            Self::Text(text) => text.clone().into(),
            Self::List(items) => items.iter().map(Self::to_json).collect(),
            Self::Map(entries) => {
                serde_json::Value::Object(entries.iter().map(|(key, value)| (key.clone(), value.to_json())).collect())
            }
        }
    }

    pub(super) fn is_number(&self) -> bool {
        matches!(self, Self::Int(_) | Self::Long(_) | Self::Double(_) | Self::Decimal(_))
    }

    /// The value as a message shows it: kind and, where short, content.
    pub(super) fn shown(&self) -> String {
        const SHOWN_CHARS_MAX: usize = 40;
        match self {
            Self::Null => "null".to_owned(),
            Self::Text(text) if text.chars().count() <= SHOWN_CHARS_MAX => format!("the text '{text}'"),
            Self::Bool(_) | Self::Int(_) | Self::Long(_) | Self::Double(_) | Self::Decimal(_) => {
                format!("the {} {self}", self.kind())
            }
            Self::Text(_) | Self::List(_) | Self::Map(_) => format!("a {}", self.kind()),
        }
    }
}

/// As Java's `toString` writes it: `[1, 2]`, `{a=1}`, `10.50`, `1.0E10`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Long(value) => write!(f, "{value}"),
            Self::Double(value) => f.write_str(&double_text(*value)),
            Self::Decimal(value) => f.write_str(&decimal_text(value)),
            Self::Text(text) => f.write_str(text),
            Self::List(items) => {
                f.write_char('[')?;
                for (i, item) in items.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { ", " })?;
                    write!(f, "{item}")?;
                }
                f.write_char(']')
            }
            Self::Map(entries) => {
                f.write_char('{')?;
                for (i, (key, value)) in entries.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { ", " })?;
                    write!(f, "{key}={value}")?;
                }
                f.write_char('}')
            }
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// A double's shortest text in Java's form: `5.0`, `0.3`, `1.0E10`, `1.0E-4`.
pub(super) fn double_text(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    if value == 0.0 || (1e-3..1e7).contains(&value.abs()) {
        return format!("{value:?}");
    }
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    if digits.contains('.') {
        return format!("{digits}E{exponent}");
    }
    // Java writes at least two digits, and of those the nearest: 4.9E-324, not 5.0E-324.
    let two = format!("{value:.1e}");
    let nearest = if two.parse() == Ok(value) { two } else { format!("{digits}.0e{exponent}") };
    nearest.replace('e', "E")
}

/// A decimal as `BigDecimal.toString` writes it: plain, or with an exponent where more than six zeros would lead.
fn decimal_text(value: &Decimal) -> String {
    let mantissa = value.mantissa();
    let digits = mantissa.unsigned_abs().to_string();
    let adjusted = i64::try_from(digits.len()).unwrap_or(i64::MAX) - 1 - i64::from(value.scale());
    if adjusted >= -6 {
        return value.to_string();
    }
    let sign = if mantissa < 0 { "-" } else { "" };
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    format!("{sign}{first}{point}{rest}E{adjusted}")
}
