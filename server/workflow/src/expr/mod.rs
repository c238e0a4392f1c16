//! Expressions: the part of Spring SpEL that works on data (DESIGN §7).
//!
//! Purpose: conditions, filters and checks of blueprints, parsed once and evaluated with bounded cost.
//! Invariant: where this version lacks a part of SpEL, parsing says so with its place; what evaluates has the value
//! that Spring 7 gives it. On purpose different: a condition ([`Expression::eval_bool`]) that comes out anything but
//! true or false, or that orders a value against null, is an error.
//! Never: types, constructors, beans, assignment, reflection, binary floating point for amounts.

mod ast;
mod compare;
mod convert;
mod error;
mod eval;
mod fields;
mod lexer;
mod methods;
mod number;
mod parser;
mod pattern;
mod primary;
mod value;

#[cfg(test)]
mod spel_cases;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use vocab::FieldName;

pub use error::{ErrorKind, ExprError};
pub use fields::{object_value, typed_value};
pub use value::Value;

use ast::Node;
use error::Fault;
use eval::Evaluator;

/// Longest expression, in UTF-16 units (the limit of Spring 7).
pub const SOURCE_UNITS_MAX: usize = 10_000;
/// Items of a list, arguments of a method.
const ARGUMENTS_MAX: usize = 1_000;

/// A parsed expression. Cheap to clone; two are equal where their texts are.
#[derive(Clone)]
pub struct Expression(Arc<Parsed>);

struct Parsed {
    source: String,
    root: Node,
    references: Vec<Reference>,
}

/// A variable that the expression names, with the part of its path that is known without evaluating.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The name without `#`.
    pub variable: String,
    /// Where `#name` stands.
    pub span: Range<usize>,
    /// `.a`, `['b']` and their places, up to the first step that is computed.
    pub segments: Vec<(String, Range<usize>)>,
}

impl Reference {
    /// `#object.fldX`
    fn path(&self) -> String {
        let mut path = format!("#{}", self.variable);
        for (segment, _) in &self.segments {
            path.push('.');
            path.push_str(segment);
        }
        path
    }
}

impl Expression {
    /// Parses.
    ///
    /// # Errors
    /// [`ExprError`] with the place of the first mistake.
    pub fn parse(source: &str) -> Result<Self, ExprError> {
        let (root, references) = parser::parse(source)?;
        Ok(Self(Arc::new(Parsed { source: source.to_owned(), root, references })))
    }

    /// The text it was parsed from.
    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// Every variable it names, in the order of the text.
    pub fn references(&self) -> &[Reference] {
        &self.0.references
    }

    /// The fields of `#object` that it names: what has to be read from the ERP.
    pub fn object_fields(&self) -> BTreeSet<FieldName> {
        let of_object = self.0.references.iter().filter(|reference| reference.variable == "object");
        of_object.filter_map(|reference| reference.segments.first()).map(|(name, _)| FieldName::new(name)).collect()
    }

    /// Its value, by the rules of SpEL.
    ///
    /// # Errors
    /// [`ExprError`] with the place of the part that has no value.
    pub fn eval(&self, env: &Env) -> Result<Value, ExprError> {
        Ok(Evaluator::new(&env.variables, false).eval(&self.0.root)?.into_owned())
    }

    /// Whether it holds, by the stricter rules of conditions (DESIGN §7): only true and false count, and null is
    /// never ordered against.
    ///
    /// # Errors
    /// As [`Expression::eval`], [`ErrorKind::NotBoolean`] and [`ErrorKind::NullOrder`].
    pub fn eval_bool(&self, env: &Env) -> Result<bool, ExprError> {
        let root = &self.0.root;
        match Evaluator::new(&env.variables, true).eval(root)?.as_ref() {
            Value::Bool(value) => Ok(*value),
            other => {
                let message =
                    format!("the condition `{}` came out as {}, not true or false", self.source(), other.shown());
                Err(Fault::new(ErrorKind::NotBoolean, message).at(&root.span))
            }
        }
    }

    /// Every variable path it names with its value now, null where there is none, each once and in the order of the
    /// text: what the execution log shows as compared values.
    pub fn compared(&self, env: &Env) -> Vec<(String, Value)> {
        let mut seen = BTreeSet::new();
        let mut compared = Vec::new();
        for reference in &self.0.references {
            let path = reference.path();
            if seen.insert(path.clone()) {
                compared.push((path, env.lookup(reference)));
            }
        }
        compared
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.0.source).finish()
    }
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.0.source == other.0.source
    }
}

impl Eq for Expression {}

/// The variables of an evaluation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Env {
    variables: BTreeMap<String, Value>,
}

impl Env {
    /// No variables.
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more; the name is written without `#`.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: Value) -> Self {
        self.variables.insert(name.into(), value);
        self
    }

    fn lookup(&self, reference: &Reference) -> Value {
        let mut value = self.variables.get(&reference.variable);
        for (segment, _) in &reference.segments {
            value = match value {
                Some(Value::Map(entries)) => entries.get(segment),
                _ => None,
            };
        }
        value.cloned().unwrap_or(Value::Null)
    }
}
