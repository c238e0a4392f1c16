//! Conversions that SpEL does by itself.
//!
//! Purpose: to boolean for `and or not ? :`, to text for `+` and `matches`, to a position for `[…]`.
//! Invariant: a value that has no conversion is an error.
//! Never: guesses.

use super::error::{ErrorKind, Fault};
use super::value::Value;

/// For `and`, `or`, `not` and the ternary.
pub(super) fn to_bool(value: &Value) -> Result<bool, Fault> {
    let fail = || {
        let message = format!("{} is neither true nor false; compare it with something", value.shown());
        Err(Fault::new(ErrorKind::Conversion, message))
    };
    match value {
        Value::Bool(value) => Ok(*value),
        Value::Text(text) => match text.trim().to_lowercase().as_str() {
            "true" | "on" | "yes" | "1" => Ok(true),
            "false" | "off" | "no" | "0" => Ok(false),
            _ => fail(),
        },
        Value::List(items) => items.first().map_or_else(fail, to_bool),
        Value::Null | Value::Int(_) | Value::Long(_) | Value::Double(_) | Value::Decimal(_) | Value::Map(_) => fail(),
    }
}

/// For `text + value` and `value matches …`: as written, lists joined by commas.
pub(super) fn to_text(value: &Value) -> String {
    match value {
        Value::List(items) => items.iter().map(to_text).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// The position that an index stands for.
pub(super) fn to_position(value: &Value) -> Result<i32, Fault> {
    let position = match value {
        Value::Int(value) => Some(*value),
        Value::Long(value) => i32::try_from(*value).ok(),
        #[expect(clippy::cast_possible_truncation, reason = "Java truncates here; the range is checked")]
        Value::Double(value) if value.abs() < f64::from(i32::MAX) => Some(*value as i32),
        Value::Decimal(value) => i32::try_from(value.trunc().mantissa()).ok().filter(|_| value.trunc().scale() == 0),
        Value::Text(text) => text.trim().parse().ok(),
        Value::Null => {
            return Err(Fault::new(ErrorKind::Index, "null is no index; write a number"));
        }
        Value::Double(_) | Value::Bool(_) | Value::List(_) | Value::Map(_) => None,
    };
    position.ok_or_else(|| Fault::new(ErrorKind::Conversion, format!("{} is no index; write a number", value.shown())))
}
