//! `matches`: Java's regular expressions as far as they mean the same to us.
//!
//! Purpose: translates a Java pattern, item by item, into one whose every class is spelled out, and matches in linear
//! time.
//! Invariant: what is accepted matches exactly what Java matches (`\d` and `\w` are ASCII, `.` stops at Java's line
//! ends, `(?i)` knows ASCII letters only). Everything else is refused with its place in the pattern.
//! Never: backtracks.

use regex::{Regex, RegexBuilder};

use super::error::{ErrorKind, Fault};

/// Longest pattern, in characters (the limit of Spring 7).
pub(super) const PATTERN_CHARS_MAX: usize = 1_000;
/// Characters of text that a pattern with two or more open repeats (`.*.*`) may meet. Such patterns are where the
/// original gives up after 1,000,000 steps, earlier or later depending on the text; here the cost is linear, but what
/// the original refuses must not pass for a match.
const OPEN_TEXT_CHARS_MAX: usize = 10_000;
/// Open repeats from which on that holds.
const OPEN_REPEATS: usize = 2;
/// Size of a compiled pattern, in bytes.
const COMPILED_BYTES_MAX: usize = 1 << 20;
/// Nested groups.
const GROUPS_DEPTH_MAX: usize = 50;

const DIGIT: &str = "0-9";
const WORD: &str = "A-Za-z0-9_";
const SPACE: &str = "\\t\\n\\x0B\\x0C\\r ";

/// A compiled pattern.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    regex: Regex,
    chars: usize,
    open_repeats: usize,
}

impl Pattern {
    /// Compiles a Java pattern that is to match whole texts.
    pub(super) fn new(source: &str) -> Result<Self, Fault> {
        Self::compile(source, true)
    }

    /// Compiles a Java pattern that is to be looked for inside of texts.
    pub(super) fn searching(source: &str) -> Result<Self, Fault> {
        Self::compile(source, false)
    }

    fn compile(source: &str, whole: bool) -> Result<Self, Fault> {
        let chars: Vec<char> = source.chars().collect();
        if source.encode_utf16().count() > PATTERN_CHARS_MAX {
            let message =
                format!("the pattern has {} characters; at most {PATTERN_CHARS_MAX} are allowed", chars.len());
            return Err(Fault::new(ErrorKind::Limit, message).code("EL1077E"));
        }
        let length = chars.len();
        let mut translation = Translation {
            chars,
            at: 0,
            out: String::new(),
            any_line: false,
            fold: false,
            lines: false,
            whole,
            depth: 0,
            open_repeats: 0,
        };
        translation.flags()?;
        translation.run()?;
        let anchored = if whole { format!("\\A(?:{})\\z", translation.out) } else { translation.out };
        match RegexBuilder::new(&anchored).size_limit(COMPILED_BYTES_MAX).nest_limit(200).build() {
            Ok(regex) => Ok(Self { regex, chars: length, open_repeats: translation.open_repeats }),
            Err(regex::Error::CompiledTooBig(_)) => {
                Err(Fault::new(ErrorKind::Limit, format!("the pattern `{source}` is too big; use smaller repeats")))
            }
            Err(_) => Err(Fault::new(ErrorKind::Regex, format!("`{source}` is not a pattern"))),
        }
    }

    /// What a match costs: text × pattern.
    pub(super) fn work(&self, text: &str) -> u64 {
        u64::try_from(text.len().saturating_mul(self.chars.max(1)) / 32).unwrap_or(u64::MAX)
    }

    fn check_length(&self, text: &str) -> Result<(), Fault> {
        if self.open_repeats < OPEN_REPEATS || text.len() <= OPEN_TEXT_CHARS_MAX {
            return Ok(());
        }
        let message = format!(
            "a pattern with {OPEN_REPEATS} or more of * and + is for texts of at most {OPEN_TEXT_CHARS_MAX} bytes, not {}",
            text.len()
        );
        Err(Fault::new(ErrorKind::Limit, message).code("EL1073E"))
    }

    /// Whether the whole text matches.
    pub(super) fn matches(&self, text: &str) -> Result<bool, Fault> {
        self.check_length(text)?;
        Ok(self.regex.is_match(text))
    }

    /// Where it is found, from left to right.
    pub(super) fn found(&self, text: &str) -> Result<Vec<std::ops::Range<usize>>, Fault> {
        self.check_length(text)?;
        Ok(self.regex.find_iter(text).map(|found| found.range()).collect())
    }

    /// `replaceAll` or `replaceFirst`; `$1` and `\\` as in Java.
    pub(super) fn replaced(&self, text: &str, with: &str, all: bool, bytes_max: usize) -> Result<String, Fault> {
        self.check_length(text)?;
        let mut out = String::new();
        let mut from = 0;
        for captures in self.regex.captures_iter(text).take(if all { usize::MAX } else { 1 }) {
            let Some(whole) = captures.get(0) else { continue };
            out.push_str(text.get(from..whole.start()).unwrap_or_default());
            insert_replacement(&mut out, with, &captures)?;
            from = whole.end();
            if out.len() > bytes_max {
                return Err(Fault::new(ErrorKind::Limit, format!("the text would be longer than {bytes_max} bytes")));
            }
        }
        out.push_str(text.get(from..).unwrap_or_default());
        Ok(out)
    }
}

fn insert_replacement(out: &mut String, with: &str, captures: &regex::Captures<'_>) -> Result<(), Fault> {
    let bad = |what: &str| {
        let message = format!("{what} in the replacement; $ and \\ stand for groups and are written \\$ and \\\\");
        Err(Fault::new(ErrorKind::Argument, message).code("IllegalArgumentException"))
    };
    let mut chars = with.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c) => out.push(c),
                None => return bad("a lonely \\"),
            },
            '$' => {
                let Some(first) = chars.next().and_then(|c| c.to_digit(10)) else {
                    return bad("a $ without a number");
                };
                let mut group = usize::try_from(first).unwrap_or(0);
                if group >= captures.len() {
                    return bad("a group that the pattern lacks");
                }
                while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
                    let longer = group * 10 + usize::try_from(digit).unwrap_or(0);
                    if longer >= captures.len() {
                        break;
                    }
                    group = longer;
                    chars.next();
                }
                out.push_str(captures.get(group).map_or("", |found| found.as_str()));
            }
            c => out.push(c),
        }
    }
    Ok(())
}

struct Translation {
    chars: Vec<char>,
    at: usize,
    out: String,
    /// `(?s)`
    any_line: bool,
    /// `(?i)`
    fold: bool,
    /// `(?m)`
    lines: bool,
    /// Whether the pattern must match whole texts.
    whole: bool,
    depth: usize,
    /// `*`, `+` and `{n,}` so far.
    open_repeats: usize,
}

impl Translation {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn unsupported(&self, what: &str) -> Fault {
        let message = format!("{what} (character {} of the pattern) is not available in patterns here", self.at + 1);
        Fault::new(ErrorKind::Unsupported, message)
    }

    fn invalid(&self, what: &str) -> Fault {
        Fault::new(ErrorKind::Regex, format!("{what} at character {} of the pattern", self.at + 1))
    }

    /// Flags are understood at the very beginning only.
    fn flags(&mut self) -> Result<(), Fault> {
        while self.peek(0) == Some('(')
            && self.peek(1) == Some('?')
            && matches!(self.peek(2), Some('i' | 's' | 'm' | 'u' | 'U'))
        {
            let mut ahead = 2;
            loop {
                match self.peek(ahead) {
                    Some('i') => self.fold = true,
                    Some('s') => self.any_line = true,
                    Some('m') => self.lines = true,
                    Some(')') => break,
                    _ => return Err(self.unsupported("this flag")),
                }
                ahead += 1;
            }
            self.at += ahead + 1;
        }
        Ok(())
    }

    fn run(&mut self) -> Result<(), Fault> {
        // Whether something stands before that a quantifier can repeat.
        let mut repeatable = false;
        while let Some(c) = self.peek(0) {
            repeatable = match c {
                '(' => {
                    self.open_group()?;
                    false
                }
                ')' => {
                    if self.depth == 0 {
                        return Err(self.invalid("unmatched )"));
                    }
                    self.depth -= 1;
                    self.literal_out(")");
                    true
                }
                '|' => {
                    self.literal_out("|");
                    false
                }
                '*' | '+' | '?' | '{' => {
                    if !repeatable {
                        return Err(self.invalid("nothing to repeat"));
                    }
                    self.quantifier(c)?;
                    false
                }
                '[' => {
                    self.class()?;
                    true
                }
                '.' => {
                    let any = if self.any_line { "(?s:.)" } else { "[^\\n\\r\\x{85}\\x{2028}\\x{2029}]" };
                    self.literal_out(any);
                    true
                }
                '^' => {
                    // In lines, Java's ^ does not stand behind a line end that ends the text; that can't be seen from
                    // here, but only an empty last line could tell the difference.
                    self.literal_out(if self.lines { "(?mR:^)" } else { "\\A" });
                    false
                }
                '$' => {
                    // Java's $ also stands before a last line end; at the end of the pattern that can't be seen.
                    if !self.lines && (self.at + 1 != self.chars.len() || !self.whole) {
                        return Err(self.unsupported("$ inside the pattern"));
                    }
                    self.literal_out(if self.lines { "(?mR:$)" } else { "\\z" });
                    false
                }
                '\\' => {
                    self.at += 1;
                    self.escape()?;
                    true
                }
                _ => {
                    self.at += 1;
                    self.push_char(c);
                    true
                }
            };
        }
        if self.depth > 0 { Err(self.invalid("a group has no end: ) is missing")) } else { Ok(()) }
    }

    /// Takes one character and writes the translation.
    fn literal_out(&mut self, out: &str) {
        self.at += 1;
        self.out.push_str(out);
    }

    fn open_group(&mut self) -> Result<(), Fault> {
        self.depth += 1;
        if self.depth > GROUPS_DEPTH_MAX {
            return Err(Fault::new(ErrorKind::Limit, format!("groups are nested deeper than {GROUPS_DEPTH_MAX}")));
        }
        if self.peek(1) != Some('?') {
            self.literal_out(if self.whole { "(?:" } else { "(" });
            return Ok(());
        }
        match (self.peek(2), self.peek(3)) {
            (Some(':'), _) => self.at += 3,
            (Some('<'), Some(c)) if c.is_ascii_alphabetic() => {
                let mut ahead = 3;
                while self.peek(ahead).is_some_and(|c| c.is_ascii_alphanumeric()) {
                    ahead += 1;
                }
                if self.peek(ahead) != Some('>') {
                    return Err(self.invalid("a group's name has no end"));
                }
                self.at += ahead + 1;
                if !self.whole {
                    self.out.push('(');
                    return Ok(());
                }
            }
            _ => return Err(self.unsupported("this kind of group")),
        }
        self.out.push_str("(?:");
        Ok(())
    }

    fn quantifier(&mut self, c: char) -> Result<(), Fault> {
        if c == '{' {
            let rest: String = self.chars.iter().skip(self.at + 1).take_while(|c| **c != '}').collect();
            let (low, high) = rest.split_once(',').map_or((rest.as_str(), None), |(low, high)| (low, Some(high)));
            let number =
                |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<u32>().ok()).flatten();
            let Some(low) = number(low) else { return Err(self.invalid("{ must be followed by a number")) };
            let high = match high {
                None => Some(low),
                Some("") => None,
                Some(high) => Some(number(high).ok_or_else(|| self.invalid("{ must be followed by numbers"))?),
            };
            if high.is_some_and(|high| high < low) {
                return Err(self.invalid("the repeat's limits are the wrong way round"));
            }
            if self.peek(rest.chars().count() + 1) != Some('}') {
                return Err(self.invalid("} is missing"));
            }
            self.at += rest.chars().count() + 2;
            self.out.push_str(&match high {
                Some(high) => format!("{{{low},{high}}}"),
                None => {
                    self.open_repeats += 1;
                    format!("{{{low},}}")
                }
            });
        } else {
            self.open_repeats += usize::from(c != '?');
            self.at += 1;
            self.out.push(c);
        }
        match self.peek(0) {
            Some('?') => self.literal_out("?"),
            Some('+') => return Err(self.unsupported("a possessive quantifier")),
            _ => {}
        }
        Ok(())
    }

    /// What stands behind a backslash, outside a class.
    fn escape(&mut self) -> Result<(), Fault> {
        let Some(c) = self.peek(0) else { return Err(self.invalid("a lonely \\")) };
        let class = match c {
            'd' => format!("[{DIGIT}]"),
            'D' => format!("[^{DIGIT}]"),
            'w' => format!("[{WORD}]"),
            'W' => format!("[^{WORD}]"),
            's' => format!("[{SPACE}]"),
            'S' => format!("[^{SPACE}]"),
            'p' => format!("[{}]", self.posix()?),
            _ => {
                let c = self.escaped_char()?;
                self.push_char(c);
                return Ok(());
            }
        };
        self.literal_out(&class);
        Ok(())
    }

    /// `\p{Alpha}` and its like, which are ASCII in Java; leaves the position on the closing brace.
    fn posix(&mut self) -> Result<String, Fault> {
        let name: String = self.chars.iter().skip(self.at + 1).take_while(|c| **c != '}').collect();
        let class = match name.as_str() {
            "{L" | "{IsL" => "\\p{L}",
            "{Lu" | "{IsLu" if !self.fold => "\\p{Lu}",
            "{Ll" | "{IsLl" if !self.fold => "\\p{Ll}",
            "{N" | "{IsN" => "\\p{N}",
            "{Nd" | "{IsNd" => "\\p{Nd}",
            "{P" | "{IsP" => "\\p{P}",
            "{S" | "{IsS" => "\\p{S}",
            "{Z" | "{IsZ" => "\\p{Z}",
            "{Sc" | "{IsSc" => "\\p{Sc}",
            "{IsAlphabetic" => "\\p{Alphabetic}",
            "{IsDigit" => "\\p{Nd}",
            "{IsUppercase" if !self.fold => "\\p{Uppercase}",
            "{IsLowercase" if !self.fold => "\\p{Lowercase}",
            "{IsWhite_Space" => "\\p{White_Space}",
            "{Punct" => "!-/:-@\\[-`{-~",
            "{Blank" => " \\t",
            "{Cntrl" => "\\x00-\\x1F\\x7F",
            "{Alpha" => "A-Za-z",
            "{Digit" => DIGIT,
            "{Alnum" => "A-Za-z0-9",
            "{Upper" if !self.fold => "A-Z",
            "{Lower" if !self.fold => "a-z",
            "{XDigit" => "0-9A-Fa-f",
            "{Space" => SPACE,
            _ => return Err(self.unsupported("this \\p class")),
        };
        self.at += name.chars().count();
        if self.peek(1) != Some('}') {
            return Err(self.invalid("} is missing"));
        }
        self.at += 1;
        Ok(class.to_owned())
    }

    /// A single escaped character; takes it.
    fn escaped_char(&mut self) -> Result<char, Fault> {
        let Some(c) = self.peek(0) else { return Err(self.invalid("a lonely \\")) };
        let digits = match c {
            'x' => 2,
            'u' => 4,
            _ => 0,
        };
        if digits > 0 {
            let hex: String = self.chars.iter().skip(self.at + 1).take(digits).collect();
            let code = (hex.len() == digits && hex.bytes().all(|b| b.is_ascii_hexdigit()))
                .then(|| u32::from_str_radix(&hex, 16).ok())
                .flatten();
            let Some(found) = code.and_then(char::from_u32) else {
                return Err(self.unsupported("this character code"));
            };
            self.at += digits + 1;
            return Ok(found);
        }
        let found = match c {
            't' => '\t',
            'n' => '\n',
            'r' => '\r',
            'f' => '\u{c}',
            _ if c.is_ascii_alphanumeric() => return Err(self.unsupported(&format!("\\{c}"))),
            _ => c,
        };
        self.at += 1;
        Ok(found)
    }

    /// `[…]` without nested classes.
    fn class(&mut self) -> Result<(), Fault> {
        let items = self.class_text()?;
        self.out.push_str(&items);
        Ok(())
    }

    /// Java and we agree on classes in classes and on `&&` between them, `[a-z&&[^b]]`, where everything to its left
    /// is one operand.
    fn class_text(&mut self) -> Result<String, Fault> {
        self.depth += 1;
        if self.depth > GROUPS_DEPTH_MAX {
            return Err(Fault::new(ErrorKind::Limit, format!("classes are nested deeper than {GROUPS_DEPTH_MAX}")));
        }
        self.at += 1;
        let mut items = String::new();
        let negated = self.peek(0) == Some('^');
        if negated {
            self.at += 1;
        }
        let mut empty = true;
        loop {
            let Some(c) = self.peek(0) else { return Err(self.invalid("a class has no end: ] is missing")) };
            match c {
                ']' if !empty => break,
                ']' => return Err(self.unsupported("] as first character of a class")),
                '[' => {
                    let inner = self.class_text()?;
                    items.push_str(&inner);
                }
                '&' if self.peek(1) == Some('&') => {
                    let bare = empty || negated || self.peek(2) != Some('[');
                    if bare {
                        return Err(self.unsupported("&& other than [a-z&&[^b]]"));
                    }
                    self.at += 2;
                    let inner = self.class_text()?;
                    items.push_str("&&");
                    items.push_str(&inner);
                    if self.peek(0) != Some(']') {
                        return Err(self.unsupported("&& other than [a-z&&[^b]]"));
                    }
                }
                _ => self.class_item(&mut items)?,
            }
            empty = false;
        }
        self.at += 1;
        self.depth -= 1;
        Ok(format!("{}{items}]", if negated { "[^" } else { "[" }))
    }

    fn class_item(&mut self, items: &mut String) -> Result<(), Fault> {
        if self.peek(0) == Some('\\') {
            let named = match self.peek(1) {
                Some('d') => Some(DIGIT),
                Some('w') => Some(WORD),
                Some('s') => Some(SPACE),
                Some(c @ ('D' | 'W' | 'S')) => {
                    self.at += 2;
                    let class = if c == 'D' {
                        DIGIT
                    } else if c == 'W' {
                        WORD
                    } else {
                        SPACE
                    };
                    items.push_str(&format!("[^{class}]"));
                    return Ok(());
                }
                Some('p') => {
                    self.at += 1;
                    let class = self.posix()?;
                    self.at += 1;
                    items.push_str(&class);
                    return Ok(());
                }
                _ => None,
            };
            if let Some(class) = named {
                self.at += 2;
                items.push_str(class);
                return Ok(());
            }
        }
        let low = self.class_char()?;
        let is_range = self.peek(0) == Some('-') && !matches!(self.peek(1), None | Some(']'));
        if !is_range {
            self.push_range(items, low, low);
            return Ok(());
        }
        if self.peek(1) == Some('[')
            || (self.peek(1) == Some('\\') && self.peek(2).is_some_and(|c| "dDwWsSp".contains(c)))
        {
            return Err(self.unsupported("a range that ends in a class"));
        }
        self.at += 1;
        let high = self.class_char()?;
        if high < low {
            return Err(self.invalid("a range is the wrong way round"));
        }
        self.push_range(items, low, high);
        Ok(())
    }

    fn class_char(&mut self) -> Result<char, Fault> {
        match self.peek(0) {
            Some('\\') => {
                self.at += 1;
                self.escaped_char()
            }
            Some(c) => {
                self.at += 1;
                Ok(c)
            }
            None => Err(self.invalid("a class has no end: ] is missing")),
        }
    }

    /// A range of a class, with the letters of the other case where `(?i)` holds.
    fn push_range(&self, items: &mut String, low: char, high: char) {
        push_span(items, low, high);
        if !self.fold {
            return;
        }
        for (from, to, shift) in [('a', 'z', 'A'), ('A', 'Z', 'a')] {
            let (low, high) = (low.max(from), high.min(to));
            if low <= high {
                let other = |c: char| char::from_u32(u32::from(c) - u32::from(from) + u32::from(shift)).unwrap_or(c);
                push_span(items, other(low), other(high));
            }
        }
    }

    /// One literal character outside a class.
    fn push_char(&mut self, c: char) {
        let mut items = String::new();
        self.push_range(&mut items, c, c);
        self.out.push('[');
        self.out.push_str(&items);
        self.out.push(']');
    }
}

/// `a` or `a-z`, as code points so that nothing in it can have a meaning.
fn push_span(items: &mut String, low: char, high: char) {
    items.push_str(&format!("\\x{{{:X}}}", u32::from(low)));
    if low != high {
        items.push_str(&format!("-\\x{{{:X}}}", u32::from(high)));
    }
}
