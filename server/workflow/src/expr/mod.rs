//! Expressions: the part of Spring SpEL that works on data (DESIGN §7).
//!
//! Purpose: conditions, filters and checks of blueprints, parsed once and evaluated with bounded cost.
//! Invariant: what is refused says so with its place; what evaluates has the value that Spring 7.0.9 gives it.
//! Never: types, constructors, beans, assignment, reflection, binary floating point for amounts.
//!
//! # The language
//!
//! - Literals: `'it''s'`, `"text"`, `12`, `12L`, `0x1F`, `1.5`, `1e3`, `1.5f`, `true`, `false`, `null`, lists `{1, 2}`,
//!   maps `{name: 'x', 'other key': 1}`. `12` has 32 bits and wraps; `12L` has 64. `1.5` is a double, but becomes
//!   decimal as soon as it meets an amount.
//! - Values: `#object.fldX`, `#object['fldX']`, `#object[fldX]`, `#list[0]`, `'text'[0]`; `?.` in front of what may be
//!   null guards its own step only: `#a?.b.c` fails where `#a` is null.
//! - Operators, weakest first: `? :` and `?:` (Elvis, which also replaces an empty text), `or ||`, `and &&`,
//!   `== != < <= > >= between matches`, `+ -`, `* / %`, `^`, `! + -` in front. Words, in any case: `eq ne lt le gt ge
//!   div mod not and or`. Comparisons and `^` don't chain. `not 1 == 2` is `(not 1) == 2`, an error.
//! - Items: `.?[condition]` all, `.^[condition]` the first, `.$[condition]` the last, `.![value]` of each. Inside, bare
//!   names and `#this` are the item's; of a map, `key` and `value`.
//! - Methods: those of an allow-list, see `methods`; they only read.
//! - Amounts: `+ -` keep the larger number of decimal places, `*` adds them, `/` rounds half-even to the larger of
//!   both: `amount * 19 / 100` is not `amount / 100 * 19`. Whole numbers divide as whole numbers.
//!
//! # What is different on purpose
//!
//! - A condition ([`Expression::eval_bool`]) that comes out anything but true or false (so also null), or that orders a
//!   value against null, is an error: SpEL sorts null below everything, and a missing amount would pass `<= 500`.
//! - [`Expression::parse`] refuses at once what SpEL would refuse only where it is reached: `T(…)`, `new`, `@bean`,
//!   `&bean`, `instanceof` ([`ErrorKind::Forbidden`]), `=`, `++`, `--` ([`ErrorKind::Assign`]), methods that are not on
//!   the list (all that change something among them), functions `#f()`, `#root` and bare names outside of selections,
//!   patterns that are none. [`Expression::parse_like_spring`] keeps SpEL's order.
//! - Patterns: linear time, so no lookaround, back references, possessive quantifiers or atomic groups; no flags but
//!   `i s m` at the beginning, no `\h`, `\Q…\E`, `\0`, `\p{java…}`, no `$` inside. Each is refused with its place.
//! - No half of a surrogate pair (`'😀'[0]`) and no negative or huge powers of ten beyond 300,000 digits.
//! - `formatted` knows `%s %d %n %%` only; `divide` wants a way of rounding.
//! - Limits: 10,000 characters, brackets 100 deep, 10,000 operations, work as [`eval`] counts it, texts 100,000 and
//!   repeats 256 characters, patterns 1,000, numbers 1,000,000 bits, lists 1,000 items as written.

mod access;
mod ast;
mod compare;
mod convert;
mod decimal;
mod error;
mod eval;
mod fields;
mod json;
mod lexer;
mod map;
mod methods;
mod number;
mod parser;
mod pattern;
mod primary;
pub mod rows;
mod stack;
mod template;
mod text_methods;
mod value;

#[cfg(test)]
mod language_tests;
#[cfg(test)]
mod spel_cases;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use vocab::FieldName;

pub use decimal::{Decimal, NoDecimal};
pub use error::{ErrorKind, ExprError};
pub use fields::{object_value, typed_value};
pub use map::Map;
pub use template::Template;
pub use value::{ItemsKind, Value};

use ast::Node;
use error::Fault;
use eval::{Evaluator, NULL, Outcome, Scope};

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
    /// How deep its brackets nest.
    depth: usize,
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
    /// Parses an expression of a blueprint.
    ///
    /// # Errors
    /// [`ExprError`] with the place of the first mistake, or of the first part that blueprints don't have.
    pub fn parse(source: &str) -> Result<Self, ExprError> {
        let parsed = parser::parse(source)?;
        match parsed.refusal {
            Some(refusal) => Err(refusal),
            None => Ok(Self::new(source, parsed)),
        }
    }

    /// Parses as Spring does: what is refused fails where it is reached, not before. For comparing with the original.
    ///
    /// # Errors
    /// [`ExprError`] with the place of the first mistake.
    pub fn parse_like_spring(source: &str) -> Result<Self, ExprError> {
        let parsed = parser::parse(source)?;
        Ok(Self::new(source, parsed))
    }

    fn new(source: &str, parsed: parser::Parsed) -> Self {
        let parser::Parsed { root, depth, references, .. } = parsed;
        Self(Arc::new(Parsed { source: source.to_owned(), root, depth, references }))
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
        stack::with_room(self.0.depth, || {
            let evaluator = Evaluator::new(false);
            let value = evaluator.eval(&self.0.root, env.scope())?;
            evaluator.own(value, &self.0.root.span)
        })
    }

    fn eval_strictly<'v>(&'v self, env: &'v Env) -> Outcome<'v> {
        stack::with_room(self.0.depth, || Evaluator::new(true).eval(&self.0.root, env.scope()))
    }

    /// Whether it holds, by the stricter rules of conditions (DESIGN §7): only true and false count, and null is
    /// never ordered against.
    ///
    /// # Errors
    /// As [`Expression::eval`], [`ErrorKind::NotBoolean`] and [`ErrorKind::NullOrder`].
    pub fn eval_bool(&self, env: &Env) -> Result<bool, ExprError> {
        match self.eval_strictly(env)?.as_ref() {
            Value::Bool(value) => Ok(*value),
            other => {
                let message =
                    format!("the condition `{}` came out as {}, not true or false", self.source(), other.shown());
                Err(Fault::new(ErrorKind::NotBoolean, message).at(&self.0.root.span))
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
    root: Option<Value>,
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

    /// With a root object, which blueprints don't have.
    #[must_use]
    pub fn with_root(mut self, root: Value) -> Self {
        self.root = Some(root);
        self
    }

    fn scope(&self) -> Scope<'_> {
        let root = self.root.as_ref().unwrap_or(NULL);
        Scope { variables: &self.variables, root, active: root, item: root }
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
