//! Tokens to a tree: values and paths.
//!
//! Purpose: literals, `#variables`, brackets, lists, and `.property`, `[index]`, `.method()` behind them.
//! Invariant: every variable path is recorded, so that a blueprint can be checked against its declared fields.
//! Never: lets through a type, a constructor, a bean or a method off the allow-list.

use super::ast::{Access, AccessKind, Node, NodeKind};
use super::error::{ErrorKind, ExprError, Fault};
use super::lexer::{Kind, Token};
use super::methods;
use super::parser::Parser;
use super::value::Value;
use super::{ARGUMENTS_MAX, Reference};

impl Parser {
    /// A value and the path behind it.
    pub(super) fn primary(&mut self) -> Result<Node, ExprError> {
        let start = self.start()?;
        let mut steps = Vec::new();
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
            Kind::LBrace => self.list(),
            Kind::Hash => self.variable(),
            Kind::Ident => self.word(),
            Kind::At | Kind::Amp => {
                let kind = if self.peek_at(1).kind == Kind::Ident { ErrorKind::Forbidden } else { ErrorKind::Syntax };
                Err(self.error(kind, &format!("`{}` (beans) is not part of the language", token.text)))
            }
            Kind::LBracket => {
                Err(self.error(ErrorKind::Unsupported, "[…] wants something before it, e.g. #object['fldX']"))
            }
            Kind::Project | Kind::Select => Err(self.selection()),
            _ if token.is_word() => Err(self.bare_word(&token)),
            _ => {
                let message = format!("a value is missing before {}", self.found());
                Err(self.error(ErrorKind::Syntax, &message))
            }
        }
    }

    fn selection(&self) -> ExprError {
        let message = format!("{} (selection and projection) is not available in this version", self.found());
        self.error(ErrorKind::Unsupported, &message)
    }

    /// `true`, `false`, `null`, and the words that look like values but are none here.
    fn word(&mut self) -> Result<Node, ExprError> {
        let token = self.peek().clone();
        let value = match token.text.to_ascii_lowercase().as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            _ => return Err(self.bare_word(&token)),
        };
        self.take();
        Ok(Node { kind: NodeKind::Literal(value), span: token.span })
    }

    fn bare_word(&self, token: &Token) -> ExprError {
        let word = &token.text;
        let next = &self.peek_at(1).kind;
        if word == "T" && *next == Kind::LParen {
            return self.error(ErrorKind::Forbidden, "T(…) is not part of the language; there are no types");
        }
        if word == "new" && *next == Kind::Ident {
            let kind = if self.is_constructor() { ErrorKind::Forbidden } else { ErrorKind::Syntax };
            return self.error(kind, "new is not part of the language; there are no constructors");
        }
        let message = if *next == Kind::LParen {
            format!("functions such as {word}() are not available; methods follow a value, e.g. #object.fldX.length()")
        } else {
            format!("`{word}` alone means nothing here; write #object.{word} for a field or '{word}' for text")
        };
        self.error(ErrorKind::Unsupported, &message)
    }

    /// Whether a whole `new a.B(…)` or `new a[…]` stands here.
    fn is_constructor(&self) -> bool {
        let mut ahead = 1;
        while matches!(self.peek_at(ahead).kind, Kind::Ident | Kind::Dot) {
            ahead += 1;
        }
        let close = match self.peek_at(ahead).kind {
            Kind::LParen => Kind::RParen,
            Kind::LBracket => Kind::RBracket,
            _ => return false,
        };
        self.tokens.iter().skip(self.at + ahead).any(|token| token.kind == close)
    }

    fn variable(&mut self) -> Result<Node, ExprError> {
        let hash = self.take();
        let Some(name) = self.take_if(&Kind::Ident) else {
            let message = format!("a variable's name is missing between `#` and {}", self.found());
            return Err(self.error(ErrorKind::Syntax, &message));
        };
        let span = hash.span.start..name.span.end;
        if self.peek().kind == Kind::LParen {
            let message = format!("functions such as #{}() are not available", name.text);
            return Err(Fault::new(ErrorKind::Unsupported, message).at(&span));
        }
        if matches!(name.text.as_str(), "this" | "root") {
            let message = format!("#{} is not available in this version; name a variable", name.text);
            return Err(Fault::new(ErrorKind::Unsupported, message).at(&span));
        }
        Ok(Node { kind: NodeKind::Variable(name.text), span })
    }

    /// `{1, 2}`
    fn list(&mut self) -> Result<Node, ExprError> {
        let open = self.take();
        let is_map = self.peek().kind == Kind::Colon
            || ((self.peek().is_word() || matches!(self.peek().kind, Kind::Literal(_)))
                && self.peek_at(1).kind == Kind::Colon);
        if is_map {
            return Err(self.error(ErrorKind::Unsupported, "inline maps are not available in this version"));
        }
        let (items, end) = self.items(&Kind::RBrace, "}")?;
        Ok(Node { kind: NodeKind::List(items), span: open.span.start..end.span.end })
    }

    /// Expressions separated by commas, up to the closing bracket.
    fn items(&mut self, close: &Kind, written: &str) -> Result<(Vec<Node>, Token), ExprError> {
        let mut items = Vec::new();
        if let Some(end) = self.take_if(close) {
            return Ok((items, end));
        }
        loop {
            if items.len() == ARGUMENTS_MAX {
                return Err(self.error(ErrorKind::Limit, &format!("a list has more than {ARGUMENTS_MAX} items")));
            }
            items.push(self.nested(Self::expression)?);
            if self.take_if(&Kind::Comma).is_none() {
                if self.peek().kind == Kind::Colon && written == "}" {
                    return Err(self.error(ErrorKind::Unsupported, "inline maps are not available in this version"));
                }
                return Ok((items, self.expect(close, written)?));
            }
        }
    }

    /// The next step of a path, if one follows.
    fn access(&mut self) -> Result<Option<Access>, ExprError> {
        let first = self.peek().clone();
        let null_safe = match first.kind {
            Kind::LBracket => return self.index(false, first.span.start).map(Some),
            Kind::Dot => false,
            Kind::SafeNav => true,
            _ => return Ok(None),
        };
        self.take();
        let name = self.peek().clone();
        match name.kind {
            Kind::LBracket if null_safe => return self.index(true, first.span.start).map(Some),
            Kind::Project | Kind::Select => return Err(self.selection()),
            // Operator words are legal names behind a point.
            _ if name.is_word() => {}
            Kind::Hash => {
                return Err(self.error(ErrorKind::Unsupported, "a variable behind a point is not available; use […]"));
            }
            _ => {
                let message = format!("a name is missing between `{}` and {}", first.text, self.found());
                return Err(self.error(ErrorKind::Syntax, &message));
            }
        }
        self.take();
        let start = first.span.start;
        if self.peek().kind != Kind::LParen {
            let kind = AccessKind::Property(name.text);
            return Ok(Some(Access { kind, null_safe, span: start..name.span.end }));
        }
        self.take();
        let (arguments, end) = self.items(&Kind::RParen, ")")?;
        let span = start..end.span.end;
        let method = methods::find(&name.text, arguments.len()).map_err(|fault| fault.at(&name.span))?;
        Ok(Some(Access { kind: AccessKind::Call { method, arguments }, null_safe, span }))
    }

    /// `[key]`, `['key']`, `[1 + 1]`
    fn index(&mut self, null_safe: bool, start: usize) -> Result<Access, ExprError> {
        self.take();
        let key = self.peek().clone();
        let is_name = key.kind == Kind::Ident
            && self.peek_at(1).kind == Kind::RBracket
            && !["true", "false", "null"].contains(&key.text.to_ascii_lowercase().as_str());
        let kind = if is_name {
            self.take();
            AccessKind::Key(key.text)
        } else {
            AccessKind::Index(self.nested(Self::expression)?)
        };
        let end = self.expect(&Kind::RBracket, "]")?;
        Ok(Access { kind, null_safe, span: start..end.span.end })
    }
}

/// The part of the path that is known without evaluating.
fn reference(name: &str, start: &Node, steps: &[Access]) -> Reference {
    let mut reference = Reference { variable: name.to_owned(), span: start.span.clone(), segments: Vec::new() };
    for access in steps {
        let segment = match &access.kind {
            AccessKind::Property(name) | AccessKind::Key(name) => name,
            AccessKind::Index(Node { kind: NodeKind::Literal(Value::Text(name)), .. }) => name,
            AccessKind::Index(_) | AccessKind::Call { .. } => break,
        };
        reference.segments.push((segment.clone(), access.span.clone()));
    }
    reference
}
