//! `/healthz` and `/readyz`. The server works with everything but the store down; `/readyz` names what is down.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ports::BucketName;
use serde_json::json;

use crate::auth::ProviderStatus;
use crate::state::AppState;

/// The process is alive.
pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// Whether requests can be served, and what is down.
pub(crate) async fn readyz(State(state): State<AppState>) -> Response {
    let store = match BucketName::configured(&state.settings.store.system_bucket) {
        Ok(bucket) => state.store.list(&bucket, "", None, 1).await.err().map(|error| error.to_string()),
        Err(error) => Some(error.to_string()),
    };
    let identity_provider = match state.auth.provider_status().await {
        ProviderStatus::Up => None,
        ProviderStatus::Down(reason) => Some(reason),
    };
    let word = |down: Option<&String>| if down.is_some() { "down" } else { "up" };
    let body = json!({ "store": word(store.as_ref()), "identityProvider": word(identity_provider.as_ref()) });
    let status = if store.is_some() { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    if let Some(reason) = store {
        tracing::warn!(%reason, "store is down");
    }
    if let Some(reason) = identity_provider {
        tracing::warn!(%reason, "identity provider is down");
    }
    (status, Json(body)).into_response()
}
