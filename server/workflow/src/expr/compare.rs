//! Equality and order.
//!
//! Purpose: `==` compares numbers by value and everything else by type and content; order exists between numbers,
//! texts and booleans, and puts null first.
//! Invariant: no conversion between text and number takes place.
//! Never: an order between values that have none.

use std::cmp::Ordering;

use super::error::{ErrorKind, Fault};
use super::number::{Pair, pair};
use super::value::Value;

/// `left == right`.
pub(super) fn equal(left: &Value, right: &Value) -> Result<bool, Fault> {
    Ok(match pair(left, right)? {
        Some(Pair::Ints(left, right)) => left == right,
        Some(Pair::Longs(left, right)) => left == right,
        Some(Pair::Doubles(left, right)) => left == right,
        Some(Pair::Decimals(left, right)) => left == right,
        None => java_equals(left, right),
    })
}

/// `left.equals(right)` of Java: also the type and a decimal's scale count.
pub(super) fn java_equals(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Int(left), Value::Int(right)) => left == right,
        (Value::Long(left), Value::Long(right)) => left == right,
        (Value::Double(left), Value::Double(right)) => left.total_cmp(right).is_eq(),
        (Value::Decimal(left), Value::Decimal(right)) => left == right && left.scale() == right.scale(),
        (Value::Text(left), Value::Text(right)) => left == right,
        (Value::List(left), Value::List(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| java_equals(left, right))
        }
        (Value::Map(left), Value::Map(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|((left_key, left), (right_key, right))| left_key == right_key && java_equals(left, right))
        }
        _ => false,
    }
}

/// The order of two values; null is below everything. Not a number is above every number.
pub(super) fn order(left: &Value, right: &Value) -> Result<Ordering, Fault> {
    match (left, right) {
        (Value::Null, Value::Null) => return Ok(Ordering::Equal),
        (Value::Null, _) => return Ok(Ordering::Less),
        (_, Value::Null) => return Ok(Ordering::Greater),
        (Value::Text(left), Value::Text(right)) => return Ok(left.encode_utf16().cmp(right.encode_utf16())),
        (Value::Bool(left), Value::Bool(right)) => return Ok(left.cmp(right)),
        _ => {}
    }
    match pair(left, right)? {
        Some(Pair::Ints(left, right)) => Ok(left.cmp(&right)),
        Some(Pair::Longs(left, right)) => Ok(left.cmp(&right)),
        Some(Pair::Doubles(left, right)) => {
            Ok(left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan())))
        }
        Some(Pair::Decimals(left, right)) => Ok(left.cmp(&right)),
        None => Err(Fault::new(
            ErrorKind::Compare,
            format!("{} and {} have no order; compare values of one type", left.shown(), right.shown()),
        )),
    }
}

/// Whether a number takes part that is none; `<` and its like are all false then.
pub(super) fn has_nan(left: &Value, right: &Value) -> bool {
    let nan = |value: &Value| matches!(value, Value::Double(value) if value.is_nan());
    nan(left) || nan(right)
}
