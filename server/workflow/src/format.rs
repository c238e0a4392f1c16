//! What all stored documents have in common: a format version and a seal (DESIGN §2 rule 8, §4 "Versioning and repair").
//!
//! Purpose: tells a whole document from a damaged one and from one that a newer program wrote, and lifts old ones to
//! today's format.
//! Invariant: from schema 2 on every document carries `seal`, the SHA-256 (hex) over its canonical JSON (RFC 8785) without
//! `seal`. This rule holds for every later schema too, so that a flipped byte in `schema` itself is never taken for a
//! newer program's document.
//! Never: knows a document's type; it sees JSON.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::log::{CanonicalError, canonical_json, hex};

/// Schema from which on documents are sealed.
pub const SEALED_FROM: u32 = 2;
/// Schema of every document kind today. A kind that needs a change of its own gets its own number and migration.
pub const DOCUMENT_SCHEMA: u32 = 2;

const SCHEMA: &str = "schema";
const SEAL: &str = "seal";

/// The members of a document.
pub type Members = Map<String, Value>;
/// Lifts the members by one schema, except `schema` and `seal`, which [`open`] and [`close`] see to.
pub type Migration = fn(&mut Members) -> Result<(), String>;

/// One kind of document.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// What it is, in errors.
    pub name: &'static str,
    /// The schema that is written.
    pub schema: u32,
    /// How to get there: entry n leads from schema n + 1 to n + 2.
    pub migrations: &'static [Migration],
}

/// Why bytes are no document of this format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// Altered, cut or never whole.
    #[error("{reason}")]
    Damaged {
        /// What is wrong.
        reason: String,
    },
    /// A newer program wrote it: it is not damaged and must not be touched.
    #[error(
        "this {name} has schema {found}, this program knows schemas up to {known}: install the release that wrote it"
    )]
    Newer {
        /// What kind of document.
        name: &'static str,
        /// Its schema.
        found: u64,
        /// The newest one known here.
        known: u32,
    },
}

impl From<CanonicalError> for FormatError {
    fn from(error: CanonicalError) -> Self {
        damaged(error.to_string())
    }
}

/// Schema 1 → 2: nothing moves, the seal comes with writing.
pub fn to_sealed(_members: &mut Members) -> Result<(), String> {
    Ok(())
}

/// Reads a document, checks its seal and lifts it to the format's schema. The answer holds no seal.
///
/// # Errors
/// [`FormatError`]; only [`FormatError::Damaged`] may be repaired.
pub fn open(format: &Format, bytes: &[u8]) -> Result<Members, FormatError> {
    let value = serde_json::from_slice(bytes).map_err(|error| damaged(format!("it is not JSON: {error}")))?;
    let Value::Object(mut members) = value else { return Err(damaged("it is no JSON object")) };
    let found = match members.get(SCHEMA) {
        Some(schema) => schema.as_u64().filter(|schema| *schema > 0),
        None => None,
    };
    let Some(found) = found else { return Err(damaged("it has no schema number")) };
    let newer = found > u64::from(format.schema);
    match members.remove(SEAL) {
        Some(claimed) => match seal_of(&members) {
            Ok(seal) if claimed.as_str() == Some(&seal) => {}
            Ok(seal) => return Err(damaged(format!("it was altered: its content has the seal {seal}, not {claimed}"))),
            // What a newer program writes may hold numbers that this one can't seal.
            Err(_) if newer => {}
            Err(error) => return Err(error.into()),
        },
        None if newer || found < u64::from(SEALED_FROM) => {}
        None => return Err(damaged(format!("it has schema {found}, but no seal"))),
    }
    let from = match u32::try_from(found) {
        Ok(from) if !newer => from,
        Ok(_) | Err(_) => return Err(FormatError::Newer { name: format.name, found, known: format.schema }),
    };
    for schema in from..format.schema {
        let step = usize::try_from(schema - 1).ok().and_then(|at| format.migrations.get(at));
        let Some(migrate) = step else {
            return Err(damaged(format!("there is no way from schema {schema} to {}", format.schema)));
        };
        migrate(&mut members)
            .map_err(|reason| damaged(format!("schema {schema} does not become the next: {reason}")))?;
        members.insert(SCHEMA.to_owned(), Value::from(schema + 1));
    }
    Ok(members)
}

/// The bytes to store: with the format's schema and a seal.
///
/// # Errors
/// [`FormatError::Damaged`] when the content has no canonical form.
pub fn close(format: &Format, mut members: Members) -> Result<Vec<u8>, FormatError> {
    members.insert(SCHEMA.to_owned(), Value::from(format.schema));
    members.remove(SEAL);
    let seal = seal_of(&members)?;
    members.insert(SEAL.to_owned(), Value::String(seal));
    serde_json::to_vec(&members).map_err(|error| damaged(error.to_string()))
}

/// The seal that these members, `seal` not among them, must have.
fn seal_of(members: &Members) -> Result<String, CanonicalError> {
    let text = canonical_json(&Value::Object(members.clone()))?;
    Ok(hex(&Sha256::digest(text.as_bytes())))
}

fn damaged(reason: impl Into<String>) -> FormatError {
    FormatError::Damaged { reason: reason.into() }
}

#[cfg(test)]
#[path = "format_tests.rs"]
mod tests;
