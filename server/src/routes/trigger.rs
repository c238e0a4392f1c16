//! `POST /api/workflow/trigger` (spec 001 §§3.1, 5.2, 6; DESIGN §8).

use std::net::SocketAddr;

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{ALLOW, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::{EngineError, InstanceRef, TriggerAnswer, TriggerError, TriggerRequest};
use ports::{ErpError, StoreError};
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use vocab::{CustomerId, ObjectNumber, TenantId, TriggerGuid, TriggerSource};

use crate::client_address::client_address;
use crate::problem::Problem;
use crate::state::AppState;
use crate::trigger_auth::TriggerAuthError;

/// Bytes a trigger may have.
const TRIGGER_BYTES_MAX: usize = 16 * 1024;
/// Characters each member may have.
const MEMBER_CHARS_MAX: usize = 200;
/// Seconds after which a trigger that can't be served now should come again.
const RETRY_S: u32 = 10;
/// The members, all of them and no others (spec 001 §3.1).
const MEMBERS: [&str; 4] = ["customerID", "tenantID", "triggerGUID", "objectNumber"];

/// Takes a trigger.
pub(crate) async fn trigger(
    State(state): State<AppState>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request<Body>,
) -> Response {
    let (parts, body) = request.into_parts();
    if let Err(problem) = json_only(&parts.headers) {
        return problem.into_response();
    }
    let Ok(bytes) = to_bytes(body, TRIGGER_BYTES_MAX).await else {
        let detail = format!("a trigger has at most {TRIGGER_BYTES_MAX} bytes");
        return Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail).into_response();
    };
    let request = match parse(&bytes) {
        Ok(request) => request,
        Err(problem) => return problem.into_response(),
    };
    let (customer, tenant) = (request.customer_id.as_str(), request.tenant_id.as_str());
    let caller = match client_address(peer.ip(), &parts.headers, &state.settings.server.trusted_proxies) {
        Ok(caller) => caller,
        Err(error) => {
            return Problem::new(StatusCode::BAD_REQUEST, "forwarded", error.to_string()).into_response();
        }
    };
    let tenant = match state.trigger_auth.verify(&parts.headers, caller, customer, tenant).await {
        Ok(tenant) => tenant,
        Err(error) => return auth_problem(&error),
    };
    if let Err(seconds) = state.trigger_limit.count(&tenant) {
        tracing::warn!(%tenant, "trigger refused: too many in this minute");
        let detail = format!("too many triggers of this tenant in one minute: send it again in {seconds} s");
        let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "too-many", detail);
        return problem.retry_after(seconds).into_response();
    }
    let number = request.object_number.clone();
    match state.backend.engine().trigger(request, TriggerSource::Push).await {
        Ok(answer) => answered(answer),
        Err(error) => {
            tracing::warn!(object = %number, %error, "trigger not taken");
            trigger_problem(&error).into_response()
        }
    }
}

/// Everything but POST.
pub(crate) async fn wrong_method() -> Response {
    let mut response =
        Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method", "triggers are sent by POST").into_response();
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    response
}

fn json_only(headers: &HeaderMap) -> Result<(), Problem> {
    let media = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let media = media.split(';').next().unwrap_or("").trim();
    if media.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let detail = format!("the content type is `{media}`: send application/json");
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not-json", detail))
}

fn malformed(field: &'static str, detail: String) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "malformed", detail).with("field", field)
}

/// All four members, text, not empty, not overlong, no others; the member at fault is named.
fn parse(bytes: &[u8]) -> Result<TriggerRequest, Problem> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| {
        Problem::new(StatusCode::BAD_REQUEST, "malformed", format!("the body is not JSON: {error}"))
    })?;
    let Value::Object(members) = value else {
        return Err(Problem::new(StatusCode::BAD_REQUEST, "malformed", "the body is not a JSON object"));
    };
    once_each(bytes)?;
    if let Some(extra) = members.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
        let shown: String = extra.chars().take(MEMBER_CHARS_MAX).collect();
        let detail = format!("`{shown}` is not a member of a trigger: send {} only", MEMBERS.join(", "));
        return Err(Problem::new(StatusCode::BAD_REQUEST, "malformed", detail).with("field", shown));
    }
    Ok(TriggerRequest {
        customer_id: CustomerId::new(member(&members, MEMBERS[0])?),
        tenant_id: TenantId::new(member(&members, MEMBERS[1])?),
        trigger_guid: TriggerGuid::new(member(&members, MEMBERS[2])?),
        object_number: ObjectNumber::new(member(&members, MEMBERS[3])?),
    })
}

/// A member given twice could mean either; a parser that takes the last one would start a run for an object that another
/// reader of the same bytes never saw.
fn once_each(bytes: &[u8]) -> Result<(), Problem> {
    #[derive(serde::Deserialize)]
    #[expect(dead_code, reason = "only read to find members given twice")]
    struct Once {
        #[serde(rename = "customerID")]
        customer: Option<IgnoredAny>,
        #[serde(rename = "tenantID")]
        tenant: Option<IgnoredAny>,
        #[serde(rename = "triggerGUID")]
        guid: Option<IgnoredAny>,
        #[serde(rename = "objectNumber")]
        number: Option<IgnoredAny>,
    }
    serde_json::from_slice::<Once>(bytes).map(|_once| ()).map_err(|error| {
        let text = error.to_string();
        let problem = Problem::new(StatusCode::BAD_REQUEST, "malformed", format!("the body is ambiguous: {text}"));
        match MEMBERS.iter().find(|name| text.contains(*name)) {
            Some(name) => problem.with("field", *name),
            None => problem,
        }
    })
}

fn member<'a>(members: &'a Map<String, Value>, name: &'static str) -> Result<&'a str, Problem> {
    let text = match members.get(name) {
        None => return Err(malformed(name, format!("{name} is missing"))),
        Some(Value::String(text)) => text,
        Some(other) => {
            let kind = match other {
                Value::Null => "null",
                Value::Bool(_) => "a boolean",
                Value::Number(_) => "a number",
                Value::Array(_) => "a list",
                Value::Object(_) | Value::String(_) => "an object",
            };
            return Err(malformed(name, format!("{name} is {kind}: send text")));
        }
    };
    if text.trim().is_empty() {
        return Err(malformed(name, format!("{name} is empty")));
    }
    let chars = text.chars().count();
    if chars > MEMBER_CHARS_MAX {
        return Err(malformed(name, format!("{name} has {chars} characters, at most {MEMBER_CHARS_MAX} are taken")));
    }
    if text.chars().any(char::is_control) {
        return Err(malformed(name, format!("{name} holds control characters")));
    }
    Ok(text)
}

fn auth_problem(error: &TriggerAuthError) -> Response {
    tracing::warn!(code = error.code(), "trigger refused");
    let mut problem = Problem::new(error.status(), error.code(), error.to_string());
    if error.status() == StatusCode::SERVICE_UNAVAILABLE {
        problem = problem.retry_after(RETRY_S);
    }
    let mut response = problem.into_response();
    if let Some(challenge) = error.www_authenticate() {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    }
    response
}

fn answered(answer: TriggerAnswer) -> Response {
    let named = |status, at: &InstanceRef, text: &str| {
        let body = json!({ "instanceId": at.encode(), "status": text });
        (status, Json(body)).into_response()
    };
    match answer {
        TriggerAnswer::Started(at) => named(StatusCode::ACCEPTED, &at, "started"),
        TriggerAnswer::AlreadyRunning(at) => named(StatusCode::OK, &at, "already-running"),
        TriggerAnswer::Ignored { reason } => {
            (StatusCode::OK, Json(json!({ "status": "ignored", "reason": reason }))).into_response()
        }
    }
}

fn trigger_problem(error: &TriggerError) -> Problem {
    let text = error.to_string();
    match error {
        TriggerError::ObjectNumberTooLong { .. } => malformed("objectNumber", text),
        TriggerError::NoBlueprint { .. } => {
            Problem::new(StatusCode::NOT_FOUND, "no-blueprint", text).with("field", "triggerGUID")
        }
        TriggerError::NoObject { .. } => {
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "no-object", text).with("field", "objectNumber")
        }
        TriggerError::OtherRun { run, workflow, .. } => Problem::new(StatusCode::CONFLICT, "other-run", text)
            .with("run", run.as_str())
            .with("workflowId", workflow.as_str()),
        TriggerError::Filter { .. } => Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "filter-failed", text),
        TriggerError::Busy { .. } => Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", text).retry_after(RETRY_S),
        TriggerError::Engine(error) => engine_problem(error),
    }
}

fn engine_problem(error: &EngineError) -> Problem {
    let later = |code, detail: &str| Problem::new(StatusCode::SERVICE_UNAVAILABLE, code, detail).retry_after(RETRY_S);
    match error {
        EngineError::Erp(ErpError::Unavailable { .. } | ErpError::NotConfirmed { .. }) => {
            later("erp-unavailable", "the ERP can't be read right now: send the trigger again, or leave it to recovery")
        }
        EngineError::Store(StoreError::Unavailable { .. })
        | EngineError::OutcomeUnknown { .. }
        | EngineError::TooBusy { .. }
        | EngineError::WriteRefused { .. } => {
            later("store-unavailable", "the store is not available right now: send the trigger again, a repeat is safe")
        }
        EngineError::UnknownTenant { .. } => Problem::new(StatusCode::NOT_FOUND, "tenant-unknown", error.to_string()),
        EngineError::Erp(_)
        | EngineError::BucketName(_)
        | EngineError::Key(_)
        | EngineError::Refused(_)
        | EngineError::NotFound { .. }
        | EngineError::ForeignBucket { .. }
        | EngineError::Store(_)
        | EngineError::Damaged { .. }
        | EngineError::NewerFormat { .. }
        | EngineError::Blueprint { .. } => {
            let contract::AppError::Internal { incident } = crate::failure::internal(error) else {
                return Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "see the server's log");
            };
            Problem::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal",
                "the trigger could not be served; see the server's log",
            )
            .with("incident", incident)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field_of(body: &str) -> Option<String> {
        let response = parse(body.as_bytes()).map(|_| ()).err()?;
        Some(format!("{response:?}"))
    }

    #[test]
    fn bad_members_are_named() {
        let good = r#"{"customerID":"a","tenantID":"b","triggerGUID":"c","objectNumber":"d"}"#;
        assert!(parse(good.as_bytes()).is_ok());
        let long =
            format!(r#"{{"customerID":"a","tenantID":"b","triggerGUID":"c","objectNumber":"{}"}}"#, "x".repeat(201));
        let cases = [
            ("{", "not JSON"),
            ("[]", "not a JSON object"),
            (r#"{"customerID":"a"}"#, "tenantID is missing"),
            (r#"{"customerID":"a","tenantID":"b","triggerGUID":"c","objectNumber":" "}"#, "objectNumber is empty"),
            (r#"{"customerID":1,"tenantID":"b","triggerGUID":"c","objectNumber":"d"}"#, "customerID is a number"),
            (r#"{"customerID":"a","tenantID":"b","triggerGUID":"c","objectNumber":"d","x":1}"#, "`x` is not a member"),
            (r#"{"customerID":"a\u0000","tenantID":"b","triggerGUID":"c","objectNumber":"d"}"#, "control characters"),
            (long.as_str(), "has 201 characters"),
            (
                r#"{"customerID":"a","tenantID":"b","triggerGUID":"c","objectNumber":"d","objectNumber":"e"}"#,
                "duplicate field `objectNumber`",
            ),
        ];
        for (body, want) in cases {
            let got = field_of(body).unwrap_or_default();
            assert!(got.contains(want), "{body}: {got}");
        }
    }
}
