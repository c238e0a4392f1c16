//! The values expressions work on.
//!
//! Purpose: SpEL's data types without objects.
//! Invariant: amounts are decimals with their scale; a binary floating point number ([`Value::Double`]) only comes
//! from a literal such as `1.5` and becomes decimal as soon as it meets one.
//! Never: an object with behaviour.

use std::fmt::{self, Write as _};

use num_bigint::BigInt;

use super::decimal::Decimal;
use super::map::Map;

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
    /// A whole number beyond 64 bits.
    BigInt(BigInt),
    /// A literal with `f`.
    Float(f32),
    /// A literal with a point or exponent.
    Double(f64),
    /// An amount or number of the ERP; the scale counts.
    Decimal(Decimal),
    /// One UTF-16 unit, from `charAt`. Not equal to any text.
    Char(u16),
    /// Text; dates are ISO text.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// What is listed but is no `List` in Java.
    Items(ItemsKind, Vec<Value>),
    /// A map, e.g. `#object`.
    Map(Map),
    /// A key and its value, while a map is selected from or projected.
    Entry(Box<(Value, Value)>),
}

/// Which collection [`Value::Items`] stands for; they have different methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemsKind {
    /// From `split`; has no methods.
    Array,
    /// From `keySet` and `entrySet`.
    Set,
    /// From `values`.
    Collection,
    /// From `chars` and `lines`; can only be counted.
    Stream,
}

impl Value {
    /// What sort of value it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Int(_) | Self::Long(_) | Self::BigInt(_) => "whole number",
            Self::Float(_) | Self::Double(_) => "number",
            Self::Decimal(_) => "decimal",
            Self::Char(_) => "character",
            Self::Text(_) => "text",
            Self::List(_) => "list",
            Self::Items(ItemsKind::Array, _) => "array",
            Self::Items(ItemsKind::Set, _) => "set",
            Self::Items(ItemsKind::Collection, _) => "collection",
            Self::Items(ItemsKind::Stream, _) => "stream",
            Self::Map(_) => "map",
            Self::Entry(_) => "entry",
        }
    }

    /// JSON for logs: everything beyond 64 bit whole numbers as text, because JSON numbers lose digits on their way.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Null => serde_json::Value::Null,
            Self::Bool(value) => (*value).into(),
            Self::Int(value) => (*value).into(),
            Self::Long(value) => (*value).into(),
            Self::BigInt(_) | Self::Float(_) | Self::Double(_) | Self::Decimal(_) | Self::Char(_) => {
                self.to_string().into()
            }
            Self::Text(text) => text.clone().into(),
            Self::List(items) | Self::Items(_, items) => items.iter().map(Self::to_json).collect(),
            Self::Map(entries) => serde_json::Value::Object(
                entries.iter().map(|(key, value)| (key.to_string(), value.to_json())).collect(),
            ),
            Self::Entry(entry) => {
                serde_json::Value::Object([(entry.0.to_string(), entry.1.to_json())].into_iter().collect())
            }
        }
    }

    pub(super) fn is_number(&self) -> bool {
        matches!(
            self,
            Self::Int(_) | Self::Long(_) | Self::BigInt(_) | Self::Float(_) | Self::Double(_) | Self::Decimal(_)
        )
    }

    /// The items of anything that is listed.
    pub(super) fn items(&self) -> Option<&[Self]> {
        match self {
            Self::List(items) | Self::Items(_, items) => Some(items),
            _ => None,
        }
    }

    /// How much work it is to copy, compare or write the value; 1 for a number.
    pub(super) fn weight(&self) -> u64 {
        const BYTES_PER_UNIT: usize = 32;
        let size = |bytes: usize| u64::try_from(bytes / BYTES_PER_UNIT).unwrap_or(u64::MAX) + 1;
        match self {
            Self::Null | Self::Bool(_) | Self::Int(_) | Self::Long(_) => 1,
            Self::Float(_) | Self::Double(_) | Self::Char(_) => 1,
            Self::BigInt(value) => value.bits() / 64 + 1,
            Self::Decimal(value) => value.unscaled().bits() / 64 + 1,
            Self::Text(text) => size(text.len()),
            Self::List(items) | Self::Items(_, items) => items.iter().map(Self::weight).sum::<u64>() + 1,
            Self::Map(entries) => entries.iter().map(|(key, value)| key.weight() + value.weight()).sum::<u64>() + 1,
            Self::Entry(entry) => entry.0.weight() + entry.1.weight(),
        }
    }

    /// The value as a message shows it: kind and, where short, content.
    pub(super) fn shown(&self) -> String {
        const SHOWN_CHARS_MAX: usize = 40;
        const SHOWN_WEIGHT_MAX: u64 = 3;
        match self {
            Self::Null => "null".to_owned(),
            Self::Text(text) if text.chars().count() <= SHOWN_CHARS_MAX => format!("the text '{text}'"),
            Self::Text(_) | Self::List(_) | Self::Items(..) | Self::Map(_) | Self::Entry(_) => {
                format!("a {}", self.kind())
            }
            other if other.weight() > SHOWN_WEIGHT_MAX => format!("a {} of many digits", self.kind()),
            _ => format!("the {} {self}", self.kind()),
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
            Self::BigInt(value) => write!(f, "{value}"),
            Self::Float(value) => f.write_str(&float_text(*value)),
            Self::Double(value) => f.write_str(&double_text(*value)),
            Self::Decimal(value) => write!(f, "{value}"),
            Self::Char(unit) => f.write_str(&String::from_utf16_lossy(&[*unit])),
            Self::Text(text) => f.write_str(text),
            Self::List(items) | Self::Items(_, items) => {
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
            Self::Entry(entry) => write!(f, "{}={}", entry.0, entry.1),
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

impl From<rust_decimal::Decimal> for Value {
    fn from(value: rust_decimal::Decimal) -> Self {
        Self::Decimal(value.into())
    }
}

/// A double's shortest text in Java's form: `5.0`, `0.3`, `1.0E10`, `1.0E-4`.
pub(super) fn double_text(value: f64) -> String {
    if let Some(text) = special_text(value) {
        return text.to_owned();
    }
    if value == 0.0 || (1e-3..1e7).contains(&value.abs()) {
        return format!("{value:?}");
    }
    scientific(&format!("{value:e}"), |text| text.parse::<f64>() == Ok(value), &format!("{value:.1e}"))
}

/// A float's shortest text in Java's form.
pub(super) fn float_text(value: f32) -> String {
    if let Some(text) = special_text(f64::from(value)) {
        return text.to_owned();
    }
    if value == 0.0 || (1e-3..1e7).contains(&value.abs()) {
        return format!("{value:?}");
    }
    scientific(&format!("{value:e}"), |text| text.parse::<f32>() == Ok(value), &format!("{value:.1e}"))
}

fn special_text(value: f64) -> Option<&'static str> {
    if value.is_nan() {
        Some("NaN")
    } else if value.is_infinite() {
        Some(if value > 0.0 { "Infinity" } else { "-Infinity" })
    } else {
        None
    }
}

/// Java writes at least two digits, and of those the nearest: 4.9E-324, not 5.0E-324.
fn scientific(text: &str, is_same: impl Fn(&str) -> bool, two: &str) -> String {
    let (digits, exponent) = text.split_once('e').unwrap_or((text, "0"));
    if digits.contains('.') {
        return format!("{digits}E{exponent}");
    }
    if is_same(two) { two.replace('e', "E") } else { format!("{digits}.0E{exponent}") }
}
