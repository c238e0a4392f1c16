//! The simulated ERP with a record of every write that it took, and the identity provider.

use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use serde_json::Value;
use sim::erp::{
    EXTERNAL_FIELD, ErpSim, STATE_FIELD, STATE_STARTED, SimObject, SimTenant, SimValue, TRIGGER_GUID_FIELD,
    TriggerSettings,
};
use sim::idp::{IdpSettings, IdpSim, demo_users};
use tokio::net::TcpListener;

pub(crate) const CUSTOMER: &str = "muster";
pub(crate) const TENANT: &str = "m1";
pub(crate) const ERP_TOKEN: &str = "erp-geheim";
pub(crate) const TRIGGER_SECRET: &str = "0123456789abcdef0123456789abcdef";
pub(crate) const OIDC_SECRET: &str = "oidc-geheim";
pub(crate) const GUID: &str = "7b0f6f0e-3a55-4a1c-9d52-5a7e2b1c0d11";
/// Bytes of a GraphQL request or answer.
const BODY_BYTES_MAX: usize = 1024 * 1024;

/// A write that the ERP took.
#[derive(Debug, Clone)]
pub(crate) struct Saved {
    /// Of which object.
    pub(crate) number: String,
    /// Idempotency key it came with.
    pub(crate) key: String,
    /// The mutation, without the row version it expects.
    pub(crate) mutation: String,
    /// The row version it made: the order of all saves.
    pub(crate) lsn: u64,
}

pub(crate) struct Outside {
    pub(crate) erp: String,
    pub(crate) idp: String,
    /// Address of the server under test.
    pub(crate) app: String,
    pub(crate) trigger: TriggerSettings,
    saved: Arc<Mutex<Vec<Saved>>>,
    http: reqwest::Client,
}

impl Outside {
    /// Starts both over a folder, with objects that ask for a start.
    pub(crate) async fn start(folder: &Path, app: &str, numbers: &[String]) -> Self {
        let (erp, idp) =
            (TcpListener::bind("127.0.0.1:0").await.unwrap(), TcpListener::bind("127.0.0.1:0").await.unwrap());
        let address = |listener: &TcpListener| format!("http://{}", listener.local_addr().unwrap());
        let trigger = TriggerSettings {
            url: format!("{app}/api/workflow/trigger"),
            issuer: "erp-muster".to_owned(),
            audience: "connectworkflow".to_owned(),
            secret: TRIGGER_SECRET.as_bytes().to_vec(),
        };
        let saved = Arc::new(Mutex::new(Vec::new()));
        let outside = Self {
            erp: address(&erp),
            idp: address(&idp),
            app: app.to_owned(),
            trigger: trigger.clone(),
            saved: Arc::clone(&saved),
            http: reqwest::Client::builder().no_proxy().build().unwrap(),
        };
        let tenant = SimTenant {
            customer: CUSTOMER.to_owned(),
            tenant: TENANT.to_owned(),
            erp_token: ERP_TOKEN.to_owned(),
            trigger,
            objects: numbers.iter().map(|number| object(number)).collect(),
        };
        let sim = ErpSim::open(folder.join("erp"), vec![tenant]).unwrap();
        serve(erp, sim.router().layer(from_fn_with_state(saved, record)));
        let settings = IdpSettings {
            issuer: outside.idp.clone(),
            client_id: "connectworkflow".to_owned(),
            client_secret: OIDC_SECRET.to_owned(),
            redirect_uris: vec![format!("{app}/auth/callback")],
            post_logout_uris: vec![format!("{app}/anmeldung")],
            data_dir: folder.join("idp"),
        };
        serve(idp, IdpSim::new(settings, demo_users()).unwrap().router());
        outside
    }

    /// Every write that the ERP took, in its order.
    pub(crate) fn saved(&self) -> Vec<Saved> {
        let mut saved = self.saved.lock().unwrap().clone();
        saved.sort_by_key(|one| one.lsn);
        saved
    }

    /// The ERP's objects as its page shows them.
    pub(crate) async fn objects(&self) -> Vec<Value> {
        let url = format!("{}/sim/objects/{CUSTOMER}/{TENANT}", self.erp);
        self.http.get(url).send().await.unwrap().json().await.unwrap()
    }
}

fn object(number: &str) -> SimObject {
    let fields = [
        ("fldBelegart", SimValue::text("ER")),
        ("fldLieferant", SimValue::text("Nordwerk GmbH")),
        ("fldGesamtBrutto", SimValue::text("595.00")),
        ("fldVerwendung", SimValue::text("ungeprüft")),
        (STATE_FIELD, SimValue::text(STATE_STARTED)),
        (EXTERNAL_FIELD, SimValue::Bool(true)),
        (TRIGGER_GUID_FIELD, SimValue::text(GUID)),
    ];
    SimObject::new(number, fields)
}

fn serve(listener: TcpListener, router: Router) {
    tokio::spawn(async move { axum::serve(listener, router).await });
}

/// Notes the writes that were saved. In a task of its own: when the server is killed in the middle, its connection's work
/// here is dropped, and what the ERP took would go unnoted.
async fn record(State(saved): State<Arc<Mutex<Vec<Saved>>>>, request: Request, next: Next) -> Response {
    tokio::spawn(serve_and_note(saved, request, next)).await.unwrap()
}

async fn serve_and_note(saved: Arc<Mutex<Vec<Saved>>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, BODY_BYTES_MAX).await.unwrap();
    let query: Value = serde_json::from_slice(&body).unwrap_or_default();
    let key = parts.headers.get("idempotency-key").map(|key| key.to_str().unwrap().to_owned());
    let response = next.run(Request::from_parts(parts, Body::from(body))).await;
    let Some(mutation) = query["query"].as_str().filter(|text| text.contains("rowSave")) else { return response };
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, BODY_BYTES_MAX).await.unwrap();
    let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
    let row = &answer["data"]["tblTransactions"]["rowModify"];
    if row.is_object() {
        let row = &row["rowSave"];
        let lsn = &row["fldModifyLSN"];
        let lsn = lsn.as_str().map_or_else(|| lsn.as_u64().unwrap(), |text| text.parse().unwrap());
        let (before, after) = mutation.split_once("modifyLSN: ").unwrap();
        let (_, after) = after.split_once(')').unwrap();
        saved.lock().unwrap().push(Saved {
            number: row["fldBelegNr"].as_str().unwrap().to_owned(),
            key: key.expect("every write has an idempotency key"),
            mutation: format!("{before}{after}"),
            lsn,
        });
    }
    Response::from_parts(parts, Body::from(body))
}
