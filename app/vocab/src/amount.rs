//! Decimal text: what people type, what is stored, what is shown.
//!
//! `1.234` is asked about, never guessed: in German it is one thousand two hundred thirty-four, in machine form one
//! point two (UI.md "amounts").

use std::fmt;

/// Digits before the decimal point that are accepted.
const INTEGER_DIGITS_MAX: usize = 18;
/// Digits after the decimal point that are accepted.
const FRACTION_DIGITS_MAX: usize = 8;

/// Why a typed amount was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AmountError {
    /// Nothing was typed.
    Empty,
    /// Not a number.
    NotANumber,
    /// `1.234` or `1,234` could mean two things.
    Ambiguous,
    /// More digits than any amount has.
    TooLong,
}

impl fmt::Display for AmountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "no amount given",
            Self::NotANumber => "not a number",
            Self::Ambiguous => "ambiguous: write 1234,00 or 1,23",
            Self::TooLong => "too many digits",
        })
    }
}

impl std::error::Error for AmountError {}

/// Turns what a person typed (`1.234,56`, `123,00`, `-5`, `1 234,5`, `1234.56`) into canonical decimal text (`1234.56`).
/// The digits after the point stay as typed, so that `10,50` stays `10.50`.
///
/// # Errors
/// [`AmountError`] says what is wrong; `1.234` and `1,234` alone are [`AmountError::Ambiguous`].
pub fn canonical_amount(typed: &str) -> Result<String, AmountError> {
    let cleaned: String = typed.trim().chars().filter(|c| !matches!(c, ' ' | '\u{a0}' | '\u{202f}' | '\'')).collect();
    let (negative, body) = match cleaned.strip_prefix(['-', '\u{2212}']) {
        Some(rest) => (true, rest),
        None => (false, cleaned.strip_prefix('+').unwrap_or(&cleaned)),
    };
    if body.is_empty() {
        return Err(AmountError::Empty);
    }
    if !body.chars().all(|c| c.is_ascii_digit() || c == '.' || c == ',') {
        return Err(AmountError::NotANumber);
    }
    let (integer, fraction) = split(body)?;
    if integer.is_empty()
        || !integer.bytes().all(|b| b.is_ascii_digit())
        || !fraction.bytes().all(|b| b.is_ascii_digit())
    {
        return Err(AmountError::NotANumber);
    }
    let integer = integer.trim_start_matches('0');
    if integer.len() > INTEGER_DIGITS_MAX || fraction.len() > FRACTION_DIGITS_MAX {
        return Err(AmountError::TooLong);
    }
    let integer = if integer.is_empty() { "0" } else { integer };
    let zero = integer == "0" && fraction.bytes().all(|b| b == b'0');
    let sign = if negative && !zero { "-" } else { "" };
    Ok(if fraction.is_empty() { format!("{sign}{integer}") } else { format!("{sign}{integer}.{fraction}") })
}

/// Splits into integer digits and fraction digits, grouping marks removed.
fn split(body: &str) -> Result<(String, String), AmountError> {
    let dots = body.matches('.').count();
    let commas = body.matches(',').count();
    let (grouping, decimal) = match (dots, commas) {
        (0, 0) => return Ok((body.to_owned(), String::new())),
        (1, 0) | (0, 1) => {
            let mark = if dots == 1 { '.' } else { ',' };
            let (integer, fraction) = body.split_once(mark).unwrap_or((body, ""));
            if fraction.is_empty() {
                return Err(AmountError::NotANumber);
            }
            let groupable = !integer.starts_with('0') && (1..=3).contains(&integer.len());
            if fraction.len() == 3 && groupable {
                return Err(AmountError::Ambiguous);
            }
            return Ok((integer.to_owned(), fraction.to_owned()));
        }
        (_, 0) => ('.', None),
        (0, _) => (',', None),
        _ => {
            let last_dot = body.rfind('.').unwrap_or(0);
            let last_comma = body.rfind(',').unwrap_or(0);
            if last_comma > last_dot { ('.', Some(',')) } else { (',', Some('.')) }
        }
    };
    let (integer, fraction) = match decimal {
        Some(mark) if body.matches(mark).count() == 1 => body.split_once(mark).unwrap_or((body, "")),
        Some(_) => return Err(AmountError::NotANumber),
        None => (body, ""),
    };
    let mut groups = integer.split(grouping);
    let first = groups.next().unwrap_or("");
    let rest: Vec<&str> = groups.collect();
    if first.is_empty()
        || first.len() > 3
        || rest.iter().any(|g| g.len() != 3)
        || (decimal.is_some() && fraction.is_empty())
    {
        return Err(AmountError::NotANumber);
    }
    Ok((format!("{first}{}", rest.concat()), fraction.to_owned()))
}

/// Canonical decimal text as Germans read it: `1234.5` → `1.234,5`; `digits_min` pads the fraction (2 for amounts).
/// Text that is no decimal comes back unchanged, so that nothing the ERP says is hidden.
pub fn format_amount_de(canonical: &str, digits_min: usize) -> String {
    grouped(canonical, digits_min, '.', ',')
}

/// The same in English: `1,234.50`.
pub fn format_amount_en(canonical: &str, digits_min: usize) -> String {
    grouped(canonical, digits_min, ',', '.')
}

fn grouped(canonical: &str, digits_min: usize, group: char, decimal: char) -> String {
    let (sign, body) = canonical.strip_prefix('-').map_or(("", canonical), |rest| ("\u{2212}", rest));
    let (integer, fraction) = body.split_once('.').unwrap_or((body, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if integer.is_empty() || !digits(integer) || !digits(fraction) {
        return canonical.to_owned();
    }
    let mut out = String::with_capacity(canonical.len() + 8);
    out.push_str(sign);
    for (i, c) in integer.chars().enumerate() {
        if i > 0 && (integer.len() - i).is_multiple_of(3) {
            out.push(group);
        }
        out.push(c);
    }
    if !fraction.is_empty() || digits_min > 0 {
        out.push(decimal);
        out.push_str(fraction);
        for _ in fraction.len()..digits_min {
            out.push('0');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_amounts_become_canonical_or_are_asked_about() {
        let good = [
            ("123,00", "123.00"),
            ("1.234,56", "1234.56"),
            ("1,234.56", "1234.56"),
            ("1234.5", "1234.5"),
            ("1.234.567", "1234567"),
            ("1 234,5", "1234.5"),
            ("-5", "-5"),
            ("-0,00", "0.00"),
            ("0,125", "0.125"),
            ("007", "7"),
            ("1234,567", "1234.567"),
        ];
        for (typed, want) in good {
            assert_eq!(canonical_amount(typed).as_deref(), Ok(want), "{typed}");
        }
        let bad = [
            ("", AmountError::Empty),
            ("1.234", AmountError::Ambiguous),
            ("1,234", AmountError::Ambiguous),
            ("12a", AmountError::NotANumber),
            ("1,2,3", AmountError::NotANumber),
            ("1.23,4.5", AmountError::NotANumber),
            ("5,", AmountError::NotANumber),
            (",5", AmountError::NotANumber),
            ("1.2.3,5", AmountError::NotANumber),
            ("1234567890123456789", AmountError::TooLong),
        ];
        for (typed, want) in bad {
            assert_eq!(canonical_amount(typed), Err(want), "{typed}");
        }
    }

    #[test]
    fn shown_amounts_are_grouped() {
        assert_eq!(format_amount_de("1190.5", 2), "1.190,50");
        assert_eq!(format_amount_de("-1234567", 2), "\u{2212}1.234.567,00");
        assert_eq!(format_amount_de("999", 0), "999");
        assert_eq!(format_amount_en("1190.5", 2), "1,190.50");
        assert_eq!(format_amount_de("n/a", 2), "n/a");
    }
}
