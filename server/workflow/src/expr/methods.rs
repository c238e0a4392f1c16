//! The methods an expression may call.
//!
//! Purpose: the allow-list, and what each does on texts, lists and maps.
//! Invariant: a method only reads; its cost is bounded by the size of its value.
//! Never: a mutator, reflection, or a method that is not on the list.

use super::compare::java_equals;
use super::error::{ErrorKind, Fault};
use super::value::Value;

/// A method on the allow-list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Contains,
    ContainsKey,
    EndsWith,
    IsBlank,
    IsEmpty,
    Length,
    Size,
    StartsWith,
    ToLowerCase,
    ToUpperCase,
    Trim,
}

const METHODS: &[(&str, Method, usize)] = &[
    ("contains", Method::Contains, 1),
    ("containsKey", Method::ContainsKey, 1),
    ("endsWith", Method::EndsWith, 1),
    ("isBlank", Method::IsBlank, 0),
    ("isEmpty", Method::IsEmpty, 0),
    ("length", Method::Length, 0),
    ("size", Method::Size, 0),
    ("startsWith", Method::StartsWith, 1),
    ("toLowerCase", Method::ToLowerCase, 0),
    ("toUpperCase", Method::ToUpperCase, 0),
    ("trim", Method::Trim, 0),
];

/// Finds a method by its exact name and checks how many arguments it gets.
pub(super) fn find(name: &str, arguments: usize) -> Result<Method, Fault> {
    match METHODS.iter().find(|(known, ..)| *known == name) {
        Some((_, method, wanted)) if *wanted == arguments => Ok(*method),
        Some((_, _, wanted)) => Err(Fault::new(
            ErrorKind::Unsupported,
            format!("{name}() is available with {wanted} arguments only, not with {arguments}"),
        )),
        None => {
            let known: Vec<&str> = METHODS.iter().map(|(name, ..)| *name).collect();
            let message = format!("the method {name}() is not available; there are {}", known.join(", "));
            Err(Fault::new(ErrorKind::Unsupported, message))
        }
    }
}

fn name(method: Method) -> &'static str {
    METHODS.iter().find(|(_, known, _)| *known == method).map_or("", |(name, ..)| name)
}

/// Calls the method.
pub(super) fn call(method: Method, target: &Value, arguments: &[Value]) -> Result<Value, Fault> {
    let argument = arguments.first().unwrap_or(&Value::Null);
    match target {
        Value::Text(text) => on_text(method, text, argument),
        Value::List(items) => match method {
            Method::Contains => Ok(Value::Bool(items.iter().any(|item| java_equals(item, argument)))),
            Method::IsEmpty => Ok(Value::Bool(items.is_empty())),
            Method::Size => count(items.len()),
            _ => Err(missing(method, target)),
        },
        Value::Map(entries) => match method {
            Method::ContainsKey => Ok(Value::Bool(matches!(argument, Value::Text(key) if entries.contains_key(key)))),
            Method::IsEmpty => Ok(Value::Bool(entries.is_empty())),
            Method::Size => count(entries.len()),
            _ => Err(missing(method, target)),
        },
        Value::Null => {
            Err(Fault::new(ErrorKind::Null, format!("{}() of null; write ?.{}()", name(method), name(method))))
        }
        Value::Bool(_) | Value::Int(_) | Value::Long(_) | Value::Double(_) | Value::Decimal(_) => {
            Err(missing(method, target))
        }
    }
}

fn missing(method: Method, target: &Value) -> Fault {
    Fault::new(ErrorKind::Method, format!("{} has no method {}()", target.shown(), name(method)))
}

fn on_text(method: Method, text: &str, argument: &Value) -> Result<Value, Fault> {
    let wanted = || match argument {
        Value::Text(argument) => Ok(argument.as_str()),
        Value::Null => Err(Fault::new(ErrorKind::Null, format!("{}(null): an argument must be text", name(method)))),
        other => Err(Fault::new(
            ErrorKind::Unsupported,
            format!("{}() of text wants text, not {}; put it in '…'", name(method), other.shown()),
        )),
    };
    Ok(match method {
        Method::Contains => Value::Bool(text.contains(wanted()?)),
        Method::StartsWith => Value::Bool(text.starts_with(wanted()?)),
        Method::EndsWith => Value::Bool(text.ends_with(wanted()?)),
        Method::IsEmpty => Value::Bool(text.is_empty()),
        Method::IsBlank => Value::Bool(text.chars().all(is_java_whitespace)),
        Method::Length => return count(text.encode_utf16().count()),
        Method::Trim => Value::Text(text.trim_matches(|c: char| c <= ' ').to_owned()),
        Method::ToLowerCase => Value::Text(text.to_lowercase()),
        Method::ToUpperCase => Value::Text(text.to_uppercase()),
        Method::Size | Method::ContainsKey => return Err(missing(method, &Value::from(text))),
    })
}

/// `Character.isWhitespace`: no non-breaking spaces, but the four separators of ASCII.
fn is_java_whitespace(c: char) -> bool {
    match c {
        '\u{a0}' | '\u{2007}' | '\u{202f}' | '\u{85}' => false,
        '\u{1c}'..='\u{1f}' => true,
        _ => c.is_whitespace(),
    }
}

fn count(length: usize) -> Result<Value, Fault> {
    i32::try_from(length).map(Value::Int).map_err(|_| Fault::new(ErrorKind::Limit, "more than 2147483647 items"))
}
