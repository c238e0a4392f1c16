//! Files of the site folder: the hashed bundle (cached for good), pdf.js under its version, icons.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use tower::ServiceExt;
use tower_http::services::ServeDir;

use super::pages;
use crate::problem::Problem;
use crate::state::AppState;

/// Serves a file, precompressed where the browser takes it; everything else is 404.
pub(crate) async fn serve(State(state): State<AppState>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return not_found();
    }
    let hidden = path.split('/').any(|part| part.starts_with('.'));
    // A person who mistyped an address gets a page, a program gets problem details.
    let for_reading = accepts_html(request.headers()).then(|| page_request(&request));
    if hidden || path.ends_with('/') {
        return match for_reading {
            Some(request) => pages::missing(state, request).await,
            None => not_found(),
        };
    }
    let files = ServeDir::new(state.leptos.site_root.as_ref())
        .append_index_html_on_directories(false)
        .precompressed_br()
        .precompressed_gzip();
    let mut response = match files.oneshot(request).await {
        Ok(response) => response.map(Body::new),
        Err(never) => match never {},
    };
    if !response.status().is_success() && response.status() != StatusCode::NOT_MODIFIED {
        return match for_reading {
            Some(request) => pages::missing(state, request).await,
            None => not_found(),
        };
    }
    let forever = path.starts_with("/pkg/") || path.starts_with("/pdfjs/");
    let cache = if forever { "public, max-age=31536000, immutable" } else { "public, max-age=300" };
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static(cache));
    if path.ends_with(".mjs") || path.ends_with(".js") {
        // A worker runs under its own script's policy: pdf.js decodes with wasm and fetches fonts and colour profiles.
        let policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'";
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    }
    response
}

fn accepts_html(headers: &HeaderMap) -> bool {
    headers.get(ACCEPT).and_then(|value| value.to_str().ok()).is_some_and(|kinds| kinds.contains("text/html"))
}

/// The same request once more, without its body.
fn page_request(request: &Request) -> Request {
    let mut copy = Request::new(Body::empty());
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    *copy.extensions_mut() = request.extensions().clone();
    copy
}

fn not_found() -> Response {
    Problem::new(StatusCode::NOT_FOUND, "not-found", "there is nothing at this address").into_response()
}
