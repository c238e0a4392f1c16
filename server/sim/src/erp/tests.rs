//! The simulator by itself, over HTTP.
#![expect(clippy::unwrap_used, reason = "a test that can't set up its simulator has failed")]

use std::path::Path;

use axum::extract::State as AxumState;
use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::*;

type Triggers = Arc<std::sync::Mutex<Vec<(String, Value)>>>;

async fn listen(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

/// An app that takes every trigger.
async fn app() -> (String, Triggers) {
    async fn take(
        AxumState(seen): AxumState<Triggers>,
        headers: HeaderMap,
        axum::Json(body): axum::Json<Value>,
    ) -> axum::Json<Value> {
        seen.lock().unwrap().push((headers["authorization"].to_str().unwrap().to_owned(), body));
        axum::Json(json!({ "status": "started" }))
    }
    let seen: Triggers = Arc::default();
    let router = Router::new().route("/api/workflow/trigger", axum::routing::post(take)).with_state(Arc::clone(&seen));
    (listen(router).await, seen)
}

fn tenants(app: &str) -> Vec<SimTenant> {
    vec![SimTenant {
        customer: "c".into(),
        tenant: "t".into(),
        erp_token: "token".into(),
        trigger: TriggerSettings {
            url: format!("{app}/api/workflow/trigger"),
            issuer: "erp-c".into(),
            audience: "connectworkflow".into(),
            secret: b"0123456789abcdef0123456789abcdef".to_vec(),
        },
        objects: (1..=5)
            .map(|i| {
                SimObject::new(
                    format!("ER-{i}"),
                    [
                        ("fldGesamtBrutto", SimValue::Text(format!("{i}00.00"))),
                        (TRIGGER_GUID_FIELD, SimValue::text("guid-1")),
                    ],
                )
            })
            .collect(),
    }]
}

async fn start(dir: &Path, app: &str) -> String {
    listen(ErpSim::open(dir.to_owned(), tenants(app)).unwrap().router()).await
}

struct Client {
    http: reqwest::Client,
    base: String,
}

impl Client {
    fn new(base: String) -> Self {
        Self { http: reqwest::Client::builder().no_proxy().build().unwrap(), base }
    }

    async fn graphql(&self, query: &str) -> Value {
        let request = self.http.post(format!("{}/c/t/graphql", self.base)).bearer_auth("token");
        request.json(&json!({ "query": query })).send().await.unwrap().json().await.unwrap()
    }

    async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let response = self.http.post(format!("{}{path}", self.base)).json(body).send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    async fn get(&self, path: &str) -> Value {
        self.http.get(format!("{}{path}", self.base)).send().await.unwrap().json().await.unwrap()
    }
}

async fn fresh() -> (tempfile::TempDir, Client) {
    let dir = tempfile::tempdir().unwrap();
    let base = start(dir.path(), "http://127.0.0.1:1").await;
    (dir, Client::new(base))
}

const READ: &str = r#"{ tblTransactions { rowRead(exactMatch: {byBelegNr: {kf1BelegNr: {string: "ER-1"}}})
    { fldBelegNr fldGesamtBrutto(as: FLOAT) text: fldGesamtBrutto(as: TEXT) fldModifyLSN acoGPreis { totalGrossAmount } } } }"#;

fn write(lsn: &str, inside: &str) -> String {
    format!(
        r#"mutation {{ tblTransactions {{ rowModify(kf1BelegNr: {{string: "ER-1"}}, modifyLSN: "{lsn}") {{ {inside} }} }} }}"#
    )
}

#[tokio::test]
async fn rows_are_read_in_the_forms_asked_for() {
    let (_dir, client) = fresh().await;
    let answer = client.graphql(READ).await;
    let row = &answer["data"]["tblTransactions"]["rowRead"];
    assert_eq!((&row["fldBelegNr"], &row["fldGesamtBrutto"]), (&json!("ER-1"), &json!(100.0)));
    assert_eq!(row["text"], "100,00 EUR");
    assert!(row["fldModifyLSN"].as_str().unwrap().parse::<u64>().unwrap() > 1 << 53);
    let none = client.graphql(r#"{ tblTransactions { rowRead(kf1BelegNr: {string: "no"}) { fldBelegNr } } }"#).await;
    assert_eq!(none, json!({ "data": { "tblTransactions": { "rowRead": null } } }));
    let unknown = client.graphql(r#"{ tblTransactions { rowRead(kf1BelegNr: {string: "ER-1"}) { fldWeg } } }"#).await;
    assert!(unknown["errors"][0]["message"].as_str().unwrap().starts_with("Unknown field \"fldWeg\" on type"));
}

#[tokio::test]
async fn lists_come_in_pages_that_hide_nothing() {
    let (_dir, client) = fresh().await;
    let page = |after: &str| {
        format!(
            r#"{{ tblTransactions {{ conRead(first: 2 {after} fastFilter: {{gt: [{{field: fldGesamtBrutto}}, {{value: 150}}]}})
               {{ edges {{ node {{ fldBelegNr }} }} pageInfo {{ hasNextPage endCursor edgeCount }} }} }} }}"#
        )
    };
    let (mut numbers, mut after) = (Vec::new(), String::new());
    for _ in 0..3 {
        let answer = client.graphql(&page(&after)).await;
        let page = answer["data"]["tblTransactions"]["conRead"].clone();
        for edge in page["edges"].as_array().unwrap() {
            numbers.push(edge["node"]["fldBelegNr"].as_str().unwrap().to_owned());
        }
        if page["pageInfo"]["hasNextPage"] == json!(false) {
            break;
        }
        after = format!("after: {}", page["pageInfo"]["endCursor"]);
    }
    assert_eq!(numbers, ["ER-2", "ER-3", "ER-4", "ER-5"]);
}

#[tokio::test]
async fn writes_are_fenced_and_fail_in_silence() {
    let (_dir, client) = fresh().await;
    let lsn =
        client.graphql(READ).await["data"]["tblTransactions"]["rowRead"]["fldModifyLSN"].as_str().unwrap().to_owned();
    let inside = r#"fldKostenstelle(set: {string: "2000"}) fldInExtBeaKz(set: {boolean: true}) fldGesamtNetto(set: {float: 84.03})
        rowSave { fldBelegNr fldKostenstelle fldInExtBeaKz fldGesamtNetto(as: STRING) fldModifyLSN }"#;
    let silent_no = json!({ "data": { "tblTransactions": { "rowModify": null } } });
    client.post("/sim/lock/c/t/ER-1?on=true", &json!({})).await;
    assert_eq!(client.graphql(&write(&lsn, inside)).await, silent_no);
    client.post("/sim/lock/c/t/ER-1?on=false", &json!({})).await;
    let saved = client.graphql(&write(&lsn, inside)).await["data"]["tblTransactions"]["rowModify"]["rowSave"].clone();
    assert_eq!((&saved["fldKostenstelle"], &saved["fldInExtBeaKz"]), (&json!("2000"), &json!(true)));
    assert_eq!(saved["fldGesamtNetto"], "84.03");
    assert_ne!(saved["fldModifyLSN"], json!(lsn));
    assert_eq!(client.graphql(&write(&lsn, inside)).await, silent_no);

    let now = saved["fldModifyLSN"].as_str().unwrap();
    let unsaved = client.graphql(&write(now, r#"fldKostenstelle(set: {string: "9"})"#)).await;
    assert_eq!(unsaved["data"]["tblTransactions"]["rowModify"]["fldKostenstelle"], "9");
    for wrong in [
        r#"rowSave { fldBelegNr } fldKostenstelle(set: {string: "9"})"#,
        r#"fldDat(set: {string: "24.12.2026"}) rowSave { fldBelegNr }"#,
        r#"fldKostenstelle(set: {string: "9", int: 9}) rowSave { fldBelegNr }"#,
    ] {
        assert!(client.graphql(&write(now, wrong)).await["errors"].is_array(), "{wrong}");
    }
    assert_eq!(client.get("/sim/objects/c/t/ER-1").await["fields"]["fldKostenstelle"], "2000");
}

#[tokio::test]
async fn the_button_sets_the_state_and_sends_a_signed_trigger() {
    let dir = tempfile::tempdir().unwrap();
    let (app, seen) = app().await;
    let client = Client::new(start(dir.path(), &app).await);
    let (status, answer) = client.post("/sim/trigger/c/t/ER-1", &json!({})).await;
    assert_eq!((status, &answer), (200, &json!({ "status": 200, "body": { "status": "started" } })));
    let object = client.get("/sim/objects/c/t/ER-1").await;
    assert_eq!((&object["state"], &object["external"]), (&json!("MT Freigabe gestartet"), &json!(true)));
    let (bearer, body) = seen.lock().unwrap().pop().unwrap();
    assert_eq!(body, json!({ "customerID": "c", "tenantID": "t", "triggerGUID": "guid-1", "objectNumber": "ER-1" }));
    let key = jsonwebtoken::DecodingKey::from_secret(b"0123456789abcdef0123456789abcdef").unwrap();
    let mut rules = jsonwebtoken::Validation::new(jsonwebtoken::Algorithm::HS256);
    rules.set_audience(&["connectworkflow"]);
    rules.set_issuer(&["erp-c"]);
    let token = bearer.strip_prefix("Bearer ").unwrap();
    let claims = jsonwebtoken::decode::<Value>(token, &key, &rules).unwrap().claims;
    assert_eq!((&claims["customerID"], &claims["tenantID"]), (&json!("c"), &json!("t")));
    assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 300);
    client.post("/sim/trigger/c/t/ER-2?guid=other", &json!({})).await;
    assert_eq!(seen.lock().unwrap()[0].1["triggerGUID"], "other");
    assert_eq!(client.post("/sim/trigger/c/t/ER-9", &json!({})).await.0, 404);
}

#[tokio::test]
async fn a_lost_trigger_leaves_its_mark_and_state_survives() {
    let (dir, client) = fresh().await;
    assert_eq!(client.post("/sim/trigger/c/t/ER-1", &json!({})).await.0, 502);
    let (status, set) =
        client.post("/sim/objects/c/t/ER-2/set", &json!({ "fldKostenstelle": "4000", "fldGesamtNetto": 12.5 })).await;
    assert_eq!((status, &set["fields"]["fldGesamtNetto"]), (200, &json!("12.50")));
    assert_eq!(client.post("/sim/objects/c/t/ER-2/set", &json!({ "fldWeg": "x" })).await.0, 422);
    let again = Client::new(start(dir.path(), "http://127.0.0.1:1").await);
    assert_eq!(again.get("/sim/objects/c/t/ER-1").await["state"], "MT Freigabe gestartet");
    assert_eq!(again.get("/sim/objects/c/t/ER-2").await, set);
    assert_eq!(again.get("/sim/objects/c/t").await.as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn doors_are_shut() {
    let (dir, client) = fresh().await;
    let ask = |token: &'static str| {
        let request = client.http.post(format!("{}/c/t/graphql", client.base)).bearer_auth(token);
        async move { request.json(&json!({ "query": "{ __typename }" })).send().await.unwrap().status().as_u16() }
    };
    assert_eq!(ask("wrong").await, 401);
    client.post("/sim/down/c/t?on=true", &json!({})).await;
    assert_eq!(ask("token").await, 503);
    client.post("/sim/down/c/t?on=false", &json!({})).await;
    assert_eq!(ask("token").await, 200);
    let foreign =
        client.http.post(format!("{}/sim/down/c/t?on=true", client.base)).header("sec-fetch-site", "cross-site");
    assert_eq!(foreign.send().await.unwrap().status().as_u16(), 403);
    std::fs::write(dir.path().join("erp.json"), "{}").unwrap();
    let opened = ErpSim::open(dir.path().to_owned(), tenants("http://127.0.0.1:1"));
    assert!(matches!(opened, Err(SimError::StateFile { .. })));
}
