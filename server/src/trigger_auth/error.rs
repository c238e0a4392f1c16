//! Why a trigger is refused.

use std::net::IpAddr;

use axum::http::StatusCode;

use super::{CLOCK_LEEWAY_S, TOKEN_BYTES_MAX};

/// A tenant whose trigger settings can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("trigger settings of {tenant}: {reason}")]
pub struct TriggerSetupError {
    /// Which tenant.
    pub tenant: String,
    /// Why.
    pub reason: String,
}

/// Why a trigger is refused. The messages may be sent to the caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TriggerAuthError {
    /// No bearer token. 401.
    #[error("the request has no token: send `Authorization: Bearer <JWT>`")]
    MissingToken,
    /// The token can't be trusted. 401.
    #[error("the token is not valid: {0}")]
    Token(#[from] TokenProblem),
    /// The second proof is missing or wrong. 401.
    #[error("the X-API-Key is missing or wrong")]
    ApiKey,
    /// The token was made for another tenant, or names none. 403.
    #[error(
        "the token's claims customerID and tenantID are not the payload's `{customer}` / `{tenant}`: both are required, as text, and must be equal"
    )]
    TenantMismatch {
        /// The payload's.
        customer: String,
        /// The payload's.
        tenant: String,
    },
    /// The address isn't on the tenant's list. 403.
    #[error("triggers are not allowed from {peer}")]
    Address {
        /// The caller's.
        peer: IpAddr,
    },
    /// There is no such tenant, or it takes no triggers. 404.
    #[error("there is no tenant `{customer}` / `{tenant}` that takes triggers here")]
    UnknownTenant {
        /// The payload's.
        customer: String,
        /// The payload's.
        tenant: String,
    },
    /// The issuer's public keys can't be fetched. 503.
    #[error("the token issuer's keys can't be fetched right now: try again")]
    KeysUnavailable,
}

impl TriggerAuthError {
    /// The answer's status.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::MissingToken | Self::Token(_) | Self::ApiKey => StatusCode::UNAUTHORIZED,
            Self::TenantMismatch { .. } | Self::Address { .. } => StatusCode::FORBIDDEN,
            Self::UnknownTenant { .. } => StatusCode::NOT_FOUND,
            Self::KeysUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// A stable code for the problem's `type` or `code`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::MissingToken => "token-missing",
            Self::Token(_) => "token-invalid",
            Self::ApiKey => "api-key-invalid",
            Self::TenantMismatch { .. } => "tenant-mismatch",
            Self::Address { .. } => "address-not-allowed",
            Self::UnknownTenant { .. } => "tenant-unknown",
            Self::KeysUnavailable => "keys-unavailable",
        }
    }

    /// The `WWW-Authenticate` of a 401 (RFC 6750 §3).
    pub fn www_authenticate(&self) -> Option<&'static str> {
        match self {
            Self::MissingToken | Self::ApiKey => Some("Bearer"),
            Self::Token(_) => Some("Bearer error=\"invalid_token\""),
            Self::TenantMismatch { .. } | Self::Address { .. } | Self::UnknownTenant { .. } | Self::KeysUnavailable => {
                None
            }
        }
    }
}

/// What is wrong with a token. Content is named only once the signature has been found good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenProblem {
    /// Larger than any honest token.
    #[error("it has more than {TOKEN_BYTES_MAX} bytes")]
    TooLong,
    /// Not three parts of base64url JSON, or a claim twice.
    #[error("it is not a JWT of three parts")]
    Malformed,
    /// `typ` of something else, or `crit`, or a part that is encrypted.
    #[error("its header is not that of a plain signed JWT")]
    Header,
    /// Not the configured algorithm.
    #[error("its algorithm is not the configured one")]
    Algorithm,
    /// Not signed with the tenant's key.
    #[error("its signature can't be verified")]
    Signature,
    /// `iss` missing or another.
    #[error("iss is not the configured issuer, as one text")]
    Issuer,
    /// `aud` missing or another.
    #[error("aud does not name the configured audience")]
    Audience,
    /// `exp` missing.
    #[error("exp is required, as a number of seconds")]
    NoExpiry,
    /// `exp` in the past.
    #[error("it has expired")]
    Expired,
    /// `nbf` in the future.
    #[error("nbf lies in the future")]
    NotYetValid,
    /// `iat` in the future.
    #[error("iat lies more than {CLOCK_LEEWAY_S} s in the future")]
    IssuedInFuture,
    /// `exp` too far away.
    #[error("it is good for longer than the configured max_lifetime_s")]
    Lifetime,
}
