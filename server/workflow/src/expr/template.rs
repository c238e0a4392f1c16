//! Texts with expressions in them: `Beleg #{#object.fldNummer}`.
//!
//! Purpose: SpEL's template form.
//! Invariant: a template that is one expression has that expression's value, any other is a text.
//! Never: nests; places in errors count within their expression, as in the original.

use super::convert;
use super::error::{ErrorKind, ExprError, Fault};
use super::eval::concat;
use super::value::Value;
use super::{Env, Expression};

/// A parsed template.
#[derive(Debug, Clone)]
pub struct Template(Vec<Part>);

#[derive(Debug, Clone)]
enum Part {
    Text(String),
    Expression(Expression),
}

impl Template {
    /// Parses; refused parts of SpEL fail where they are reached.
    ///
    /// # Errors
    /// [`ExprError`] where an expression has no end, is empty or does not parse.
    pub fn parse(source: &str) -> Result<Self, ExprError> {
        if source.encode_utf16().count() > super::SOURCE_UNITS_MAX {
            let message = format!("the template is longer than {} characters", super::SOURCE_UNITS_MAX);
            return Err(Fault::new(ErrorKind::Limit, message).code("EL1079E").at(&(0..1)));
        }
        let mut parts = Vec::new();
        let mut rest = source;
        let mut offset = 0;
        while let Some(begin) = rest.find("#{") {
            let at = offset + rest.get(..begin).unwrap_or_default().chars().count();
            let fail =
                |message: &str| Err(Fault::new(ErrorKind::Syntax, message).code("ParseException").at(&(at..at + 2)));
            if begin > 0 {
                parts.push(Part::Text(rest.get(..begin).unwrap_or_default().to_owned()));
            }
            let inside = rest.get(begin + 2..).unwrap_or_default();
            let end = match expression_end(inside) {
                Ok(end) => end,
                Err(message) => return fail(&message),
            };
            let expression = inside.get(..end).unwrap_or_default();
            if expression.trim_matches(convert::is_trimmed).is_empty() {
                return fail("the expression between #{ and } is empty");
            }
            parts.push(Part::Expression(Expression::parse_like_spring(expression.trim_matches(convert::is_trimmed))?));
            offset = at + 3 + expression.chars().count();
            rest = inside.get(end + 1..).unwrap_or_default();
        }
        if !rest.is_empty() || parts.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Ok(Self(parts))
    }

    /// Its value.
    ///
    /// # Errors
    /// As [`Expression::eval`], and where a value can't become text.
    pub fn eval(&self, env: &Env) -> Result<Value, ExprError> {
        if let [Part::Expression(expression)] = self.0.as_slice() {
            return expression.eval(env);
        }
        let mut text = Value::from("");
        for part in &self.0 {
            let added = match part {
                Part::Text(added) => added.clone(),
                Part::Expression(expression) => match expression.eval(env)? {
                    Value::Null => continue,
                    value => convert::as_text(&value).ok_or_else(|| {
                        let message = format!("{} can't become text", value.shown());
                        Fault::new(ErrorKind::Conversion, message).at(&(0..1))
                    })?,
                },
            };
            if let Value::Text(before) = text {
                text = concat(before, &added).map_err(|fault| fault.at(&(0..1)))?;
            }
        }
        Ok(text)
    }
}

/// Where the expression ends, in bytes; brackets and quotes in it are skipped.
fn expression_end(inside: &str) -> Result<usize, String> {
    let mut open = Vec::new();
    let mut chars = inside.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '}' if open.is_empty() => return Ok(at),
            '{' => open.push('}'),
            '[' => open.push(']'),
            '(' => open.push(')'),
            '}' | ']' | ')' => {
                if open.pop() != Some(c) {
                    return Err(format!("`{c}` closes nothing in the expression behind #{{"));
                }
            }
            '\'' | '"' if !chars.by_ref().any(|(_, end)| end == c) => {
                return Err(format!("a text in the expression behind #{{ has no end; close it with {c}"));
            }
            _ => {}
        }
    }
    Err("the expression that begins with #{ has no end; close it with }".to_owned())
}
