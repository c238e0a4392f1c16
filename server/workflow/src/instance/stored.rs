//! The instance's stored form (DESIGN §4): sealed JSON with a format version.
//!
//! Invariant: what is read is whole and of today's schema; whether it makes sense is [`Instance::check_invariants`]' part.

use serde_json::Value;

use super::{INSTANCE_SCHEMA, Instance};
use crate::format::{self, Format, FormatError, to_sealed};

/// The stored instance.
pub const INSTANCE_FORMAT: Format =
    Format { name: "instance document", schema: INSTANCE_SCHEMA, migrations: &[to_sealed] };

impl Instance {
    /// Reads a stored document of any known schema.
    ///
    /// # Errors
    /// [`FormatError`]: damaged, or written by a newer program.
    pub fn from_stored(bytes: &[u8]) -> Result<Self, FormatError> {
        let members = format::open(&INSTANCE_FORMAT, bytes)?;
        serde_json::from_value(Value::Object(members))
            .map_err(|error| FormatError::Damaged { reason: format!("it is no instance: {error}") })
    }

    /// The bytes to store.
    ///
    /// # Errors
    /// [`FormatError::Damaged`] when it holds a number without canonical form.
    pub fn to_stored(&self) -> Result<Vec<u8>, FormatError> {
        let unfit = |reason: String| FormatError::Damaged { reason };
        match serde_json::to_value(self).map_err(|error| unfit(error.to_string()))? {
            Value::Object(members) => format::close(&INSTANCE_FORMAT, members),
            other => Err(unfit(format!("an instance became {other}"))),
        }
    }
}
