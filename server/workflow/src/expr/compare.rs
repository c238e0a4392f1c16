//! Equality and order.
//!
//! Purpose: `==` compares numbers by value and everything else by type and content; order exists between numbers,
//! texts, characters and booleans, and puts null first.
//! Invariant: no conversion between text and number takes place.
//! Never: an order between values that have none.

use std::cmp::Ordering;

use super::error::{ErrorKind, Fault};
use super::number::{Pair, pair};
use super::value::{ItemsKind, Value};

/// `left == right`.
pub(super) fn equal(left: &Value, right: &Value) -> Result<bool, Fault> {
    Ok(match pair(left, right)? {
        Some(Pair::Ints(left, right)) => left == right,
        Some(Pair::Longs(left, right)) => left == right,
        Some(Pair::BigInts(left, right)) => left == right,
        Some(Pair::Floats(left, right)) => left == right,
        Some(Pair::Doubles(left, right)) => left == right,
        Some(Pair::Decimals(left, right)) => left.compare(&right)?.is_eq(),
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
        (Value::BigInt(left), Value::BigInt(right)) => left == right,
        (Value::Float(left), Value::Float(right)) => java_order(f64::from(*left), f64::from(*right)).is_eq(),
        (Value::Double(left), Value::Double(right)) => java_order(*left, *right).is_eq(),
        (Value::Decimal(left), Value::Decimal(right)) => left == right,
        (Value::Char(left), Value::Char(right)) => left == right,
        (Value::Text(left), Value::Text(right)) => left == right,
        (Value::List(left), Value::List(right)) => listed_equal(left, right),
        (Value::Items(ItemsKind::Set, left), Value::Items(ItemsKind::Set, right)) => {
            left.len() == right.len() && left.iter().all(|item| right.iter().any(|other| java_equals(item, other)))
        }
        (Value::Items(left_kind, left), Value::Items(right_kind, right)) => {
            left_kind == right_kind && listed_equal(left, right)
        }
        (Value::Map(left), Value::Map(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get_value(key).is_some_and(|other| java_equals(value, other)))
        }
        (Value::Entry(left), Value::Entry(right)) => java_equals(&left.0, &right.0) && java_equals(&left.1, &right.1),
        _ => false,
    }
}

fn listed_equal(left: &[Value], right: &[Value]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| java_equals(left, right))
}

/// `Double.compare`: not a number is above every number and equal to itself, -0.0 is below 0.0.
fn java_order(left: f64, right: f64) -> Ordering {
    match (left.is_nan(), right.is_nan()) {
        (false, false) => left.total_cmp(&right),
        (left, right) => left.cmp(&right),
    }
}

/// The order of two values as `between` and `compareTo` see it; null is below everything.
pub(super) fn order(left: &Value, right: &Value) -> Result<Ordering, Fault> {
    match (left, right) {
        (Value::Null, Value::Null) => return Ok(Ordering::Equal),
        (Value::Null, _) => return Ok(Ordering::Less),
        (_, Value::Null) => return Ok(Ordering::Greater),
        (Value::Text(left), Value::Text(right)) => return Ok(text_order(left, right)),
        (Value::Bool(left), Value::Bool(right)) => return Ok(left.cmp(right)),
        (Value::Char(left), Value::Char(right)) => return Ok(left.cmp(right)),
        _ => {}
    }
    match pair(left, right)? {
        Some(Pair::Ints(left, right)) => Ok(left.cmp(&right)),
        Some(Pair::Longs(left, right)) => Ok(left.cmp(&right)),
        Some(Pair::BigInts(left, right)) => Ok(left.cmp(&right)),
        Some(Pair::Floats(left, right)) => Ok(java_order(left.into(), right.into())),
        Some(Pair::Doubles(left, right)) => Ok(java_order(left, right)),
        Some(Pair::Decimals(left, right)) => left.compare(&right),
        None => Err(Fault::new(
            ErrorKind::Compare,
            format!("{} and {} have no order; compare values of one type", left.shown(), right.shown()),
        )),
    }
}

/// By UTF-16 units, as Java orders texts.
fn text_order(left: &str, right: &str) -> Ordering {
    if left.is_ascii() || right.is_ascii() { left.cmp(right) } else { left.encode_utf16().cmp(right.encode_utf16()) }
}

/// The order as `<` and its like see it: `None` where they are all false because one is not a number.
pub(super) fn operator_order(left: &Value, right: &Value) -> Result<Option<Ordering>, Fault> {
    match pair(left, right)? {
        Some(Pair::Floats(left, right)) => Ok(left.partial_cmp(&right)),
        Some(Pair::Doubles(left, right)) => Ok(left.partial_cmp(&right)),
        _ => order(left, right).map(Some),
    }
}
