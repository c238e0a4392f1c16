//! The tree an expression parses into.
//!
//! Purpose: what the evaluator walks.
//! Invariant: long chains (`1+1+…`, `a and b and …`, `#a.b.c…`, `- - -1`) are flat, so that depth comes from brackets
//! and ternaries only, which the parser bounds.
//! Never: holds a type, a constructor or a bean; where one was written stands the refusal.

use std::ops::Range;

use super::error::{ExprError, Fault};
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
    /// `#name`
    Variable(String),
    /// `#root`
    Root,
    /// What the expression is applied to here: the item in a selection, else the root. `#this`, and what stands before
    /// a name or a bracket that begins an expression.
    Active,
    List(Vec<Node>),
    /// Keys and values.
    Map(Vec<(MapKey, Node)>),
    /// The last operator is applied first.
    Unary {
        ops: Vec<(Unary, usize)>,
        operand: Box<Node>,
    },
    /// From left to right.
    Arithmetic {
        first: Box<Node>,
        rest: Vec<(Arithmetic, usize, Node)>,
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
    /// The operator stands at `at`.
    Between {
        left: Box<Node>,
        range: Box<Node>,
        at: Range<usize>,
    },
    /// `compiled` where the pattern is a literal.
    Matches {
        left: Box<Node>,
        pattern: Box<Node>,
        compiled: Option<Result<Pattern, Fault>>,
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
    /// `#f(1)`: there are no functions.
    Function {
        name: String,
        arguments: Vec<Node>,
    },
    /// A part of SpEL that is refused where it is reached.
    Refused(ExprError),
}

/// A key of an inline map.
#[derive(Debug)]
pub(super) enum MapKey {
    /// `{name: …}`
    Name(String),
    Computed(Node),
}

/// A prefix operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unary {
    Not,
    Plus,
    Minus,
}

/// `+ - * / % ^`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
}

impl Arithmetic {
    pub(super) fn sign(self) -> char {
        match self {
            Self::Add => '+',
            Self::Subtract => '-',
            Self::Multiply => '*',
            Self::Divide => '/',
            Self::Remainder => '%',
            Self::Power => '^',
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
    /// `[name]`: the literal key of a map; of anything else, the property of the root that is its index.
    Key(String),
    Index(Node),
    Call {
        name: String,
        arguments: Vec<Node>,
    },
    Select {
        which: Which,
        criteria: Node,
    },
    Project(Node),
    /// `.#name`: whatever stands before it does not matter, unless it is `#this`.
    Other(Node),
}

/// Which items of a selection are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// `?[…]`
    All,
    /// `^[…]`
    First,
    /// `$[…]`
    Last,
}
