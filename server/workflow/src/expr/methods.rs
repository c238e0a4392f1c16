//! The methods an expression may call.
//!
//! Purpose: the allow-list, and what its methods do on numbers, lists and maps; those on text are in `text_methods`.
//! Invariant: a method only reads; its cost is bounded by the size of its value and arguments, and known beforehand.
//! Arguments are converted as Spring does it, or the method does not exist for them.
//! Never: a mutator, reflection, or a method that is not on the list.

use super::ast::Arithmetic;
use super::compare::{java_equals, order};
use super::convert::{self, NoInt};
use super::decimal::{Decimal, Rounding};
use super::error::{ErrorKind, Fault};
use super::number;
use super::text_methods;
use super::value::{ItemsKind, Value};

/// Every method's name with the fewest and the most arguments it takes.
const METHODS: &[(&str, usize, usize)] = &[
    ("abs", 0, 0),
    ("add", 1, 1),
    ("booleanValue", 0, 0),
    ("charAt", 1, 1),
    ("chars", 0, 0),
    ("compareTo", 1, 1),
    ("compareToIgnoreCase", 1, 1),
    ("concat", 1, 1),
    ("contains", 1, 1),
    ("containsAll", 1, 1),
    ("containsKey", 1, 1),
    ("containsValue", 1, 1),
    ("count", 0, 0),
    ("divide", 2, 3),
    ("doubleValue", 0, 0),
    ("endsWith", 1, 1),
    ("entrySet", 0, 0),
    ("equals", 1, 1),
    ("equalsIgnoreCase", 1, 1),
    ("floatValue", 0, 0),
    ("formatted", 0, 100),
    ("get", 1, 1),
    ("getKey", 0, 0),
    ("getOrDefault", 2, 2),
    ("getValue", 0, 0),
    ("hashCode", 0, 0),
    ("indexOf", 1, 2),
    ("intValue", 0, 0),
    ("intern", 0, 0),
    ("isBlank", 0, 0),
    ("isEmpty", 0, 0),
    ("isInfinite", 0, 0),
    ("isNaN", 0, 0),
    ("keySet", 0, 0),
    ("lastIndexOf", 1, 2),
    ("length", 0, 0),
    ("lines", 0, 0),
    ("longValue", 0, 0),
    ("matches", 1, 1),
    ("max", 1, 1),
    ("min", 1, 1),
    ("multiply", 1, 1),
    ("negate", 0, 0),
    ("pow", 1, 1),
    ("precision", 0, 0),
    ("remainder", 1, 1),
    ("repeat", 1, 1),
    ("replace", 2, 2),
    ("replaceAll", 2, 2),
    ("replaceFirst", 2, 2),
    ("scale", 0, 0),
    ("setScale", 1, 2),
    ("signum", 0, 0),
    ("size", 0, 0),
    ("split", 1, 2),
    ("startsWith", 1, 2),
    ("strip", 0, 0),
    ("stripLeading", 0, 0),
    ("stripTrailing", 0, 0),
    ("stripTrailingZeros", 0, 0),
    ("subList", 2, 2),
    ("substring", 1, 2),
    ("subtract", 1, 1),
    ("toLowerCase", 0, 0),
    ("toPlainString", 0, 0),
    ("toString", 0, 0),
    ("toUpperCase", 0, 0),
    ("trim", 0, 0),
    ("values", 0, 0),
];

/// Whether any value has such a method.
pub(super) fn check(name: &str, arguments: usize) -> Result<(), Fault> {
    match METHODS.iter().find(|(known, ..)| *known == name) {
        Some((_, least, most)) if (*least..=*most).contains(&arguments) => Ok(()),
        Some((_, least, most)) => {
            let wanted = if least == most { least.to_string() } else { format!("{least} to {most}") };
            let message = format!("{name}() takes {wanted} arguments, not {arguments}");
            Err(Fault::new(ErrorKind::Method, message))
        }
        None => {
            let known: Vec<&str> = METHODS.iter().map(|(name, ..)| *name).collect();
            let message = format!("the method {name}() is not available; there are {}", known.join(", "));
            Err(Fault::new(ErrorKind::Unsupported, message))
        }
    }
}

/// What a call may cost; `arguments` is the weight of the arguments.
pub(super) fn work(name: &str, target: &Value, arguments: u64) -> u64 {
    let own = target.weight();
    match (name, target) {
        // Every item may be compared with every other.
        ("containsAll" | "equals", Value::List(_) | Value::Items(..)) => own.saturating_mul(arguments),
        ("contains" | "indexOf" | "lastIndexOf" | "containsValue", _) => {
            own.saturating_mul(arguments.min(own)).min(own.saturating_add(arguments).saturating_mul(64))
        }
        ("replaceAll" | "replaceFirst" | "split" | "matches", _) => {
            own.saturating_mul(arguments).saturating_mul(32).saturating_add(20_000)
        }
        ("replace", _) => own.saturating_mul(arguments).saturating_mul(32),
        ("size" | "isEmpty" | "get" | "containsKey", Value::List(_) | Value::Map(_) | Value::Items(..)) => {
            arguments.saturating_mul(16)
        }
        (_, Value::BigInt(_) | Value::Decimal(_)) => own.saturating_add(arguments).saturating_pow(2) / 4 + 1,
        _ => own.saturating_add(arguments),
    }
}

/// Calls the method; the target is not null.
pub(super) fn call(name: &str, target: &Value, arguments: &[&Value]) -> Result<Value, Fault> {
    match (name, arguments) {
        ("toString", []) if !matches!(target, Value::Items(ItemsKind::Array | ItemsKind::Stream, _)) => {
            return Ok(Value::Text(target.to_string()));
        }
        ("equals", [other]) => return Ok(Value::Bool(java_equals(target, other))),
        ("hashCode", []) => return hash_code(target).map(Value::Int).ok_or_else(|| missing(name, target)),
        ("compareTo", [other]) => return compare_to(target, other),
        _ => {}
    }
    match target {
        Value::Text(text) => text_methods::call(name, text, arguments),
        Value::List(items) => on_list(name, target, items, arguments),
        Value::Items(kind, items) => on_items(name, target, *kind, items, arguments),
        Value::Map(_) => on_map(name, target, arguments),
        Value::Entry(entry) => match (name, arguments) {
            ("getKey", []) => Ok(entry.0.clone()),
            ("getValue", []) => Ok(entry.1.clone()),
            _ => Err(missing(name, target)),
        },
        Value::Bool(value) if name == "booleanValue" && arguments.is_empty() => Ok(Value::Bool(*value)),
        Value::Decimal(decimal) => on_decimal(name, target, decimal, arguments),
        Value::Int(_) | Value::Long(_) | Value::BigInt(_) | Value::Float(_) | Value::Double(_) => {
            on_number(name, target, arguments)
        }
        Value::Null | Value::Bool(_) | Value::Char(_) => Err(missing(name, target)),
    }
}

/// A method that the value doesn't have, or not for such arguments. Names the nearest thing: what it has not.
pub(super) fn missing(name: &str, target: &Value) -> Fault {
    match check(name, 0) {
        Err(fault) if fault.kind == ErrorKind::Unsupported => Fault::new(ErrorKind::Method, fault.message),
        _ => Fault::new(ErrorKind::Method, format!("{} has no method {name}() for these arguments", target.shown())),
    }
}

/// A whole number among the arguments.
pub(super) fn int(name: &str, target: &Value, argument: &Value) -> Result<i32, Fault> {
    convert::to_int(argument).map_err(|why| match why {
        NoInt::Type => missing(name, target),
        NoInt::Value => {
            let message = format!("{name}() wants a whole number, not {}", argument.shown());
            Fault::new(ErrorKind::Argument, message).code("EL1029E")
        }
    })
}

pub(super) fn count(length: usize) -> Result<Value, Fault> {
    i32::try_from(length).map(Value::Int).map_err(|_| Fault::new(ErrorKind::Limit, "more than 2147483647 items"))
}

fn position(at: Option<usize>) -> Result<Value, Fault> {
    at.map_or(Ok(Value::Int(-1)), count)
}

fn compare_to(target: &Value, other: &Value) -> Result<Value, Fault> {
    if let Value::Text(text) = target {
        return text_methods::compare_to(text, other, "compareTo");
    }
    let same_type = std::mem::discriminant(target) == std::mem::discriminant(other);
    if *other == Value::Null {
        return Err(Fault::new(ErrorKind::Null, "compareTo(null)").code("NullPointerException"));
    }
    if !target.is_number() && !matches!(target, Value::Bool(_) | Value::Char(_)) {
        return Err(missing("compareTo", target));
    }
    let numbers = target.is_number() && other.is_number();
    if !(same_type || numbers) {
        return Err(missing("compareTo", target));
    }
    Ok(Value::Int(match order(target, other)? {
        std::cmp::Ordering::Less => -1,
        std::cmp::Ordering::Equal => 0,
        std::cmp::Ordering::Greater => 1,
    }))
}

fn on_list(name: &str, target: &Value, items: &[Value], arguments: &[&Value]) -> Result<Value, Fault> {
    let beyond = |from: i32, to: i32| {
        let message = format!("there is nothing at {from} to {to}; the list has {} items", items.len());
        Fault::new(ErrorKind::Argument, message)
    };
    match (name, arguments) {
        ("get", [at]) => {
            let at = int(name, target, at)?;
            usize::try_from(at).ok().and_then(|at| items.get(at)).cloned().ok_or_else(|| beyond(at, at))
        }
        ("indexOf", [item]) => position(items.iter().position(|known| java_equals(known, item))),
        ("lastIndexOf", [item]) => position(items.iter().rposition(|known| java_equals(known, item))),
        ("subList", [from, to]) => {
            let (from, to) = (int(name, target, from)?, int(name, target, to)?);
            let range = usize::try_from(from).ok().zip(usize::try_from(to).ok());
            let part = range.and_then(|(from, to)| items.get(from..to));
            part.map(|part| Value::List(part.to_vec())).ok_or_else(|| beyond(from, to))
        }
        _ => on_collection(name, target, items, arguments),
    }
}

fn on_items(
    name: &str,
    target: &Value,
    kind: ItemsKind,
    items: &[Value],
    arguments: &[&Value],
) -> Result<Value, Fault> {
    match kind {
        ItemsKind::Array => Err(missing(name, target)),
        ItemsKind::Stream if name == "count" && arguments.is_empty() => {
            i64::try_from(items.len()).map(Value::Long).map_err(|_| missing(name, target))
        }
        ItemsKind::Stream => Err(missing(name, target)),
        ItemsKind::Set | ItemsKind::Collection => on_collection(name, target, items, arguments),
    }
}

fn on_collection(name: &str, target: &Value, items: &[Value], arguments: &[&Value]) -> Result<Value, Fault> {
    let has = |item: &Value| items.iter().any(|known| java_equals(known, item));
    match (name, arguments) {
        ("size", []) => count(items.len()),
        ("isEmpty", []) => Ok(Value::Bool(items.is_empty())),
        ("contains", [item]) => Ok(Value::Bool(has(item))),
        ("containsAll", [Value::Null]) => {
            Err(Fault::new(ErrorKind::Null, "containsAll(null)").code("NullPointerException"))
        }
        ("containsAll", [others]) => match others.items() {
            Some(others) => Ok(Value::Bool(others.iter().all(has))),
            // A single value becomes a collection of one.
            None => Ok(Value::Bool(has(others))),
        },
        _ => Err(missing(name, target)),
    }
}

fn on_map(name: &str, target: &Value, arguments: &[&Value]) -> Result<Value, Fault> {
    let Value::Map(map) = target else { return Err(missing(name, target)) };
    match (name, arguments) {
        ("size", []) => count(map.len()),
        ("isEmpty", []) => Ok(Value::Bool(map.is_empty())),
        ("containsKey", [key]) => Ok(Value::Bool(map.get_value(key).is_some())),
        ("containsValue", [value]) => Ok(Value::Bool(map.iter().any(|(_, known)| java_equals(known, value)))),
        ("get", [key]) => Ok(map.get_value(key).cloned().unwrap_or(Value::Null)),
        ("getOrDefault", [key, other]) => Ok(map.get_value(key).unwrap_or(other).clone()),
        ("keySet", []) => Ok(Value::Items(ItemsKind::Set, map.iter().map(|(key, _)| key.clone()).collect())),
        ("values", []) => Ok(Value::Items(ItemsKind::Collection, map.iter().map(|(_, value)| value.clone()).collect())),
        ("entrySet", []) => {
            let entries = map.iter().map(|(key, value)| Value::Entry(Box::new((key.clone(), value.clone()))));
            Ok(Value::Items(ItemsKind::Set, entries.collect()))
        }
        _ => Err(missing(name, target)),
    }
}

fn on_number(name: &str, target: &Value, arguments: &[&Value]) -> Result<Value, Fault> {
    match (name, arguments) {
        ("intValue", []) => Ok(Value::Int(number::to_int(target))),
        ("longValue", []) => Ok(Value::Long(number::to_long(target))),
        ("doubleValue", []) => Ok(Value::Double(number::to_double(target))),
        ("floatValue", []) => Ok(Value::Float(number::to_float(target))),
        ("isNaN", []) if matches!(target, Value::Double(_) | Value::Float(_)) => {
            Ok(Value::Bool(number::to_double(target).is_nan()))
        }
        ("isInfinite", []) if matches!(target, Value::Double(_) | Value::Float(_)) => {
            Ok(Value::Bool(number::to_double(target).is_infinite()))
        }
        _ => match target {
            Value::BigInt(value) => on_big_int(name, target, value, arguments),
            _ => Err(missing(name, target)),
        },
    }
}

/// The methods of big whole numbers; arguments that are none of these numbers are cut to one.
fn on_big_int(name: &str, target: &Value, value: &num_bigint::BigInt, arguments: &[&Value]) -> Result<Value, Fault> {
    let operate = |op: Arithmetic, argument: &Value| {
        let other = Value::BigInt(big_argument(name, target, argument)?);
        number::arithmetic(op, target, &other)?.ok_or_else(|| missing(name, target))
    };
    match (name, arguments) {
        ("abs", []) => Ok(Value::BigInt(value.magnitude().clone().into())),
        ("negate", []) => number::negate(target).ok_or_else(|| missing(name, target)),
        ("signum", []) => Ok(Value::Int(Decimal::new(value.clone(), 0).signum())),
        ("add", [argument]) => operate(Arithmetic::Add, argument),
        ("subtract", [argument]) => operate(Arithmetic::Subtract, argument),
        ("multiply", [argument]) => operate(Arithmetic::Multiply, argument),
        ("remainder", [argument]) => operate(Arithmetic::Remainder, argument),
        ("pow", [exponent]) => {
            let exponent = Value::Int(int(name, target, exponent)?);
            number::arithmetic(Arithmetic::Power, target, &exponent)?.ok_or_else(|| missing(name, target))
        }
        ("max" | "min", [argument]) => {
            let other = big_argument(name, target, argument)?;
            let own = if name == "max" { *value >= other } else { *value <= other };
            Ok(Value::BigInt(if own { value.clone() } else { other }))
        }
        _ => Err(missing(name, target)),
    }
}

fn big_argument(name: &str, target: &Value, argument: &Value) -> Result<num_bigint::BigInt, Fault> {
    match argument {
        Value::List(items) => match items.first() {
            Some(first) if first.is_number() => number::to_big(first),
            _ => Err(missing(name, target)),
        },
        other if other.is_number() => number::to_big(other),
        _ => Err(missing(name, target)),
    }
}

fn rounding(argument: &Value, name: &str, target: &Value) -> Result<Rounding, Fault> {
    let mode = match argument {
        Value::Text(text) => Rounding::by_name(text).or_else(|| text.trim().parse().ok().and_then(Rounding::by_number)),
        other => Rounding::by_number(int(name, target, other)?),
    };
    mode.ok_or_else(|| {
        let message = format!("{} is no way of rounding; write e.g. 'HALF_UP'", argument.shown());
        Fault::new(ErrorKind::Argument, message).code("IllegalArgumentException")
    })
}

fn on_decimal(name: &str, target: &Value, decimal: &Decimal, arguments: &[&Value]) -> Result<Value, Fault> {
    let other = |argument: &Value| match argument {
        Value::Null => Err(Fault::new(ErrorKind::Null, format!("{name}(null)")).code("NullPointerException")),
        Value::Text(text) => text.trim().parse().map_err(|_| {
            let message = format!("{name}() wants a number, not {}", argument.shown());
            Fault::new(ErrorKind::Argument, message).code("EL1029E")
        }),
        argument if argument.is_number() => number::to_decimal(argument),
        Value::List(items) => match items.first() {
            Some(first) if first.is_number() => number::to_decimal(first),
            _ => Err(missing(name, target)),
        },
        _ => Err(missing(name, target)),
    };
    let result = match (name, arguments) {
        ("abs", []) => decimal.abs(),
        ("negate", []) => decimal.negate(),
        ("add", [argument]) => decimal.add(&other(argument)?)?,
        ("subtract", [argument]) => decimal.subtract(&other(argument)?)?,
        ("multiply", [argument]) => decimal.multiply(&other(argument)?)?,
        ("remainder", [argument]) => decimal.remainder(&other(argument)?)?,
        ("divide", [argument, mode]) => {
            decimal.divide(&other(argument)?, decimal.scale(), rounding(mode, name, target)?)?
        }
        ("divide", [argument, scale, mode]) => {
            decimal.divide(&other(argument)?, int(name, target, scale)?, rounding(mode, name, target)?)?
        }
        ("max" | "min", [argument]) => {
            let argument = other(argument)?;
            let order = decimal.compare(&argument)?;
            let own = if name == "max" { order.is_ge() } else { order.is_le() };
            if own { decimal.clone() } else { argument }
        }
        ("pow", [exponent]) => decimal.pow(int(name, target, exponent)?)?,
        ("setScale", [scale]) => decimal.set_scale(int(name, target, scale)?, Rounding::Unnecessary)?,
        ("setScale", [scale, mode]) => decimal.set_scale(int(name, target, scale)?, rounding(mode, name, target)?)?,
        ("stripTrailingZeros", []) => decimal.strip_trailing_zeros(),
        ("scale", []) => return Ok(Value::Int(decimal.scale())),
        ("signum", []) => return Ok(Value::Int(decimal.signum())),
        ("precision", []) => return count(decimal.precision()),
        ("toPlainString", []) => return decimal.plain_text().map(Value::Text),
        _ => return on_number(name, target, arguments),
    };
    Ok(Value::Decimal(result))
}

/// `hashCode` of Java; `None` where it is not a matter of the value.
#[expect(clippy::cast_possible_truncation, reason = "Java folds 64 bits into 32")]
fn hash_code(value: &Value) -> Option<i32> {
    let fold = |bits: u64| (bits ^ (bits >> 32)) as u32;
    let hash = match value {
        Value::Null => 0,
        Value::Bool(value) => {
            if *value {
                1231
            } else {
                1237
            }
        }
        Value::Int(value) => value.cast_unsigned(),
        Value::Long(value) => fold(value.cast_unsigned()),
        Value::Float(value) => value.to_bits(),
        Value::Double(value) => fold(value.to_bits()),
        Value::Char(unit) => u32::from(*unit),
        Value::BigInt(value) => big_hash(value),
        Value::Decimal(value) => {
            big_hash(value.unscaled()).wrapping_mul(31).wrapping_add(value.scale().cast_unsigned())
        }
        Value::Text(text) => {
            text.encode_utf16().fold(0, |hash: u32, unit| hash.wrapping_mul(31).wrapping_add(unit.into()))
        }
        Value::List(items) => {
            let mut hash: u32 = 1;
            for item in items {
                hash = hash.wrapping_mul(31).wrapping_add(hash_code(item)?.cast_unsigned());
            }
            hash
        }
        Value::Items(ItemsKind::Set, items) => {
            let mut hash: u32 = 0;
            for item in items {
                hash = hash.wrapping_add(hash_code(item)?.cast_unsigned());
            }
            hash
        }
        Value::Items(..) => return None,
        Value::Map(map) => {
            let mut hash: u32 = 0;
            for (key, value) in map.iter() {
                hash = hash.wrapping_add((hash_code(key)? ^ hash_code(value)?).cast_unsigned());
            }
            hash
        }
        Value::Entry(entry) => (hash_code(&entry.0)? ^ hash_code(&entry.1)?).cast_unsigned(),
    };
    Some(hash.cast_signed())
}

/// `BigInteger.hashCode`: the magnitude's 32 bit parts from the highest, and the sign.
fn big_hash(value: &num_bigint::BigInt) -> u32 {
    let parts = value.magnitude().to_u32_digits();
    let hash = parts.iter().rev().fold(0_u32, |hash, part| hash.wrapping_mul(31).wrapping_add(*part));
    if value.sign() == num_bigint::Sign::Minus { hash.wrapping_neg() } else { hash }
}
