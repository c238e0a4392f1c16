//! Arithmetic.
//!
//! Purpose: SpEL's number rules: whole numbers wrap, decimals keep their scale as `BigDecimal` does, division rounds
//! half-even to the larger scale of both.
//! Invariant: decimal results are exact or an error, apart from the rounding that division has by definition.
//! Never: turns a decimal into a binary floating point number.

use rust_decimal::Decimal;

use super::ast::Arithmetic;
use super::error::{ErrorKind, Fault};
use super::value::{Value, double_text};

/// Most digits after the point that a decimal holds.
const SCALE_MAX: u32 = 28;

/// Both numbers in the wider of their types.
pub(super) enum Pair {
    Ints(i32, i32),
    Longs(i64, i64),
    Doubles(f64, f64),
    Decimals(Decimal, Decimal),
}

/// Widens two numbers; `None` where one is no number.
pub(super) fn pair(left: &Value, right: &Value) -> Result<Option<Pair>, Fault> {
    if !left.is_number() || !right.is_number() {
        return Ok(None);
    }
    Ok(Some(match (left, right) {
        (Value::Decimal(_), _) | (_, Value::Decimal(_)) => Pair::Decimals(decimal(left)?, decimal(right)?),
        (Value::Double(_), _) | (_, Value::Double(_)) => Pair::Doubles(double(left), double(right)),
        (Value::Int(left), Value::Int(right)) => Pair::Ints(*left, *right),
        _ => Pair::Longs(long(left), long(right)),
    }))
}

fn long(value: &Value) -> i64 {
    match value {
        Value::Int(value) => i64::from(*value),
        Value::Long(value) => *value,
        _ => 0,
    }
}

#[expect(clippy::cast_precision_loss, reason = "Java's long to double loses digits in the same way")]
fn double(value: &Value) -> f64 {
    match value {
        Value::Double(value) => *value,
        other => long(other) as f64,
    }
}

fn decimal(value: &Value) -> Result<Decimal, Fault> {
    match value {
        Value::Decimal(value) => Ok(*value),
        Value::Double(value) => {
            let text = double_text(*value);
            let parsed =
                if text.contains('E') { Decimal::from_scientific(&text) } else { Decimal::from_str_exact(&text) };
            parsed.map_err(|_| Fault::new(ErrorKind::Precision, format!("{text} does not fit into a decimal")))
        }
        other => Ok(Decimal::from(long(other))),
    }
}

/// `left op right` for two numbers; `None` where one is no number.
pub(super) fn arithmetic(op: Arithmetic, left: &Value, right: &Value) -> Result<Option<Value>, Fault> {
    let Some(pair) = pair(left, right)? else { return Ok(None) };
    let by_zero = || Fault::new(ErrorKind::Arithmetic, format!("{left} {} 0: division by zero", op.sign()));
    let divides = matches!(op, Arithmetic::Divide | Arithmetic::Remainder);
    Ok(Some(match pair {
        Pair::Ints(_, 0) | Pair::Longs(_, 0) if divides => return Err(by_zero()),
        Pair::Decimals(_, right) if divides && right.is_zero() => return Err(by_zero()),
        Pair::Ints(left, right) => Value::Int(match op {
            Arithmetic::Add => left.wrapping_add(right),
            Arithmetic::Subtract => left.wrapping_sub(right),
            Arithmetic::Multiply => left.wrapping_mul(right),
            Arithmetic::Divide => left.wrapping_div(right),
            Arithmetic::Remainder => left.wrapping_rem(right),
        }),
        Pair::Longs(left, right) => Value::Long(match op {
            Arithmetic::Add => left.wrapping_add(right),
            Arithmetic::Subtract => left.wrapping_sub(right),
            Arithmetic::Multiply => left.wrapping_mul(right),
            Arithmetic::Divide => left.wrapping_div(right),
            Arithmetic::Remainder => left.wrapping_rem(right),
        }),
        Pair::Doubles(left, right) => Value::Double(match op {
            Arithmetic::Add => left + right,
            Arithmetic::Subtract => left - right,
            Arithmetic::Multiply => left * right,
            Arithmetic::Divide => left / right,
            Arithmetic::Remainder => left % right,
        }),
        Pair::Decimals(left, right) => Value::Decimal(decimals(op, left, right)?),
    }))
}

/// `-value`; `None` where it is no number.
pub(super) fn negate(value: &Value) -> Option<Value> {
    match value {
        Value::Int(value) => Some(Value::Int(value.wrapping_neg())),
        Value::Long(value) => Some(Value::Long(value.wrapping_neg())),
        Value::Double(value) => Some(Value::Double(-value)),
        Value::Decimal(value) if value.is_zero() => Some(Value::Decimal(*value)),
        Value::Decimal(value) => Some(Value::Decimal(-*value)),
        Value::Null | Value::Bool(_) | Value::Text(_) | Value::List(_) | Value::Map(_) => None,
    }
}

fn too_long() -> Fault {
    Fault::new(
        ErrorKind::Precision,
        format!(
            "the result has more digits than a decimal holds (28, {SCALE_MAX} after the point); use fewer decimal places"
        ),
    )
}

fn power_of_ten(exponent: u32) -> Result<i128, Fault> {
    10_i128.checked_pow(exponent).ok_or_else(too_long)
}

fn build(mantissa: i128, scale: u32) -> Result<Decimal, Fault> {
    Decimal::try_from_i128_with_scale(mantissa, scale).map_err(|_| too_long())
}

/// Both mantissas at one scale.
fn aligned(left: Decimal, right: Decimal) -> Result<(i128, i128, u32), Fault> {
    let scale = left.scale().max(right.scale());
    let at_scale =
        |value: Decimal| value.mantissa().checked_mul(power_of_ten(scale - value.scale())?).ok_or_else(too_long);
    Ok((at_scale(left)?, at_scale(right)?, scale))
}

fn decimals(op: Arithmetic, left: Decimal, right: Decimal) -> Result<Decimal, Fault> {
    match op {
        Arithmetic::Add => {
            let (left, right, scale) = aligned(left, right)?;
            build(left.checked_add(right).ok_or_else(too_long)?, scale)
        }
        Arithmetic::Subtract => {
            let (left, right, scale) = aligned(left, right)?;
            build(left.checked_sub(right).ok_or_else(too_long)?, scale)
        }
        Arithmetic::Multiply => {
            let product = left.mantissa().checked_mul(right.mantissa()).ok_or_else(too_long)?;
            build(product, left.scale() + right.scale())
        }
        Arithmetic::Divide => divide(left, right),
        Arithmetic::Remainder => remainder(left, right),
    }
}

/// Rounds half-even to the larger scale of both.
fn divide(left: Decimal, right: Decimal) -> Result<Decimal, Fault> {
    let scale = left.scale().max(right.scale());
    let shift = scale - left.scale() + right.scale();
    let numerator = left.mantissa().checked_mul(power_of_ten(shift)?).ok_or_else(too_long)?;
    let denominator = right.mantissa();
    let (quotient, rest) = (numerator / denominator, numerator % denominator);
    let twice = rest.unsigned_abs() * 2;
    let away = if (numerator < 0) == (denominator < 0) { 1 } else { -1 };
    let rounded = match twice.cmp(&denominator.unsigned_abs()) {
        std::cmp::Ordering::Less => quotient,
        std::cmp::Ordering::Equal if quotient % 2 == 0 => quotient,
        std::cmp::Ordering::Equal | std::cmp::Ordering::Greater => quotient + away,
    };
    build(rounded, scale)
}

/// `left - trunc(left / right) * right`, with the scale that `BigDecimal.remainder` gives it.
fn remainder(left: Decimal, right: Decimal) -> Result<Decimal, Fault> {
    let (left_mantissa, right_mantissa, common) = aligned(left, right)?;
    let rest = left_mantissa % right_mantissa;
    let mut quotient = left_mantissa / right_mantissa;
    // The integral quotient sheds zeros down to its preferred scale left - right (which may be below zero).
    let mut shed = 0;
    while quotient != 0 && quotient % 10 == 0 && left.scale() + shed < right.scale() {
        quotient /= 10;
        shed += 1;
    }
    let quotient_scale =
        if quotient == 0 { left.scale() } else { (right.scale() - shed.min(right.scale())).max(left.scale()) };
    let scale = quotient_scale.max(left.scale());
    build(rest / power_of_ten(common - scale.min(common))?, scale.min(common))
}
