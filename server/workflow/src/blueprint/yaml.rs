//! YAML text to a tree with places.
//!
//! Purpose: the harmless part of YAML: mappings, lists and scalars, each knowing where it stands.
//! Invariant: the text is bounded before it is read, the tree in depth and size; scalars stay text (`NO`, `on`, `1.10`
//! are what the author wrote). Anchors, aliases, tags, merge keys, directives and a second document are refused.
//! Never: resolves a reference, so nothing can grow.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput, options};

use super::problem::{Place, Problem, ProblemCode};

/// Size of a blueprint, in bytes.
pub const BYTES_MAX: usize = 256 * 1024;
/// Lists and mappings in one another.
pub const DEPTH_MAX: usize = 16;
/// Scalars, lists and mappings.
pub const NODES_MAX: usize = 20_000;

/// A node of the tree.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Scalar(Scalar),
    List { items: Vec<Node>, at: Place },
    Map { entries: Vec<Entry>, at: Place },
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) key: Scalar,
    pub(super) value: Node,
}

/// Text and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scalar {
    pub(super) text: String,
    pub(super) at: Place,
    /// Without quotes, so that `null` and `true` may mean more than their letters.
    pub(super) plain: bool,
    style: ScalarStyle,
    /// Characters of the source, quotes included.
    raw: Range<usize>,
}

impl Scalar {
    /// Whether no value is written.
    pub(super) fn is_null(&self) -> bool {
        self.plain && matches!(self.text.as_str(), "" | "~" | "null" | "Null" | "NULL")
    }
}

impl Node {
    pub(super) fn at(&self) -> Place {
        match self {
            Self::Scalar(scalar) => scalar.at,
            Self::List { at, .. } | Self::Map { at, .. } => *at,
        }
    }

    /// What it is, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Scalar(scalar) if scalar.is_null() => "nothing",
            Self::Scalar(_) => "a text",
            Self::List { .. } => "a list",
            Self::Map { .. } => "a mapping",
        }
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self, Self::Scalar(scalar) if scalar.is_null())
    }
}

/// The characters of the text and where its lines begin.
#[derive(Debug)]
pub(super) struct Source {
    chars: Vec<char>,
    line_starts: Vec<usize>,
}

impl Source {
    pub(super) fn new(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let mut line_starts = vec![0];
        for (i, c) in chars.iter().enumerate() {
            let ends_line = *c == '\n' || (*c == '\r' && chars.get(i + 1) != Some(&'\n'));
            if ends_line {
                line_starts.push(i + 1);
            }
        }
        Self { chars, line_starts }
    }

    fn place(&self, index: usize) -> Place {
        let line = self.line_starts.partition_point(|start| *start <= index).max(1);
        let start = self.line_starts.get(line - 1).copied().unwrap_or(0);
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Place { line: count(line), column: count(index - start + 1) }
    }

    /// Where the scalar's nth character stands, through quotes, escapes and folded lines.
    pub(super) fn locate(&self, scalar: &Scalar, nth: usize) -> Place {
        let mut at = self.content_start(scalar);
        for c in scalar.text.chars().take(nth) {
            at = self.skip_indent(scalar, at, c);
            at += self.width(scalar, at, c);
        }
        if let Some(c) = scalar.text.chars().nth(nth) {
            at = self.skip_indent(scalar, at, c);
        }
        self.place(at.min(scalar.raw.end.max(scalar.raw.start)))
    }

    fn content_start(&self, scalar: &Scalar) -> usize {
        match scalar.style {
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => scalar.raw.start + 1,
            // Behind the header line `|` or `>`, where the span includes it.
            ScalarStyle::Literal | ScalarStyle::Folded if matches!(self.char(scalar.raw.start), Some('|' | '>')) => {
                (scalar.raw.start..scalar.raw.end)
                    .find(|i| self.char(*i) == Some('\n'))
                    .map_or(scalar.raw.start, |i| i + 1)
            }
            _ => scalar.raw.start,
        }
    }

    fn char(&self, index: usize) -> Option<char> {
        self.chars.get(index).copied()
    }

    /// Steps over line ends and indentation that the text doesn't have.
    fn skip_indent(&self, scalar: &Scalar, mut at: usize, next: char) -> usize {
        if next.is_whitespace() {
            return at;
        }
        loop {
            match self.char(at) {
                Some(c) if c.is_whitespace() && at < scalar.raw.end => at += 1,
                Some('\\')
                    if scalar.style == ScalarStyle::DoubleQuoted && matches!(self.char(at + 1), Some('\n' | '\r')) =>
                {
                    at += 2;
                }
                _ => return at,
            }
        }
    }

    /// How many characters of the source stand for one of the text.
    fn width(&self, scalar: &Scalar, at: usize, c: char) -> usize {
        match (scalar.style, self.char(at)) {
            (ScalarStyle::SingleQuoted, Some('\'')) => 2,
            (ScalarStyle::DoubleQuoted, Some('\\')) => match self.char(at + 1) {
                Some('x') => 4,
                Some('u') => 6,
                Some('U') => 10,
                _ => 2,
            },
            (_, Some(found)) if found == c || found.is_whitespace() => 1,
            _ => usize::from(!c.is_whitespace()),
        }
    }
}

/// Reads the text; problems that leave the rest readable are added to `problems`.
///
/// # Errors
/// The problem after which there is no tree.
pub(super) fn load(text: &str, problems: &mut Vec<Problem>) -> Result<(Node, Source), Problem> {
    if text.len() > BYTES_MAX {
        let message = format!("the blueprint has {} bytes; at most {BYTES_MAX} are read", text.len());
        return Err(problem(
            Place { line: 1, column: 1 },
            ProblemCode::Limit,
            message,
            "split it, or shorten its texts",
        ));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let nesting = DEPTH_MAX * 2;
    let options = options! {
        disallow_directives: true,
        emit_unresolved_aliases: true,
        emit_anchor_events: true,
        emit_comments: false,
        flow_nesting_limit: nesting,
        block_nesting_limit: nesting,
    };
    let mut loader = Loader { events: Parser::new_from_str_with_options(text, options), problems, nodes: 0 };
    let node = loader.document()?;
    Ok((node, Source::new(text)))
}

struct Loader<'t, 'p> {
    events: Parser<'t, StrInput<'t>>,
    problems: &'p mut Vec<Problem>,
    nodes: usize,
}

impl<'t> Loader<'t, '_> {
    fn next(&mut self) -> Result<(Event<'t>, Span), Problem> {
        loop {
            match self.events.next_event() {
                Some(Ok((Event::Anchor(..), span))) => {
                    self.refuse(place(&span), "an anchor (&name)", "write the value where it is meant");
                }
                Some(Ok(event)) => return Ok(event),
                Some(Err(error)) => return Err(syntax(&error)),
                None => return Ok((Event::StreamEnd, Span::default())),
            }
        }
    }

    fn document(&mut self) -> Result<Node, Problem> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamStart | Event::DocumentEnd => {}
                Event::DocumentStart(..) if root.is_some() => {
                    let message = "a second document begins here".to_owned();
                    return Err(problem(
                        place(&span),
                        ProblemCode::YamlFeature,
                        message,
                        "one file holds one blueprint; remove ---",
                    ));
                }
                Event::DocumentStart(..) => {}
                Event::StreamEnd => {
                    let empty = || {
                        let at = Place { line: 1, column: 1 };
                        problem(at, ProblemCode::Missing, "the blueprint is empty".to_owned(), "begin with schema: 1")
                    };
                    return root.filter(|node: &Node| !node.is_null()).ok_or_else(empty);
                }
                event => root = Some(self.node(event, &span, 1)?),
            }
        }
    }

    fn node(&mut self, event: Event<'t>, span: &Span, depth: usize) -> Result<Node, Problem> {
        let at = place(span);
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            let message = format!("the blueprint has more than {NODES_MAX} values");
            return Err(problem(at, ProblemCode::Limit, message, "split it"));
        }
        if depth > DEPTH_MAX {
            let message = format!("lists and mappings are nested deeper than {DEPTH_MAX}");
            return Err(problem(at, ProblemCode::Limit, message, "no part of a blueprint nests that deep"));
        }
        if event.tag().is_some() {
            let tag_at = span.tag_start.map_or(at, |mark| place(&Span::empty(mark)));
            self.refuse(tag_at, "a tag (!name)", "remove it; the key says what its value is");
        }
        match event {
            Event::Scalar(text, style, ..) => Ok(Node::Scalar(scalar(text.into_owned(), style, span))),
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    let (event, span) = self.next()?;
                    if event == Event::SequenceEnd {
                        return Ok(Node::List { items, at });
                    }
                    items.push(self.node(event, &span, depth + 1)?);
                }
            }
            Event::MappingStart(..) => self.map(at, depth),
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.refuse(at, "an alias (*name)", "write the value where it is meant");
                Ok(Node::Scalar(scalar(String::new(), ScalarStyle::SingleQuoted, span)))
            }
            _ => Err(problem(at, ProblemCode::Yaml, "a value is missing here".to_owned(), "")),
        }
    }

    fn map(&mut self, at: Place, depth: usize) -> Result<Node, Problem> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen = BTreeSet::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(Node::Map { entries, at });
            }
            let key = self.node(event, &span, depth + 1)?;
            let (event, span) = self.next()?;
            let value = self.node(event, &span, depth + 1)?;
            let Node::Scalar(key) = key else {
                let message = format!("a key must be text, not {}", key.kind());
                self.problems.push(problem(key.at(), ProblemCode::WrongType, message, "write key: value"));
                continue;
            };
            if key.plain && key.text == "<<" {
                self.refuse(key.at, "a merge key (<<)", "write the keys where they are meant");
            } else if seen.insert(key.text.clone()) {
                entries.push(Entry { key, value });
            } else {
                let first =
                    entries.iter().find(|entry| entry.key.text == key.text).map_or(0, |entry| entry.key.at.line);
                let message = format!("the key `{}` stands here a second time", key.text);
                let help = format!("remove one; the first is in line {first}");
                self.problems.push(problem(key.at, ProblemCode::DuplicateKey, message, &help));
            }
        }
    }

    fn refuse(&mut self, at: Place, what: &str, help: &str) {
        let message = format!("{what} is not allowed in a blueprint");
        self.problems.push(problem(at, ProblemCode::YamlFeature, message, help));
    }
}

fn scalar(text: String, style: ScalarStyle, span: &Span) -> Scalar {
    let raw = span.start.index()..span.end.index();
    Scalar { text, at: place(span), plain: style == ScalarStyle::Plain, style, raw }
}

fn place(span: &Span) -> Place {
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Place { line: count(span.start.line()).max(1), column: count(span.start.col()).saturating_add(1) }
}

fn syntax(error: &ScanError) -> Problem {
    let mark = *error.marker();
    let message = format!("this is not YAML: {}", error.info());
    problem(
        place(&Span::empty(mark)),
        ProblemCode::Yaml,
        message,
        "check indentation, quotes and brackets before this place",
    )
}

pub(super) fn problem(at: Place, code: ProblemCode, message: String, help: &str) -> Problem {
    Problem { line: at.line, column: at.column, code, message, help: help.to_owned() }
}
