//! `GET /api/instances/{id}/documents/{n}`: a receipt, with range requests.

use std::ops::Range;

use app::backend::Viewer;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Extension, Path, State};
use axum::http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_RANGE,
    RANGE,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::{EngineError, InstanceRef};
use ports::{ObjectInfo, StoreError};
use workflow::rights::may_see_receipt;

use crate::backend::actor;
use crate::failure::internal;
use crate::problem::Problem;
use crate::state::AppState;

/// Bytes one answer carries at most; the viewer asks for the rest.
const ANSWER_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Sends a receipt to who may see it; to everybody else it does not exist.
pub(crate) async fn document(
    State(state): State<AppState>,
    Extension(viewer): Extension<Viewer>,
    path: Result<Path<(String, String)>, PathRejection>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    // A path that names no receipt is a receipt that doesn't exist.
    let Ok(Path((id, n))) = path else { return missing() };
    let Ok(n) = n.parse() else { return missing() };
    match answer(&state, &viewer, &id, n, &method, &headers).await {
        Ok(response) => response,
        Err(EngineError::NotFound { .. } | EngineError::UnknownTenant { .. }) => missing(),
        Err(EngineError::Store(StoreError::Unavailable { .. })) => {
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "store-unavailable", "the receipt can't be read right now")
                .retry_after(5)
                .into_response()
        }
        Err(error) => {
            let incident = internal(&error).to_string();
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", incident).into_response()
        }
    }
}

fn missing() -> Response {
    Problem::new(StatusCode::NOT_FOUND, "not-found", "there is no such receipt").into_response()
}

async fn answer(
    state: &AppState,
    viewer: &Viewer,
    id: &str,
    n: usize,
    method: &Method,
    headers: &HeaderMap,
) -> Result<Response, EngineError> {
    let Some(at) = InstanceRef::decode(id) else { return Ok(missing()) };
    let Some(actor) = actor(viewer, &at.tenant) else { return Ok(missing()) };
    let engine = state.backend.engine();
    let (instance, blueprint) = engine.read_run(&at).await?;
    if !may_see_receipt(&blueprint, &actor) {
        return Ok(missing());
    }
    let Some(info) = engine.receipt_info(&at, &instance, &blueprint, n).await? else { return Ok(missing()) };
    let wanted = match range(headers, &info) {
        Wanted::All => 0..info.size.min(ANSWER_BYTES_MAX),
        Wanted::Part(part) => part.start..part.end.min(part.start.saturating_add(ANSWER_BYTES_MAX)),
        Wanted::Unsatisfiable => return Ok(unsatisfiable(&info)),
    };
    let partial = wanted != (0..info.size);
    let body = if *method == Method::HEAD || info.size == 0 {
        Body::empty()
    } else {
        match engine.receipt_bytes(&at, &instance, &blueprint, n, wanted.clone()).await? {
            Some(stored) => Body::from(stored.bytes),
            None => return Ok(missing()),
        }
    };
    let mut response = body.into_response();
    if partial {
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    describe(response.headers_mut(), &info, partial.then_some(&wanted), wanted.end - wanted.start);
    Ok(response)
}

fn describe(headers: &mut HeaderMap, info: &ObjectInfo, part: Option<&Range<u64>>, length: u64) {
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    // Never rendered by the browser itself: hostile bytes under our own origin stay bytes.
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"beleg.pdf\""));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{}\"", info.etag.0)) {
        headers.insert(ETAG, tag);
    }
    if let Some(part) = part
        && let Ok(value) =
            HeaderValue::from_str(&format!("bytes {}-{}/{}", part.start, part.end.saturating_sub(1), info.size))
    {
        headers.insert(CONTENT_RANGE, value);
    }
}

fn unsatisfiable(info: &ObjectInfo) -> Response {
    let mut response =
        Problem::new(StatusCode::RANGE_NOT_SATISFIABLE, "range", format!("the receipt has {} bytes", info.size))
            .into_response();
    if let Ok(value) = HeaderValue::from_str(&format!("bytes */{}", info.size)) {
        response.headers_mut().insert(CONTENT_RANGE, value);
    }
    response
}

#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    All,
    Part(Range<u64>),
    Unsatisfiable,
}

/// One range of bytes (RFC 9110 §14); anything else gets the whole receipt.
fn range(headers: &HeaderMap, info: &ObjectInfo) -> Wanted {
    let Some(text) = headers.get(RANGE).and_then(|value| value.to_str().ok()) else { return Wanted::All };
    if headers.get(IF_RANGE).is_some_and(|tag| tag.as_bytes() != format!("\"{}\"", info.etag.0).as_bytes()) {
        return Wanted::All;
    }
    let Some((first, last)) = text.trim().strip_prefix("bytes=").and_then(|spec| spec.split_once('-')) else {
        return Wanted::All;
    };
    let size = info.size;
    match (first.trim().parse::<u64>(), last.trim().parse::<u64>()) {
        (Ok(first), _) if first >= size => Wanted::Unsatisfiable,
        (Ok(first), Ok(last)) if last >= first => Wanted::Part(first..last.saturating_add(1).min(size)),
        (Ok(first), Err(_)) if last.trim().is_empty() => Wanted::Part(first..size),
        (Err(_), Ok(0)) if first.trim().is_empty() => Wanted::Unsatisfiable,
        (Err(_), Ok(count)) if first.trim().is_empty() && size > 0 => Wanted::Part(size.saturating_sub(count)..size),
        _ => Wanted::All,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ports::ETag;

    fn wanted(text: &str, size: u64) -> Wanted {
        let mut headers = HeaderMap::new();
        headers.insert(RANGE, HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static("")));
        let info =
            ObjectInfo { etag: ETag("e".to_owned()), size, version: None, modified: chrono::DateTime::UNIX_EPOCH };
        range(&headers, &info)
    }

    #[test]
    fn ranges_are_read_as_http_says() {
        assert_eq!(wanted("bytes=0-99", 1000), Wanted::Part(0..100));
        assert_eq!(wanted("bytes=900-", 1000), Wanted::Part(900..1000));
        assert_eq!(wanted("bytes=-100", 1000), Wanted::Part(900..1000));
        assert_eq!(wanted("bytes=990-2000", 1000), Wanted::Part(990..1000));
        assert_eq!(wanted("bytes=1000-", 1000), Wanted::Unsatisfiable);
        assert_eq!(wanted("bytes=-0", 1000), Wanted::Unsatisfiable);
        assert_eq!(wanted("bytes=5-1", 1000), Wanted::All);
        assert_eq!(wanted("bytes=0-1,5-9", 1000), Wanted::All);
        assert_eq!(wanted("lines=1-2", 1000), Wanted::All);
    }
}
