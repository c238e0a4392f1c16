//! Conversions that SpEL does by itself.
//!
//! Purpose: to boolean for `and or not ? :`, to text for `+` and `matches`, to a position for `[…]`.
//! Invariant: a value that has no conversion is an error.
//! Never: guesses.

use super::error::{ErrorKind, Fault};
use super::number;
use super::value::{ItemsKind, Value};

/// For `and`, `or`, `not` and the ternary.
pub(super) fn to_bool(value: &Value) -> Result<bool, Fault> {
    if let Value::Bool(value) = value {
        return Ok(*value);
    }
    wanted_bool(value)?.ok_or_else(|| no_bool(value))
}

fn no_bool(value: &Value) -> Fault {
    let message = format!("{} is neither true nor false; compare it with something", value.shown());
    Fault::new(ErrorKind::Conversion, message)
}

/// Where the whole expression is wanted as boolean: null, no text and no items are null.
pub(super) fn wanted_bool(value: &Value) -> Result<Option<bool>, Fault> {
    match value {
        Value::Null => Ok(None),
        Value::Bool(value) => Ok(Some(*value)),
        Value::Text(text) => match text.trim_matches(is_trimmed).to_lowercase().as_str() {
            "true" | "on" | "yes" | "1" => Ok(Some(true)),
            "false" | "off" | "no" | "0" => Ok(Some(false)),
            "" => Ok(None),
            _ => Err(no_bool(value)),
        },
        Value::List(items) | Value::Items(ItemsKind::Array | ItemsKind::Set | ItemsKind::Collection, items) => {
            items.first().map_or(Ok(None), wanted_bool)
        }
        _ => Err(no_bool(value)),
    }
}

/// What `String.trim` takes away.
pub(super) fn is_trimmed(c: char) -> bool {
    c <= ' '
}

/// For `text + value`: as written, lists joined by commas. A list that holds a map has no text, a map alone has.
pub(super) fn to_text(value: &Value) -> Result<String, Fault> {
    match value {
        Value::List(items) | Value::Items(ItemsKind::Array | ItemsKind::Set | ItemsKind::Collection, items) => {
            let mut text = String::new();
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    text.push(',');
                }
                if matches!(item, Value::Map(_) | Value::Entry(_)) {
                    let message = format!("a list that holds a {} can't become text; project it first", item.kind());
                    return Err(Fault::new(ErrorKind::Conversion, message));
                }
                text.push_str(&to_text(item)?);
            }
            Ok(text)
        }
        other => Ok(other.to_string()),
    }
}

/// For `value matches …` and arguments that are texts; `None` where there is no conversion.
pub(super) fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::Map(_) | Value::Entry(_) | Value::Items(ItemsKind::Stream, _) => None,
        other => to_text(other).ok(),
    }
}

/// Why a value is no whole number.
pub(super) enum NoInt {
    /// Values of this type never are.
    Type,
    /// This one isn't.
    Value,
}

/// A whole number of 32 bits, for positions and arguments.
pub(super) fn to_int(value: &Value) -> Result<i32, NoInt> {
    match value {
        Value::Int(value) => Ok(*value),
        Value::Long(value) => i32::try_from(*value).map_err(|_| NoInt::Value),
        Value::Char(unit) => Ok(i32::from(*unit)),
        Value::BigInt(value) => i32::try_from(value).map_err(|_| NoInt::Value),
        Value::Decimal(value) => {
            let whole = value.truncated().map_err(|_| NoInt::Value)?;
            i32::try_from(&whole).map_err(|_| NoInt::Value)
        }
        Value::Float(_) | Value::Double(_) => i32::try_from(number::to_long(value)).map_err(|_| NoInt::Value),
        Value::Text(text) => text_to_int(text).ok_or(NoInt::Value),
        Value::List(items) | Value::Items(_, items) => items.first().map_or(Err(NoInt::Value), to_int),
        Value::Null | Value::Bool(_) | Value::Map(_) | Value::Entry(_) => Err(NoInt::Type),
    }
}

/// Spring removes all white space, and knows `0x` and `#` for hexadecimal and a leading 0 for octal only with these.
fn text_to_int(text: &str) -> Option<i32> {
    let trimmed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let (negative, body) = match trimmed.strip_prefix('-') {
        Some(body) => (true, body),
        None => (false, trimmed.as_str()),
    };
    let hex = ["0x", "0X", "#"].iter().find_map(|prefix| body.strip_prefix(prefix));
    match hex {
        Some(digits) if digits.bytes().all(|b| b.is_ascii_hexdigit()) => {
            let value = i64::from_str_radix(digits, 16).ok()?;
            i32::try_from(if negative { -value } else { value }).ok()
        }
        Some(_) => None,
        None => trimmed.parse().ok(),
    }
}

/// The position that an index stands for.
pub(super) fn to_position(value: &Value) -> Result<i32, Fault> {
    if *value == Value::Null {
        return Err(Fault::new(ErrorKind::Index, "null is no index; write a number").code("IllegalStateException"));
    }
    let message = || format!("{} is no index; write a number", value.shown());
    to_int(value).map_err(|_| Fault::new(ErrorKind::Conversion, message()))
}
