//! Tokens to a tree: operators.
//!
//! Purpose: SpEL's grammar, from the ternary down to the power; values and paths are in `primary`.
//! Invariant: brackets nest at most [`DEPTH_MAX`] deep and ternaries [`TERNARIES_MAX`]; what is not part of the
//! language is refused here with its place, never ignored.
//! Never: evaluates.

use std::ops::Range;

use super::ast::{Arithmetic, Node, NodeKind, Order, Unary};
use super::error::{ErrorKind, ExprError, Fault};
use super::lexer::{Kind, Token, tokens};
use super::pattern::Pattern;
use super::value::Value;
use super::{Reference, SOURCE_UNITS_MAX, stack};

/// Nested brackets.
pub(super) const DEPTH_MAX: usize = 100;
/// Ternaries and Elvises in one another.
pub(super) const TERNARIES_MAX: usize = 500;

/// Parses a whole expression.
pub(super) fn parse(source: &str) -> Result<Parsed, ExprError> {
    let units = source.encode_utf16().count();
    if units > SOURCE_UNITS_MAX {
        let message = format!("the expression has {units} characters; at most {SOURCE_UNITS_MAX} are allowed");
        return Err(Fault::new(ErrorKind::Limit, message).code("EL1079E").at(&(0..1)));
    }
    let tokens = tokens(source)?;
    let depth = stack::depth(&tokens);
    stack::with_room(depth, || parse_tokens(tokens, depth))
}

fn parse_tokens(tokens: Vec<Token>, depth: usize) -> Result<Parsed, ExprError> {
    let mut parser = Parser { tokens, at: 0, depth: 0, items_depth: 0, references: Vec::new(), refusal: None };
    if parser.peek().kind == Kind::End {
        return Err(Fault::new(
            ErrorKind::Syntax,
            "the expression is empty; write a condition such as #object.fldX > 0",
        )
        .code("IllegalArgumentException")
        .at(&parser.peek().span));
    }
    let node = parser.expression()?;
    if parser.peek().kind != Kind::End {
        return Err(parser.leftover());
    }
    Ok(Parsed { root: node, depth, references: parser.references, refusal: parser.refusal })
}

/// What the parser found.
pub(super) struct Parsed {
    pub(super) root: Node,
    /// How deep its brackets nest.
    pub(super) depth: usize,
    pub(super) references: Vec<Reference>,
    /// The first part that is no part of the language for blueprints, although SpEL's grammar has it.
    pub(super) refusal: Option<ExprError>,
}

pub(super) struct Parser {
    pub(super) tokens: Vec<Token>,
    pub(super) at: usize,
    depth: usize,
    /// Selections and projections around the place: in them a bare name means the item's.
    pub(super) items_depth: usize,
    pub(super) references: Vec<Reference>,
    refusal: Option<ExprError>,
}

/// What waits for the value of the expression being read.
enum Waiting {
    /// `condition ?` waits for the value before `:`.
    Then { condition: Node },
    /// `condition ? then :` waits for the other value.
    Otherwise { condition: Node, then: Node },
    /// `value ?:`
    Elvis { value: Node },
}

const END: &Token = &Token { kind: Kind::End, text: String::new(), span: 0..0 };

impl Parser {
    pub(super) fn peek(&self) -> &Token {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> &Token {
        self.tokens.get(self.at + ahead).or(self.tokens.last()).unwrap_or(END)
    }

    /// Takes the token; the last one stays.
    pub(super) fn take(&mut self) -> Token {
        let token = self.peek().clone();
        if token.kind != Kind::End {
            self.at += 1;
        }
        token
    }

    pub(super) fn take_if(&mut self, kind: &Kind) -> Option<Token> {
        (self.peek().kind == *kind).then(|| self.take())
    }

    pub(super) fn expect(&mut self, kind: &Kind, written: &str) -> Result<Token, ExprError> {
        match self.take_if(kind) {
            Some(token) => Ok(token),
            None => Err(self.missing(written)),
        }
    }

    fn missing(&self, written: &str) -> ExprError {
        let code = if self.peek().kind == Kind::End { "EL1044E" } else { "EL1043E" };
        let message = format!("`{written}` is missing before {}", self.found());
        Fault::new(ErrorKind::Syntax, message).code(code).at(&self.peek().span)
    }

    /// Notes a part that SpEL has and blueprints don't; the node fails when it is evaluated.
    pub(super) fn refuse(&mut self, fault: Fault, span: &Range<usize>) -> NodeKind {
        self.note_refusal(fault.clone(), span);
        NodeKind::Refused(fault.at(span))
    }

    /// Notes it where the evaluation itself finds the mistake.
    pub(super) fn note_refusal(&mut self, fault: Fault, span: &Range<usize>) {
        self.refusal.get_or_insert_with(|| fault.at(span));
    }

    /// An error at the next token.
    pub(super) fn error(&self, kind: ErrorKind, message: &str) -> ExprError {
        Fault::new(kind, message).at(&self.peek().span)
    }

    /// The next token for messages.
    pub(super) fn found(&self) -> String {
        match self.peek().kind {
            Kind::End => "the end of the expression".to_owned(),
            _ => format!("`{}`", self.peek().text),
        }
    }

    /// One level of brackets deeper.
    pub(super) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T, ExprError>) -> Result<T, ExprError> {
        if self.depth == DEPTH_MAX {
            let message = format!("brackets are nested deeper than {DEPTH_MAX}");
            return Err(self.error(ErrorKind::Limit, &message));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    fn is_word(&self, word: &str) -> bool {
        self.peek().kind == Kind::Ident && self.peek().text.eq_ignore_ascii_case(word)
    }

    /// Whether a value may begin with the token.
    pub(super) fn begins_operand(token: &Token) -> bool {
        match token.kind {
            Kind::Literal(_)
            | Kind::Ident
            | Kind::Plus
            | Kind::Minus
            | Kind::Not
            | Kind::Inc
            | Kind::Dec
            | Kind::LParen
            | Kind::LBracket
            | Kind::LBrace
            | Kind::Hash
            | Kind::At
            | Kind::Amp
            | Kind::Project
            | Kind::Select => true,
            _ if token.is_word() => true,
            Kind::Eq | Kind::Ne | Kind::Lt | Kind::Le | Kind::Gt | Kind::Ge => false,
            Kind::Star | Kind::Div | Kind::Mod | Kind::Power | Kind::AndAnd | Kind::OrOr | Kind::Assign => false,
            Kind::Question | Kind::Elvis | Kind::SafeNav | Kind::Colon | Kind::Dot | Kind::Comma => false,
            Kind::RParen | Kind::RBracket | Kind::RBrace | Kind::End => false,
        }
    }

    /// The error for what stands behind a complete expression.
    fn leftover(&self) -> ExprError {
        let token = self.peek();
        if matches!(token.kind, Kind::Eq | Kind::Ne | Kind::Lt | Kind::Le | Kind::Gt | Kind::Ge) {
            return self.error(ErrorKind::Syntax, "comparisons can't be chained; join them with and");
        }
        let message = format!("{} was not expected here; join conditions with and / or", self.found());
        self.error(ErrorKind::Syntax, &message)
    }

    /// `or (? expression : expression | ?: expression)`, chains of them without recursion.
    pub(super) fn expression(&mut self) -> Result<Node, ExprError> {
        let mut waiting: Vec<Waiting> = Vec::new();
        loop {
            let mut value = self.or_null()?;
            if waiting.len() == TERNARIES_MAX {
                let message = format!("ternaries are nested deeper than {TERNARIES_MAX}");
                return Err(self.error(ErrorKind::Limit, &message));
            }
            match self.peek().kind {
                Kind::Question => {
                    self.take();
                    waiting.push(Waiting::Then { condition: value });
                    continue;
                }
                Kind::Elvis => {
                    self.take();
                    waiting.push(Waiting::Elvis { value });
                    continue;
                }
                Kind::Assign => value = self.assignment(&value)?,
                _ => {}
            }
            loop {
                match waiting.pop() {
                    None => return Ok(value),
                    Some(Waiting::Elvis { value: left }) => {
                        let span = left.span.start..value.span.end;
                        value =
                            Node { kind: NodeKind::Elvis { value: Box::new(left), otherwise: Box::new(value) }, span };
                    }
                    Some(Waiting::Otherwise { condition, then }) => {
                        let span = condition.span.start..value.span.end;
                        let (condition, then, otherwise) = (Box::new(condition), Box::new(then), Box::new(value));
                        value = Node { kind: NodeKind::Ternary { condition, then, otherwise }, span };
                    }
                    Some(Waiting::Then { condition }) => {
                        self.expect(&Kind::Colon, ":")?;
                        waiting.push(Waiting::Otherwise { condition, then: value });
                        break;
                    }
                }
            }
        }
    }

    /// A value that may be left out before and behind `?` and `?:`, and is null then.
    fn or_null(&mut self) -> Result<Node, ExprError> {
        let after_elvis = self.at > 0 && self.tokens.get(self.at - 1).is_some_and(|token| token.kind == Kind::Elvis);
        let left_out = matches!(self.peek().kind, Kind::Question | Kind::Elvis | Kind::Assign)
            || (after_elvis && !Self::begins_operand(self.peek()));
        if left_out {
            let at = self.peek().span.start;
            return Ok(Node { kind: NodeKind::Literal(Value::Null), span: at..at });
        }
        self.or()
    }

    /// `left = …`, which is read to its end and refused.
    fn assignment(&mut self, left: &Node) -> Result<Node, ExprError> {
        let operator = self.operator()?;
        let value = self.or()?;
        let fault = Fault::new(ErrorKind::Assign, "expressions can't assign; compare with ==");
        let kind = self.refuse(fault, &operator.span);
        Ok(Node { kind, span: operator.span.start.max(left.span.start)..value.span.end })
    }

    fn no_operand(&self, operator: &Token) -> ExprError {
        let message = format!("a value is missing between `{}` and {}", operator.text, self.found());
        let code = if operator.kind == Kind::Not { "EL1044E" } else { "EL1042E" };
        Fault::new(ErrorKind::Syntax, message).code(code).at(&operator.span)
    }

    fn or(&mut self) -> Result<Node, ExprError> {
        let mut nodes = vec![self.and()?];
        while self.peek().kind == Kind::OrOr || self.is_word("or") {
            self.operator()?;
            nodes.push(self.and()?);
        }
        Ok(joined(nodes, NodeKind::Or))
    }

    fn and(&mut self) -> Result<Node, ExprError> {
        let mut nodes = vec![self.relation()?];
        while self.peek().kind == Kind::AndAnd || self.is_word("and") {
            self.operator()?;
            nodes.push(self.relation()?);
        }
        Ok(joined(nodes, NodeKind::And))
    }

    /// Takes a binary operator, behind which a value must begin.
    fn operator(&mut self) -> Result<Token, ExprError> {
        let token = self.take();
        if Self::begins_operand(self.peek()) { Ok(token) } else { Err(self.no_operand(&token)) }
    }

    fn relation(&mut self) -> Result<Node, ExprError> {
        let left = self.sum()?;
        let order = |op| Some(Relation::Order(op));
        let relation = match self.peek().kind {
            Kind::Eq => Some(Relation::Equal { negated: false }),
            Kind::Ne => Some(Relation::Equal { negated: true }),
            Kind::Lt => order(Order::Less),
            Kind::Le => order(Order::LessOrEqual),
            Kind::Gt => order(Order::Greater),
            Kind::Ge => order(Order::GreaterOrEqual),
            Kind::Ident if self.is_word("between") => Some(Relation::Between),
            Kind::Ident if self.is_word("matches") => Some(Relation::Matches),
            Kind::Ident if self.is_word("instanceof") => {
                self.operator()?;
                let right = self.sum()?;
                let span = left.span.start..right.span.end;
                let message = "instanceof is not part of the language; there are no types";
                let kind = self.refuse(Fault::new(ErrorKind::Forbidden, message), &span);
                return Ok(Node { kind, span });
            }
            _ => None,
        };
        let Some(relation) = relation else { return Ok(left) };
        let operator = self.operator()?;
        let right = self.sum()?;
        let (span, pattern_span) = (left.span.start..right.span.end, right.span.clone());
        let kind = relation.node(left, right, operator.span);
        if let NodeKind::Matches { compiled: Some(Err(fault)), .. } = &kind {
            self.note_refusal(fault.clone(), &pattern_span);
        }
        Ok(Node { kind, span })
    }

    fn sum(&mut self) -> Result<Node, ExprError> {
        let first = self.product()?;
        let mut rest = Vec::new();
        loop {
            let op = match self.peek().kind {
                Kind::Plus => Arithmetic::Add,
                Kind::Minus => Arithmetic::Subtract,
                Kind::Inc => {
                    // The original reads `2 ^ 3 ++ 4` and drops the 4.
                    let operator = self.operator()?;
                    self.product()?;
                    self.note_refusal(step_fault(&operator.text), &operator.span);
                    continue;
                }
                _ => return Ok(chain(first, rest)),
            };
            let operator = self.operator()?;
            rest.push((op, operator.span.start, self.product()?));
        }
    }

    fn product(&mut self) -> Result<Node, ExprError> {
        let first = self.power()?;
        let mut rest = Vec::new();
        loop {
            let op = match self.peek().kind {
                Kind::Star => Arithmetic::Multiply,
                Kind::Div => Arithmetic::Divide,
                Kind::Mod => Arithmetic::Remainder,
                _ => return Ok(chain(first, rest)),
            };
            let operator = self.operator()?;
            rest.push((op, operator.span.start, self.power()?));
        }
    }

    /// `unary ^ unary`, once; or `unary ++`, which is refused.
    fn power(&mut self) -> Result<Node, ExprError> {
        let node = self.unary()?;
        match self.peek().kind {
            Kind::Power => {
                let operator = self.operator()?;
                let right = self.unary()?;
                Ok(chain(node, vec![(Arithmetic::Power, operator.span.start, right)]))
            }
            Kind::Inc | Kind::Dec => {
                let token = self.take();
                let span = node.span.start..token.span.end;
                let kind = self.refuse(step_fault(&token.text), &token.span);
                Ok(Node { kind, span })
            }
            _ => Ok(node),
        }
    }

    fn unary(&mut self) -> Result<Node, ExprError> {
        let start = self.peek().span.start;
        let mut ops = Vec::new();
        let mut step = None;
        loop {
            let op = match self.peek().kind {
                Kind::Not => Unary::Not,
                Kind::Plus => Unary::Plus,
                Kind::Minus => Unary::Minus,
                Kind::Inc | Kind::Dec => {
                    let token = self.operator()?;
                    step.get_or_insert(token);
                    continue;
                }
                _ => break,
            };
            let token = self.operator()?;
            ops.push((op, token.span.start));
        }
        let operand = self.primary()?;
        let span = start..operand.span.end;
        if let Some(token) = step {
            let kind = self.refuse(step_fault(&token.text), &token.span);
            return Ok(Node { kind, span });
        }
        if ops.is_empty() {
            return Ok(operand);
        }
        Ok(Node { kind: NodeKind::Unary { ops, operand: Box::new(operand) }, span })
    }
}

fn step_fault(sign: &str) -> Fault {
    let code = if sign == "++" { "EL1066E" } else { "EL1067E" };
    let message = format!("expressions can't change values; `{sign}` is not part of the language");
    Fault::new(ErrorKind::Assign, message).code(code)
}

enum Relation {
    Equal { negated: bool },
    Order(Order),
    Between,
    Matches,
}

impl Relation {
    fn node(self, left: Node, right: Node, at: Range<usize>) -> NodeKind {
        let left = Box::new(left);
        match self {
            Self::Equal { negated } => NodeKind::Equal { negated, left, right: Box::new(right) },
            Self::Order(op) => NodeKind::Order { op, left, right: Box::new(right) },
            Self::Between => NodeKind::Between { left, range: Box::new(right), at },
            Self::Matches => {
                let compiled = match &right.kind {
                    NodeKind::Literal(Value::Text(source)) => Some(Pattern::new(source)),
                    _ => None,
                };
                NodeKind::Matches { left, pattern: Box::new(right), compiled }
            }
        }
    }
}

fn joined(mut nodes: Vec<Node>, kind: fn(Vec<Node>) -> NodeKind) -> Node {
    match nodes.as_slice() {
        [first, .., last] => {
            let span = first.span.start..last.span.end;
            Node { kind: kind(nodes), span }
        }
        _ => nodes.pop().unwrap_or(Node { kind: NodeKind::Literal(Value::Null), span: 0..0 }),
    }
}

fn chain(first: Node, rest: Vec<(Arithmetic, usize, Node)>) -> Node {
    let Some((.., last)) = rest.last() else { return first };
    let span: Range<usize> = first.span.start..last.span.end;
    Node { kind: NodeKind::Arithmetic { first: Box::new(first), rest }, span }
}
