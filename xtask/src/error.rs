//! The one error of this crate: a sentence that names what failed and the way out.
//!
//! Never: a type that callers match on; every failure here ends the command or its stage.

use std::fmt;

/// What went wrong, in words for the person at the terminal.
#[derive(Debug)]
pub(crate) struct Error(String);

/// Shorthand for this crate's results.
pub(crate) type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error with this text.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Puts what was being done before the cause.
pub(crate) trait Context<T> {
    /// `what` reads like "cannot read /a/b"; the cause follows after a colon.
    fn context(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T> {
        // The alternate form prints a whole chain of causes where the error type has one.
        self.map_err(|cause| Error(format!("{}: {cause:#}", what())))
    }
}
