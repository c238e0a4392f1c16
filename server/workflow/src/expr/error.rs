//! What can be wrong with an expression.
//!
//! Purpose: one error type for parsing and evaluating, with the place in the text.
//! Invariant: every error names the value at fault and the way out; spans count characters from 0.
//! Never: a default value in place of an error.

use std::ops::Range;

/// An expression that doesn't parse, or didn't come out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (column {})", .span.start + 1)]
pub struct ExprError {
    /// What sort of mistake it is.
    pub kind: ErrorKind,
    /// What is wrong and the way out; lowercase, without the place.
    pub message: String,
    /// Which characters (Unicode scalar values, from 0) of the source it is about.
    pub span: Range<usize>,
}

/// The sorts of mistakes; the first group appears while parsing, the second while evaluating.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorKind {
    /// Not an expression.
    Syntax,
    /// A named limit was passed (either group).
    Limit,
    /// A part of SpEL that this version does not have.
    Unsupported,
    /// Types, constructors, beans: never part of the language (DESIGN §7).
    Forbidden,
    /// Expressions read, they never write.
    Assign,

    /// The object has no such property.
    Property,
    /// A property, index or method of null.
    Null,
    /// The value has no such method, or not with such arguments.
    Method,
    /// The value is not what is wanted here and can't be turned into it.
    Conversion,
    /// The two values have no order.
    Compare,
    /// Nothing lies at that index.
    Index,
    /// The operator does not go with these values.
    Operator,
    /// The text is no pattern, or the values don't go with one.
    Regex,
    /// `between` wants a list of two.
    Between,
    /// Division by zero.
    Arithmetic,
    /// An argument out of its range.
    Argument,
    /// More digits than a decimal holds; refused instead of rounded.
    Precision,
    /// A condition did not come out yes or no (DESIGN §7).
    NotBoolean,
    /// A condition orders a value against null (DESIGN §7).
    NullOrder,
}

/// An error whose place is not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) kind: ErrorKind,
    pub(super) message: String,
}

impl Fault {
    pub(super) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// The error at its place.
    pub(super) fn at(self, span: &Range<usize>) -> ExprError {
        ExprError { kind: self.kind, message: self.message, span: span.clone() }
    }
}
