//! The evaluator: paths.
//!
//! Purpose: properties, indexes, methods, selections and projections along `start.a['b'].c()`.
//! Invariant: a value that is only looked at is never copied; `?.` guards its own step only, as in SpEL.
//! Never: reaches anything but data: a map's entries, an entry's key and value, items, characters.

use std::borrow::Cow;
use std::ops::Range;

use super::ast::{Access, AccessKind, Node, NodeKind, Which};
use super::error::{ErrorKind, ExprError, Fault};
use super::eval::{Evaluator, NULL, Outcome, Scope};
use super::value::{ItemsKind, Value};
use super::{convert, methods};

impl Evaluator {
    pub(super) fn path<'v>(&self, start: &'v Node, steps: &'v [Access], scope: Scope<'v>) -> Outcome<'v> {
        let mut value = self.eval(start, scope)?;
        let from = start.span.start;
        for access in steps {
            self.work(1, &access.span)?;
            if access.null_safe && *value == Value::Null {
                continue;
            }
            value = self.access(value, access, from, scope)?;
        }
        Ok(value)
    }

    fn access<'v>(&self, target: Cow<'v, Value>, access: &'v Access, from: usize, scope: Scope<'v>) -> Outcome<'v> {
        let at = |fault: Fault| fault.at(&access.span);
        match &access.kind {
            AccessKind::Property(name) => {
                if *target == Value::Null {
                    return Err(of_null(&format!(".{name}")).at(&(from..access.span.end)));
                }
                property(target, name).map_err(at)
            }
            AccessKind::Key(name) => match target.as_ref() {
                Value::Map(_) => Ok(entry(target, &Value::from(name.as_str())).unwrap_or(Cow::Borrowed(NULL))),
                Value::Null => Err(at(of_null(&format!("['{name}']")).code("EL1012E"))),
                _ => {
                    let index = property(Cow::Borrowed(scope.root), name).map_err(at)?;
                    self.indexed(target, &index, &access.span)
                }
            },
            AccessKind::Index(index) => {
                if *target == Value::Null {
                    return Err(at(of_null("an index").code("EL1012E")));
                }
                // In a bracket, names and #this mean the root again.
                let index = self.eval(index, Scope { active: scope.root, ..scope })?;
                self.indexed(target, &index, &access.span)
            }
            AccessKind::Call { name, arguments } => self.call(&target, name, arguments, &access.span, scope),
            AccessKind::Select { which, criteria } => self.select(target, *which, criteria, &access.span, scope),
            AccessKind::Project(node) => self.project(&target, node, &access.span, scope).map(Cow::Owned),
            AccessKind::Other(node) => match &node.kind {
                NodeKind::Active => Ok(target),
                _ => self.eval(node, scope),
            },
        }
    }

    fn call<'v>(
        &self,
        target: &Value,
        name: &str,
        arguments: &'v [Node],
        span: &Range<usize>,
        scope: Scope<'v>,
    ) -> Outcome<'v> {
        self.operation_done(span)?;
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let value = self.eval(argument, Scope { active: scope.item, ..scope })?;
            values.push(value);
        }
        if *target == Value::Null {
            let fault = Fault::new(ErrorKind::Null, format!("{name}() of null; write ?.{name}()")).code("EL1011E");
            return Err(fault.at(span));
        }
        let weight: u64 = values.iter().map(|value| value.weight()).sum();
        self.work(methods::work(name, target, weight), span)?;
        let values: Vec<&Value> = values.iter().map(Cow::as_ref).collect();
        methods::call(name, target, &values).map(Cow::Owned).map_err(|fault| fault.at(span))
    }

    fn indexed<'v>(&self, target: Cow<'v, Value>, index: &Value, span: &Range<usize>) -> Outcome<'v> {
        self.work(index.weight(), span)?;
        if let Value::Text(text) = target.as_ref() {
            self.work(u64::try_from(text.len() / 32).unwrap_or(0), span)?;
        }
        indexed(target, index).map_err(|fault| fault.at(span))
    }

    /// Whether an item is wanted.
    fn keeps(&self, criteria: &Node, item: &Value, scope: Scope<'_>) -> Result<bool, ExprError> {
        self.operation_done(&criteria.span)?;
        let value = self.eval(criteria, Scope { active: item, item, ..scope })?;
        match value.as_ref() {
            Value::Bool(value) => Ok(*value),
            other => {
                let message = format!("a selection wants true or false for each item, not {}", other.shown());
                Err(Fault::new(ErrorKind::Selection, message).code("EL1016E").at(&criteria.span))
            }
        }
    }

    fn select<'v>(
        &self,
        target: Cow<'v, Value>,
        which: Which,
        criteria: &Node,
        span: &Range<usize>,
        scope: Scope<'_>,
    ) -> Outcome<'v> {
        self.operation_done(span)?;
        if let Value::Map(map) = target.as_ref() {
            let mut kept = Vec::new();
            for (key, value) in map.iter() {
                self.work(key.weight() + value.weight(), span)?;
                let entry = Value::Entry(Box::new((key.clone(), value.clone())));
                if self.keeps(criteria, &entry, scope)? {
                    kept.push((key.clone(), value.clone()));
                    if which == Which::First {
                        break;
                    }
                }
            }
            let kept = match which {
                Which::All => kept,
                Which::First | Which::Last => match kept.pop() {
                    Some(last) => vec![last],
                    None => return Ok(Cow::Borrowed(NULL)),
                },
            };
            return Ok(Cow::Owned(Value::Map(kept.into_iter().collect())));
        }
        let Some(items) = selectable(&target) else {
            let message = format!("{} has no items to select from", target.shown());
            return Err(Fault::new(ErrorKind::Selection, message).at(span));
        };
        let mut kept = Vec::new();
        for (position, item) in items.iter().enumerate() {
            if self.keeps(criteria, item, scope)? {
                kept.push(position);
                if which == Which::First {
                    break;
                }
            }
        }
        match which {
            Which::All => self.kept_items(target, &kept, span),
            Which::First | Which::Last => match kept.last() {
                None => Ok(Cow::Borrowed(NULL)),
                Some(position) => Ok(item_at(target, *position)),
            },
        }
    }

    fn kept_items<'v>(&self, target: Cow<'v, Value>, kept: &[usize], span: &Range<usize>) -> Outcome<'v> {
        let kind = match target.as_ref() {
            Value::Items(ItemsKind::Array, _) => Some(ItemsKind::Array),
            _ => None,
        };
        let items = match target {
            Cow::Owned(Value::List(items) | Value::Items(_, items)) => {
                let mut wanted = kept.iter().peekable();
                let chosen = items.into_iter().enumerate();
                chosen.filter(|(at, _)| wanted.next_if(|kept| *kept == at).is_some()).map(|(_, item)| item).collect()
            }
            Cow::Borrowed(Value::List(items) | Value::Items(_, items)) => {
                let mut chosen = Vec::with_capacity(kept.len());
                for item in kept.iter().filter_map(|at| items.get(*at)) {
                    chosen.push(self.own(Cow::Borrowed(item), span)?);
                }
                chosen
            }
            Cow::Owned(_) | Cow::Borrowed(_) => Vec::new(),
        };
        Ok(Cow::Owned(match kind {
            Some(kind) => Value::Items(kind, items),
            None => Value::List(items),
        }))
    }

    fn project(&self, target: &Value, node: &Node, span: &Range<usize>, scope: Scope<'_>) -> Result<Value, ExprError> {
        self.operation_done(span)?;
        let mut results = Vec::new();
        let mut apply = |item: &Value| -> Result<(), ExprError> {
            self.operation_done(span)?;
            let value = self.eval(node, Scope { active: item, item, ..scope })?;
            results.push(self.own(value, span)?);
            Ok(())
        };
        if let Value::Map(map) = target {
            for (key, value) in map.iter() {
                self.work(key.weight() + value.weight(), span)?;
                apply(&Value::Entry(Box::new((key.clone(), value.clone()))))?;
            }
            return Ok(Value::List(results));
        }
        let Some(items) = selectable(target) else {
            let message = format!("{} has no items to project", target.shown());
            return Err(Fault::new(ErrorKind::Selection, message).code("EL1019E").at(span));
        };
        for item in items {
            apply(item)?;
        }
        Ok(match target {
            Value::Items(ItemsKind::Array, _) => Value::Items(ItemsKind::Array, results),
            _ => Value::List(results),
        })
    }
}

fn selectable(value: &Value) -> Option<&[Value]> {
    value.items().filter(|_| !matches!(value, Value::Items(ItemsKind::Stream, _)))
}

fn item_at(target: Cow<'_, Value>, position: usize) -> Cow<'_, Value> {
    match target {
        Cow::Borrowed(value) => Cow::Borrowed(value.items().and_then(|items| items.get(position)).unwrap_or(NULL)),
        Cow::Owned(Value::List(mut items) | Value::Items(_, mut items)) if position < items.len() => {
            Cow::Owned(items.swap_remove(position))
        }
        Cow::Owned(_) => Cow::Borrowed(NULL),
    }
}

fn of_null(what: &str) -> Fault {
    Fault::new(ErrorKind::Null, format!("{what} of null: the value before it is missing; ask for == null first"))
}

/// A map's entry, borrowed where the map is.
fn entry<'v>(target: Cow<'v, Value>, key: &Value) -> Option<Cow<'v, Value>> {
    match target {
        Cow::Borrowed(Value::Map(entries)) => entries.get_value(key).map(Cow::Borrowed),
        Cow::Owned(Value::Map(entries)) => entries.into_value(key).map(Cow::Owned),
        Cow::Borrowed(_) | Cow::Owned(_) => None,
    }
}

fn property<'v>(target: Cow<'v, Value>, name: &str) -> Result<Cow<'v, Value>, Fault> {
    match target.as_ref() {
        Value::Map(_) => entry(target, &Value::from(name)).ok_or_else(|| {
            let message = format!("there is no property {name}; ['{name}'] gives null where it is missing");
            Fault::new(ErrorKind::Property, message)
        }),
        Value::Entry(pair) if name == "key" => Ok(Cow::Owned(pair.0.clone())),
        Value::Entry(pair) if name == "value" => Ok(Cow::Owned(pair.1.clone())),
        Value::Null => Err(of_null(&format!(".{name}"))),
        other => Err(Fault::new(ErrorKind::Property, format!("{} has no property {name}", other.shown()))),
    }
}

fn indexed<'v>(target: Cow<'v, Value>, index: &Value) -> Result<Cow<'v, Value>, Fault> {
    let beyond = |position: i32, length: usize, code: &'static str, below: &'static str| {
        let message = format!("there is nothing at {position}; positions go from 0 to below {length}");
        Err(if position < 0 {
            Fault::new(ErrorKind::Argument, message).code(below)
        } else {
            Fault::new(ErrorKind::Index, message).code(code)
        })
    };
    match target.as_ref() {
        Value::Map(_) if *index == Value::Null => {
            Err(Fault::new(ErrorKind::Index, "null is no key; write a text").code("IllegalStateException"))
        }
        Value::Map(_) => Ok(entry(target, index).unwrap_or(Cow::Borrowed(NULL))),
        Value::Text(text) => {
            let position = convert::to_position(index)?;
            let unit = usize::try_from(position).ok().and_then(|at| text.encode_utf16().nth(at));
            let Some(unit) = unit else {
                return beyond(position, text.encode_utf16().count(), "EL1026E", "StringIndexOutOfBoundsException");
            };
            match String::from_utf16(&[unit]) {
                Ok(text) => Ok(Cow::Owned(Value::Text(text))),
                Err(_) => Err(Fault::new(ErrorKind::Unsupported, "half of a character beyond U+FFFF is no text")),
            }
        }
        value => match selectable(value).map(<[Value]>::len) {
            Some(length) => {
                let position = convert::to_position(index)?;
                match usize::try_from(position).ok().filter(|at| *at < length) {
                    Some(at) => Ok(item_at(target, at)),
                    None => beyond(position, length, "EL1025E", "IndexOutOfBoundsException"),
                }
            }
            None => {
                let message = format!("{} has no positions", target.shown());
                Err(Fault::new(ErrorKind::Index, message).code("EL1027E"))
            }
        },
    }
}
