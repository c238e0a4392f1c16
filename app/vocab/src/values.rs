//! Field values and types, and people.

use serde::{Deserialize, Serialize};

use crate::UserId;

/// The value of one ERP field, in machine form. Numbers and amounts are canonical decimal text (`1190.00`), dates ISO
/// (`2026-11-30`): no binary floating point anywhere, and equal values have equal text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FieldValue {
    /// The ERP has no value.
    #[default]
    Null,
    /// Yes or no.
    Bool(bool),
    /// Text, decimal or date, as the field's type says.
    Text(String),
    /// Several choices.
    List(Vec<String>),
}

impl FieldValue {
    /// Whether a required field would count as not filled in.
    pub fn is_blank(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Bool(_) => false,
            Self::Text(text) => text.trim().is_empty(),
            Self::List(items) => items.is_empty(),
        }
    }

    /// The text, where it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Null | Self::Bool(_) | Self::List(_) => None,
        }
    }
}

/// How a field is shown, entered and compared (DESIGN §7 `fields`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FieldType {
    /// One line.
    #[default]
    Text,
    /// Several lines.
    Multiline,
    /// A decimal number.
    Number,
    /// An amount with a currency.
    Money,
    /// A day.
    Date,
    /// Yes or no.
    Boolean,
    /// One of the options.
    Choice,
    /// Any of the options.
    Choices,
    /// Looked up in the ERP.
    Lookup,
}

/// A person as others see them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Person {
    /// The identity provider's `sub`.
    pub id: UserId,
    /// The name to show.
    pub name: String,
}
