//! Middleware and extractors: who asks.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use openidconnect::url::form_urlencoded;

use super::login::redirect;
use super::{Auth, AuthError, LOGIN_PATH, Session};

/// Seconds a client should wait when the store can't say who it is.
const RETRY_AFTER_S: u32 = 5;

/// The session of this request. Behind [`require_session`] it is always there; elsewhere its absence answers 401.
#[derive(Debug, Clone)]
pub struct CurrentSession(pub Arc<Session>);

/// The session of this request, if there is one. Behind [`load_session`] or [`require_session`].
#[derive(Debug, Clone)]
pub struct MaybeSession(pub Option<Arc<Session>>);

/// Puts the session, if there is one, into the request; refuses nobody.
pub async fn load_session(State(auth): State<Auth>, mut request: Request, next: Next) -> Response {
    match auth.session(request.headers()).await {
        Ok(Some(session)) => {
            request.extensions_mut().insert(CurrentSession(session));
            next.run(request).await
        }
        Ok(None) => next.run(request).await,
        Err(error) => unavailable(&error),
    }
}

/// Lets only requests with a session through. A browser asking for a page is sent to the login and comes back; everything
/// else gets 401 as problem details.
pub async fn require_session(State(auth): State<Auth>, mut request: Request, next: Next) -> Response {
    match auth.session(request.headers()).await {
        Ok(Some(session)) => {
            request.extensions_mut().insert(CurrentSession(session));
            next.run(request).await
        }
        Ok(None) if wants_page(request.method(), request.headers()) => {
            let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
            let next: String = form_urlencoded::byte_serialize(path.as_bytes()).collect();
            redirect(&format!("{LOGIN_PATH}?next={next}"), &[])
        }
        Ok(None) => signed_out(),
        Err(error) => unavailable(&error),
    }
}

impl<S: Send + Sync> FromRequestParts<S> for CurrentSession {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Response> {
        parts.extensions.get::<Self>().cloned().ok_or_else(signed_out)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for MaybeSession {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(Self(parts.extensions.get::<CurrentSession>().map(|current| current.0.clone())))
    }
}

fn wants_page(method: &Method, headers: &HeaderMap) -> bool {
    let accepts_html = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|range| range.split(';').next())
        .any(|media| media.trim().eq_ignore_ascii_case("text/html"));
    accepts_html && (method == Method::GET || method == Method::HEAD)
}

fn signed_out() -> Response {
    problem(StatusCode::UNAUTHORIZED, "signed-out", "nobody is signed in, or the session has ended: sign in again")
}

fn unavailable(error: &AuthError) -> Response {
    tracing::error!(%error, "the session of a request can't be looked up");
    let mut response =
        problem(StatusCode::SERVICE_UNAVAILABLE, "store-unavailable", "sessions can't be read right now: try again");
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(RETRY_AFTER_S));
    response
}

/// RFC 9457.
fn problem(status: StatusCode, code: &'static str, detail: &'static str) -> Response {
    let title = status.canonical_reason().unwrap_or_default();
    let body = serde_json::json!({ "type": "about:blank", "title": title, "status": status.as_u16(), "code": code, "detail": detail });
    let mut response = (status, Json(body)).into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
