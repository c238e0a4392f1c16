//! All routes, and who may call each.
//!
//! | route | who |
//! |---|---|
//! | `POST /api/workflow/trigger` | the ERP: JWT, optionally API key and address |
//! | `GET /ws`, `/api/fn/*`, `/api/instances/*`, pages | people with a session |
//! | `/auth/*`, `/anmeldung`, `/healthz`, `/readyz`, static files | anybody |

mod documents;
mod execution_log;
mod health;
mod pages;
mod static_files;
mod trigger;

use app::backend::Viewer;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
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
        .route("/api/fn/{*name}", post(pages::server_function))
        .route_layer(middleware::from_fn_with_state(state.clone(), add_viewer))
        .route_layer(middleware::from_fn_with_state(state.clone(), own_pages_only))
        .route_layer(middleware::from_fn_with_state(state.auth.clone(), load_session));
    let screens = pages::router()
        .route_layer(middleware::from_fn_with_state(state.clone(), add_viewer))
        .route_layer(middleware::from_fn_with_state(state.auth.clone(), require_session));
    let landing = pages::landing().route_layer(middleware::from_fn_with_state(state.auth.clone(), load_session));
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
