//! Typed ids. All of them are opaque strings to everybody but the code that makes them.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps the text as it is; rules about its form are checked where it enters the system.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
    };
}

id!(/// The company that runs the ERP (spec 001 §3.1 `customerID`): free text.
    CustomerId);
id!(/// One Mandant of a customer (spec 001 §3.1 `tenantID`): free text.
    TenantId);
id!(/// A blueprint's id: a-z, 0-9 and `-`.
    WorkflowId);
id!(/// One run of a blueprint: a UUIDv7.
    InstanceId);
id!(/// The business object's number in the ERP (spec 001 §3.1 `objectNumber`): free text.
    ObjectNumber);
id!(/// A step of a blueprint.
    StepId);
id!(/// A person, by the identity provider's `sub`.
    UserId);
id!(/// A group as blueprints name it; it means something within one tenant only.
    GroupName);
id!(/// The GUID of a trigger definition; finds the blueprint (DESIGN §3).
    TriggerGuid);
id!(/// A field of the ERP's object, e.g. `fldBelegNr`.
    FieldName);
id!(/// One claim of one task by one person; every later act names it.
    ClaimId);
id!(/// One intent of a person; a repeated request with the same id gets the first one's answer.
    OperationId);

/// Characters an operation id may have.
pub const OPERATION_ID_CHARS_MAX: usize = 64;

/// A text that is no operation id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadOperationId;

impl fmt::Display for BadOperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "an operation id has 1 to {OPERATION_ID_CHARS_MAX} characters of A-Z, a-z, 0-9 and `-`, such as a UUID"
        )
    }
}

impl std::error::Error for BadOperationId {}

impl OperationId {
    /// Reads an id that comes from outside: it is kept in the run's document, so its form and length are bounded. Ids
    /// read from the store are taken as they are.
    ///
    /// # Errors
    /// [`BadOperationId`] says what an id looks like.
    pub fn parse(text: &str) -> Result<Self, BadOperationId> {
        let legal = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if legal && (1..=OPERATION_ID_CHARS_MAX).contains(&text.len()) {
            Ok(Self::new(text))
        } else {
            Err(BadOperationId)
        }
    }
}

/// The exact pair that every stored thing and every right belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TenantKey {
    /// Kunde.
    pub customer: CustomerId,
    /// Mandant.
    pub tenant: TenantId,
}

impl TenantKey {
    /// A pair from its two texts.
    pub fn new(customer: impl Into<String>, tenant: impl Into<String>) -> Self {
        Self { customer: CustomerId::new(customer), tenant: TenantId::new(tenant) }
    }
}

impl fmt::Display for TenantKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} / {}", self.customer, self.tenant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operation_ids_from_outside_are_bounded() {
        let longest = "a".repeat(OPERATION_ID_CHARS_MAX);
        for good in ["7c9e6679-7425-40de-944b-e07fc1f90ae7", "1", "A-z", longest.as_str()] {
            assert_eq!(OperationId::parse(good), Ok(OperationId::new(good)));
        }
        let long = "a".repeat(OPERATION_ID_CHARS_MAX + 1);
        for bad in ["", " ", "a b", "a_b", "ä", "a\n", "../x", long.as_str()] {
            assert_eq!(OperationId::parse(bad), Err(BadOperationId), "{bad:?}");
        }
    }
}
