//! The tree an expression parses into.
//!
//! Purpose: what the evaluator walks.
//! Invariant: long chains (`1+1+…`, `a and b and …`, `#a.b.c…`, `- - -1`) are flat, so that depth comes from brackets
//! and ternaries only, which the parser bounds.
//! Never: holds a construct that the evaluator can't compute.

use std::ops::Range;

use super::methods::Method;
use super::pattern::Pattern;
use super::value::Value;

/// A node and the characters it stands for.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: NodeKind,
    pub(super) span: Range<usize>,
}

/// What a node computes.
#[derive(Debug)]
pub(super) enum NodeKind {
    Literal(Value),
    Variable(String),
    List(Vec<Node>),
    /// The last operator is applied first.
    Unary {
        ops: Vec<Unary>,
        operand: Box<Node>,
    },
    /// From left to right.
    Arithmetic {
        first: Box<Node>,
        rest: Vec<(Arithmetic, Node)>,
    },
    Equal {
        negated: bool,
        left: Box<Node>,
        right: Box<Node>,
    },
    Order {
        op: Order,
        left: Box<Node>,
        right: Box<Node>,
    },
    Between {
        left: Box<Node>,
        range: Box<Node>,
    },
    /// `compiled` where the pattern is a literal.
    Matches {
        left: Box<Node>,
        pattern: Box<Node>,
        compiled: Option<Pattern>,
    },
    And(Vec<Node>),
    Or(Vec<Node>),
    Ternary {
        condition: Box<Node>,
        then: Box<Node>,
        otherwise: Box<Node>,
    },
    Elvis {
        value: Box<Node>,
        otherwise: Box<Node>,
    },
    /// `start.a['b'].c()`
    Path {
        start: Box<Node>,
        steps: Vec<Access>,
    },
}

/// A prefix operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unary {
    Not,
    Plus,
    Minus,
}

/// `+ - * / %`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Arithmetic {
    pub(super) fn sign(self) -> char {
        match self {
            Self::Add => '+',
            Self::Subtract => '-',
            Self::Multiply => '*',
            Self::Divide => '/',
            Self::Remainder => '%',
        }
    }
}

/// `< <= > >=`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// One step along a path.
#[derive(Debug)]
pub(super) struct Access {
    pub(super) kind: AccessKind,
    /// `?.`: of null it is null, no error.
    pub(super) null_safe: bool,
    pub(super) span: Range<usize>,
}

/// How the step is taken.
#[derive(Debug)]
pub(super) enum AccessKind {
    Property(String),
    /// `[name]`: the literal key of a map.
    Key(String),
    Index(Node),
    Call {
        method: Method,
        arguments: Vec<Node>,
    },
}
