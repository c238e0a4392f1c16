//! Arithmetic.
//!
//! Purpose: SpEL's number rules: whole numbers wrap, decimals keep their scale as `BigDecimal` does, division rounds
//! half-even to the larger scale of both.
//! Invariant: decimal results are exact or an error, apart from the rounding that division has by definition.
//! Never: turns a decimal into a binary floating point number.

use num_bigint::BigInt;

use super::ast::Arithmetic;
use super::decimal::{BITS_MAX, Decimal, bounded, too_big};
use super::error::{ErrorKind, Fault};
use super::value::{Value, double_text, float_text};

/// Both numbers in the wider of their types.
pub(super) enum Pair {
    Ints(i32, i32),
    Longs(i64, i64),
    BigInts(BigInt, BigInt),
    Floats(f32, f32),
    Doubles(f64, f64),
    Decimals(Decimal, Decimal),
}

/// Widens two numbers; `None` where one is no number. The order of the types is Spring's: a float beats a big whole
/// number.
pub(super) fn pair(left: &Value, right: &Value) -> Result<Option<Pair>, Fault> {
    if !left.is_number() || !right.is_number() {
        return Ok(None);
    }
    Ok(Some(match (left, right) {
        (Value::Int(left), Value::Int(right)) => Pair::Ints(*left, *right),
        (Value::Decimal(_), _) | (_, Value::Decimal(_)) => Pair::Decimals(to_decimal(left)?, to_decimal(right)?),
        (Value::Double(_), _) | (_, Value::Double(_)) => Pair::Doubles(to_double(left), to_double(right)),
        (Value::Float(_), _) | (_, Value::Float(_)) => Pair::Floats(to_float(left), to_float(right)),
        (Value::BigInt(_), _) | (_, Value::BigInt(_)) => Pair::BigInts(to_big(left)?, to_big(right)?),
        _ => Pair::Longs(to_long(left), to_long(right)),
    }))
}

/// `longValue` of Java: whole numbers beyond 64 bits wrap, floating point numbers stop at the ends of the range.
#[expect(clippy::cast_possible_truncation, reason = "as documented: Java's conversion, which Rust's `as` shares")]
pub(super) fn to_long(value: &Value) -> i64 {
    match value {
        Value::Int(value) => i64::from(*value),
        Value::Long(value) => *value,
        Value::BigInt(value) => low_bits(value),
        Value::Float(value) => *value as i64,
        Value::Double(value) => *value as i64,
        // 10^64 and its multiples have 64 zero bits at their end.
        Value::Decimal(value) if value.scale() < -64 => 0,
        Value::Decimal(value) => value.truncated().map_or(0, |value| low_bits(&value)),
        _ => 0,
    }
}

/// `intValue` of Java.
#[expect(clippy::cast_possible_truncation, reason = "Java's conversion")]
pub(super) fn to_int(value: &Value) -> i32 {
    match value {
        Value::Float(value) => *value as i32,
        Value::Double(value) => *value as i32,
        other => to_long(other) as i32,
    }
}

fn low_bits(value: &BigInt) -> i64 {
    let low = value.iter_u64_digits().next().unwrap_or(0).cast_signed();
    if value.sign() == num_bigint::Sign::Minus { low.wrapping_neg() } else { low }
}

#[expect(clippy::cast_precision_loss, reason = "Java's long to double loses digits in the same way")]
pub(super) fn to_double(value: &Value) -> f64 {
    match value {
        Value::Double(value) => *value,
        Value::Float(value) => f64::from(*value),
        Value::BigInt(value) => value.to_string().parse().unwrap_or(f64::NAN),
        Value::Decimal(value) => value.to_string().parse().unwrap_or(f64::NAN),
        other => to_long(other) as f64,
    }
}

#[expect(clippy::cast_precision_loss, reason = "Java's long to float loses digits in the same way")]
#[expect(clippy::cast_possible_truncation, reason = "Java's double to float")]
pub(super) fn to_float(value: &Value) -> f32 {
    match value {
        Value::Double(value) => *value as f32,
        Value::Float(value) => *value,
        Value::BigInt(value) => value.to_string().parse().unwrap_or(f32::NAN),
        Value::Decimal(value) => value.to_string().parse().unwrap_or(f32::NAN),
        other => to_long(other) as f32,
    }
}

pub(super) fn to_big(value: &Value) -> Result<BigInt, Fault> {
    match value {
        Value::BigInt(value) => Ok(value.clone()),
        Value::Decimal(value) => value.truncated(),
        other => Ok(BigInt::from(to_long(other))),
    }
}

/// A floating point number by its shortest text, as Spring converts it.
pub(super) fn to_decimal(value: &Value) -> Result<Decimal, Fault> {
    let text = match value {
        Value::Decimal(value) => return Ok(value.clone()),
        Value::BigInt(value) => return Ok(Decimal::new(value.clone(), 0)),
        Value::Double(value) => double_text(*value),
        Value::Float(value) => float_text(*value),
        other => return Ok(Decimal::from(to_long(other))),
    };
    text.parse().map_err(|_| {
        Fault::new(ErrorKind::Conversion, format!("{text} can't become a decimal")).code("NumberFormatException")
    })
}

/// `left op right` for two numbers; `None` where one is no number.
pub(super) fn arithmetic(op: Arithmetic, left: &Value, right: &Value) -> Result<Option<Value>, Fault> {
    let Some(pair) = pair(left, right)? else { return Ok(None) };
    if op == Arithmetic::Power {
        return power(left, right).map(Some);
    }
    let divides = matches!(op, Arithmetic::Divide | Arithmetic::Remainder);
    let by_zero = divides
        && match &pair {
            Pair::Ints(_, right) => *right == 0,
            Pair::Longs(_, right) => *right == 0,
            Pair::BigInts(_, right) => *right == BigInt::from(0),
            Pair::Decimals(_, right) => right.is_zero(),
            Pair::Floats(..) | Pair::Doubles(..) => false,
        };
    if by_zero {
        let message = format!("{} {} 0: division by zero", left.shown(), op.sign());
        return Err(Fault::new(ErrorKind::Arithmetic, message));
    }
    Ok(Some(match pair {
        Pair::Ints(left, right) => Value::Int(match op {
            Arithmetic::Add => left.wrapping_add(right),
            Arithmetic::Subtract => left.wrapping_sub(right),
            Arithmetic::Multiply => left.wrapping_mul(right),
            Arithmetic::Divide => left.wrapping_div(right),
            Arithmetic::Remainder | Arithmetic::Power => left.wrapping_rem(right),
        }),
        Pair::Longs(left, right) => Value::Long(match op {
            Arithmetic::Add => left.wrapping_add(right),
            Arithmetic::Subtract => left.wrapping_sub(right),
            Arithmetic::Multiply => left.wrapping_mul(right),
            Arithmetic::Divide => left.wrapping_div(right),
            Arithmetic::Remainder | Arithmetic::Power => left.wrapping_rem(right),
        }),
        Pair::BigInts(left, right) => Value::BigInt(big_ints(op, &left, &right)?),
        Pair::Floats(left, right) => Value::Float(match op {
            Arithmetic::Add => left + right,
            Arithmetic::Subtract => left - right,
            Arithmetic::Multiply => left * right,
            Arithmetic::Divide => left / right,
            Arithmetic::Remainder | Arithmetic::Power => left % right,
        }),
        Pair::Doubles(left, right) => Value::Double(match op {
            Arithmetic::Add => left + right,
            Arithmetic::Subtract => left - right,
            Arithmetic::Multiply => left * right,
            Arithmetic::Divide => left / right,
            Arithmetic::Remainder | Arithmetic::Power => left % right,
        }),
        Pair::Decimals(left, right) => Value::Decimal(match op {
            Arithmetic::Add => left.add(&right)?,
            Arithmetic::Subtract => left.subtract(&right)?,
            Arithmetic::Multiply => left.multiply(&right)?,
            Arithmetic::Divide => left.divide_like_spring(&right)?,
            Arithmetic::Remainder | Arithmetic::Power => left.remainder(&right)?,
        }),
    }))
}

fn big_ints(op: Arithmetic, left: &BigInt, right: &BigInt) -> Result<BigInt, Fault> {
    bounded(match op {
        Arithmetic::Add => left + right,
        Arithmetic::Subtract => left - right,
        Arithmetic::Multiply => {
            if left.bits() + right.bits() > BITS_MAX + 64 {
                return Err(too_big());
            }
            left * right
        }
        Arithmetic::Divide => left / right,
        Arithmetic::Remainder | Arithmetic::Power => left % right,
    })
}

/// `left ^ right`: exact for decimals and big whole numbers, by way of a double for the rest.
fn power(left: &Value, right: &Value) -> Result<Value, Fault> {
    match (left, right) {
        (Value::Decimal(left), right) => left.pow(to_int(right)).map(Value::Decimal),
        (Value::BigInt(left), right) => {
            let exponent = to_int(right);
            let Ok(power) = u32::try_from(exponent) else {
                let message = format!("the exponent {exponent} is negative");
                return Err(Fault::new(ErrorKind::Arithmetic, message));
            };
            if left.bits().saturating_mul(power.into()) > BITS_MAX {
                return Err(too_big());
            }
            Ok(Value::BigInt(left.pow(power)))
        }
        (Value::Double(_), _) | (_, Value::Double(_)) => Ok(Value::Double(java_pow(to_double(left), to_double(right)))),
        (Value::Float(_), _) | (_, Value::Float(_)) => {
            Ok(Value::Double(java_pow(to_float(left).into(), to_float(right).into())))
        }
        _ => {
            let result = Value::Double(java_pow(to_double(left), to_double(right)));
            let long = matches!(left, Value::Long(_)) || matches!(right, Value::Long(_));
            let wide = long || to_double(&result) > f64::from(i32::MAX);
            Ok(if wide { Value::Long(to_long(&result)) } else { Value::Int(to_int(&result)) })
        }
    }
}

/// `Math.pow`, which is not a number for 1 or -1 to an infinite power.
fn java_pow(base: f64, exponent: f64) -> f64 {
    if exponent.is_nan() || (base.abs() == 1.0 && exponent.is_infinite()) { f64::NAN } else { base.powf(exponent) }
}

/// `-value`; `None` where it is no number.
pub(super) fn negate(value: &Value) -> Option<Value> {
    match value {
        Value::Int(value) => Some(Value::Int(value.wrapping_neg())),
        Value::Long(value) => Some(Value::Long(value.wrapping_neg())),
        Value::BigInt(value) => Some(Value::BigInt(-value)),
        Value::Float(value) => Some(Value::Float(-value)),
        Value::Double(value) => Some(Value::Double(-value)),
        Value::Decimal(value) => Some(Value::Decimal(value.negate())),
        _ => None,
    }
}
