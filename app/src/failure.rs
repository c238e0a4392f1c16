//! `AppError` as the error of a server function.
//!
//! Invariant: whatever goes wrong between browser and server reaches a screen as an `AppError`, and reaches a program
//! as the HTTP status that belongs to it (DESIGN §8).
//! Never: texts for people.

use contract::AppError;
use leptos::{
    prelude::FromServerFnError,
    server_fn::{codec::JsonEncoding, error::ServerFnErrorErr},
};
use serde::{Deserialize, Serialize};

/// Seconds after which a browser that couldn't reach the server tries again.
const NETWORK_RETRY_S: u32 = 5;

/// The error of every server function: an [`AppError`] that server functions can carry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Failure(pub AppError);

impl From<AppError> for Failure {
    fn from(error: AppError) -> Self {
        Self(error)
    }
}

impl From<Failure> for AppError {
    fn from(failure: Failure) -> Self {
        failure.0
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Failure {}

impl FromServerFnError for Failure {
    type Encoder = JsonEncoding;

    fn from_server_fn_error(value: ServerFnErrorErr) -> Self {
        let error = match value {
            ServerFnErrorErr::Request(_)
            | ServerFnErrorErr::UnsupportedRequestMethod(_)
            | ServerFnErrorErr::Deserialization(_)
            | ServerFnErrorErr::Serialization(_) => {
                AppError::Unavailable { what: "server".to_owned(), retry_s: NETWORK_RETRY_S }
            }
            ServerFnErrorErr::Args(_) | ServerFnErrorErr::MissingArg(_) => AppError::Invalid { problems: Vec::new() },
            ServerFnErrorErr::Registration(text)
            | ServerFnErrorErr::ServerError(text)
            | ServerFnErrorErr::MiddlewareError(text)
            | ServerFnErrorErr::Response(text) => AppError::Internal { incident: text },
        };
        #[cfg(feature = "ssr")]
        set_status(&error);
        Self(error)
    }
}

/// The HTTP status that belongs to an error.
#[cfg(feature = "ssr")]
pub(crate) fn status(error: &AppError) -> u16 {
    match error {
        AppError::SignedOut => 401,
        AppError::Refused { .. } => 403,
        AppError::NotFound => 404,
        AppError::Stale { .. } | AppError::ValuesChanged { .. } => 409,
        AppError::Invalid { .. } => 422,
        AppError::Internal { .. } => 500,
        AppError::Unavailable { .. } => 503,
    }
}

/// Sets the response's status, where there is a response.
#[cfg(feature = "ssr")]
pub(crate) fn set_status(error: &AppError) {
    use leptos::server_fn::axum_export::http::StatusCode;
    if let Some(options) = leptos::prelude::use_context::<leptos_axum::ResponseOptions>() {
        options.set_status(StatusCode::from_u16(status(error)).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_survive_the_wire() {
        let sent = Failure(AppError::Unavailable { what: "erp".to_owned(), retry_s: 60 });
        assert_eq!(Failure::de(sent.ser()), sent);
        let garbage = Failure::de("<html>502</html>".into());
        assert_eq!(garbage.0, AppError::Unavailable { what: "server".to_owned(), retry_s: NETWORK_RETRY_S });
    }
}
