//! What is wrong with a blueprint.
//!
//! Purpose: every problem has a place, a stable code, what is wrong and the way out.
//! Invariant: problems are sorted by place; there is at least one.
//! Never: hides a problem because another one came first, apart from [`PROBLEMS_MAX`].

use std::fmt;

/// Problems reported at once; more are counted, not shown.
pub const PROBLEMS_MAX: usize = 100;

/// A place in the text; both count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) line: u32,
    pub(super) column: u32,
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
    /// What sort of problem it is.
    pub code: ProblemCode,
    /// What is wrong, naming the value at fault; lowercase.
    pub message: String,
    /// The way out; lowercase, may be empty.
    pub help: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {} [{}]", self.line, self.column, self.message, self.code.as_str())?;
        if self.help.is_empty() { Ok(()) } else { write!(f, "; {}", self.help) }
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// The sorts of problems.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ProblemCode {
            $($(#[$doc])* $name,)*
        }

        impl ProblemCode {
            /// The stable name that programs and message files use.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

codes! {
    /// The text is larger, deeper or longer than a named limit.
    Limit = "limit",
    /// Not YAML.
    Yaml = "yaml",
    /// An anchor, alias, merge key, tag or directive.
    YamlFeature = "yaml-feature",
    /// A key twice in one mapping.
    DuplicateKey = "duplicate-key",
    /// A key that the language doesn't have.
    UnknownKey = "unknown-key",
    /// Part of the language, not of this version.
    NotAvailable = "not-available",
    /// A key that must be there is missing, or has no value.
    Missing = "missing",
    /// A list where text is meant, and the like.
    WrongType = "wrong-type",
    /// A value out of its range or form.
    BadValue = "bad-value",
    /// Two steps with one id, one field or option twice.
    DuplicateId = "duplicate-id",
    /// A step that is not in the list.
    UnknownStep = "unknown-step",
    /// A field that is not declared.
    UnknownField = "unknown-field",
    /// A variable that doesn't exist here.
    UnknownVariable = "unknown-variable",
    /// An expression that doesn't parse or can't come out.
    Expression = "expression",
    /// A user step that nobody gets.
    NoAssignee = "no-assignee",
    /// An editable field that isn't shown.
    NotVisible = "not-visible",
    /// A step that no way leads to.
    Unreachable = "unreachable-step",
    /// Conditions that lead to each other.
    EndlessLoop = "endless-loop",
    /// A step from which no end can be reached.
    NeverEnds = "never-ends",
}

/// All that is wrong with a blueprint, sorted by place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Sorts what was collected; `None` where nothing is wrong.
    pub(super) fn collected(mut problems: Vec<Problem>) -> Option<Self> {
        problems.sort_by_key(|problem| (problem.line, problem.column));
        problems.dedup();
        if problems.is_empty() { None } else { Some(Self(problems)) }
    }

    pub(super) fn one(problem: Problem) -> Self {
        Self(vec![problem])
    }

    /// The problems.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.0.iter()
    }

    /// The problems.
    pub fn into_vec(self) -> Vec<Problem> {
        self.0
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = std::slice::Iter<'a, Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// One problem a line, as compilers write them: `line:column: message [code]; help`.
impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
