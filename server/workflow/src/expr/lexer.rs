//! Text to tokens.
//!
//! Purpose: the lexical rules of Spring's tokenizer for the characters that SpEL knows.
//! Invariant: spans count characters; every token's span lies in the source. The last token is [`Kind::End`].
//! Never: decides what is allowed; that is the parser's business.

use std::ops::Range;

use super::error::{ErrorKind, ExprError, Fault};
use super::value::Value;

/// What a token is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Literal(Value),
    Ident,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Plus,
    Minus,
    Star,
    Div,
    Mod,
    Power,
    Not,
    AndAnd,
    OrOr,
    Assign,
    Inc,
    Dec,
    Question,
    Elvis,
    SafeNav,
    Colon,
    Dot,
    Comma,
    LParen,
    RParen,
    LBracket,
    RBracket,
    LBrace,
    RBrace,
    Hash,
    At,
    Amp,
    /// `![`
    Project,
    /// `?[`, `^[` or `$[`
    Select,
    End,
}

/// A token and its place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// As written.
    pub(super) text: String,
    pub(super) span: Range<usize>,
}

impl Token {
    /// Whether it is written as a word: a name, or an operator such as `eq`, which is a legal name behind a point.
    pub(super) fn is_word(&self) -> bool {
        self.text.chars().next().is_some_and(|c| c.is_alphabetic() || matches!(c, '_' | '$'))
            && self.kind != Kind::Select
    }
}

/// Words that are operators wherever an operator may stand, in any case.
fn word_operator(word: &str) -> Option<Kind> {
    let kind = match word.to_ascii_lowercase().as_str() {
        "eq" => Kind::Eq,
        "ne" => Kind::Ne,
        "lt" => Kind::Lt,
        "le" => Kind::Le,
        "gt" => Kind::Gt,
        "ge" => Kind::Ge,
        "div" => Kind::Div,
        "mod" => Kind::Mod,
        "not" => Kind::Not,
        _ => return None,
    };
    Some(kind)
}

/// All tokens of the source, an [`Kind::End`] at last.
pub(super) fn tokens(source: &str) -> Result<Vec<Token>, ExprError> {
    let mut lexer = Lexer { chars: source.chars().collect(), at: 0, tokens: Vec::new() };
    while lexer.at < lexer.chars.len() {
        lexer.next_token()?;
    }
    let end = lexer.chars.len();
    lexer.tokens.push(Token { kind: Kind::End, text: String::new(), span: end..end });
    Ok(lexer.tokens)
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    tokens: Vec<Token>,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn push(&mut self, kind: Kind, start: usize, end: usize) {
        let text = self.text(start, end);
        self.tokens.push(Token { kind, text, span: start..end });
        self.at = end;
    }

    fn text(&self, start: usize, end: usize) -> String {
        self.chars.get(start..end).unwrap_or_default().iter().collect()
    }

    fn next_token(&mut self) -> Result<(), ExprError> {
        let start = self.at;
        let c = self.peek(0);
        match c {
            // The original steps over NUL wherever it stands.
            ' ' | '\t' | '\r' | '\n' | '\0' => self.at += 1,
            '\'' | '"' => self.quoted(c)?,
            '0'..='9' => self.number()?,
            _ if c.is_alphabetic() || c == '_' || (c == '$' && self.peek(1) != '[') => {
                let mut end = start + 1;
                while self.chars.get(end).is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '$')) {
                    end += 1;
                }
                let kind = word_operator(&self.text(start, end)).unwrap_or(Kind::Ident);
                self.push(kind, start, end);
            }
            _ => {
                let (kind, length) = symbol(c, self.peek(1)).map_err(|fault| fault.at(&(start..start + 1)))?;
                self.push(kind, start, start + length);
            }
        }
        Ok(())
    }

    /// `'it''s'` or `"…"`; the quote is doubled inside.
    fn quoted(&mut self, quote: char) -> Result<(), ExprError> {
        let start = self.at;
        let mut text = String::new();
        let mut at = start + 1;
        loop {
            match self.chars.get(at) {
                Some(c) if *c == quote && self.chars.get(at + 1) == Some(&quote) => {
                    text.push(quote);
                    at += 2;
                }
                Some(c) if *c == quote => break,
                Some(c) => {
                    text.push(*c);
                    at += 1;
                }
                None => {
                    let message = format!("the text that begins with {quote} has no end; close it with {quote}");
                    let code = if quote == '"' { "EL1045E" } else { "EL1046E" };
                    return Err(Fault::new(ErrorKind::Syntax, message).code(code).at(&(start..self.chars.len())));
                }
            }
        }
        self.push(Kind::Literal(Value::Text(text)), start, at + 1);
        Ok(())
    }

    fn digits_end(&self, mut end: usize) -> usize {
        while self.chars.get(end).is_some_and(char::is_ascii_digit) {
            end += 1;
        }
        end
    }

    fn number(&mut self) -> Result<(), ExprError> {
        let start = self.at;
        if self.peek(0) == '0' && matches!(self.peek(1), 'x' | 'X') {
            let mut end = start + 2;
            while self.chars.get(end).is_some_and(char::is_ascii_hexdigit) {
                end += 1;
            }
            return self.integer(start, start + 2, end, 16);
        }
        let mut end = self.digits_end(start);
        let mut real = false;
        if self.chars.get(end) == Some(&'.') {
            let fraction_end = self.digits_end(end + 1);
            if fraction_end == end + 1 {
                // `3.` is the whole number 3 and a point that belongs to what follows.
                return self.integer(start, start, end, 10);
            }
            end = fraction_end;
            real = true;
        }
        let mut number_end = end;
        if matches!(self.chars.get(end), Some('e' | 'E')) {
            let digits = if matches!(self.chars.get(end + 1), Some('+' | '-')) { end + 2 } else { end + 1 };
            number_end = self.digits_end(digits);
            if number_end == digits {
                return Err(self.bad_number(start, digits, "EL1040E", "an exponent needs digits, as in 1e3"));
            }
            end = number_end;
            real = true;
        }
        match self.chars.get(end) {
            Some('f' | 'F') => {
                let Ok(value) = self.text(start, number_end).parse::<f32>() else {
                    return Err(self.bad_number(start, end, "EL1040E", "this is no number"));
                };
                self.push(Kind::Literal(Value::Float(value)), start, end + 1);
                return Ok(());
            }
            Some('d' | 'D') => {
                real = true;
                end += 1;
            }
            Some('l' | 'L') if real => {
                return Err(self.bad_number(start, end + 1, "EL1041E", "a number with a point can't end in L"));
            }
            _ => {}
        }
        if !real {
            return self.integer(start, start, end, 10);
        }
        match self.text(start, number_end).parse::<f64>() {
            Ok(value) => {
                self.push(Kind::Literal(Value::Double(value)), start, end);
                Ok(())
            }
            Err(_) => Err(self.bad_number(start, end, "EL1040E", "this is no number")),
        }
    }

    fn integer(&mut self, start: usize, digits: usize, end: usize, radix: u32) -> Result<(), ExprError> {
        let text = self.text(digits, end);
        if matches!(self.chars.get(end), Some('l' | 'L')) {
            return match i64::from_str_radix(&text, radix) {
                Ok(value) => {
                    self.push(Kind::Literal(Value::Long(value)), start, end + 1);
                    Ok(())
                }
                Err(_) => Err(self.bad_number(start, end + 1, "EL1036E", "this doesn't fit into 64 bits")),
            };
        }
        match i32::from_str_radix(&text, radix) {
            Ok(value) => {
                self.push(Kind::Literal(Value::Int(value)), start, end);
                Ok(())
            }
            Err(_) if text.is_empty() => {
                Err(self.bad_number(start, end, "EL1035E", "hexadecimal digits must follow 0x"))
            }
            Err(_) => {
                Err(self.bad_number(start, end, "EL1035E", "a whole number above 2147483647 needs an L at its end"))
            }
        }
    }

    fn bad_number(&self, start: usize, end: usize, code: &'static str, why: &str) -> ExprError {
        Fault::new(ErrorKind::Syntax, format!("`{}`: {why}", self.text(start, end))).code(code).at(&(start..end))
    }
}

/// Operators and punctuation: the token and how many characters it takes.
fn symbol(c: char, next: char) -> Result<(Kind, usize), Fault> {
    let two = |kind| Ok((kind, 2));
    let one = |kind| Ok((kind, 1));
    match (c, next) {
        ('+', '+') => two(Kind::Inc),
        ('-', '-') => two(Kind::Dec),
        ('=', '=') => two(Kind::Eq),
        ('!', '=') => two(Kind::Ne),
        ('!', '[') => two(Kind::Project),
        ('<', '=') => two(Kind::Le),
        ('>', '=') => two(Kind::Ge),
        ('&', '&') => two(Kind::AndAnd),
        ('|', '|') => two(Kind::OrOr),
        ('?' | '^' | '$', '[') => two(Kind::Select),
        ('?', ':') => two(Kind::Elvis),
        ('?', '.') => two(Kind::SafeNav),
        ('+', _) => one(Kind::Plus),
        ('-', _) => one(Kind::Minus),
        ('*', _) => one(Kind::Star),
        ('/', _) => one(Kind::Div),
        ('%', _) => one(Kind::Mod),
        ('^', _) => one(Kind::Power),
        ('!', _) => one(Kind::Not),
        ('=', _) => one(Kind::Assign),
        ('<', _) => one(Kind::Lt),
        ('>', _) => one(Kind::Gt),
        ('&', _) => one(Kind::Amp),
        ('?', _) => one(Kind::Question),
        (':', _) => one(Kind::Colon),
        ('.', _) => one(Kind::Dot),
        (',', _) => one(Kind::Comma),
        ('(', _) => one(Kind::LParen),
        (')', _) => one(Kind::RParen),
        ('[', _) => one(Kind::LBracket),
        (']', _) => one(Kind::RBracket),
        ('{', _) => one(Kind::LBrace),
        ('}', _) => one(Kind::RBrace),
        ('#', _) => one(Kind::Hash),
        ('@', _) => one(Kind::At),
        ('|', _) => Err(Fault::new(ErrorKind::Syntax, "a single | is no operator; write || or or").code("EL1069E")),
        ('\\', _) => Err(Fault::new(ErrorKind::Syntax, "a \\ has no meaning outside of '…'").code("EL1065E")),
        _ => Err(Fault::new(
            ErrorKind::Syntax,
            format!("the character `{}` has no meaning in an expression; put text in '…'", c.escape_debug()),
        )
        .code("EL1082E")),
    }
}
