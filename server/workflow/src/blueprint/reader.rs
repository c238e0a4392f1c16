//! Reads the tree by the rules of the language and collects what is wrong.
//!
//! Purpose: typed access to mappings, lists, texts, booleans and expressions.
//! Invariant: whatever comes back as `None` has left a problem.
//! Never: stops at the first problem.

use std::collections::BTreeSet;

use vocab::FieldName;

use super::names::nearest;
use super::problem::{PROBLEMS_MAX, Place, Problem, ProblemCode};
use super::yaml::{Entry, Node, Scalar, Source, problem};
use crate::expr::Expression;

/// Which keys a mapping may have.
pub(super) struct Keys {
    /// What it is, for messages.
    pub(super) of: &'static str,
    /// Read by this version.
    pub(super) known: &'static [&'static str],
    /// Part of the language (DESIGN §7), read by a later version.
    pub(super) later: &'static [&'static str],
}

/// Where an expression stands, and so which variables it sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Before a run exists.
    Filter,
    /// While it runs.
    Condition,
    /// While a person decides.
    Check,
}

/// Variables of the language (DESIGN §7).
const VARIABLES: &[&str] = &["object", "data", "history", "instance", "now", "actor", "value"];

impl Scope {
    fn variables(self) -> &'static [&'static str] {
        match self {
            Self::Filter => &["object"],
            Self::Condition => VARIABLES.split_last().map_or(&[], |(_, rest)| rest),
            Self::Check => VARIABLES,
        }
    }
}

/// A mapping whose keys were checked.
pub(super) struct Fields<'n> {
    entries: &'n [Entry],
    pub(super) at: Place,
    of: &'static str,
}

/// Collects problems while the tree is read.
pub(super) struct Reader {
    source: Source,
    problems: Vec<Problem>,
    /// Declared fields; known before anything that names one is read.
    pub(super) declared: BTreeSet<FieldName>,
}

impl Reader {
    pub(super) fn new(source: Source, problems: Vec<Problem>) -> Self {
        Self { source, problems, declared: BTreeSet::new() }
    }

    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }

    pub(super) fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }

    pub(super) fn problem(&mut self, at: Place, code: ProblemCode, message: impl Into<String>, help: &str) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem(at, code, message.into(), help));
        }
    }

    /// A mapping; keys that don't belong there are problems.
    pub(super) fn map<'n>(&mut self, node: &'n Node, keys: &Keys) -> Option<Fields<'n>> {
        let Node::Map { entries, at } = node else {
            self.wrong_type(node, keys.of, &format!("a mapping with {}", keys.known.join(", ")));
            return None;
        };
        for entry in entries {
            let key = entry.key.text.as_str();
            if keys.known.contains(&key) {
                continue;
            }
            if keys.later.contains(&key) {
                self.not_available(entry.key.at, &format!("`{key}` of {}", keys.of));
                continue;
            }
            let help = match nearest(key, keys.known.iter().chain(keys.later).copied()) {
                Some(near) => format!("write `{near}`"),
                None => format!("there are {}", keys.known.join(", ")),
            };
            self.problem(entry.key.at, ProblemCode::UnknownKey, format!("{} has no key `{key}`", keys.of), &help);
        }
        Some(Fields { entries, at: *at, of: keys.of })
    }

    pub(super) fn not_available(&mut self, at: Place, what: &str) {
        let message = format!("{what} is part of the language but not available in this version");
        self.problem(at, ProblemCode::NotAvailable, message, "remove it for now");
    }

    fn wrong_type(&mut self, node: &Node, what: &str, wanted: &str) {
        let code = if node.is_null() { ProblemCode::Missing } else { ProblemCode::WrongType };
        self.problem(node.at(), code, format!("{what} must be {wanted}, not {}", node.kind()), "");
    }

    /// A value that may be left out; a key without a value is a problem.
    pub(super) fn optional<'n>(&mut self, fields: &Fields<'n>, key: &str) -> Option<&'n Node> {
        let entry = fields.entries.iter().find(|entry| entry.key.text == key)?;
        if entry.value.is_null() {
            self.problem(
                entry.key.at,
                ProblemCode::Missing,
                format!("`{key}` of {} has no value", fields.of),
                "write one, or remove the key",
            );
            return None;
        }
        Some(&entry.value)
    }

    /// A value that must be there.
    pub(super) fn required<'n>(&mut self, fields: &Fields<'n>, key: &str, help: &str) -> Option<&'n Node> {
        if !fields.entries.iter().any(|entry| entry.key.text == key) {
            self.problem(fields.at, ProblemCode::Missing, format!("{} has no `{key}`", fields.of), help);
            return None;
        }
        self.optional(fields, key)
    }

    pub(super) fn scalar<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n Scalar> {
        match node {
            Node::Scalar(scalar) if !scalar.is_null() => Some(scalar),
            _ => {
                self.wrong_type(node, what, "a text");
                None
            }
        }
    }

    /// Text for people: not blank, without control characters, at most `chars_max` long.
    pub(super) fn text(&mut self, node: &Node, what: &str, chars_max: usize) -> Option<String> {
        let scalar = self.scalar(node, what)?;
        let text = scalar.text.trim();
        let count = text.chars().count();
        if text.is_empty() {
            self.problem(
                scalar.at,
                ProblemCode::BadValue,
                format!("{what} is blank"),
                "write a text, or remove the key",
            );
        } else if count > chars_max {
            self.problem(
                scalar.at,
                ProblemCode::Limit,
                format!("{what} has {count} characters; at most {chars_max} are allowed"),
                "shorten it",
            );
        } else if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
            self.problem(scalar.at, ProblemCode::BadValue, format!("{what} contains a control character"), "remove it");
        } else {
            return Some(text.to_owned());
        }
        None
    }

    /// `true` or `false`; `yes`, `on` and `"true"` are asked about.
    pub(super) fn boolean(&mut self, node: &Node, what: &str) -> Option<bool> {
        match node {
            Node::Scalar(scalar) if scalar.plain && scalar.text == "true" => Some(true),
            Node::Scalar(scalar) if scalar.plain && scalar.text == "false" => Some(false),
            Node::Scalar(scalar) => {
                let message = format!("{what} must be true or false, not `{}`", scalar.text);
                self.problem(scalar.at, ProblemCode::BadValue, message, "write true or false without quotes");
                None
            }
            Node::List { .. } | Node::Map { .. } => {
                self.wrong_type(node, what, "true or false");
                None
            }
        }
    }

    /// A list of at most `max` items; the rest of a longer one is not read.
    pub(super) fn list<'n>(&mut self, node: &'n Node, what: &str, max: usize) -> &'n [Node] {
        let Node::List { items, at } = node else {
            self.wrong_type(node, what, "a list such as [a, b]");
            return &[];
        };
        if items.len() > max {
            self.problem(
                *at,
                ProblemCode::Limit,
                format!("{what} has {} entries; at most {max} are allowed", items.len()),
                "",
            );
        }
        items.get(..max).unwrap_or(items)
    }

    /// A mapping whose keys are names; at most `max` of them.
    pub(super) fn entries<'n>(&mut self, node: &'n Node, what: &str, max: usize) -> &'n [Entry] {
        let Node::Map { entries, at } = node else {
            self.wrong_type(node, what, "a mapping");
            return &[];
        };
        if entries.len() > max {
            self.problem(
                *at,
                ProblemCode::Limit,
                format!("{what} has {} entries; at most {max} are allowed", entries.len()),
                "",
            );
        }
        entries.get(..max).unwrap_or(entries)
    }

    /// A declared field.
    pub(super) fn declared_field(&mut self, name: &str, at: Place) -> Option<FieldName> {
        let field = FieldName::from(name);
        if self.declared.contains(&field) {
            return Some(field);
        }
        let help = match nearest(name, self.declared.iter().map(FieldName::as_str)) {
            Some(near) => format!("write `{near}`, or declare it under fields"),
            None => "declare it under fields".to_owned(),
        };
        self.problem(at, ProblemCode::UnknownField, format!("the field `{name}` is not declared"), &help);
        None
    }

    /// An expression; mistakes stand at their own line and column.
    pub(super) fn expression(&mut self, node: &Node, what: &str, scope: Scope) -> Option<Expression> {
        let scalar = self.scalar(node, what)?;
        let expression = match Expression::parse(&scalar.text) {
            Ok(expression) => expression,
            Err(error) => {
                let at = self.source.locate(scalar, error.span.start);
                self.problem(at, ProblemCode::Expression, format!("{what}: {}", error.message), "");
                return None;
            }
        };
        let before = self.problems.len();
        for reference in expression.references() {
            let at = self.source.locate(scalar, reference.span.start);
            if !scope.variables().contains(&reference.variable.as_str()) {
                self.unknown_variable(&reference.variable, at, scope);
            } else if reference.variable == "object" {
                self.object_reference(scalar, reference, at);
            }
        }
        (self.problems.len() == before).then_some(expression)
    }

    fn unknown_variable(&mut self, name: &str, at: Place, scope: Scope) {
        let message = if VARIABLES.contains(&name) {
            format!("the variable #{name} has no value here")
        } else {
            format!("there is no variable #{name}")
        };
        let help = match nearest(name, scope.variables().iter().copied()) {
            Some(near) => format!("write #{near}"),
            None => format!("here are #{}", scope.variables().join(", #")),
        };
        self.problem(at, ProblemCode::UnknownVariable, message, &help);
    }

    fn object_reference(&mut self, scalar: &Scalar, reference: &crate::expr::Reference, at: Place) {
        let Some((field, span)) = reference.segments.first() else {
            let help = "write #object.fldName, so that it is known what to read from the ERP";
            self.problem(at, ProblemCode::Expression, "#object stands here without the name of a field", help);
            return;
        };
        let marks = scalar.text.chars().skip(span.start).take_while(|c| ".?['\" ".contains(*c)).count();
        let field_at = self.source.locate(scalar, span.start + marks);
        self.declared_field(field, field_at);
        if let Some((part, span)) = reference.segments.get(1) {
            let at = self.source.locate(scalar, span.start);
            let message = format!("a field has no part `{part}`");
            self.problem(at, ProblemCode::Expression, message, "a method is written with brackets, e.g. .length()");
        }
    }
}
