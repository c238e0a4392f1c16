//! What can be wrong with a configuration.

/// Why a configuration can't be used. Messages name the key, the value where it is no secret, and the way out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The file can't be read.
    #[error("configuration `{path}` can't be read: {reason}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// The file is not TOML. The line itself is not repeated, it may hold a secret.
    #[error("configuration line {line}, column {column}: {reason}")]
    Syntax {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// Why.
        reason: String,
    },
    /// A key is unknown, missing, or its value is of the wrong type.
    #[error("configuration key `{key}`: {reason}")]
    Key {
        /// Its path, e.g. `tenant[0].erp.timeout_s`.
        key: String,
        /// Why.
        reason: String,
    },
    /// A value can't be used.
    #[error("configuration key `{key}` = `{value}`: {reason}")]
    Value {
        /// Its path.
        key: String,
        /// The value.
        value: String,
        /// Why, and the way out.
        reason: String,
    },
    /// A secret's or key's file can't be used.
    #[error("configuration key `{key}`: file `{path}`: {reason}")]
    File {
        /// Its path.
        key: String,
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// An environment variable can't be used.
    #[error("environment variable `{variable}`: {reason}")]
    Variable {
        /// Its name.
        variable: String,
        /// Why.
        reason: String,
    },
}

impl ConfigError {
    pub(super) fn syntax(text: &str, error: &toml::de::Error) -> Self {
        let at = error.span().map_or(0, |span| span.start).min(text.len());
        let before = text.get(..at).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self::Syntax {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            reason: error.message().replace('\n', ", "),
        }
    }

    pub(super) fn value(key: impl Into<String>, value: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Value { key: key.into(), value: value.into(), reason: reason.into() }
    }

    pub(super) fn key(key: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Key { key: key.into(), reason: reason.into() }
    }
}
