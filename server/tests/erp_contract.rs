//! The ERP adapter against the simulated ERP, over HTTP: two implementations that share no code and must agree.
#![cfg(feature = "demo")]
#![expect(clippy::unwrap_used, reason = "a test that can't set up its ERP has failed")]

use std::collections::BTreeMap;
use std::path::Path;

use adapters::microtech::{ErpSettings, Microtech, Secret};
use ports::vocab::{FieldName, FieldType, FieldValue, TenantKey};
use ports::workflow::instance::ErpOutcome;
use ports::{ErpError, ErpMutation, ErpObject, ErpRead, ErpSet, ErpState, ErpTarget, ErpWrite, ErpWritten};
use serde_json::{Value, json};
use sim::demo::{TENANTS, objects};
use sim::erp::{ErpSim, SimObject, SimTenant, SimValue, TriggerSettings};

const ODD_NUMBER: &str = "ER \"7\\/ü {}\n) }";

struct Erp {
    base: String,
    microtech: Microtech,
    http: reqwest::Client,
    server: tokio::task::JoinHandle<()>,
}

/// The demo's first tenant in a simulator of its own, and the adapter in front of it.
async fn erp(dir: &Path, token: &str) -> Erp {
    let mut own = objects(&TENANTS[0]);
    own.push(SimObject::new(ODD_NUMBER, [("fldVerwendung", SimValue::text("odd"))]));
    let tenant = SimTenant {
        customer: "muster".into(),
        tenant: "m1".into(),
        erp_token: "right".into(),
        trigger: TriggerSettings {
            url: "http://127.0.0.1:1/api/workflow/trigger".into(),
            issuer: "erp".into(),
            audience: "connectworkflow".into(),
            secret: vec![7; 32],
        },
        objects: own,
    };
    let router = ErpSim::open(dir.to_owned(), vec![tenant]).unwrap().router();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let microtech = adapter(&base, token);
    Erp { base, microtech, http: reqwest::Client::builder().no_proxy().build().unwrap(), server }
}

fn adapter(base: &str, token: &str) -> Microtech {
    let settings = ErpSettings::new(format!("{base}/muster/m1/graphql"), Secret::new(token));
    Microtech::new(BTreeMap::from([(TenantKey::new("muster", "m1"), settings)])).unwrap()
}

fn target(number: &str) -> ErpTarget {
    ErpTarget {
        tenant: TenantKey::new("muster", "m1"),
        table: "tblTransactions".into(),
        key: "fldBelegNr".into(),
        number: number.into(),
    }
}

fn fields(fields: &[(&str, FieldType)]) -> Vec<(FieldName, FieldType)> {
    fields.iter().map(|(name, kind)| (FieldName::from(*name), *kind)).collect()
}

fn text(text: &str) -> FieldValue {
    FieldValue::Text(text.into())
}

impl Erp {
    async fn read(&self, number: &str, asked: &[(&str, FieldType)]) -> Result<ErpObject, ErpError> {
        self.microtech.read(&target(number), &fields(asked)).await
    }

    async fn write(&self, number: &str, lsn: &str, set: ErpSet) -> Result<ErpWritten, ErpError> {
        let mutation = ErpMutation {
            target: target(number),
            lsn: lsn.to_owned(),
            set,
            idempotency_key: "0198-instance:3:0".into(),
        };
        self.microtech.write(&mutation).await
    }

    async fn switch(&self, path: &str) {
        assert!(self.http.post(format!("{}{path}", self.base)).send().await.unwrap().status().is_success());
    }

    async fn raw(&self, number: &str) -> Value {
        let url = format!("{}/sim/objects/muster/m1/{number}", self.base);
        self.http.get(url).send().await.unwrap().json().await.unwrap()
    }
}

#[tokio::test]
async fn values_are_read_in_machine_form() {
    let dir = tempfile::tempdir().unwrap();
    let erp = erp(dir.path(), "right").await;
    let asked = [
        ("fldBelegNr", FieldType::Text),
        ("fldGesamtBrutto", FieldType::Money),
        ("fldGesamtNetto", FieldType::Number),
        ("fldKostenstelle", FieldType::Choice),
        ("fldDat", FieldType::Date),
        ("fldInExtBeaKz", FieldType::Boolean),
        ("fldInfo", FieldType::Multiline),
    ];
    let object = erp.read("ER-1001", &asked).await.unwrap();
    let want = [
        text("ER-1001"),
        text("1190.00"),
        text("1000"),
        text("1000"),
        text("2026-11-16"),
        FieldValue::Bool(false),
        FieldValue::Null,
    ];
    for ((name, _), want) in asked.iter().zip(want) {
        assert_eq!(object.values[&FieldName::from(*name)], want, "{name}");
    }
    assert_eq!((object.state, object.external, object.missing.len()), (ErpState::None, false, 0));
    assert_eq!(object.lsn, erp.raw("ER-1001").await["lsn"]);
    let noted = erp.read("ER-1008", &[("fldKostenstelle", FieldType::Choice)]).await.unwrap();
    assert_eq!(noted.note.as_deref(), Some("Kostenstelle fehlt noch, bitte ergänzen."));
    assert_eq!(noted.values[&FieldName::from("fldKostenstelle")], FieldValue::Null);
    erp.microtech.ping(&TenantKey::new("muster", "m1")).await.unwrap();
}

#[tokio::test]
async fn unknown_fields_are_left_out_and_named() {
    let dir = tempfile::tempdir().unwrap();
    let erp = erp(dir.path(), "right").await;
    // The first one comes with an argument, which some servers then complain about as well.
    let asked = [("fldGesamtBruto", FieldType::Money), ("fldWeg", FieldType::Text), ("fldDat", FieldType::Date)];
    let object = erp.read("ER-1001", &asked).await.unwrap();
    assert_eq!(object.missing.len(), 2);
    assert_eq!(object.values.len(), 1);
    let set = ErpSet::Fields(vec![("fldWeg".into(), FieldType::Text, text("x"))]);
    let error = erp.write("ER-1001", &object.lsn, set).await.unwrap_err();
    assert_eq!(error, ErpError::UnknownFields { fields: vec!["fldWeg".into()] });
}

#[tokio::test]
async fn a_run_writes_start_fields_and_end() {
    let dir = tempfile::tempdir().unwrap();
    let erp = erp(dir.path(), "right").await;
    let first = erp.read("ER-1001", &[]).await.unwrap();
    let written = erp.write("ER-1001", &first.lsn, ErpSet::Start).await.unwrap();
    assert!(written.evidence.mutation.contains("in Freigabe") && written.evidence.answer.contains("ER-1001"));
    assert!(!format!("{written:?}").contains("right"));
    let second = erp.read("ER-1001", &[]).await.unwrap();
    assert_eq!((second.state, second.external), (ErpState::Running, true));
    assert_ne!(second.lsn, first.lsn);

    let wish = [
        ("fldKostenstelle", FieldType::Choice, text("2000")),
        ("fldVerwendung", FieldType::Multiline, text("Zeile \"1\"\nZeile 2 \\ ü € 😀")),
        ("fldGesamtNetto", FieldType::Money, text("1000.10")),
        ("fldSkontoBis", FieldType::Date, text("2026-12-24")),
        ("fldInfo", FieldType::Text, FieldValue::Null),
    ];
    let set = ErpSet::Fields(wish.iter().map(|(name, kind, value)| ((*name).into(), *kind, value.clone())).collect());
    erp.write("ER-1001", &second.lsn, set).await.unwrap();
    let asked: Vec<(&str, FieldType)> = wish.iter().map(|(name, kind, _)| (*name, *kind)).collect();
    let third = erp.read("ER-1001", &asked).await.unwrap();
    for (name, _, value) in wish {
        assert_eq!(third.values[&FieldName::from(name)], value, "{name}");
    }
    erp.write("ER-1001", &third.lsn, ErpSet::End(ErpOutcome::Released)).await.unwrap();
    let last = erp.read("ER-1001", &[]).await.unwrap();
    assert_eq!((last.state, last.external), (ErpState::Ended(ErpOutcome::Released), false));
}

#[tokio::test]
async fn a_stale_version_and_a_lock_are_not_confirmed() {
    let dir = tempfile::tempdir().unwrap();
    let erp = erp(dir.path(), "right").await;
    let first = erp.read("ER-1002", &[]).await.unwrap();
    erp.switch("/sim/lock/muster/m1/ER-1002?on=true").await;
    let locked = erp.write("ER-1002", &first.lsn, ErpSet::Start).await.unwrap_err();
    assert!(matches!(&locked, ErpError::NotConfirmed { number, .. } if number == "ER-1002") && locked.is_transient());
    erp.switch("/sim/lock/muster/m1/ER-1002?on=false").await;
    let edit = erp.http.post(format!("{}/sim/objects/muster/m1/ER-1002/set", erp.base));
    edit.json(&json!({ "fldKostenstelle": "3000" })).send().await.unwrap();
    let stale = erp.write("ER-1002", &first.lsn, ErpSet::Start).await.unwrap_err();
    assert!(matches!(stale, ErpError::NotConfirmed { .. }));
    assert_eq!(erp.raw("ER-1002").await["state"], "none");
    let fresh = erp.read("ER-1002", &[]).await.unwrap();
    erp.write("ER-1002", &fresh.lsn, ErpSet::Start).await.unwrap();
}

#[tokio::test]
async fn what_is_down_is_unavailable_and_a_wrong_token_refused() {
    let dir = tempfile::tempdir().unwrap();
    let erp = erp(dir.path(), "right").await;
    let object = erp.read("ER-1001", &[]).await.unwrap();
    erp.switch("/sim/down/muster/m1?on=true").await;
    assert!(matches!(erp.read("ER-1001", &[]).await, Err(ErpError::Unavailable { .. })));
    let write = erp.write("ER-1001", &object.lsn, ErpSet::Start).await;
    assert!(matches!(write, Err(ErpError::Unavailable { .. })));
    erp.switch("/sim/down/muster/m1?on=false").await;
    // A port that nobody listens on any more. Stopping the simulator would not do: its open connections live on.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let gone = adapter(&nobody, "right").read(&target("ER-1001"), &vec![]).await;
    assert!(matches!(gone, Err(ErpError::Unavailable { .. })));
    let stranger = self::erp(dir.path(), "wrong").await;
    assert!(matches!(stranger.read("ER-1001", &[]).await, Err(ErpError::Refused { .. })));
}

#[tokio::test]
async fn no_object_number_leaves_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let erp = erp(dir.path(), "right").await;
    let object = erp.read(ODD_NUMBER, &[("fldVerwendung", FieldType::Text)]).await.unwrap();
    assert_eq!(object.values[&FieldName::from("fldVerwendung")], text("odd"));
    erp.write(ODD_NUMBER, &object.lsn, ErpSet::Start).await.unwrap();
    for number in ["ER-1001\"}}}) { fldBelegNr } x: rowRead(kf1BelegNr: {string: \"ER-1002", "", "er-1001", "ER-9999"] {
        let read = erp.read(number, &[]).await;
        assert!(matches!(read, Err(ErpError::NoObject { .. })), "{number:?}: {read:?}");
    }
}

#[tokio::test]
async fn a_second_start_finds_the_state_of_the_first() {
    let dir = tempfile::tempdir().unwrap();
    let first = erp(dir.path(), "right").await;
    let before = first.read("ER-1001", &[]).await.unwrap();
    first.write("ER-1001", &before.lsn, ErpSet::Start).await.unwrap();
    let after = first.read("ER-1001", &[]).await.unwrap();
    first.server.abort();
    let second = erp(dir.path(), "right").await;
    assert_eq!(second.read("ER-1001", &[]).await.unwrap(), after);
    let version = |lsn: &str| lsn.parse::<u64>().unwrap();
    second.write("ER-1001", &after.lsn, ErpSet::End(ErpOutcome::Rejected)).await.unwrap();
    assert!(version(&second.read("ER-1001", &[]).await.unwrap().lsn) > version(&after.lsn));
}
