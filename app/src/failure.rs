//! `AppError` as the error of a server function.
//!
//! Invariant: whatever goes wrong between browser and server reaches a screen as an `AppError`, and reaches a program
//! as the HTTP status that belongs to it (DESIGN §8).
//! Never: texts for people.

use contract::{AppError, RequestFault};
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
        let unreadable = |detail: String| AppError::BadRequest { fault: RequestFault::Value, detail };
        let error = match value {
            // On the server these are faults of the request; in a browser something else than our server has answered.
            ServerFnErrorErr::Deserialization(text) | ServerFnErrorErr::Request(text) if answers_a_request() => {
                unreadable(text)
            }
            ServerFnErrorErr::Request(_)
            | ServerFnErrorErr::UnsupportedRequestMethod(_)
            | ServerFnErrorErr::Deserialization(_)
            | ServerFnErrorErr::Serialization(_) => {
                AppError::Unavailable { what: "server".to_owned(), retry_s: NETWORK_RETRY_S }
            }
            ServerFnErrorErr::Args(text) | ServerFnErrorErr::MissingArg(text) => unreadable(text),
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

/// Whether this is the server, in the middle of answering.
fn answers_a_request() -> bool {
    #[cfg(feature = "ssr")]
    {
        leptos::prelude::use_context::<leptos_axum::ResponseOptions>().is_some()
    }
    #[cfg(not(feature = "ssr"))]
    {
        false
    }
}

/// Sets the response's status, where there is a response.
#[cfg(feature = "ssr")]
pub(crate) fn set_status(error: &AppError) {
    use leptos::server_fn::axum_export::http::StatusCode;
    if let Some(options) = leptos::prelude::use_context::<leptos_axum::ResponseOptions>() {
        options.set_status(StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR));
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
