//! `/api/fn/*`: calls of server functions.
//!
//! Purpose: a request that can't be read is answered in our own words and with its own status, before a function runs.
//! Invariant: whatever is answered is an `AppError` as JSON, which the browser puts into its reader's language.
//! Never: logs what a client did wrong as an error of ours.

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use contract::{AppError, RequestFault};
use futures_util::StreamExt;
use leptos::server_fn::axum::server_fn_paths;
use serde::de::IgnoredAny;

use super::{BODY_BYTES_MAX, pages};
use crate::state::AppState;

/// Bytes of a body that is too large which are still taken, and dropped, so that its sender gets to read the answer.
const DRAIN_BYTES_MAX: usize = 8 * BODY_BYTES_MAX;

/// A call, if it is one.
pub(crate) async fn call(State(state): State<AppState>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    match readable(request).await {
        Ok(request) => pages::run_function(&state, request).await,
        Err((fault, detail)) => {
            tracing::debug!(%path, %detail, "call can't be read");
            refused(fault, detail)
        }
    }
}

type Fault = (RequestFault, String);

/// Everything about a call that can be told without knowing its function's input.
async fn readable(request: Request) -> Result<Request, Fault> {
    let (parts, body) = request.into_parts();
    let name = parts.uri.path();
    if !server_fn_paths().any(|(path, _)| path == name) {
        return Err((RequestFault::NoSuchFunction, format!("there is no function at {name}")));
    }
    if parts.method != Method::POST {
        return Err((RequestFault::WrongMethod, format!("{name} is called by POST, not by {}", parts.method)));
    }
    if !is_json(&parts.headers) {
        return Err((RequestFault::NotJson, "send the input as JSON, with Content-Type: application/json".to_owned()));
    }
    let bytes = read(body).await?;
    if let Err(error) = serde_json::from_slice::<IgnoredAny>(&bytes) {
        return Err((RequestFault::Syntax, format!("the body is no JSON: {error}")));
    }
    Ok(Request::from_parts(parts, Body::from(bytes)))
}

async fn read(body: Body) -> Result<Bytes, Fault> {
    let mut stream = body.into_data_stream();
    let mut bytes = Vec::new();
    let mut seen = 0_usize;
    while let Some(chunk) = stream.next().await {
        let chunk =
            chunk.map_err(|error| (RequestFault::Syntax, format!("the body could not be read to its end: {error}")))?;
        seen = seen.saturating_add(chunk.len());
        if seen > DRAIN_BYTES_MAX {
            break;
        }
        if seen <= BODY_BYTES_MAX {
            bytes.extend_from_slice(&chunk);
        }
    }
    if seen > BODY_BYTES_MAX {
        return Err((RequestFault::TooLarge, format!("the body may have {BODY_BYTES_MAX} bytes at most")));
    }
    Ok(bytes.into())
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

fn refused(fault: RequestFault, detail: String) -> Response {
    let error = AppError::BadRequest { fault, detail };
    let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::BAD_REQUEST);
    let mut response = (status, axum::Json(error)).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if fault == RequestFault::WrongMethod {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    }
    response
}
