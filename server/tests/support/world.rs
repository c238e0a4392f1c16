//! The whole product in this process, as `connectworkflow demo` runs it, and people who talk to it over HTTP.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, COOKIE, LOCATION, ORIGIN, SET_COOKIE};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, redirect};
use serde_json::{Value, json};
use server::Settings;
use server::demo::DemoOptions;

/// A running demo.
pub(crate) struct World {
    pub(crate) app: String,
    pub(crate) erp: String,
    pub(crate) idp: String,
    _folder: tempfile::TempDir,
}

/// The one demo of this test binary. It ends with the process.
pub(crate) async fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    tokio::task::spawn_blocking(|| WORLD.get_or_init(start)).await.unwrap()
}

fn start() -> World {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("demo");
    let options = DemoOptions { data: data.clone(), fresh: false, port: 0, erp_port: 0, idp_port: 0 };
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(server::demo::run(options)).unwrap();
    });
    let config = data.join("connectworkflow.toml");
    for _ in 0..1_200 {
        std::thread::sleep(Duration::from_millis(50));
        let Ok(settings) = Settings::load(Some(&config)) else { continue };
        let base = |url: &str| openidconnect::url::Url::parse(url).unwrap().origin().ascii_serialization();
        let app = base(settings.server.external_url.as_str());
        if is_up(app.trim_start_matches("http://")) {
            let erp = base(settings.tenant[0].erp.as_ref().unwrap().url.as_str());
            return World { app, erp, idp: base(&settings.oidc.issuer), _folder: folder };
        }
    }
    panic!("the demo does not start");
}

/// Whether the app answers there; before it listens, the demo only holds its port.
fn is_up(address: &str) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = std::net::TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.write_all(format!("GET /healthz HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.starts_with("HTTP/1.") && answer.contains("200 OK"))
}

impl World {
    /// The ERP sends its trigger; `[customer, tenant, number]`.
    pub(crate) async fn trigger(&self, object: [&str; 3]) {
        let answer = client().post(format!("{}/sim/trigger/{}", self.erp, object.join("/"))).send().await.unwrap();
        let body: Value = answer.json().await.unwrap();
        assert_eq!(body["status"], 202, "{body}");
    }

    /// Somebody signs in.
    pub(crate) async fn sign_in(&'static self, user: &str) -> Person {
        let person = Person { world: self, client: client(), cookies: Arc::default() };
        let start = person.send(person.client.get(format!("{}/auth/login?next=/", self.app))).await;
        let authorize = openidconnect::url::Url::parse(start.headers()[LOCATION].to_str().unwrap()).unwrap();
        let mut form: Vec<(String, String)> = authorize.query_pairs().into_owned().collect();
        form.push(("user".to_owned(), user.to_owned()));
        let chosen = client().post(format!("{}/authorize", self.idp)).form(&form).send().await.unwrap();
        let callback = chosen.headers()[LOCATION].to_str().unwrap().to_owned();
        let done = person.send(person.client.get(callback)).await;
        assert_eq!(done.status(), StatusCode::SEE_OTHER);
        person
    }
}

fn client() -> Client {
    Client::builder().redirect(redirect::Policy::none()).no_proxy().build().unwrap()
}

/// Somebody with a browser's cookies.
#[derive(Clone)]
pub(crate) struct Person {
    world: &'static World,
    client: Client,
    cookies: Arc<Mutex<Vec<(String, String)>>>,
}

impl Person {
    pub(crate) fn cookie(&self, name: &str, value: &str) {
        let mut cookies = self.cookies.lock().unwrap();
        cookies.retain(|(known, _)| known != name);
        cookies.push((name.to_owned(), value.to_owned()));
    }

    pub(crate) async fn send(&self, request: RequestBuilder) -> Response {
        let line: Vec<String> =
            self.cookies.lock().unwrap().iter().map(|(name, value)| format!("{name}={value}")).collect();
        let response = request.header(COOKIE, line.join("; ")).send().await.unwrap();
        for line in response.headers().get_all(SET_COOKIE) {
            let (name, value) = line.to_str().unwrap().split(';').next().unwrap().split_once('=').unwrap();
            self.cookie(name, value);
        }
        response
    }

    /// A page, as a browser asks for it.
    pub(crate) async fn page(&self, path: &str) -> (StatusCode, String) {
        let request = self.client.get(format!("{}{path}", self.world.app)).header(ACCEPT, "text/html");
        let answer = self.send(request).await;
        (answer.status(), answer.text().await.unwrap())
    }

    /// Any request, as a program sends it.
    pub(crate) async fn raw(&self, method: Method, path: &str, kind: Option<&str>, body: String) -> Response {
        let request = self.client.request(method, format!("{}{path}", self.world.app)).header(ORIGIN, &self.world.app);
        let request = match kind {
            Some(kind) => request.header(CONTENT_TYPE, kind).body(body),
            None => request,
        };
        self.send(request).await
    }

    /// Calls a server function.
    pub(crate) async fn call(&self, name: &str, input: Value) -> (StatusCode, Value) {
        let path = format!("/api/fn/{name}");
        let answer = self.raw(Method::POST, &path, Some("application/json"), input.to_string()).await;
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    /// The open task of an object, from the inbox.
    pub(crate) async fn task(&self, object: [&str; 3]) -> Option<Value> {
        let filter = json!({ "mine": false, "done": false });
        let (status, list) = self.call("listTasks", json!({ "filter": filter })).await;
        assert_eq!(status, StatusCode::OK, "{list}");
        let rows = list["rows"].as_array().unwrap().iter();
        let mut found = rows.filter(|row| {
            [&row["customer"], &row["tenant"], &row["object_number"]].map(|part| part.as_str().unwrap()) == object
        });
        found.next().cloned()
    }

    /// Takes a task over; the answer is its detail.
    pub(crate) async fn claim(&self, task_id: &Value) -> Value {
        let request = json!({ "task_id": task_id, "operation": operation() });
        let (status, detail) = self.call("claimTask", json!({ "request": request })).await;
        assert_eq!(status, StatusCode::OK, "{detail}");
        detail
    }
}

/// A fresh operation id.
pub(crate) fn operation() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// What a page would send to decide on what it shows.
pub(crate) fn decision(detail: &Value, decision: &str, comment: Option<&str>) -> Value {
    let fields = detail["fields"].as_array().unwrap().iter();
    let shown: serde_json::Map<String, Value> =
        fields.map(|field| (field["name"].as_str().unwrap().to_owned(), field["value"].clone())).collect();
    json!({
        "task_id": detail["row"]["task_id"],
        "operation": operation(),
        "decision": decision,
        "revision": detail["row"]["revision"],
        "visit": detail["visit"],
        "claim_id": detail["claim_id"],
        "shown": shown,
        "changes": {},
        "comment": comment,
    })
}
