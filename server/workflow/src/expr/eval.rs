//! The evaluator: operators.
//!
//! Purpose: computes a tree's value from variables; paths are in `access`.
//! Invariant: the same tree and variables give the same value on every machine. Operators are counted as Spring counts
//! them, and every visit, copy and comparison takes from a bounded stock of work. In strict mode no order with null
//! comes out (DESIGN §7).
//! Never: changes a variable, loops without a bound.

use std::borrow::Cow;
use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;

use super::ast::{Arithmetic, MapKey, Node, NodeKind, Order, Unary};
use super::error::{ErrorKind, ExprError, Fault};
use super::map::Map;
use super::pattern::Pattern;
use super::value::Value;
use super::{compare, convert, number};

/// Operators of one evaluation, counting each item that one is applied to (the limit of Spring 7).
pub(super) const OPERATIONS_MAX: u32 = 10_000;
/// Work of one evaluation: a visited node, a copied value and 32 bytes of text are 1 each.
pub(super) const WORK_MAX: u64 = 20_000_000;
/// Longest text that `+` builds, in UTF-16 units (the limit of Spring 7).
pub(super) const CONCAT_UNITS_MAX: usize = 100_000;
/// Longest text that `'x' * n` builds, in UTF-16 units (the limit of Spring 7).
pub(super) const REPEAT_UNITS_MAX: usize = 256;
/// What it costs to compile a pattern that is no literal.
const PATTERN_WORK: u64 = 20_000;

pub(super) type Outcome<'v> = Result<Cow<'v, Value>, ExprError>;

/// One evaluation's stocks.
pub(super) struct Evaluator {
    strict: bool,
    operations: Cell<u32>,
    work: Cell<u64>,
}

/// What names mean at a place.
#[derive(Clone, Copy)]
pub(super) struct Scope<'v> {
    pub(super) variables: &'v BTreeMap<String, Value>,
    pub(super) root: &'v Value,
    /// What bare names and `#this` refer to.
    pub(super) active: &'v Value,
    /// The item of the innermost selection or projection, else the root: what a method's arguments refer to.
    pub(super) item: &'v Value,
}

pub(super) const NULL: &Value = &Value::Null;

impl Evaluator {
    pub(super) fn new(strict: bool) -> Self {
        Self { strict, operations: Cell::new(OPERATIONS_MAX), work: Cell::new(WORK_MAX) }
    }

    /// The node's value.
    pub(super) fn eval<'v>(&self, mut node: &'v Node, scope: Scope<'v>) -> Outcome<'v> {
        // Ternary and Elvis go on in place, so that a long chain of them takes no stack.
        loop {
            self.work(1, &node.span)?;
            match &node.kind {
                NodeKind::Ternary { condition, then, otherwise } => {
                    node = if self.eval_bool(condition, scope)? { then } else { otherwise };
                }
                NodeKind::Elvis { value, otherwise } => {
                    let value = self.eval(value, scope)?;
                    match value.as_ref() {
                        Value::Null => node = otherwise,
                        Value::Text(text) if text.is_empty() => node = otherwise,
                        _ => return Ok(value),
                    }
                }
                NodeKind::Literal(value) => return Ok(Cow::Borrowed(value)),
                NodeKind::Variable(name) => return Ok(Cow::Borrowed(scope.variables.get(name).unwrap_or(NULL))),
                NodeKind::Root => return Ok(Cow::Borrowed(scope.root)),
                NodeKind::Active => return Ok(Cow::Borrowed(scope.active)),
                NodeKind::Path { start, steps } => return self.path(start, steps, scope),
                _ => return self.operation(node, scope).map(Cow::Owned),
            }
        }
    }

    /// Takes from the stock of work.
    pub(super) fn work(&self, units: u64, span: &Range<usize>) -> Result<(), ExprError> {
        match self.work.get().checked_sub(units) {
            Some(left) => {
                self.work.set(left);
                Ok(())
            }
            None => {
                let message = "the expression takes too much work; make it or the values smaller";
                Err(Fault::new(ErrorKind::Limit, message).at(span))
            }
        }
    }

    /// Counts an operation.
    pub(super) fn operation_done(&self, span: &Range<usize>) -> Result<(), ExprError> {
        match self.operations.get().checked_sub(1) {
            Some(left) => {
                self.operations.set(left);
                Ok(())
            }
            None => {
                let message = format!("the expression takes more than {OPERATIONS_MAX} operations; make it smaller");
                Err(Fault::new(ErrorKind::Limit, message).at(span))
            }
        }
    }

    /// The value as one's own; a copy costs its weight.
    pub(super) fn own(&self, value: Cow<'_, Value>, span: &Range<usize>) -> Result<Value, ExprError> {
        match value {
            Cow::Owned(value) => Ok(value),
            Cow::Borrowed(value) => {
                self.work(value.weight(), span)?;
                Ok(value.clone())
            }
        }
    }

    fn eval_own(&self, node: &Node, scope: Scope<'_>) -> Result<Value, ExprError> {
        let value = self.eval(node, scope)?;
        self.own(value, &node.span)
    }

    fn eval_bool(&self, node: &Node, scope: Scope<'_>) -> Result<bool, ExprError> {
        let value = self.eval(node, scope)?;
        convert::to_bool(&value).map_err(|fault| fault.at(&node.span))
    }

    fn operation(&self, node: &Node, scope: Scope<'_>) -> Result<Value, ExprError> {
        let span = &node.span;
        match &node.kind {
            NodeKind::List(items) => self.list(items, span, scope),
            NodeKind::Map(entries) => self.map(entries, span, scope),
            NodeKind::Unary { ops, operand } => self.unary(ops, operand, span, scope),
            NodeKind::Arithmetic { first, rest } => self.chain(first, rest, span, scope),
            NodeKind::Equal { negated, left, right } => {
                let (left, right) = (self.eval(left, scope)?, self.eval(right, scope)?);
                self.operation_done(span)?;
                self.work(compared_work(&left, &right), span)?;
                let equal = compare::equal(&left, &right).map_err(|fault| fault.at(span))?;
                Ok(Value::Bool(equal != *negated))
            }
            NodeKind::Order { op, left, right } => {
                let (left, right) = (self.eval(left, scope)?, self.eval(right, scope)?);
                self.operation_done(span)?;
                self.work(compared_work(&left, &right), span)?;
                self.refuse_null(&left, &right, span)?;
                let order = compare::operator_order(&left, &right).map_err(|fault| fault.at(span))?;
                Ok(Value::Bool(order.is_some_and(|order| holds(*op, order))))
            }
            NodeKind::Between { left, range, at } => self.between(left, range, at, scope),
            NodeKind::Matches { left, pattern, compiled } => {
                self.operation_done(span)?;
                self.matches(left, pattern, compiled.as_ref(), scope)
            }
            NodeKind::And(nodes) => {
                for node in nodes {
                    if !self.eval_bool(node, scope)? {
                        return Ok(Value::Bool(false));
                    }
                }
                Ok(Value::Bool(true))
            }
            NodeKind::Or(nodes) => {
                for node in nodes {
                    if self.eval_bool(node, scope)? {
                        return Ok(Value::Bool(true));
                    }
                }
                Ok(Value::Bool(false))
            }
            NodeKind::Function { name, arguments } => self.function(name, arguments, span, scope),
            NodeKind::Refused(error) => Err(error.clone()),
            NodeKind::Literal(_)
            | NodeKind::Variable(_)
            | NodeKind::Root
            | NodeKind::Active
            | NodeKind::Path { .. }
            | NodeKind::Ternary { .. }
            | NodeKind::Elvis { .. } => self.eval_own(node, scope),
        }
    }

    fn list(&self, items: &[Node], span: &Range<usize>, scope: Scope<'_>) -> Result<Value, ExprError> {
        // A list of literals is made once in the original, not counted.
        let constant = items.iter().all(|item| matches!(item.kind, NodeKind::Literal(_)));
        let mut list = Vec::with_capacity(items.len());
        for item in items {
            if !constant {
                self.operation_done(span)?;
            }
            list.push(self.eval_own(item, scope)?);
        }
        Ok(Value::List(list))
    }

    fn map(&self, entries: &[(MapKey, Node)], span: &Range<usize>, scope: Scope<'_>) -> Result<Value, ExprError> {
        let mut map = Map::new();
        for (key, value) in entries {
            let constant = matches!(value.kind, NodeKind::Literal(_));
            if !constant {
                self.operation_done(span)?;
            }
            let key = match key {
                MapKey::Name(name) => Value::Text(name.clone()),
                MapKey::Computed(node) => self.eval_own(node, scope)?,
            };
            let value = self.eval_own(value, scope)?;
            self.work(key.weight() * 16, span)?;
            map.insert(key, value);
        }
        Ok(Value::Map(map))
    }

    fn unary(
        &self,
        ops: &[(Unary, usize)],
        operand: &Node,
        span: &Range<usize>,
        scope: Scope<'_>,
    ) -> Result<Value, ExprError> {
        let mut value = self.eval_own(operand, scope)?;
        let mut inner = operand.span.start;
        for (op, at) in ops.iter().rev() {
            self.work(value.weight(), span)?;
            if *op != Unary::Not {
                self.operation_done(span)?;
            }
            let result = match op {
                Unary::Not => convert::to_bool(&value).map(|value| Value::Bool(!value)),
                Unary::Minus => number::negate(&value).ok_or_else(|| no_operator("-", &value)),
                Unary::Plus if value.is_number() => Ok(value),
                Unary::Plus => Err(no_operator("+", &value)),
            };
            let place = if *op == Unary::Not { inner } else { *at };
            value = result.map_err(|fault| fault.at(&(place..span.end)))?;
            inner = *at;
        }
        Ok(value)
    }

    fn chain(
        &self,
        first: &Node,
        rest: &[(Arithmetic, usize, Node)],
        span: &Range<usize>,
        scope: Scope<'_>,
    ) -> Result<Value, ExprError> {
        let mut value = self.eval(first, scope)?;
        for (op, at, node) in rest {
            let right = self.eval(node, scope)?;
            let whole = span.start..node.span.end;
            self.operation_done(&whole)?;
            self.work(arithmetic_work(*op, &value, &right), &whole)?;
            let text_limit = *at..node.span.end;
            value = Cow::Owned(arithmetic(*op, value, &right).map_err(|fault| match fault.kind {
                // The original gives the place of the operator for some, of the right side for others.
                ErrorKind::Limit if *op == Arithmetic::Multiply => fault.at(&node.span),
                ErrorKind::Limit => fault.at(&text_limit),
                ErrorKind::Operator if fault.code == NEGATIVE_REPEAT => fault.at(&text_limit),
                _ => fault.at(&whole),
            })?);
        }
        self.own(value, span)
    }

    /// In strict mode an order with null is an error.
    fn refuse_null(&self, left: &Value, right: &Value, span: &Range<usize>) -> Result<(), ExprError> {
        if !self.strict || (*left != Value::Null && *right != Value::Null) {
            return Ok(());
        }
        let message = format!(
            "{} is ordered against {}, which would be decided silently; say what null means, e.g. with == null or ?:",
            left.shown(),
            right.shown()
        );
        Err(Fault::new(ErrorKind::NullOrder, message).at(span))
    }

    fn between(&self, left: &Node, range: &Node, at: &Range<usize>, scope: Scope<'_>) -> Result<Value, ExprError> {
        let (value, bounds) = (self.eval(left, scope)?, self.eval(range, scope)?);
        self.operation_done(at)?;
        let of = |what: String| {
            let message = format!("between wants a list of two such as {{1, 5}}, not {what}");
            Fault::new(ErrorKind::Between, message).at(&range.span)
        };
        let Value::List(bounds) = bounds.as_ref() else { return Err(of(bounds.shown())) };
        let [low, high] = bounds.as_slice() else { return Err(of(format!("of {}", bounds.len()))) };
        self.work(value.weight() + low.weight() + high.weight(), at)?;
        let order = |bound: &Value| -> Result<Ordering, ExprError> {
            self.refuse_null(&value, bound, &left.span)?;
            compare::order(&value, bound).map_err(|fault| fault.at(at))
        };
        Ok(Value::Bool(order(low)?.is_ge() && order(high)?.is_le()))
    }

    fn matches(
        &self,
        left: &Node,
        pattern: &Node,
        compiled: Option<&Result<Pattern, Fault>>,
        scope: Scope<'_>,
    ) -> Result<Value, ExprError> {
        let value = self.eval(left, scope)?;
        let source = self.eval(pattern, scope)?;
        if *value == Value::Null {
            let message = "null matches no pattern; ask for == null first";
            return Err(Fault::new(ErrorKind::Regex, message).code("EL1037E").at(&left.span));
        }
        self.work(text_work(&value), &left.span)?;
        let Some(text) = convert::as_text(&value) else {
            let message = format!("matches wants a text, not {}", value.shown());
            return Err(Fault::new(ErrorKind::Conversion, message).at(&left.span));
        };
        let matched = match (compiled, source.as_ref()) {
            (Some(Ok(pattern)), _) => self.full_match(pattern, &text, &left.span)?,
            (Some(Err(fault)), _) => Err(fault.clone()),
            (None, Value::Text(source)) => {
                self.work(PATTERN_WORK, &left.span)?;
                match Pattern::new(source) {
                    Ok(pattern) => self.full_match(&pattern, &text, &left.span)?,
                    Err(fault) => Err(fault),
                }
            }
            (None, other) => {
                let message = format!("matches wants a pattern in '…', not {}", other.shown());
                Err(Fault::new(ErrorKind::Regex, message).code("EL1038E"))
            }
        };
        matched.map(Value::Bool).map_err(|fault| fault.at(&pattern.span))
    }

    /// The outer error is that of the stock of work, the inner one the pattern's.
    pub(super) fn full_match(
        &self,
        pattern: &Pattern,
        text: &str,
        span: &Range<usize>,
    ) -> Result<Result<bool, Fault>, ExprError> {
        self.work(pattern.work(text), span)?;
        Ok(pattern.matches(text))
    }

    fn function(
        &self,
        name: &str,
        arguments: &[Node],
        span: &Range<usize>,
        scope: Scope<'_>,
    ) -> Result<Value, ExprError> {
        match scope.variables.get(name) {
            None | Some(Value::Null) => {
                let message = format!("there is no function #{name}()");
                Err(Fault::new(ErrorKind::Function, message).at(span))
            }
            Some(value) => {
                for argument in arguments {
                    self.eval(argument, scope)?;
                }
                let message = format!("#{name} is {}, no function", value.shown());
                Err(Fault::new(ErrorKind::Function, message).code("EL1022E").at(span))
            }
        }
    }
}

/// Structures are walked; everything else is compared at once.
fn compared_work(left: &Value, right: &Value) -> u64 {
    let weight = |value: &Value| match value {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Long(_) => 1,
        other => other.weight(),
    };
    match (left, right) {
        (Value::Text(left), Value::Text(right)) => u64::try_from(left.len().min(right.len()) / 32).unwrap_or(0),
        // Sets are compared item by item.
        (Value::Items(..), Value::Items(..)) => weight(left).saturating_mul(weight(right)),
        _ => weight(left).saturating_add(weight(right)),
    }
}

/// Big numbers are turned into decimal digits with much more work than they are added.
fn arithmetic_work(op: Arithmetic, left: &Value, right: &Value) -> u64 {
    let number = |value: &Value| match value {
        Value::BigInt(_) | Value::Decimal(_) => value.weight(),
        _ => 1,
    };
    match (op, left, right) {
        (Arithmetic::Power, left @ (Value::BigInt(_) | Value::Decimal(_)), right) => {
            let size = number(left).saturating_mul(u64::from(number::to_int(right).unsigned_abs())).min(16_000);
            size.saturating_mul(size) / 16 + 1
        }
        (_, Value::Text(_), other) | (_, other, Value::Text(_)) => text_work(other),
        _ => {
            let (left, right) = (number(left), number(right));
            if left + right <= 8 { 1 } else { left.saturating_mul(right).saturating_add(left + right) }
        }
    }
}

/// What it costs to write the value as text.
pub(super) fn text_work(value: &Value) -> u64 {
    match value {
        Value::BigInt(_) | Value::Decimal(_) => value.weight().saturating_mul(value.weight()) / 4 + 1,
        Value::Text(_) => 1,
        other => other.weight(),
    }
}

fn holds(op: Order, order: Ordering) -> bool {
    match op {
        Order::Less => order.is_lt(),
        Order::LessOrEqual => order.is_le(),
        Order::Greater => order.is_gt(),
        Order::GreaterOrEqual => order.is_ge(),
    }
}

fn no_operator(sign: &str, value: &Value) -> Fault {
    Fault::new(ErrorKind::Operator, format!("{sign} does not go with {}; it wants a number", value.shown()))
}

const NEGATIVE_REPEAT: &str = "EL1081E";

fn arithmetic(op: Arithmetic, left: Cow<'_, Value>, right: &Value) -> Result<Value, Fault> {
    if let Some(value) = number::arithmetic(op, &left, right)? {
        return Ok(value);
    }
    match (op, left.as_ref(), right) {
        (Arithmetic::Add, Value::Text(_), right) => {
            let addition = match right {
                Value::Text(right) => Cow::Borrowed(right.as_str()),
                other => Cow::Owned(convert::to_text(other)?),
            };
            match left.into_owned() {
                Value::Text(text) => concat(text, &addition),
                other => Ok(other),
            }
        }
        (Arithmetic::Add, left, Value::Text(text)) => concat(convert::to_text(left)?, text),
        (Arithmetic::Multiply, Value::Text(text), Value::Int(count)) => repeat(text, *count),
        (Arithmetic::Subtract, Value::Text(text), Value::Int(number)) => character_minus(text, *number),
        (op, left, right) => Err(no_pair(op, left, right)),
    }
}

fn no_pair(op: Arithmetic, left: &Value, right: &Value) -> Fault {
    let message = format!("{} does not go with {} and {}", op.sign(), left.shown(), right.shown());
    Fault::new(ErrorKind::Operator, message)
}

/// `'d' - 3` is `'a'` in the original, for a text of one UTF-16 unit.
fn character_minus(text: &str, number: i32) -> Result<Value, Fault> {
    let mut units = text.encode_utf16();
    let (Some(unit), None) = (units.next(), units.next()) else {
        return Err(no_pair(Arithmetic::Subtract, &Value::from(text), &Value::Int(number)));
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "Java casts to char")]
    let moved = (i32::from(unit).wrapping_sub(number)) as u16;
    String::from_utf16(&[moved]).map(Value::Text).map_err(|_| {
        Fault::new(ErrorKind::Unsupported, format!("{text} - {number} is half of a character, which is no text"))
    })
}

pub(super) fn concat(mut left: String, right: &str) -> Result<Value, Fault> {
    // Bytes are never fewer than UTF-16 units.
    if left.len() + right.len() > CONCAT_UNITS_MAX {
        let units = left.encode_utf16().count() + right.encode_utf16().count();
        if units > CONCAT_UNITS_MAX {
            let message = format!("the text would have {units} characters; at most {CONCAT_UNITS_MAX}");
            return Err(Fault::new(ErrorKind::Limit, message).code("EL1078E"));
        }
    }
    left.push_str(right);
    Ok(Value::Text(left))
}

pub(super) fn repeat(text: &str, count: i32) -> Result<Value, Fault> {
    let Ok(count) = usize::try_from(count) else {
        let message = format!("text can't be repeated {count} times");
        return Err(Fault::new(ErrorKind::Operator, message).code(NEGATIVE_REPEAT));
    };
    let units = text.encode_utf16().count().saturating_mul(count);
    if units > REPEAT_UNITS_MAX {
        let message = format!("the repeated text would have {units} characters; at most {REPEAT_UNITS_MAX}");
        return Err(Fault::new(ErrorKind::Limit, message).code("EL1076E"));
    }
    Ok(Value::Text(text.repeat(count)))
}
