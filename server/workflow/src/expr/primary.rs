//! Tokens to a tree: values and paths.
//!
//! Purpose: literals, `#variables`, names, brackets, lists, maps, and `.property`, `[index]`, `.method()`, selections
//! and projections behind them.
//! Invariant: every variable path is recorded, so that a blueprint can be checked against its declared fields. Types,
//! constructors and beans are read to their end, so that a mistake behind them is found, and refused.
//! Never: lets through a type, a constructor, a bean or a method off the allow-list.

use super::ast::{Access, AccessKind, MapKey, Node, NodeKind, Which};
use super::error::{ErrorKind, ExprError, Fault};
use super::lexer::{Kind, Token};
use super::methods;
use super::parser::Parser;
use super::value::Value;
use super::{ARGUMENTS_MAX, Reference};

impl Parser {
    /// A value and the path behind it.
    pub(super) fn primary(&mut self) -> Result<Node, ExprError> {
        let start_token = self.peek().clone();
        let (start, mut steps) = match start_token.kind {
            Kind::LBracket => (active(&start_token), vec![self.index(false)?]),
            Kind::Project | Kind::Select => (active(&start_token), vec![self.over_items(false)?]),
            _ if start_token.is_word() => self.word()?,
            _ => (self.start()?, Vec::new()),
        };
        while let Some(access) = self.access()? {
            steps.push(access);
        }
        if let NodeKind::Variable(name) = &start.kind {
            self.references.push(reference(name, &start, &steps));
        }
        let Some(last) = steps.last() else { return Ok(start) };
        let span = start.span.start..last.span.end;
        Ok(Node { kind: NodeKind::Path { start: Box::new(start), steps }, span })
    }

    fn start(&mut self) -> Result<Node, ExprError> {
        let token = self.peek().clone();
        match token.kind {
            Kind::Literal(value) => {
                self.take();
                Ok(Node { kind: NodeKind::Literal(value), span: token.span })
            }
            Kind::LParen => {
                self.take();
                let mut node = self.nested(Self::expression)?;
                let end = self.expect(&Kind::RParen, ")")?;
                node.span = token.span.start..end.span.end;
                Ok(node)
            }
            Kind::LBrace => self.braces(),
            Kind::Hash => self.variable(),
            Kind::At | Kind::Amp => self.bean(),
            _ => {
                let operator = matches!(token.kind, Kind::Star | Kind::Div | Kind::Mod | Kind::AndAnd | Kind::OrOr)
                    || matches!(token.kind, Kind::Eq | Kind::Ne | Kind::Lt | Kind::Le | Kind::Gt | Kind::Ge);
                let code = if operator { "EL1070E" } else { "EL1044E" };
                let message = format!("a value is missing before {}", self.found());
                Err(Fault::new(ErrorKind::Syntax, message).code(code).at(&token.span))
            }
        }
    }

    /// What begins with a name: `true`, `null`, `T(…)`, `new …`, or a property or method of what is in focus.
    fn word(&mut self) -> Result<(Node, Vec<Access>), ExprError> {
        let token = self.peek().clone();
        let next = self.peek_at(1).kind.clone();
        let plain = token.kind == Kind::Ident;
        let lower = token.text.to_ascii_lowercase();
        let value = match lower.as_str() {
            "true" if plain => Some(Value::Bool(true)),
            "false" if plain => Some(Value::Bool(false)),
            "null" if plain => Some(Value::Null),
            _ => None,
        };
        if let Some(value) = value {
            self.take();
            return Ok((Node { kind: NodeKind::Literal(value), span: token.span }, Vec::new()));
        }
        if plain && token.text == "T" && next != Kind::RBracket {
            return Ok((self.type_reference()?, Vec::new()));
        }
        if plain && lower == "new" && next != Kind::RBracket {
            return Ok((self.constructor()?, Vec::new()));
        }
        let step = self.named(false)?;
        self.refuse_bare_word(&token, &step);
        Ok((active(&token), vec![step]))
    }

    /// Blueprints have no root object: outside a selection a bare name is a mistake.
    fn refuse_bare_word(&mut self, token: &Token, step: &Access) {
        if self.items_depth > 0 {
            return;
        }
        let word = &token.text;
        let message = match step.kind {
            AccessKind::Call { .. } => {
                format!("{word}() follows a value, e.g. #object.fldX.length()")
            }
            _ => format!("`{word}` alone means nothing here; write #object.{word} for a field or '{word}' for text"),
        };
        self.note_refusal(Fault::new(ErrorKind::Unsupported, message), &token.span);
    }

    /// `T(java.lang.String[])`
    fn type_reference(&mut self) -> Result<Node, ExprError> {
        let start = self.take();
        self.expect(&Kind::LParen, "(")?;
        self.qualified_name()?;
        while self.take_if(&Kind::LBracket).is_some() {
            self.expect(&Kind::RBracket, "]")?;
        }
        let end = self.expect(&Kind::RParen, ")")?;
        let span = start.span.start..end.span.end;
        let fault = Fault::new(ErrorKind::Forbidden, "T(…) is not part of the language; there are no types");
        let kind = self.refuse(fault, &span);
        Ok(Node { kind, span })
    }

    /// `a.b.C`, in which points may stand as they like.
    fn qualified_name(&mut self) -> Result<(), ExprError> {
        let mut named = false;
        while self.peek().is_word() || self.peek().kind == Kind::Dot {
            named |= self.take().kind != Kind::Dot;
        }
        if named {
            return Ok(());
        }
        let code = if self.peek().kind == Kind::End { "EL1044E" } else { "EL1043E" };
        let message = format!("a type's name is missing before {}", self.found());
        Err(Fault::new(ErrorKind::Syntax, message).code(code).at(&self.peek().span))
    }

    /// `new a.B(…)`, `new int[2]{…}`
    fn constructor(&mut self) -> Result<Node, ExprError> {
        let start = self.take();
        self.qualified_name()?;
        match self.peek().kind {
            Kind::LBracket => {
                while self.take_if(&Kind::LBracket).is_some() {
                    if self.peek().kind != Kind::RBracket {
                        self.nested(Self::expression)?;
                    }
                    self.expect(&Kind::RBracket, "]")?;
                }
                if self.peek().kind == Kind::LBrace {
                    self.braces()?;
                }
            }
            Kind::LParen => {
                self.arguments()?;
            }
            _ => {
                let message = format!("( is missing behind the name, before {}", self.found());
                return Err(Fault::new(ErrorKind::Syntax, message).code("EL1050E").at(&self.peek().span));
            }
        }
        let span = start.span.start..self.end_of_last();
        let message = "new is not part of the language; there are no constructors";
        let kind = self.refuse(Fault::new(ErrorKind::Forbidden, message).code("EL1002E"), &span);
        Ok(Node { kind, span })
    }

    fn end_of_last(&self) -> usize {
        self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).map_or(0, |token| token.span.end)
    }

    /// `@name`, `&name`
    fn bean(&mut self) -> Result<Node, ExprError> {
        let sign = self.take();
        if !self.peek().is_word() && !matches!(self.peek().kind, Kind::Literal(Value::Text(_))) {
            let message = format!("a name is missing behind `{}`, which is not part of the language anyway", sign.text);
            return Err(Fault::new(ErrorKind::Syntax, message).code("EL1059E").at(&sign.span));
        }
        let name = self.take();
        let span = sign.span.start..name.span.end;
        let message = format!("`{}` (beans) is not part of the language", sign.text);
        let place = if sign.kind == Kind::At { &name.span } else { &sign.span };
        let kind = self.refuse(Fault::new(ErrorKind::Forbidden, message).code("EL1057E"), place);
        Ok(Node { kind, span })
    }

    /// `#name`, `#this`, `#root`, `#function(…)`
    fn variable(&mut self) -> Result<Node, ExprError> {
        let hash = self.take();
        let Some(name) = self.take_if(&Kind::Ident) else {
            let code = if self.peek().kind == Kind::End { "EL1044E" } else { "EL1043E" };
            let message = format!("a variable's name is missing between `#` and {}", self.found());
            return Err(Fault::new(ErrorKind::Syntax, message).code(code).at(&self.peek().span));
        };
        let mut span = hash.span.start..name.span.end;
        if self.peek().kind == Kind::LParen {
            let arguments = self.arguments()?;
            let message = format!("functions such as #{}() are not available", name.text);
            self.note_refusal(Fault::new(ErrorKind::Unsupported, message), &span);
            span.end = self.end_of_last();
            return Ok(Node { kind: NodeKind::Function { name: name.text, arguments }, span });
        }
        let kind = match name.text.as_str() {
            "this" | "root" if self.items_depth == 0 || name.text == "root" => {
                let message = format!(
                    "#{} has no value here; name a variable such as #object (#this is the item in .?[…] and .![…])",
                    name.text
                );
                self.note_refusal(Fault::new(ErrorKind::Unsupported, message), &span);
                if name.text == "root" { NodeKind::Root } else { NodeKind::Active }
            }
            "this" => NodeKind::Active,
            _ => NodeKind::Variable(name.text),
        };
        Ok(Node { kind, span })
    }

    /// `{1, 2}`, `{a: 1}`, `{:}`
    fn braces(&mut self) -> Result<Node, ExprError> {
        let open = self.take();
        let start = open.span.start;
        let finished = |kind, end: &Token| Ok(Node { kind, span: start..end.span.end });
        if let Some(end) = self.take_if(&Kind::RBrace) {
            return finished(NodeKind::List(Vec::new()), &end);
        }
        if self.take_if(&Kind::Colon).is_some() {
            let end = self.expect(&Kind::RBrace, "}")?;
            return finished(NodeKind::Map(Vec::new()), &end);
        }
        let (first, is_name) = self.maybe_key()?;
        if self.take_if(&Kind::Colon).is_some() {
            let value = self.nested(Self::expression)?;
            let mut entries = vec![(map_key(first), value)];
            while self.take_if(&Kind::Comma).is_some() {
                self.count_item(entries.len())?;
                let (key, _) = self.maybe_key()?;
                self.expect(&Kind::Colon, ":")?;
                entries.push((map_key(key), self.nested(Self::expression)?));
            }
            let end = self.expect(&Kind::RBrace, "}")?;
            return finished(NodeKind::Map(entries), &end);
        }
        if let (Some(name), NodeKind::Path { steps, .. }) = (is_name, &first.kind)
            && let [step] = steps.as_slice()
        {
            // It was no key after all.
            let step =
                Access { kind: AccessKind::Property(name.text.clone()), null_safe: false, span: step.span.clone() };
            self.refuse_bare_word(&name, &step);
        }
        let mut items = vec![first];
        while self.take_if(&Kind::Comma).is_some() {
            self.count_item(items.len())?;
            items.push(self.nested(Self::expression)?);
        }
        let end = self.expect(&Kind::RBrace, "}")?;
        finished(NodeKind::List(items), &end)
    }

    fn count_item(&self, length: usize) -> Result<(), ExprError> {
        if length < ARGUMENTS_MAX {
            return Ok(());
        }
        Err(self.error(ErrorKind::Limit, &format!("a list has more than {ARGUMENTS_MAX} items")))
    }

    /// An expression that may turn out to be a key; a bare name is given back too, because as a key it is no mistake.
    fn maybe_key(&mut self) -> Result<(Node, Option<Token>), ExprError> {
        let token = self.peek().clone();
        let lower = token.text.to_ascii_lowercase();
        let reserved = token.kind == Kind::Ident
            && (token.text == "T" || ["true", "false", "null", "new"].contains(&lower.as_str()));
        let alone = matches!(self.peek_at(1).kind, Kind::Colon | Kind::Comma | Kind::RBrace);
        if !token.is_word() || reserved || !alone || token.kind == Kind::Not {
            return Ok((self.nested(Self::expression)?, None));
        }
        self.take();
        let step =
            Access { kind: AccessKind::Property(token.text.clone()), null_safe: false, span: token.span.clone() };
        let kind = NodeKind::Path { start: Box::new(active(&token)), steps: vec![step] };
        Ok((Node { kind, span: token.span.clone() }, Some(token)))
    }

    /// `(a, b)`; a comma may stand before the end.
    fn arguments(&mut self) -> Result<Vec<Node>, ExprError> {
        let open = self.take();
        let mut arguments = Vec::new();
        loop {
            if self.peek().kind == Kind::End {
                let message = "the list of arguments has no end; close it with )";
                return Err(Fault::new(ErrorKind::Syntax, message).code("EL1051E").at(&open.span));
            }
            if self.take_if(&Kind::RParen).is_some() {
                return Ok(arguments);
            }
            self.count_item(arguments.len())?;
            arguments.push(self.nested(Self::expression)?);
            if self.take_if(&Kind::Comma).is_none() {
                if self.peek().kind == Kind::End {
                    continue;
                }
                self.expect(&Kind::RParen, ")")?;
                return Ok(arguments);
            }
        }
    }

    /// The next step of a path, if one follows.
    fn access(&mut self) -> Result<Option<Access>, ExprError> {
        let first = self.peek().clone();
        let null_safe = match first.kind {
            Kind::LBracket => return self.index(false).map(Some),
            Kind::Dot => false,
            Kind::SafeNav => true,
            _ => return Ok(None),
        };
        self.take();
        match self.peek().kind {
            // Operator words are legal names behind a point.
            _ if self.peek().is_word() => self.named(null_safe).map(Some),
            Kind::LBracket if null_safe => self.index(true).map(Some),
            Kind::Project | Kind::Select => self.over_items(null_safe).map(Some),
            Kind::Hash => {
                let node = self.variable()?;
                let message = "a variable behind a point is not available; use […]";
                self.note_refusal(Fault::new(ErrorKind::Unsupported, message), &node.span);
                let span = node.span.clone();
                Ok(Some(Access { kind: AccessKind::Other(node), null_safe: false, span }))
            }
            _ => {
                let code = if self.peek().kind == Kind::End { "EL1044E" } else { "EL1049E" };
                let message = format!("a name is missing between `{}` and {}", first.text, self.found());
                Err(Fault::new(ErrorKind::Syntax, message).code(code).at(&first.span))
            }
        }
    }

    /// `name` or `name(…)`
    fn named(&mut self, null_safe: bool) -> Result<Access, ExprError> {
        let name = self.take();
        if self.peek().kind != Kind::LParen {
            return Ok(Access { kind: AccessKind::Property(name.text), null_safe, span: name.span });
        }
        let arguments = self.arguments()?;
        if let Err(fault) = methods::check(&name.text, arguments.len()) {
            self.note_refusal(fault, &name.span);
        }
        let span = name.span.start..self.end_of_last();
        Ok(Access { kind: AccessKind::Call { name: name.text, arguments }, null_safe, span })
    }

    /// `![…]`, `?[…]`, `^[…]`, `$[…]`
    fn over_items(&mut self, null_safe: bool) -> Result<Access, ExprError> {
        let sign = self.take();
        if matches!(self.peek().kind, Kind::RBracket | Kind::End) && sign.kind == Kind::Select {
            let message = format!("a condition is missing behind `{}`", sign.text);
            return Err(Fault::new(ErrorKind::Syntax, message).code("EL1071E").at(&sign.span));
        }
        self.items_depth += 1;
        let node = self.nested(Self::expression);
        self.items_depth -= 1;
        let node = node?;
        let end = self.expect(&Kind::RBracket, "]")?;
        let kind = match (&sign.kind, sign.text.chars().next()) {
            (Kind::Project, _) => AccessKind::Project(node),
            (_, Some('^')) => AccessKind::Select { which: Which::First, criteria: node },
            (_, Some('$')) => AccessKind::Select { which: Which::Last, criteria: node },
            _ => AccessKind::Select { which: Which::All, criteria: node },
        };
        Ok(Access { kind, null_safe, span: sign.span.start..end.span.end })
    }

    /// `[key]`, `['key']`, `[1 + 1]`
    fn index(&mut self, null_safe: bool) -> Result<Access, ExprError> {
        let open = self.take();
        let key = self.peek().clone();
        if key.kind == Kind::RBracket {
            let message = "an index is missing between `[` and `]`";
            return Err(Fault::new(ErrorKind::Syntax, message).code("EL1071E").at(&open.span));
        }
        let literal =
            key.kind == Kind::Ident && ["true", "false", "null"].contains(&key.text.to_ascii_lowercase().as_str());
        let is_name = key.is_word() && !literal && self.peek_at(1).kind == Kind::RBracket && key.kind != Kind::Not;
        let kind = if is_name {
            self.take();
            AccessKind::Key(key.text)
        } else {
            let node = self.nested(Self::expression)?;
            match bare_name(&node) {
                Some(name) => AccessKind::Key(name.to_owned()),
                None => AccessKind::Index(node),
            }
        };
        let end = self.expect(&Kind::RBracket, "]")?;
        Ok(Access { kind, null_safe, span: open.span.start..end.span.end })
    }
}

/// What is in focus, just before the token.
fn active(token: &Token) -> Node {
    Node { kind: NodeKind::Active, span: token.span.start..token.span.start }
}

/// A name that stands alone, also in parentheses.
fn bare_name(node: &Node) -> Option<&str> {
    let NodeKind::Path { start, steps } = &node.kind else { return None };
    match (&start.kind, steps.as_slice()) {
        // `#this.name` begins with a focus that was written.
        (NodeKind::Active, [Access { kind: AccessKind::Property(name), .. }]) if start.span.is_empty() => Some(name),
        _ => None,
    }
}

/// A bare name is the key itself.
fn map_key(node: Node) -> MapKey {
    match bare_name(&node) {
        Some(name) => MapKey::Name(name.to_owned()),
        None => MapKey::Computed(node),
    }
}

/// The part of the path that is known without evaluating.
fn reference(name: &str, start: &Node, steps: &[Access]) -> Reference {
    let mut reference = Reference { variable: name.to_owned(), span: start.span.clone(), segments: Vec::new() };
    for access in steps {
        let segment = match &access.kind {
            AccessKind::Property(name) | AccessKind::Key(name) => name,
            AccessKind::Index(Node { kind: NodeKind::Literal(Value::Text(name)), .. }) => name,
            _ => break,
        };
        reference.segments.push((segment.clone(), access.span.clone()));
    }
    reference
}
