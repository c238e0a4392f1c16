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
    /// Spring's code for it (`EL1008E`), or the Java exception where Spring lets one through; empty where it has none.
    pub code: &'static str,
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
    /// There is no such function.
    Function,
    /// A selection or projection of something that has no items, or by something that is not true or false.
    Selection,
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
    /// A condition did not come out yes or no (DESIGN §7).
    NotBoolean,
    /// A condition orders a value against null (DESIGN §7).
    NullOrder,
}

/// An error whose place is not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) kind: ErrorKind,
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl Fault {
    pub(super) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, code: kind.usual_code(), message: message.into() }
    }

    /// With another code than the kind's usual one.
    pub(super) fn code(mut self, code: &'static str) -> Self {
        self.code = code;
        self
    }

    /// The error at its place.
    pub(super) fn at(self, span: &Range<usize>) -> ExprError {
        ExprError { kind: self.kind, code: self.code, message: self.message, span: span.clone() }
    }
}

impl ErrorKind {
    /// The word that rows of the `expr` command use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::Limit => "limit",
            Self::Unsupported => "unsupported",
            Self::Forbidden => "forbidden",
            Self::Assign => "assign",
            Self::Property => "property",
            Self::Function => "function",
            Self::Selection => "selection",
            Self::Null => "null",
            Self::Method => "method",
            Self::Conversion => "conversion",
            Self::Compare => "compare",
            Self::Index => "index",
            Self::Operator => "operator",
            Self::Regex => "regex",
            Self::Between => "between",
            Self::Arithmetic => "arithmetic",
            Self::Argument => "argument",
            Self::NotBoolean => "not-boolean",
            Self::NullOrder => "null-order",
        }
    }

    fn usual_code(self) -> &'static str {
        match self {
            Self::Syntax => "EL1041E",
            Self::Forbidden => "EL1005E",
            Self::Assign => "EL1068E",
            Self::Property => "EL1008E",
            Self::Function => "EL1006E",
            Self::Selection => "EL1015E",
            Self::Null => "EL1007E",
            Self::Method => "EL1004E",
            Self::Conversion => "EL1001E",
            Self::Compare => "EL1013E",
            Self::Index => "EL1025E",
            Self::Operator => "EL1030E",
            Self::Regex => "EL1018E",
            Self::Between => "EL1017E",
            Self::Arithmetic => "ArithmeticException",
            Self::Argument => "IndexOutOfBoundsException",
            Self::Limit | Self::Unsupported | Self::NotBoolean | Self::NullOrder => "",
        }
    }
}
