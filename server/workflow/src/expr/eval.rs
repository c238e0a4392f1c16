//! The evaluator.
//!
//! Purpose: computes a tree's value from variables.
//! Invariant: the same tree and variables give the same value on every machine; each node costs one step and the
//! steps are bounded. In strict mode no order with null comes out (DESIGN §7).
//! Never: changes a variable, loops without a bound.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;

use super::ast::{Access, AccessKind, Arithmetic, Node, NodeKind, Order, Unary};
use super::error::{ErrorKind, ExprError, Fault};
use super::pattern::Pattern;
use super::value::Value;
use super::{compare, convert, methods, number};

/// Steps of one evaluation (the limit of Spring 7).
pub(super) const STEPS_MAX: u32 = 10_000;
/// Longest text that `+` builds, in UTF-16 units (the limit of Spring 7).
pub(super) const CONCAT_UNITS_MAX: usize = 100_000;
/// Longest text that `'x' * n` builds, in UTF-16 units (the limit of Spring 7).
pub(super) const REPEAT_UNITS_MAX: usize = 256;

type Outcome<'e> = Result<Cow<'e, Value>, ExprError>;

/// One evaluation.
pub(super) struct Evaluator<'e> {
    variables: &'e BTreeMap<String, Value>,
    strict: bool,
    steps_left: u32,
}

const NULL: &Value = &Value::Null;

impl<'e> Evaluator<'e> {
    pub(super) fn new(variables: &'e BTreeMap<String, Value>, strict: bool) -> Self {
        Self { variables, strict, steps_left: STEPS_MAX }
    }

    /// The node's value.
    pub(super) fn eval(&mut self, mut node: &'e Node) -> Outcome<'e> {
        // Ternary and Elvis go on in place, so that a long chain of them takes no stack.
        loop {
            self.step(&node.span)?;
            match &node.kind {
                NodeKind::Ternary { condition, then, otherwise } => {
                    node = if self.eval_bool(condition)? { then } else { otherwise };
                }
                NodeKind::Elvis { value, otherwise } => {
                    let value = self.eval(value)?;
                    match value.as_ref() {
                        Value::Null => node = otherwise,
                        Value::Text(text) if text.is_empty() => node = otherwise,
                        _ => return Ok(value),
                    }
                }
                NodeKind::Literal(value) => return Ok(Cow::Borrowed(value)),
                NodeKind::Variable(name) => return Ok(Cow::Borrowed(self.variables.get(name).unwrap_or(NULL))),
                NodeKind::Path { start, steps } => return self.path(start, steps),
                _ => return self.operation(node).map(Cow::Owned),
            }
        }
    }

    fn step(&mut self, span: &Range<usize>) -> Result<(), ExprError> {
        match self.steps_left.checked_sub(1) {
            Some(left) => {
                self.steps_left = left;
                Ok(())
            }
            None => {
                let message = format!("the expression takes more than {STEPS_MAX} steps; make it smaller");
                Err(Fault::new(ErrorKind::Limit, message).at(span))
            }
        }
    }

    fn eval_bool(&mut self, node: &'e Node) -> Result<bool, ExprError> {
        let value = self.eval(node)?;
        convert::to_bool(&value).map_err(|fault| fault.at(&node.span))
    }

    fn operation(&mut self, node: &'e Node) -> Result<Value, ExprError> {
        let span = &node.span;
        match &node.kind {
            NodeKind::List(items) => {
                let mut list = Vec::with_capacity(items.len());
                for item in items {
                    list.push(self.eval(item)?.into_owned());
                }
                Ok(Value::List(list))
            }
            NodeKind::Unary { ops, operand } => self.unary(ops, operand, span),
            NodeKind::Arithmetic { first, rest } => {
                let mut value = self.eval(first)?.into_owned();
                for (op, node) in rest {
                    self.step(span)?;
                    let right = self.eval(node)?;
                    value = arithmetic(*op, value, &right).map_err(|fault| fault.at(&(span.start..node.span.end)))?;
                }
                Ok(value)
            }
            NodeKind::Equal { negated, left, right } => {
                let (left, right) = (self.eval(left)?, self.eval(right)?);
                let equal = compare::equal(&left, &right).map_err(|fault| fault.at(span))?;
                Ok(Value::Bool(equal != *negated))
            }
            NodeKind::Order { op, left, right } => {
                let (left, right) = (self.eval(left)?, self.eval(right)?);
                let order = self.order(&left, &right, span)?;
                Ok(Value::Bool(!compare::has_nan(&left, &right) && holds(*op, order)))
            }
            NodeKind::Between { left, range } => self.between(left, range, span),
            NodeKind::Matches { left, pattern, compiled } => self.matches(left, pattern, compiled.as_ref(), span),
            NodeKind::And(nodes) => {
                for node in nodes {
                    if !self.eval_bool(node)? {
                        return Ok(Value::Bool(false));
                    }
                }
                Ok(Value::Bool(true))
            }
            NodeKind::Or(nodes) => {
                for node in nodes {
                    if self.eval_bool(node)? {
                        return Ok(Value::Bool(true));
                    }
                }
                Ok(Value::Bool(false))
            }
            NodeKind::Literal(_)
            | NodeKind::Variable(_)
            | NodeKind::Path { .. }
            | NodeKind::Ternary { .. }
            | NodeKind::Elvis { .. } => self.eval(node).map(Cow::into_owned),
        }
    }

    fn unary(&mut self, ops: &[Unary], operand: &'e Node, span: &Range<usize>) -> Result<Value, ExprError> {
        let mut value = self.eval(operand)?.into_owned();
        for op in ops.iter().rev() {
            self.step(span)?;
            let result = match op {
                Unary::Not => convert::to_bool(&value).map(|value| Value::Bool(!value)),
                Unary::Minus => number::negate(&value).ok_or_else(|| no_operator("-", &value)),
                Unary::Plus if value.is_number() => Ok(value),
                Unary::Plus => Err(no_operator("+", &value)),
            };
            value = result.map_err(|fault| fault.at(if *op == Unary::Not { &operand.span } else { span }))?;
        }
        Ok(value)
    }

    fn order(&self, left: &Value, right: &Value, span: &Range<usize>) -> Result<Ordering, ExprError> {
        if self.strict && (*left == Value::Null || *right == Value::Null) {
            let message = format!(
                "{} is ordered against {}, which would be decided silently; say what null means, e.g. with == null or ?:",
                left.shown(),
                right.shown()
            );
            return Err(Fault::new(ErrorKind::NullOrder, message).at(span));
        }
        compare::order(left, right).map_err(|fault| fault.at(span))
    }

    fn between(&mut self, left: &'e Node, range: &'e Node, span: &Range<usize>) -> Result<Value, ExprError> {
        let (value, bounds) = (self.eval(left)?, self.eval(range)?);
        let Value::List(bounds) = bounds.as_ref() else {
            let message = format!("between wants a list of two such as {{1, 5}}, not {}", bounds.shown());
            return Err(Fault::new(ErrorKind::Between, message).at(&range.span));
        };
        let [low, high] = bounds.as_slice() else {
            let message = format!("between wants a list of two such as {{1, 5}}, not of {}", bounds.len());
            return Err(Fault::new(ErrorKind::Between, message).at(&range.span));
        };
        let inside = self.order(&value, low, span)?.is_ge() && self.order(&value, high, span)?.is_le();
        Ok(Value::Bool(inside))
    }

    fn matches(
        &mut self,
        left: &'e Node,
        pattern: &'e Node,
        compiled: Option<&Pattern>,
        span: &Range<usize>,
    ) -> Result<Value, ExprError> {
        let value = self.eval(left)?;
        let source = self.eval(pattern)?;
        if *value == Value::Null {
            return Err(Fault::new(ErrorKind::Regex, "null matches no pattern; ask for == null first").at(&left.span));
        }
        let text = convert::to_text(&value);
        let matched = match (compiled, source.as_ref()) {
            (Some(pattern), _) => pattern.matches(&text),
            (None, Value::Text(source)) => Pattern::new(source).and_then(|pattern| pattern.matches(&text)),
            (None, other) => {
                let message = format!("matches wants a pattern in '…', not {}", other.shown());
                Err(Fault::new(ErrorKind::Regex, message))
            }
        };
        matched.map(Value::Bool).map_err(|fault| fault.at(if compiled.is_some() { span } else { &pattern.span }))
    }

    fn path(&mut self, start: &'e Node, steps: &'e [Access]) -> Outcome<'e> {
        let mut value = self.eval(start)?;
        for access in steps {
            self.step(&access.span)?;
            if access.null_safe && *value == Value::Null {
                continue;
            }
            value = self.access(value, access)?;
        }
        Ok(value)
    }

    fn access(&mut self, target: Cow<'e, Value>, access: &'e Access) -> Outcome<'e> {
        let at = |fault: Fault| fault.at(&access.span);
        match &access.kind {
            AccessKind::Property(name) => property(target, name).map_err(at),
            AccessKind::Key(name) => match target.as_ref() {
                Value::Map(_) => Ok(entry(target, name).unwrap_or(Cow::Borrowed(NULL))),
                Value::Null => Err(at(of_null(&format!("['{name}']")))),
                other => Err(at(Fault::new(
                    ErrorKind::Unsupported,
                    format!("[{name}] is a map's key and {} is none; write a number", other.shown()),
                ))),
            },
            AccessKind::Index(index) => {
                if *target == Value::Null {
                    return Err(at(of_null("an index")));
                }
                let index = self.eval(index)?;
                indexed(target, &index).map_err(at)
            }
            AccessKind::Call { method, arguments } => {
                let mut values = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    values.push(self.eval(argument)?.into_owned());
                }
                methods::call(*method, &target, &values).map(Cow::Owned).map_err(at)
            }
        }
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

fn of_null(what: &str) -> Fault {
    Fault::new(ErrorKind::Null, format!("{what} of null: the value before it is missing; ask for == null first"))
}

fn arithmetic(op: Arithmetic, left: Value, right: &Value) -> Result<Value, Fault> {
    if let Some(value) = number::arithmetic(op, &left, right)? {
        return Ok(value);
    }
    match (op, left, right) {
        (Arithmetic::Add, Value::Text(text), right) => concat(text, &convert::to_text(right)),
        (Arithmetic::Add, left, Value::Text(text)) => concat(convert::to_text(&left), text),
        (Arithmetic::Multiply, Value::Text(text), Value::Int(count)) => repeat(&text, *count),
        (Arithmetic::Subtract, Value::Text(text), Value::Int(_)) if text.encode_utf16().count() == 1 => {
            Err(Fault::new(ErrorKind::Unsupported, "arithmetic with characters is not available; write a number"))
        }
        (op, left, right) => Err(Fault::new(
            ErrorKind::Operator,
            format!("{} does not go with {} and {}", op.sign(), left.shown(), right.shown()),
        )),
    }
}

fn concat(mut left: String, right: &str) -> Result<Value, Fault> {
    let units = left.encode_utf16().count() + right.encode_utf16().count();
    if units > CONCAT_UNITS_MAX {
        let message = format!("the text would have {units} characters; at most {CONCAT_UNITS_MAX}");
        return Err(Fault::new(ErrorKind::Limit, message));
    }
    left.push_str(right);
    Ok(Value::Text(left))
}

fn repeat(text: &str, count: i32) -> Result<Value, Fault> {
    let Ok(count) = usize::try_from(count) else {
        return Err(Fault::new(ErrorKind::Operator, format!("text can't be repeated {count} times")));
    };
    let units = text.encode_utf16().count().saturating_mul(count);
    if units > REPEAT_UNITS_MAX {
        let message = format!("the repeated text would have {units} characters; at most {REPEAT_UNITS_MAX}");
        return Err(Fault::new(ErrorKind::Limit, message));
    }
    Ok(Value::Text(text.repeat(count)))
}

/// A map's entry, borrowed where the map is.
fn entry<'e>(target: Cow<'e, Value>, name: &str) -> Option<Cow<'e, Value>> {
    match target {
        Cow::Borrowed(Value::Map(entries)) => entries.get(name).map(Cow::Borrowed),
        Cow::Owned(Value::Map(mut entries)) => entries.remove(name).map(Cow::Owned),
        Cow::Borrowed(_) | Cow::Owned(_) => None,
    }
}

fn property<'e>(target: Cow<'e, Value>, name: &str) -> Result<Cow<'e, Value>, Fault> {
    match target.as_ref() {
        Value::Map(_) => entry(target, name).ok_or_else(|| {
            Fault::new(
                ErrorKind::Property,
                format!("there is no property {name}; ['{name}'] gives null where it is missing"),
            )
        }),
        Value::Null => Err(of_null(&format!(".{name}"))),
        other => Err(Fault::new(ErrorKind::Property, format!("{} has no property {name}", other.shown()))),
    }
}

fn indexed<'e>(target: Cow<'e, Value>, index: &Value) -> Result<Cow<'e, Value>, Fault> {
    let beyond = |position: i32, length: usize| {
        let kind = if position < 0 { ErrorKind::Argument } else { ErrorKind::Index };
        Err(Fault::new(kind, format!("there is nothing at {position}; positions go from 0 to below {length}")))
    };
    match target.as_ref() {
        Value::Map(_) => match index {
            Value::Text(key) => Ok(entry(target, key).unwrap_or(Cow::Borrowed(NULL))),
            Value::Null => Err(Fault::new(ErrorKind::Index, "null is no key; write a text")),
            _ => Ok(Cow::Borrowed(NULL)),
        },
        Value::List(items) => {
            let position = convert::to_position(index)?;
            let Some(at) = usize::try_from(position).ok().filter(|at| *at < items.len()) else {
                return beyond(position, items.len());
            };
            Ok(match target {
                Cow::Borrowed(Value::List(items)) => items.get(at).map_or(Cow::Borrowed(NULL), Cow::Borrowed),
                Cow::Owned(Value::List(mut items)) => Cow::Owned(items.swap_remove(at)),
                other => other,
            })
        }
        Value::Text(text) => {
            let position = convert::to_position(index)?;
            let units: Vec<u16> = text.encode_utf16().collect();
            let Some(unit) = usize::try_from(position).ok().and_then(|at| units.get(at)) else {
                return beyond(position, units.len());
            };
            match String::from_utf16(&[*unit]) {
                Ok(text) => Ok(Cow::Owned(Value::Text(text))),
                Err(_) => Err(Fault::new(ErrorKind::Unsupported, "half of a character beyond U+FFFF is no text")),
            }
        }
        other => Err(Fault::new(ErrorKind::Index, format!("{} has no positions", other.shown()))),
    }
}
