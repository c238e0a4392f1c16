//! One request, one answer, within limits.
//!
//! Invariant: an answer is bounded in size and time; redirects are not followed, so that the token goes nowhere else.
//! Never: tries again. Whether to is the engine's decision.

use std::time::{Duration, Instant};

use ports::ErpError;
use ports::vocab::TenantKey;
use ports::workflow::event::ErpEvidence;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderValue};
use serde_json::{Value, json};

use super::settings::{ErpSettings, SettingsError};

/// Bytes an answer may have.
const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Characters of an answer that are kept as evidence.
const ANSWER_CHARS_KEPT: usize = 2_000;
/// Seconds until a connection must stand.
const CONNECT_TIMEOUT_S: u64 = 5;

/// One tenant's endpoint, ready to be called.
pub(super) struct Endpoint {
    pub(super) tenant: TenantKey,
    pub(super) settings: ErpSettings,
    url: reqwest::Url,
    authorization: HeaderValue,
    client: reqwest::Client,
}

/// The two HTTP clients that all tenants share: a proxy of the environment must not stand before loopback addresses.
pub(super) struct Clients {
    proxied: reqwest::Client,
    direct: reqwest::Client,
}

impl Clients {
    pub(super) fn new() -> Result<Self, SettingsError> {
        let builder = || {
            reqwest::Client::builder()
                .redirect(reqwest::redirect::Policy::none())
                .connect_timeout(Duration::from_secs(CONNECT_TIMEOUT_S))
                .tcp_nodelay(true)
        };
        let failed = |error: reqwest::Error| SettingsError::Client { reason: error.to_string() };
        Ok(Self { proxied: builder().build().map_err(failed)?, direct: builder().no_proxy().build().map_err(failed)? })
    }

    fn for_url(&self, url: &reqwest::Url) -> reqwest::Client {
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let loopback = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
        if loopback { self.direct.clone() } else { self.proxied.clone() }
    }
}

/// What came back, with the proof of it.
pub(super) struct Answer {
    pub(super) body: Value,
    pub(super) evidence: ErpEvidence,
}

impl Endpoint {
    pub(super) fn new(tenant: TenantKey, settings: ErpSettings, clients: &Clients) -> Result<Self, SettingsError> {
        let url = settings.check(&tenant)?;
        let bad_token = || SettingsError::Token { tenant: tenant.to_string() };
        if settings.token.reveal().trim().is_empty() {
            return Err(bad_token());
        }
        let bearer = format!("Bearer {}", settings.token.reveal().trim());
        let mut authorization = HeaderValue::from_str(&bearer).map_err(|_| bad_token())?;
        authorization.set_sensitive(true);
        let client = clients.for_url(&url);
        Ok(Self { tenant, settings, url, authorization, client })
    }

    pub(super) fn unavailable(&self, reason: impl Into<String>) -> ErpError {
        ErpError::Unavailable { tenant: self.tenant.to_string(), reason: reason.into() }
    }

    /// Sends a document. 4xx answers that carry a GraphQL body come back as such; the rest is told apart here.
    pub(super) async fn send(&self, document: &str, idempotency_key: Option<&str>) -> Result<Answer, ErpError> {
        let started = Instant::now();
        let mut request = self
            .client
            .post(self.url.clone())
            .timeout(Duration::from_secs(self.settings.timeout_s))
            .header(AUTHORIZATION, self.authorization.clone())
            .header(ACCEPT, "application/graphql-response+json, application/json")
            .json(&json!({ "query": document }));
        if let Some(key) = idempotency_key {
            let value = HeaderValue::from_str(key).map_err(|_| ErpError::Refused {
                reason: format!("idempotency key {key:?} can't be sent as an HTTP header"),
                evidence: Box::new(evidence(document, "", started)),
            })?;
            request = request.header("Idempotency-Key", value);
        }
        let mut response = request.send().await.map_err(|error| self.unavailable(describe(&error)))?;
        let status = response.status();
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unavailable(describe(&error)))? {
            if bytes.len() + chunk.len() > ANSWER_BYTES_MAX {
                return Err(ErpError::Refused {
                    reason: format!("its answer is larger than {ANSWER_BYTES_MAX} bytes"),
                    evidence: Box::new(evidence(document, "", started)),
                });
            }
            bytes.extend_from_slice(&chunk);
        }
        let text = String::from_utf8_lossy(&bytes);
        let proof = evidence(document, &text, started);
        if status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429) {
            return Err(self.unavailable(format!("it answered {status}")));
        }
        let graphql = serde_json::from_slice::<Value>(&bytes)
            .ok()
            .filter(|body| body.get("data").is_some() || body.get("errors").is_some_and(Value::is_array));
        match graphql {
            Some(body) if !matches!(status.as_u16(), 401 | 403) => Ok(Answer { body, evidence: proof }),
            // A success that isn't GraphQL is a gateway's page: whether the request arrived is unknown.
            None if status.is_success() => Err(self.unavailable("its answer is no GraphQL answer")),
            _ => Err(ErpError::Refused { reason: refusal(status), evidence: Box::new(proof) }),
        }
    }
}

fn refusal(status: reqwest::StatusCode) -> String {
    match status.as_u16() {
        401 | 403 => format!("it answered {status}: the token is not accepted"),
        404 => format!("it answered {status}: is the address right?"),
        _ => format!("it answered {status}"),
    }
}

fn evidence(document: &str, answer: &str, started: Instant) -> ErpEvidence {
    ErpEvidence {
        mutation: document.to_owned(),
        answer: answer.chars().take(ANSWER_CHARS_KEPT).collect(),
        attempt: 1,
        took_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
    }
}

/// What failed, without the address (it is in the configuration) and with the cause that the outer error hides.
fn describe(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".into();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    if error.is_connect() { format!("no connection: {cause}") } else { format!("the connection broke: {cause}") }
}
