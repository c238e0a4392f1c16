//! All routes, and who may call each.
//!
//! | route | who |
//! |---|---|
//! | `POST /api/workflow/trigger` | the ERP: JWT, optionally API key and address |
//! | `GET /ws`, `/api/fn/*`, `/api/instances/*`, pages | people with a session |
//! | `/auth/*`, `/anmeldung`, `/healthz`, `/readyz`, static files | anybody |

mod documents;
mod execution_log;
mod functions;
mod health;
mod pages;
mod static_files;
mod trigger;

use app::backend::Viewer;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY, RETRY_AFTER,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use tower_http::trace::TraceLayer;

use crate::auth::{CurrentSession, load_session, require_session, viewer};
use crate::problem::Problem;
use crate::push::ws;
use crate::state::AppState;

/// Bytes a request of a person may have.
const BODY_BYTES_MAX: usize = 1024 * 1024;

/// The whole server.
pub(crate) fn router(state: AppState) -> Router {
    let signed_in = Router::new()
        .route("/ws", get(ws))
        .route("/api/instances/{id}/documents/{n}", get(documents::document))
        .route("/api/instances/{id}/log", get(execution_log::execution_log))
        .route_layer(middleware::from_fn_with_state(state.clone(), add_viewer))
        .route_layer(middleware::from_fn_with_state(state.auth.clone(), require_session));
    let functions = Router::new()
        .route("/api/fn/{*name}", any(functions::call))
        .route_layer(middleware::from_fn_with_state(state.clone(), add_viewer))
        .route_layer(middleware::from_fn_with_state(state.clone(), own_pages_only))
        .route_layer(middleware::from_fn_with_state(state.auth.clone(), load_session));
    let pages::Screens { signed_in: screens, landing } = pages::screens();
    let screens = screens
        .route_layer(middleware::from_fn_with_state(state.clone(), add_viewer))
        .route_layer(middleware::from_fn_with_state(state.auth.clone(), require_session));
    let landing = landing.route_layer(middleware::from_fn_with_state(state.auth.clone(), load_session));
    Router::new()
        .merge(signed_in)
        .merge(functions)
        .merge(screens)
        .merge(landing)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .route("/api/workflow/trigger", post(trigger::trigger).fallback(trigger::wrong_method))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .merge(state.auth.router().with_state(()))
        .fallback(static_files::serve)
        .layer(middleware::from_fn(own_words))
        .layer(middleware::from_fn(security_headers))
        .layer(TraceLayer::new_for_http().make_span_with(span))
        .with_state(state)
}

/// Only the path: a query may hold a login's code.
fn span(request: &Request) -> tracing::Span {
    tracing::info_span!("request", method = %request.method(), path = request.uri().path())
}

/// Puts who asks beside the session.
async fn add_viewer(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    if let Some(CurrentSession(session)) = request.extensions().get::<CurrentSession>() {
        let viewer: Viewer = viewer(session, &state.settings);
        request.extensions_mut().insert(viewer);
    }
    next.run(request).await
}

/// What changes something by cookie is taken from our own pages only.
async fn own_pages_only(State(state): State<AppState>, request: Request, next: Next) -> Response {
    if state.auth.is_same_origin(request.headers()) {
        return next.run(request).await;
    }
    Problem::new(StatusCode::FORBIDDEN, "foreign-origin", "this address takes requests from its own pages only")
        .into_response()
}

/// No framework's text reaches anybody: an error that says nothing, or says it in plain text, gets our form.
async fn own_words(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let status = response.status();
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let foreign = kind.is_none_or(|kind| kind.starts_with("text/plain"));
    if !foreign || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let (code, detail) = match status {
        StatusCode::NOT_FOUND => ("not-found", "there is nothing at this address"),
        StatusCode::METHOD_NOT_ALLOWED => ("method", "this address takes other methods: see Allow"),
        StatusCode::PAYLOAD_TOO_LARGE => ("too-large", "the body is larger than this address takes"),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => ("media-type", "this address takes another content type"),
        StatusCode::UPGRADE_REQUIRED => ("upgrade", "this address speaks WebSocket only"),
        StatusCode::FORBIDDEN => ("forbidden", "this address takes requests from its own pages only"),
        _ if status.is_client_error() => ("bad-request", "the request can't be read: check its address and headers"),
        _ => ("internal", "the request failed: try again later"),
    };
    let mut problem = Problem::new(status, code, detail).into_response();
    for name in [ALLOW, RETRY_AFTER] {
        if let Some(value) = response.headers().get(&name) {
            problem.headers_mut().insert(name, value.clone());
        }
    }
    problem
}

/// Headers every answer carries. Pages set their own, stricter by a nonce, policy.
async fn security_headers(request: Request, next: Next) -> Response {
    let private = !request.uri().path().starts_with("/pkg/") && !request.uri().path().starts_with("/pdfjs/");
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    set(X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(X_FRAME_OPTIONS, "DENY");
    set(REFERRER_POLICY, "same-origin");
    set(CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'");
    set(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    set(HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()");
    if private {
        set(CACHE_CONTROL, "no-store");
    }
    response
}
