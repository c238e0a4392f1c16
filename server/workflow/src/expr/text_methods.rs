//! Methods of text.
//!
//! Purpose: what Java's `String` does with positions in UTF-16 units.
//! Invariant: a result has at most [`RESULT_UNITS_MAX`] bytes; half of a surrogate pair is refused, never replaced.
//! Never: a locale: case follows Unicode's rules without one.

use super::convert::{self, is_trimmed};
use super::error::{ErrorKind, Fault};
use super::eval::{CONCAT_UNITS_MAX, concat, repeat};
use super::methods::{count, int, missing};
use super::pattern::Pattern;
use super::value::{ItemsKind, Value};

/// Longest text a method makes, in bytes.
const RESULT_UNITS_MAX: usize = 4 * CONCAT_UNITS_MAX;
/// Most parts that `split` makes.
const PARTS_MAX: usize = 10_000;

/// Calls the method.
pub(super) fn call(name: &str, text: &str, arguments: &[&Value]) -> Result<Value, Fault> {
    let target = || Value::from(text);
    let none = || missing(name, &target());
    let int = |argument: &Value| int(name, &target(), argument);
    Ok(match (name, arguments) {
        ("length", []) => return count(text.encode_utf16().count()),
        ("isEmpty", []) => Value::Bool(text.is_empty()),
        ("isBlank", []) => Value::Bool(text.chars().all(is_java_whitespace)),
        ("trim", []) => Value::from(text.trim_matches(is_trimmed)),
        ("strip", []) => Value::from(text.trim_matches(is_java_whitespace)),
        ("stripLeading", []) => Value::from(text.trim_start_matches(is_java_whitespace)),
        ("stripTrailing", []) => Value::from(text.trim_end_matches(is_java_whitespace)),
        ("toLowerCase", []) => Value::Text(text.to_lowercase()),
        ("toUpperCase", []) => Value::Text(text.to_uppercase()),
        ("intern", []) => Value::from(text),
        ("chars", []) => {
            Value::Items(ItemsKind::Stream, text.encode_utf16().map(|unit| Value::Int(unit.into())).collect())
        }
        ("lines", []) => Value::Items(ItemsKind::Stream, lines(text).map(Value::from).collect()),
        ("contains", [part]) => Value::Bool(text.contains(sequence(name, part, none)?)),
        ("endsWith", [part]) => Value::Bool(text.ends_with(&string(name, part, none)?)),
        ("startsWith", [part]) => Value::Bool(text.starts_with(&string(name, part, none)?)),
        ("startsWith", [part, from]) => Value::Bool(starts_with(text, &string(name, part, none)?, int(from)?)),
        ("equalsIgnoreCase", [Value::Null]) => Value::Bool(false),
        ("equalsIgnoreCase", [other]) => Value::Bool(folded(text) == folded(&string(name, other, none)?)),
        ("compareToIgnoreCase", [other]) => return compare_to(&folded(text), &folded_value(other), name),
        ("concat", [other]) => return concat(text.to_owned(), &string(name, other, none)?),
        ("charAt", [at]) => {
            let at = int(at)?;
            let unit = usize::try_from(at).ok().and_then(|at| text.encode_utf16().nth(at));
            Value::Char(unit.ok_or_else(|| beyond(text, &at.to_string()))?)
        }
        ("substring", [from]) => Value::Text(substring(text, int(from)?, None)?),
        ("substring", [from, to]) => Value::Text(substring(text, int(from)?, Some(int(to)?))?),
        ("indexOf", [part]) => index_of(text, &searched(part)?, 0),
        ("indexOf", [part, from]) => index_of(text, &searched(part)?, start(from)?),
        ("lastIndexOf", [part]) => last_index_of(text, &searched(part)?, i32::MAX),
        ("lastIndexOf", [part, from]) => last_index_of(text, &searched(part)?, start(from)?),
        ("replace", [from, to]) => {
            let (from, to) = (replaced(name, from, none)?, replaced(name, to, none)?);
            bounded_size(text, &from, &to)?;
            Value::Text(text.replace(&from, &to))
        }
        ("repeat", [times]) => {
            let times = int(times)?;
            if times < 0 {
                let message = format!("text can't be repeated {times} times");
                return Err(Fault::new(ErrorKind::Argument, message).code("IllegalArgumentException"));
            }
            return repeat(text, times);
        }
        ("formatted", arguments) => return formatted(text, arguments),
        ("matches", [pattern]) => Value::Bool(Pattern::new(&string(name, pattern, none)?)?.matches(text)?),
        ("replaceAll" | "replaceFirst", [pattern, with]) => {
            let pattern = Pattern::searching(&string(name, pattern, none)?)?;
            let with = string(name, with, none)?;
            return pattern.replaced(text, &with, name == "replaceAll", RESULT_UNITS_MAX).map(Value::Text);
        }
        ("split", [pattern]) => split(text, &string(name, pattern, none)?, 0)?,
        ("split", [pattern, limit]) => split(text, &string(name, pattern, none)?, int(limit)?)?,
        _ => return Err(none()),
    })
}

/// An argument of type `String`.
fn string(name: &str, argument: &Value, none: impl Fn() -> Fault) -> Result<String, Fault> {
    match argument {
        Value::Null => Err(null_argument(name)),
        other => convert::as_text(other).ok_or_else(none),
    }
}

/// An argument of type `CharSequence`, into which nothing but text goes.
fn sequence<'v>(name: &str, argument: &'v Value, none: impl Fn() -> Fault) -> Result<&'v str, Fault> {
    match argument {
        Value::Text(text) => Ok(text),
        Value::Null => Err(null_argument(name)),
        _ => Err(none()),
    }
}

fn null_argument(name: &str) -> Fault {
    Fault::new(ErrorKind::Null, format!("{name}(null): an argument must be text")).code("NullPointerException")
}

/// A text to look for, or a character by its number. For anything else Java has two methods that would fit.
fn searched(argument: &Value) -> Result<Vec<u16>, Fault> {
    match argument {
        Value::Text(text) => Ok(text.encode_utf16().collect()),
        Value::Char(unit) => Ok(vec![*unit]),
        Value::Bool(value) => Ok(value.to_string().encode_utf16().collect()),
        Value::Int(code) => {
            let c = u32::try_from(*code).ok().and_then(char::from_u32);
            // A number that is no character is found nowhere; so is this unit, which no text contains alone.
            Ok(c.map_or_else(|| vec![0xD800], |c| c.encode_utf16(&mut [0; 2]).to_vec()))
        }
        Value::Null => Err(null_argument("indexOf")),
        other => Err(ambiguous(other)),
    }
}

fn ambiguous(argument: &Value) -> Fault {
    let message = format!("indexOf wants a text and a whole number from where on, not {}", argument.shown());
    Fault::new(ErrorKind::Method, message).code("EL1031E")
}

/// From where on to look: the number must be one, because conversions would fit two methods.
fn start(argument: &Value) -> Result<i32, Fault> {
    match argument {
        Value::Int(from) => Ok(*from),
        Value::Char(unit) => Ok(i32::from(*unit)),
        other => Err(ambiguous(other)),
    }
}

fn replaced(name: &str, argument: &Value, none: impl Fn() -> Fault) -> Result<String, Fault> {
    match argument {
        Value::Char(_) => Ok(argument.to_string()),
        other => sequence(name, other, none).map(str::to_owned),
    }
}

fn bounded_size(text: &str, from: &str, to: &str) -> Result<(), Fault> {
    if to.len() <= from.len() || text.matches(from).count().saturating_mul(to.len()) + text.len() <= RESULT_UNITS_MAX {
        return Ok(());
    }
    Err(Fault::new(ErrorKind::Limit, format!("the text would be longer than {RESULT_UNITS_MAX} bytes")))
}

fn beyond(text: &str, what: &str) -> Fault {
    let message = format!("there is nothing at {what}; the text has {} characters", text.encode_utf16().count());
    Fault::new(ErrorKind::Argument, message).code("StringIndexOutOfBoundsException")
}

fn half_character() -> Fault {
    Fault::new(ErrorKind::Unsupported, "half of a character beyond U+FFFF is no text")
}

fn substring(text: &str, from: i32, to: Option<i32>) -> Result<String, Fault> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let end = to.map_or(Some(units.len()), |to| usize::try_from(to).ok());
    let part = usize::try_from(from).ok().zip(end).and_then(|(from, to)| units.get(from..to));
    let part = part
        .ok_or_else(|| beyond(text, &format!("{from} to {}", to.map_or("the end".to_owned(), |to| to.to_string()))))?;
    String::from_utf16(part).map_err(|_| half_character())
}

fn starts_with(text: &str, part: &str, from: i32) -> bool {
    let rest = usize::try_from(from).ok().map(|from| text.encode_utf16().skip(from));
    let inside = usize::try_from(from).is_ok_and(|from| from <= text.encode_utf16().count());
    inside && rest.is_some_and(|rest| rest.take(part.encode_utf16().count()).eq(part.encode_utf16()))
}

fn index_of(text: &str, part: &[u16], from: i32) -> Value {
    let units: Vec<u16> = text.encode_utf16().collect();
    let from = usize::try_from(from).unwrap_or(0).min(units.len());
    let rest = units.get(from..).unwrap_or_default();
    let found = if part.is_empty() { Some(0) } else { rest.windows(part.len()).position(|window| window == part) };
    Value::Int(found.and_then(|at| i32::try_from(at + from).ok()).unwrap_or(-1))
}

fn last_index_of(text: &str, part: &[u16], from: i32) -> Value {
    let units: Vec<u16> = text.encode_utf16().collect();
    let Ok(from) = usize::try_from(from) else { return Value::Int(-1) };
    let Some(last) = units.len().checked_sub(part.len()) else { return Value::Int(-1) };
    let found = if part.is_empty() {
        Some(last.min(from))
    } else {
        let end = from.min(last) + part.len();
        units.get(..end).unwrap_or_default().windows(part.len()).rposition(|window| window == part)
    };
    Value::Int(found.and_then(|at| i32::try_from(at).ok()).unwrap_or(-1))
}

/// `compareTo`: the difference of the first units that differ, else of the lengths.
pub(super) fn compare_to(text: &str, other: &Value, name: &str) -> Result<Value, Fault> {
    let other = string(name, other, || missing(name, &Value::from(text)))?;
    let difference = text.encode_utf16().zip(other.encode_utf16()).find(|(left, right)| left != right);
    if let Some((left, right)) = difference {
        return Ok(Value::Int(i32::from(left) - i32::from(right)));
    }
    let length = |text: &str| i32::try_from(text.encode_utf16().count()).unwrap_or(i32::MAX);
    Ok(Value::Int(length(text) - length(&other)))
}

/// Each character to upper and then to lower case, one by one, as `equalsIgnoreCase` compares.
fn folded(text: &str) -> String {
    let single = |c: char, mut mapped: Box<dyn Iterator<Item = char>>| match (mapped.next(), mapped.next()) {
        (Some(only), None) => only,
        _ => c,
    };
    text.chars()
        .map(|c| {
            let upper = single(c, Box::new(c.to_uppercase()));
            single(upper, Box::new(upper.to_lowercase()))
        })
        .collect()
}

fn folded_value(value: &Value) -> Value {
    match value {
        Value::Text(text) => Value::Text(folded(text)),
        other => other.clone(),
    }
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let (line, tail) = rest.split_at(end);
        rest = tail.strip_prefix("\r\n").or_else(|| tail.strip_prefix(['\n', '\r'])).unwrap_or(tail);
        Some(line)
    })
}

/// `split`: with limit 0 trailing empty parts go, with a positive one the last part keeps the rest.
fn split(text: &str, pattern: &str, limit: i32) -> Result<Value, Fault> {
    let pattern = Pattern::searching(pattern)?;
    let most = usize::try_from(limit).ok().filter(|limit| *limit > 0);
    let mut parts: Vec<&str> = Vec::new();
    let mut from = 0;
    for found in pattern.found(text)? {
        if most.is_some_and(|most| parts.len() + 1 >= most) {
            break;
        }
        // An empty match at the beginning makes no part.
        if found.end == 0 {
            continue;
        }
        parts.push(text.get(from..found.start).unwrap_or_default());
        from = found.end;
        if parts.len() > PARTS_MAX {
            return Err(Fault::new(ErrorKind::Limit, format!("the text would have more than {PARTS_MAX} parts")));
        }
    }
    parts.push(text.get(from..).unwrap_or_default());
    if limit == 0 && parts.len() > 1 {
        while parts.last().is_some_and(|part| part.is_empty()) {
            parts.pop();
        }
    }
    Ok(Value::Items(ItemsKind::Array, parts.into_iter().map(Value::from).collect()))
}

/// `'%s: %d'.formatted(…)`: only `%s`, `%d`, `%n` and `%%`, without widths; a list gives its items.
fn formatted(text: &str, arguments: &[&Value]) -> Result<Value, Fault> {
    let listed: Vec<&Value> = match arguments {
        [Value::List(items) | Value::Items(_, items)] => items.iter().collect(),
        _ => arguments.to_vec(),
    };
    let mut listed = listed.into_iter();
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let sign = chars.next();
        match sign {
            Some('%') => out.push('%'),
            Some('n') => out.push('\n'),
            Some('s' | 'd') => {
                let Some(value) = listed.next() else {
                    let message = "formatted() has fewer arguments than the text has places";
                    return Err(Fault::new(ErrorKind::Argument, message).code("MissingFormatArgumentException"));
                };
                let whole = matches!(value, Value::Int(_) | Value::Long(_) | Value::BigInt(_) | Value::Null);
                if sign == Some('d') && !whole {
                    let message = format!("%d wants a whole number, not {}", value.shown());
                    return Err(Fault::new(ErrorKind::Argument, message).code("IllegalFormatConversionException"));
                }
                out.push_str(&value.to_string());
            }
            _ => {
                let message = "formatted() knows %s, %d, %n and %% only";
                return Err(Fault::new(ErrorKind::Unsupported, message));
            }
        }
        if out.len() > RESULT_UNITS_MAX {
            return Err(Fault::new(
                ErrorKind::Limit,
                format!("the text would be longer than {RESULT_UNITS_MAX} bytes"),
            ));
        }
    }
    Ok(Value::Text(out))
}

/// `Character.isWhitespace`: no non-breaking spaces, but the four separators of ASCII.
pub(super) fn is_java_whitespace(c: char) -> bool {
    match c {
        '\u{a0}' | '\u{2007}' | '\u{202f}' | '\u{85}' => false,
        '\u{1c}'..='\u{1f}' => true,
        _ => c.is_whitespace(),
    }
}
