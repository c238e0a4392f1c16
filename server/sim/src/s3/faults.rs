//! What goes wrong between an S3 client and a healthy server: refused, dropped, slow.
//!
//! Invariant: the same plan as [`crate::store::FaultStore`]'s, told in status codes and broken connections.
//! Never: changes a stored object by itself.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{Method, StatusCode};
use percent_encoding::percent_decode_str;
use s3s::service::S3Service;
use s3s::{Body, HttpError, HttpRequest, HttpResponse};
use tokio::sync::{Notify, watch};

use crate::store::{Fault, FaultRates, Fired, OBJECT_BYTES_MAX, Op, Plan, When};

/// Bytes of a request that is kept, for reading it to its end: an object and the signatures of its chunks.
const REQUEST_BYTES_MAX: usize = OBJECT_BYTES_MAX + OBJECT_BYTES_MAX / 8;

/// The switchboard of a server's faults. Calls are named as those of the store's port, by operation and key.
///
/// A [`Fault::Late`] write runs as soon as so many later requests have come. [`Fault::SlowBefore`] may still land after its
/// client gave up, as with a real server; [`Fault::HangBefore`] never does.
pub struct S3Faults {
    plan: Mutex<Plan>,
    calls: watch::Sender<u64>,
    hung: Notify,
}

impl S3Faults {
    /// Faults at these rates, drawn from the seed.
    pub fn new(seed: u64, rates: FaultRates) -> Arc<Self> {
        Arc::new(Self { plan: Mutex::new(Plan::new(seed, rates)), calls: watch::Sender::new(0), hung: Notify::new() })
    }

    /// A healthy server, until told otherwise.
    pub fn none() -> Arc<Self> {
        Self::new(0, FaultRates::NONE)
    }

    /// Adds a fault for a request from now on.
    pub fn on(&self, when: When, fault: Fault) {
        self.lock().script.push((when, fault));
    }

    /// Changes the rates.
    pub fn set_rates(&self, rates: FaultRates) {
        self.lock().rates = rates;
    }

    /// No faults from now on.
    pub fn heal(&self) {
        self.lock().heal();
    }

    /// Requests so far: a client that retries by itself is found out here.
    pub fn calls(&self) -> u64 {
        self.lock().calls
    }

    /// The faults so far.
    pub fn fired(&self) -> Vec<Fired> {
        self.lock().fired.clone()
    }

    /// Script entries that no request has met yet.
    pub fn unmet(&self) -> Vec<(When, Fault)> {
        self.lock().script.clone()
    }

    /// Waits until a request hangs.
    pub async fn hung(&self) {
        self.hung.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self, op: Op, key: &str) -> (u64, Option<Fault>) {
        let (call, fault) = {
            let mut plan = self.lock();
            let fault = plan.next(op, key);
            (plan.calls, fault)
        };
        self.calls.send_modify(|calls| *calls = call.max(*calls));
        (call, fault)
    }

    /// Serves one request, or lets it fail. An `Err` makes hyper close the connection without an answer.
    pub(super) async fn serve(&self, service: S3Service, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (op, key) = name(&request);
        let (call, fault) = self.next(op, &key);
        match fault {
            None => service.call(request).await,
            Some(Fault::Before) => Err(broken("before the call")),
            Some(Fault::Busy) => {
                read(request).await?;
                Ok(refusal(StatusCode::SERVICE_UNAVAILABLE, "SlowDown", "Please reduce your request rate."))
            }
            Some(Fault::Conflict) => {
                read(request).await?;
                Ok(conflict())
            }
            Some(Fault::ConflictAfter) => {
                service.call(request).await?;
                Ok(conflict())
            }
            Some(Fault::AnswerLost) => {
                service.call(request).await?;
                Err(broken("after the call"))
            }
            Some(Fault::Late { calls }) => {
                let request = read(request).await?;
                let (due, mut now) = (call + u64::from(calls.max(1)), self.calls.subscribe());
                tokio::spawn(async move {
                    // An error says that the server is gone, and with it the write.
                    if now.wait_for(|now| *now >= due).await.is_ok() {
                        let answer = service.call(request).await;
                        tracing::debug!(status = ?answer.map(|answer| answer.status()), "a late request has landed");
                    }
                });
                Err(broken("with the call still under way"))
            }
            Some(Fault::SlowBefore(pause)) => {
                tokio::time::sleep(pause).await;
                service.call(request).await
            }
            Some(Fault::SlowAfter(pause)) => {
                let answer = service.call(request).await;
                tokio::time::sleep(pause).await;
                answer
            }
            Some(Fault::HangBefore) => self.hang().await,
            Some(Fault::HangAfter) => {
                service.call(request).await?;
                self.hang().await
            }
        }
    }

    async fn hang<T>(&self) -> T {
        self.hung.notify_one();
        std::future::pending().await
    }
}

/// Reads a request to its end, so that the client is done sending before it hears anything.
async fn read(request: HttpRequest) -> Result<HttpRequest, HttpError> {
    let (head, mut body) = request.into_parts();
    let bytes = body.store_all_limited(REQUEST_BYTES_MAX).await.map_err(HttpError::new)?;
    Ok(HttpRequest::from_parts(head, Body::from(bytes)))
}

fn broken(place: &str) -> HttpError {
    HttpError::new(format!("injected: the connection broke {place}").into())
}

fn conflict() -> HttpResponse {
    let text = "The conditional request cannot succeed due to a conflicting operation against this resource.";
    refusal(StatusCode::CONFLICT, "ConditionalRequestConflict", text)
}

fn refusal(status: StatusCode, code: &str, message: &str) -> HttpResponse {
    let head = r#"<?xml version="1.0" encoding="UTF-8"?>"#;
    let xml = format!("{head}\n<Error><Code>{code}</Code><Message>{message}</Message></Error>");
    let mut answer = HttpResponse::new(Body::from(xml));
    *answer.status_mut() = status;
    answer.headers_mut().insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/xml"));
    answer
}

/// The port's name for a request, and its key (of a listing: the prefix). What only concerns a bucket counts as its
/// creation.
fn name(request: &HttpRequest) -> (Op, String) {
    let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let path = request.uri().path().trim_start_matches('/');
    let query: Vec<(&str, String)> = request
        .uri()
        .query()
        .unwrap_or_default()
        .split('&')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (name, decode(value)))
        .collect();
    let value = |name: &str| query.iter().find(|(found, _)| *found == name).map(|(_, value)| value.clone());
    match path.split_once('/') {
        Some((_, key)) if !key.is_empty() => {
            let op = match *request.method() {
                Method::PUT => Op::Put,
                Method::DELETE => Op::Delete,
                Method::HEAD => Op::Head,
                _ if value("versionId").is_some() => Op::GetVersion,
                _ if request.headers().contains_key(http::header::RANGE) => Op::GetRange,
                _ => Op::Get,
            };
            (op, decode(key))
        }
        _ if value("versions").is_some() => (Op::Versions, value("prefix").unwrap_or_default()),
        _ if value("list-type").is_some() => (Op::List, value("prefix").unwrap_or_default()),
        _ => (Op::CreateBucket, String::new()),
    }
}
