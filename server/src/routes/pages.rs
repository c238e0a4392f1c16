//! The screens: server-rendered HTML and the server functions behind it.
//!
//! Invariant: every page's policy names one fresh nonce, and nothing inline runs without it.

use std::sync::Arc;

use app::backend::{TasksBackend, Viewer};
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_SECURITY_POLICY;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use leptos::nonce::use_nonce;
use leptos::prelude::{provide_context, use_context};
use leptos_axum::{
    LeptosRoutes, ResponseOptions, generate_route_list, handle_server_fns_with_context, render_app_async_with_context,
};

use crate::auth::{LANDING_PATH, language, viewer};
use crate::state::AppState;

/// The screens, by who may open them. Server functions are not among them: they have their own route and guards.
pub(crate) struct Screens {
    /// All but the landing page; the caller wraps them in the session's guard.
    pub(crate) signed_in: Router<AppState>,
    /// The landing page after a failed login or a logout: the only screen without a session.
    pub(crate) landing: Router<AppState>,
}

/// Asks the app once which screens it has.
pub(crate) fn screens() -> Screens {
    let (landing, signed_in): (Vec<_>, Vec<_>) =
        generate_route_list(app::App).into_iter().partition(|route| route.path() == LANDING_PATH);
    let routes = |list| Router::new().leptos_routes_with_handler(list, get(page));
    Screens { signed_in: routes(signed_in), landing: routes(landing) }
}

/// One page, rendered with everything it needs.
async fn page(State(state): State<AppState>, request: Request<Body>) -> Response {
    let options = state.leptos.clone();
    let render = render_app_async_with_context(context(&state), move || app::shell(options.clone()));
    render(request).await.into_response()
}

/// The page for an address where nothing is, with its reader's name where they are signed in.
pub(crate) async fn missing(state: AppState, mut request: Request<Body>) -> Response {
    // A store that can't say who asks is no reason to show nothing.
    if let Ok(Some(session)) = state.auth.session(request.headers()).await {
        request.extensions_mut().insert(viewer(&session, &state.settings));
    }
    let mut response = page(State(state), request).await;
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

/// Runs a server function. The request was looked at before.
pub(crate) async fn run_function(state: &AppState, request: Request<Body>) -> Response {
    handle_server_fns_with_context(context(state), request).await.into_response()
}

/// What server functions and components find: the backend, who asks, and the page's policy.
fn context(state: &AppState) -> impl Fn() + Clone + Send + Sync + 'static {
    let backend: Arc<dyn TasksBackend> = Arc::new(state.backend.clone());
    let provider: Arc<str> = provider_origin(&state.settings.oidc.issuer).into();
    move || {
        provide_context(Arc::clone(&backend));
        let parts = use_context::<Parts>();
        provide_context(parts.as_ref().map(|parts| language(&parts.headers)).unwrap_or_default());
        let viewer = parts.and_then(|parts| parts.extensions.get::<Viewer>().cloned());
        provide_context::<Option<Viewer>>(viewer);
        if let (Some(nonce), Some(response)) = (use_nonce(), use_context::<ResponseOptions>())
            && let Ok(policy) = HeaderValue::from_str(&policy(&nonce.to_string(), &provider))
        {
            response.insert_header(CONTENT_SECURITY_POLICY, policy);
        }
    }
}

/// The policy that the receipt viewer and hydration work under with zero violations (UI.md "PDF viewer").
///
/// A logout is a form whose answer leads to the identity provider, and browsers hold redirects of forms to `form-action`.
fn policy(nonce: &str, provider: &str) -> String {
    format!(
        "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; \
         img-src 'self' blob: data:; font-src 'self'; connect-src 'self'; form-action 'self' {provider}; base-uri 'none'; \
         frame-ancestors 'none'"
    )
}

/// Scheme, host and port of the identity provider; nothing where its address can't be read.
fn provider_origin(issuer: &str) -> String {
    openidconnect::url::Url::parse(issuer).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
}
