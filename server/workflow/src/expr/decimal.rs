//! Exact decimal numbers.
//!
//! Purpose: `BigDecimal`'s arithmetic: a whole number and a scale, both kept exactly, so that `10.50` stays `10.50`.
//! Invariant: results are exact, apart from the rounding that division and `setScale` have by definition; a result of
//! more than [`BITS_MAX`] bits is refused.
//! Never: rounds silently, turns into binary floating point by itself.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use num_bigint::{BigInt, Sign};

use super::error::{ErrorKind, Fault};

/// Most bits of a number's digits (the limit that Spring 7 sets for powers).
pub(super) const BITS_MAX: u64 = 1_000_000;
/// The largest power of ten with fewer bits.
const TEN_POWER_MAX: i64 = 301_029;
/// Most digits of a number written out, and the longest text that is read as one.
const DIGITS_MAX: usize = 100_000;

/// A number with its scale: `unscaled × 10^-scale`. `==` also compares the scale, as Java's `equals` does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decimal {
    unscaled: BigInt,
    scale: i32,
}

/// How `setScale` and `divide` round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rounding {
    Up,
    Down,
    Ceiling,
    Floor,
    HalfUp,
    HalfDown,
    HalfEven,
    Unnecessary,
}

impl Rounding {
    const ALL: [(&'static str, Self); 8] = [
        ("UP", Self::Up),
        ("DOWN", Self::Down),
        ("CEILING", Self::Ceiling),
        ("FLOOR", Self::Floor),
        ("HALF_UP", Self::HalfUp),
        ("HALF_DOWN", Self::HalfDown),
        ("HALF_EVEN", Self::HalfEven),
        ("UNNECESSARY", Self::Unnecessary),
    ];

    pub(super) fn by_number(number: i32) -> Option<Self> {
        usize::try_from(number).ok().and_then(|at| Self::ALL.get(at)).map(|(_, mode)| *mode)
    }

    pub(super) fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name.trim()).map(|(_, mode)| *mode)
    }
}

pub(super) fn too_big() -> Fault {
    let message = format!("the number would have more than {BITS_MAX} bits; use smaller numbers");
    Fault::new(ErrorKind::Limit, message)
}

fn arithmetic(message: &str) -> Fault {
    Fault::new(ErrorKind::Arithmetic, message)
}

/// Refuses a whole number that has grown too big.
pub(super) fn bounded(value: BigInt) -> Result<BigInt, Fault> {
    if value.bits() > BITS_MAX { Err(too_big()) } else { Ok(value) }
}

fn ten_to(exponent: i64) -> Result<BigInt, Fault> {
    let exponent = u32::try_from(exponent).ok().filter(|exponent| i64::from(*exponent) <= TEN_POWER_MAX);
    match exponent {
        Some(exponent) if exponent <= 38 => Ok(BigInt::from(10_u128.pow(exponent))),
        Some(exponent) => Ok(BigInt::from(10).pow(exponent)),
        None => Err(too_big()),
    }
}

fn is_zero(value: &BigInt) -> bool {
    value.sign() == Sign::NoSign
}

impl Decimal {
    pub(super) fn new(unscaled: BigInt, scale: i32) -> Self {
        Self { unscaled, scale }
    }

    fn sized(unscaled: BigInt, scale: i64) -> Result<Self, Fault> {
        let scale = i32::try_from(scale).map_err(|_| arithmetic("the scale leaves 32 bits"))?;
        Ok(Self { unscaled: bounded(unscaled)?, scale })
    }

    /// How many digits stand behind the point; negative where zeros before it are left out (`1E+3`).
    pub fn scale(&self) -> i32 {
        self.scale
    }

    /// Whether it is 0 in whatever scale.
    pub fn is_zero(&self) -> bool {
        is_zero(&self.unscaled)
    }

    pub(super) fn unscaled(&self) -> &BigInt {
        &self.unscaled
    }

    pub(super) fn signum(&self) -> i32 {
        match self.unscaled.sign() {
            Sign::Minus => -1,
            Sign::NoSign => 0,
            Sign::Plus => 1,
        }
    }

    pub(super) fn precision(&self) -> usize {
        self.unscaled.magnitude().to_string().len()
    }

    pub(super) fn negate(&self) -> Self {
        Self { unscaled: -&self.unscaled, scale: self.scale }
    }

    pub(super) fn abs(&self) -> Self {
        if self.signum() < 0 { self.negate() } else { self.clone() }
    }

    /// The digits at a larger scale.
    fn at_scale(&self, scale: i32) -> Result<BigInt, Fault> {
        let shift = i64::from(scale) - i64::from(self.scale);
        if shift == 0 || self.is_zero() { Ok(self.unscaled.clone()) } else { bounded(&self.unscaled * ten_to(shift)?) }
    }

    pub(super) fn add(&self, other: &Self) -> Result<Self, Fault> {
        let scale = self.scale.max(other.scale);
        Self::sized(self.at_scale(scale)? + other.at_scale(scale)?, scale.into())
    }

    pub(super) fn subtract(&self, other: &Self) -> Result<Self, Fault> {
        let scale = self.scale.max(other.scale);
        Self::sized(self.at_scale(scale)? - other.at_scale(scale)?, scale.into())
    }

    pub(super) fn multiply(&self, other: &Self) -> Result<Self, Fault> {
        if self.unscaled.bits() + other.unscaled.bits() > BITS_MAX + 64 {
            return Err(too_big());
        }
        Self::sized(&self.unscaled * &other.unscaled, i64::from(self.scale) + i64::from(other.scale))
    }

    /// Rounds half-even to the larger scale of both, which is what the operator `/` does.
    pub(super) fn divide_like_spring(&self, other: &Self) -> Result<Self, Fault> {
        self.divide(other, self.scale.max(other.scale), Rounding::HalfEven)
    }

    pub(super) fn divide(&self, other: &Self, scale: i32, mode: Rounding) -> Result<Self, Fault> {
        if other.is_zero() {
            return Err(arithmetic("division by zero"));
        }
        let shift = i64::from(scale) - i64::from(self.scale) + i64::from(other.scale);
        let (above, below) = if self.is_zero() || shift == 0 {
            (self.unscaled.clone(), other.unscaled.clone())
        } else if shift > 0 {
            (bounded(&self.unscaled * ten_to(shift)?)?, other.unscaled.clone())
        } else {
            (self.unscaled.clone(), bounded(&other.unscaled * ten_to(-shift)?)?)
        };
        Self::sized(round(&above, &below, mode)?, scale.into())
    }

    /// `BigDecimal.remainder`: `self - integral quotient × other`, in the scale that this computation has.
    pub(super) fn remainder(&self, other: &Self) -> Result<Self, Fault> {
        if other.is_zero() {
            return Err(arithmetic("division by zero"));
        }
        let common = self.scale.max(other.scale);
        let (left, right) = (self.at_scale(common)?, other.at_scale(common)?);
        let mut quotient = &left / &right;
        let rest = &left - &quotient * &right;
        let preferred = i64::from(self.scale) - i64::from(other.scale);
        let mut quotient_scale = preferred;
        if preferred < 0 && !is_zero(&quotient) {
            // The quotient sheds trailing zeros down to its preferred scale.
            let ten = BigInt::from(10);
            quotient_scale = 0;
            while quotient_scale > preferred && is_zero(&(&quotient % &ten)) {
                quotient /= &ten;
                quotient_scale -= 1;
            }
        }
        let scale = (quotient_scale + i64::from(other.scale)).max(self.scale.into());
        let shed = i64::from(common) - scale;
        let digits = if shed > 0 { rest / ten_to(shed)? } else { rest };
        Self::sized(digits, scale.min(common.into()))
    }

    pub(super) fn pow(&self, exponent: i32) -> Result<Self, Fault> {
        let power = u32::try_from(exponent).ok().filter(|exponent| *exponent <= 999_999_999);
        let Some(power) = power else {
            return Err(arithmetic("the exponent of a decimal lies between 0 and 999999999"));
        };
        if self.unscaled.bits().saturating_mul(power.into()) > BITS_MAX {
            return Err(too_big());
        }
        Self::sized(self.unscaled.pow(power), i64::from(self.scale) * i64::from(power))
    }

    pub(super) fn set_scale(&self, scale: i32, mode: Rounding) -> Result<Self, Fault> {
        if scale >= self.scale {
            return Ok(Self { unscaled: self.at_scale(scale)?, scale });
        }
        let shed = i64::from(self.scale) - i64::from(scale);
        if shed > TEN_POWER_MAX && !self.is_zero() {
            return Err(too_big());
        }
        let divisor = if self.is_zero() { BigInt::from(1) } else { ten_to(shed)? };
        Self::sized(round(&self.unscaled, &divisor, mode)?, scale.into())
    }

    pub(super) fn strip_trailing_zeros(&self) -> Self {
        if self.is_zero() {
            return Self { unscaled: BigInt::from(0), scale: 0 };
        }
        let text = self.unscaled.to_string();
        let kept = text.trim_end_matches('0');
        let shed = i32::try_from(text.len() - kept.len()).unwrap_or(0);
        match (kept.parse(), self.scale.checked_sub(shed)) {
            (Ok(unscaled), Some(scale)) => Self { unscaled, scale },
            _ => self.clone(),
        }
    }

    /// The digits before the point; a huge exponent (`1E+400000`) is refused.
    pub(super) fn truncated(&self) -> Result<BigInt, Fault> {
        match self.scale {
            0 => Ok(self.unscaled.clone()),
            _ if self.is_zero() => Ok(BigInt::from(0)),
            1.. if i64::from(self.scale) > TEN_POWER_MAX => Ok(BigInt::from(0)),
            1.. => Ok(&self.unscaled / ten_to(self.scale.into())?),
            _ => self.at_scale(0),
        }
    }

    /// The order by value. Sizes are compared first, so that `1E+999999 > 1` costs nothing.
    pub(super) fn compare(&self, other: &Self) -> Result<Ordering, Fault> {
        if self.scale == other.scale {
            return Ok(self.unscaled.cmp(&other.unscaled));
        }
        let signs = self.signum().cmp(&other.signum());
        if signs.is_ne() || self.is_zero() {
            return Ok(signs);
        }
        let (low, high) = self.magnitude_range();
        let (other_low, other_high) = other.magnitude_range();
        let by_size = if low > other_high {
            Some(Ordering::Greater)
        } else if high < other_low {
            Some(Ordering::Less)
        } else {
            None
        };
        match by_size {
            Some(order) if self.signum() < 0 => Ok(order.reverse()),
            Some(order) => Ok(order),
            None => {
                let scale = self.scale.max(other.scale);
                Ok(self.at_scale(scale)?.cmp(&other.at_scale(scale)?))
            }
        }
    }

    /// Between which powers of ten the value lies.
    fn magnitude_range(&self) -> (i64, i64) {
        let bits = i64::try_from(self.unscaled.bits()).unwrap_or(i64::MAX / 2);
        let (low, high) = ((bits - 1) * 30_102 / 100_000, bits * 30_104 / 100_000 + 1);
        (low - i64::from(self.scale), high - i64::from(self.scale))
    }

    /// Without an exponent.
    pub(super) fn plain_text(&self) -> Result<String, Fault> {
        let (sign, digits) = self.sign_and_digits();
        let long = usize::try_from(self.scale.unsigned_abs()).unwrap_or(usize::MAX);
        if long > DIGITS_MAX {
            return Err(Fault::new(ErrorKind::Limit, format!("the number has more than {DIGITS_MAX} digits")));
        }
        if self.scale <= 0 {
            let zeros = if self.is_zero() { 0 } else { long };
            return Ok(format!("{sign}{digits}{}", "0".repeat(zeros)));
        }
        let padded = format!("{digits:0>width$}", width = long + 1);
        let (integer, fraction) = padded.split_at(padded.len() - long);
        Ok(format!("{sign}{integer}.{fraction}"))
    }

    fn sign_and_digits(&self) -> (&'static str, String) {
        let sign = if self.signum() < 0 { "-" } else { "" };
        let (magnitude, small) = (self.unscaled.magnitude(), u64::try_from(self.unscaled.magnitude()));
        (sign, small.map_or_else(|_| magnitude.to_string(), |small| small.to_string()))
    }
}

/// `above / below`, rounded to a whole number.
fn round(above: &BigInt, below: &BigInt, mode: Rounding) -> Result<BigInt, Fault> {
    let quotient = above / below;
    let rest = above - &quotient * below;
    if is_zero(&rest) {
        return Ok(quotient);
    }
    let positive = (above.sign() == Sign::Minus) == (below.sign() == Sign::Minus);
    let half = (BigInt::from(rest.magnitude().clone()) * 2_u32).cmp(&BigInt::from(below.magnitude().clone()));
    let away = match mode {
        Rounding::Up => true,
        Rounding::Down => false,
        Rounding::Ceiling => positive,
        Rounding::Floor => !positive,
        Rounding::HalfUp => half.is_ge(),
        Rounding::HalfDown => half.is_gt(),
        Rounding::HalfEven => half.is_gt() || (half.is_eq() && quotient.magnitude().bit(0)),
        Rounding::Unnecessary => {
            return Err(arithmetic("rounding is necessary; say how, e.g. setScale(2, 'HALF_UP')"));
        }
    };
    Ok(match (away, positive) {
        (false, _) => quotient,
        (true, true) => quotient + 1,
        (true, false) => quotient - 1,
    })
}

/// As `BigDecimal.toString`: plain, or with an exponent where the scale is negative or many zeros would lead.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, digits) = self.sign_and_digits();
        let last = i64::try_from(digits.len()).unwrap_or(i64::MAX) - 1;
        let adjusted = last - i64::from(self.scale);
        if self.scale >= 0 && adjusted >= -6 {
            let scale = usize::try_from(self.scale).unwrap_or(0);
            if scale == 0 {
                return write!(f, "{sign}{digits}");
            }
            let padded = format!("{digits:0>width$}", width = scale + 1);
            let (integer, fraction) = padded.split_at(padded.len() - scale);
            return write!(f, "{sign}{integer}.{fraction}");
        }
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let exponent_sign = if adjusted > 0 { "+" } else { "" };
        write!(f, "{sign}{first}{point}{rest}")?;
        if adjusted == 0 { Ok(()) } else { write!(f, "E{exponent_sign}{adjusted}") }
    }
}

/// Text that is no decimal number, or too long for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a decimal number such as -1234.50 or 1E+3")]
pub struct NoDecimal;

impl FromStr for Decimal {
    type Err = NoDecimal;

    /// `-1234.50`, `1E+3`: the scale is kept.
    fn from_str(text: &str) -> Result<Self, NoDecimal> {
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, exponent.parse::<i32>().map_err(|_| NoDecimal)?),
            None => (text, 0),
        };
        let body = number.strip_prefix(['-', '+']).unwrap_or(number);
        let (integer, fraction) = body.split_once('.').unwrap_or((body, ""));
        let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        let length = integer.len() + fraction.len();
        if length == 0 || length > DIGITS_MAX || !digits(integer) || !digits(fraction) {
            return Err(NoDecimal);
        }
        let scale =
            i32::try_from(fraction.len()).ok().and_then(|scale| scale.checked_sub(exponent)).ok_or(NoDecimal)?;
        let joined = format!("{integer}{fraction}");
        let unscaled = match joined.parse::<u64>() {
            Ok(small) => BigInt::from(small),
            Err(_) => joined.parse().map_err(|_| NoDecimal)?,
        };
        Ok(Self { unscaled: if number.starts_with('-') { -unscaled } else { unscaled }, scale })
    }
}

impl From<i64> for Decimal {
    fn from(value: i64) -> Self {
        Self { unscaled: value.into(), scale: 0 }
    }
}

impl From<rust_decimal::Decimal> for Decimal {
    fn from(value: rust_decimal::Decimal) -> Self {
        Self { unscaled: value.mantissa().into(), scale: i32::try_from(value.scale()).unwrap_or(0) }
    }
}
