//! People in browsers and the ERP's program: whoever sends requests, again and again until there is an answer.
//!
//! Invariant: a repeat is the same request, with the same operation id: that is what a browser sends when the answer got
//! lost.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use contract::{AppError, ClaimRequest, DecisionRequest, DecisionResult, TaskDetail, TaskFilter, TaskList};
use reqwest::header::{ACCEPT, CONTENT_TYPE, COOKIE, LOCATION, ORIGIN, SET_COOKIE};
use reqwest::{Client, Response, StatusCode, redirect};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sim::erp::TriggerSettings;
use vocab::{Decision, FieldValue, OperationId, TaskState};

use super::outside::{CUSTOMER, GUID, TENANT};

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(25);
/// Time after which a request without success means that the server is stuck.
const PATIENCE: Duration = Duration::from_secs(120);

/// Requests that a kill cut off.
pub(crate) static CUT_OFF: AtomicU64 = AtomicU64::new(0);

fn client() -> Client {
    let client = Client::builder().no_proxy().redirect(redirect::Policy::none());
    client.timeout(Duration::from_secs(30)).build().unwrap()
}

/// Why a request brought nothing.
#[derive(Debug)]
enum Failed {
    /// No answer: the server may have done it.
    NoAnswer(String),
    /// The server said no.
    No(AppError),
}

#[derive(Clone)]
pub(crate) struct Person {
    base: String,
    user: String,
    client: Client,
    cookies: Arc<Mutex<BTreeMap<String, String>>>,
}

/// One decision that the server acknowledged.
#[derive(Debug, Clone)]
pub(crate) struct Acknowledged {
    pub(crate) number: String,
    pub(crate) user: String,
    pub(crate) decision: Decision,
}

/// Tries of one request: an end to them, however often the server dies, is an end to the test.
struct Tries {
    what: String,
    until: Instant,
}

impl Tries {
    fn new(what: String) -> Self {
        Self { what, until: Instant::now() + PATIENCE }
    }

    /// Waits a little after a try that brought nothing.
    async fn again(&self, reason: String) {
        assert!(Instant::now() < self.until, "{} never came through; last: {reason}", self.what);
        tokio::time::sleep(PAUSE).await;
    }
}

impl Person {
    pub(crate) async fn sign_in(base: &str, idp: &str, user: &str) -> Self {
        let person = Self { base: base.to_owned(), user: user.to_owned(), client: client(), cookies: Arc::default() };
        let start = person.get(&format!("{base}/auth/login?next=/aufgaben")).await;
        let authorize = reqwest::Url::parse(location(&start)).unwrap();
        let mut form: Vec<(String, String)> = authorize.query_pairs().into_owned().collect();
        form.push(("user".to_owned(), user.to_owned()));
        let chosen = client().post(format!("{idp}/authorize")).form(&form).send().await.unwrap();
        let done = person.get(location(&chosen)).await;
        assert_eq!(location(&done), "/aufgaben", "{user} is signed in");
        person
    }

    async fn get(&self, address: &str) -> Response {
        let response = self.client.get(address).header(COOKIE, self.cookie_line()).send().await.unwrap();
        self.keep_cookies(&response);
        response
    }

    fn cookie_line(&self) -> String {
        let cookies = self.cookies.lock().unwrap();
        cookies.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
    }

    fn keep_cookies(&self, response: &Response) {
        let mut cookies = self.cookies.lock().unwrap();
        for line in response.headers().get_all(SET_COOKIE) {
            let line = line.to_str().unwrap();
            let (name, value) = line.split(';').next().unwrap().split_once('=').unwrap();
            if line.contains("Max-Age=0") {
                cookies.remove(name);
            } else {
                cookies.insert(name.to_owned(), value.to_owned());
            }
        }
    }

    async fn call<T: DeserializeOwned>(&self, name: &str, arguments: Value) -> Result<T, Failed> {
        let no_answer = |error: reqwest::Error| {
            CUT_OFF.fetch_add(1, Ordering::SeqCst);
            Failed::NoAnswer(error.to_string())
        };
        let body = serde_json::to_vec(&arguments).unwrap();
        let request = self.client.post(format!("{}/api/fn/{name}", self.base)).body(body);
        let request = request.header(CONTENT_TYPE, "application/json").header(ACCEPT, "application/json");
        let request = request.header(ORIGIN, &self.base).header(COOKIE, self.cookie_line());
        let response = request.send().await.map_err(no_answer)?;
        self.keep_cookies(&response);
        let status = response.status();
        let bytes = response.bytes().await.map_err(no_answer)?;
        let text = || format!("{name}: {status}: {}", String::from_utf8_lossy(&bytes));
        if status == StatusCode::OK {
            return Ok(serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{error}: {}", text())));
        }
        Err(Failed::No(serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{error}: {}", text()))))
    }

    /// Waits for this person's task of an object.
    async fn task(&self, number: &str) -> String {
        let filter = TaskFilter { q: Some(number.to_owned()), ..TaskFilter::default() };
        let tries = Tries::new(format!("the task of {number} for {}", self.user));
        loop {
            let reason = match self.call::<TaskList>("listTasks", json!({ "filter": filter })).await {
                Ok(listed) => {
                    let mut rows = listed.rows.into_iter().filter(|row| row.object_number == number);
                    match rows.find(|row| row.state == TaskState::Open || row.mine) {
                        Some(row) => return row.task_id,
                        None => "no such task".to_owned(),
                    }
                }
                Err(error) => format!("{error:?}"),
            };
            tries.again(reason).await;
        }
    }

    /// Takes a task.
    async fn claim(&self, number: &str, task_id: &str) -> TaskDetail {
        let claim = ClaimRequest { task_id: task_id.to_owned(), operation: operation() };
        let tries = Tries::new(format!("the claim of {number} by {}", self.user));
        loop {
            match self.call("claimTask", json!({ "request": claim })).await {
                Ok(detail) => return detail,
                Err(error) => tries.again(format!("{error:?}")).await,
            }
        }
    }

    /// Takes the task of an object and decides it, whatever dies in between.
    pub(crate) async fn decide(&self, number: &str, decision: Decision, change: Option<&str>) -> Acknowledged {
        let task_id = self.task(number).await;
        let mut detail = self.claim(number, &task_id).await;
        let operation = operation();
        let tries = Tries::new(format!("the decision of {} on {number}", self.user));
        loop {
            let body = json!({ "request": request(&detail, &operation, decision, change) });
            let reason = match self.call::<DecisionResult>("decideTask", body).await {
                Ok(_) => return Acknowledged { number: number.to_owned(), user: self.user.clone(), decision },
                Err(Failed::NoAnswer(reason)) => reason,
                // Once decided, a repeat must get the first one's answer.
                Err(Failed::No(error @ AppError::Stale { done: true, .. })) => {
                    panic!("{number}: the decision of {} is lost: {error:?}", self.user)
                }
                Err(Failed::No(error)) => {
                    // The page is read anew, as a person would.
                    if let Ok(now) = self.call("getTaskMetadata", json!({ "task_id": task_id })).await {
                        detail = now;
                    }
                    format!("{error:?}")
                }
            };
            tries.again(reason).await;
        }
    }
}

fn operation() -> OperationId {
    OperationId::new(uuid::Uuid::new_v4().to_string())
}

fn location(response: &Response) -> &str {
    assert_eq!(response.status(), StatusCode::SEE_OTHER, "{}", response.url());
    response.headers()[LOCATION].to_str().unwrap()
}

fn request(detail: &TaskDetail, operation: &OperationId, decision: Decision, change: Option<&str>) -> DecisionRequest {
    let change = change.map(|text| ("fldVerwendung".into(), FieldValue::Text(text.to_owned())));
    DecisionRequest {
        task_id: detail.row.task_id.clone(),
        operation: operation.clone(),
        decision,
        revision: detail.row.revision,
        visit: detail.visit,
        claim_id: detail.claim_id.clone().expect("my claim"),
        shown: detail.fields.iter().map(|field| (field.name.clone(), field.value.clone())).collect(),
        changes: change.into_iter().collect(),
        comment: (decision == Decision::Reject).then(|| "Leistung nicht erbracht".to_owned()),
    }
}

/// Sends an object's trigger until it is acknowledged, as the ERP's program does; the run it names, none if it is ignored.
pub(crate) async fn trigger(settings: &TriggerSettings, number: &str) -> Option<String> {
    let client = client();
    let body = json!({ "customerID": CUSTOMER, "tenantID": TENANT, "triggerGUID": GUID, "objectNumber": number });
    let tries = Tries::new(format!("the trigger of {number}"));
    loop {
        let token = settings.token(CUSTOMER, TENANT).unwrap();
        let sent = client.post(&settings.url).bearer_auth(token).json(&body).send().await;
        let answered = match sent {
            Ok(response) => {
                let status = response.status();
                response.json::<Value>().await.map(|answer| (status, answer))
            }
            Err(error) => Err(error),
        };
        let reason = match answered {
            Err(error) => {
                CUT_OFF.fetch_add(1, Ordering::SeqCst);
                error.to_string()
            }
            Ok((status, answer)) => match (status.as_u16(), answer["status"].as_str()) {
                (202, Some("started")) | (200, Some("already-running")) => {
                    return Some(answer["instanceId"].as_str().unwrap().to_owned());
                }
                (200, Some("ignored")) => return None,
                (503, _) => answer.to_string(),
                _ => panic!("the trigger of {number} was answered {status}: {answer}"),
            },
        };
        tries.again(reason).await;
    }
}
