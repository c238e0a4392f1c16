//! What can go wrong with logins and sessions.

use ports::StoreError;

/// Why a component can't be built or a session not be looked up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// The settings can't be used.
    #[error("login can't be set up: {reason}")]
    Settings {
        /// Why.
        reason: String,
    },
    /// The store can't be read or written.
    #[error("sessions can't be read: {0}")]
    Store(#[from] StoreError),
    /// A write was not acknowledged.
    #[error("the session can't be kept: {reason}")]
    NotKept {
        /// What the store said.
        reason: String,
    },
}

/// Why a login came to nothing: the code for the page that explains it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginFailure {
    /// The identity provider can't be reached or answered nonsense.
    ProviderUnavailable,
    /// The identity provider said no.
    Denied,
    /// The login took too long, or its cookie is gone.
    Expired,
    /// The answer belongs to no login that this browser started.
    State,
    /// The provider's token doesn't hold what it must.
    Token,
    /// The provider left the groups out because there are too many.
    GroupsTruncated,
    /// The store can't be written.
    Store,
}

impl LoginFailure {
    /// The code in `/anmeldung?fehler=CODE`.
    pub fn code(self) -> &'static str {
        match self {
            Self::ProviderUnavailable => "provider-unavailable",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::State => "state",
            Self::Token => "token",
            Self::GroupsTruncated => "groups-truncated",
            Self::Store => "store",
        }
    }
}
