//! The adapter against answers that no well-behaved server gives. What a well-behaved one does is tested against the
//! simulator, from the server crate.
#![expect(clippy::unwrap_used, reason = "a test that can't set up its server has failed")]

use ports::vocab::FieldValue;
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use ports::ErpSet;
use serde_json::json;

use super::*;

type Seen = Arc<Mutex<Vec<(HeaderMap, String)>>>;

/// Serves `answers` one after the other (the last one for ever) and remembers the requests.
async fn serve(answers: Vec<fn() -> Response>) -> (Microtech, Seen) {
    let seen: Seen = Arc::default();
    let log = Arc::clone(&seen);
    let handler = move |headers: HeaderMap, body: Bytes| {
        let mut log = log.lock().unwrap();
        let answer = answers[log.len().min(answers.len() - 1)];
        log.push((headers, String::from_utf8(body.to_vec()).unwrap()));
        async move { answer() }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/graphql", listener.local_addr().unwrap());
    let app = axum::Router::new().fallback(handler);
    tokio::spawn(async move { axum::serve(listener, app).await });
    let mut settings = ErpSettings::new(url, Secret::new("geheim-4711"));
    settings.timeout_s = 1;
    (Microtech::new(BTreeMap::from([(TenantKey::new("c", "t"), settings)])).unwrap(), seen)
}

fn target() -> ErpTarget {
    ErpTarget {
        tenant: TenantKey::new("c", "t"),
        table: "tblTransactions".into(),
        key: "fldBelegNr".into(),
        number: "ER-1".into(),
    }
}

fn start() -> ErpMutation {
    ErpMutation { target: target(), lsn: "17".into(), set: ErpSet::Start, idempotency_key: "i:1:0".into() }
}

fn data(row: &Value) -> Response {
    axum::Json(json!({ "data": { "tblTransactions": row } })).into_response()
}

fn row() -> Response {
    data(&json!({ "rowRead": { "fldBelegNr": "ER-1", "fldModifyLSN": 9_007_199_254_740_993_u64,
        "fldSel30312": "", "fldInExtBeaKz": null, "fldGesamtBrutto": 1190.0 } }))
}

async fn read(answers: Vec<fn() -> Response>, fields: &[(&str, FieldType)]) -> Result<ErpObject, ErpError> {
    let (microtech, _) = serve(answers).await;
    microtech.read(&target(), &fields.iter().map(|(name, kind)| (FieldName::from(*name), *kind)).collect()).await
}

async fn write(answers: Vec<fn() -> Response>) -> Result<ErpWritten, ErpError> {
    serve(answers).await.0.write(&start()).await
}

#[tokio::test]
async fn a_field_left_out_in_silence_is_missing() {
    let object = read(vec![row], &[("fldGesamtBrutto", FieldType::Money), ("fldWeg", FieldType::Text)]).await.unwrap();
    assert_eq!(object.missing, [FieldName::from("fldWeg")]);
    assert_eq!(object.values[&FieldName::from("fldGesamtBrutto")], FieldValue::Text("1190.00".into()));
    assert_eq!((object.lsn.as_str(), object.state, object.external), ("9007199254740993", ErpState::None, false));
}

#[tokio::test]
async fn what_is_down_is_transient_and_what_is_wrong_is_not() {
    let transient: [fn() -> Response; 4] = [
        || StatusCode::BAD_GATEWAY.into_response(),
        || (StatusCode::OK, "<html>Wartung</html>").into_response(),
        || axum::Json(json!({ "errors": [{ "message": "Der Datensatz ist gesperrt durch MEIER" }] })).into_response(),
        || StatusCode::TOO_MANY_REQUESTS.into_response(),
    ];
    for answer in transient {
        assert!(read(vec![answer], &[]).await.unwrap_err().is_transient());
        assert!(write(vec![answer]).await.unwrap_err().is_transient());
    }
    let permanent: [fn() -> Response; 4] = [
        || (StatusCode::UNAUTHORIZED, axum::Json(json!({ "data": null }))).into_response(),
        || (StatusCode::FOUND, [("location", "http://127.0.0.1:1/")]).into_response(),
        || {
            axum::Json(json!({ "errors": [{ "message": "Unknown argument \"set\" on field \"fldX\"." }] }))
                .into_response()
        },
        || (StatusCode::OK, vec![b' '; 5 * 1024 * 1024]).into_response(),
    ];
    for answer in permanent {
        assert!(matches!(read(vec![answer], &[]).await, Err(ErpError::Refused { .. })));
        assert!(matches!(write(vec![answer]).await, Err(ErpError::Refused { .. })));
    }
}

#[tokio::test]
async fn a_silent_failure_never_passes_for_a_write() {
    let silent: [fn() -> Response; 6] = [
        || axum::Json(json!({ "data": null })).into_response(),
        || data(&json!({ "rowModify": null })),
        || data(&json!({ "rowModify": { "rowSave": null } })),
        || data(&json!({ "rowModify": { "rowSave": { "fldBelegNr": "" } } })),
        || {
            data(
                &json!({ "rowModify": { "rowSave": { "fldBelegNr": "ER-2", "fldSel30312": "in Freigabe", "fldInExtBeaKz": true } } }),
            )
        },
        || {
            data(
                &json!({ "rowModify": { "rowSave": { "fldBelegNr": "ER-1", "fldSel30312": "in Freigabe", "fldInExtBeaKz": false } } }),
            )
        },
    ];
    for answer in silent {
        let error = write(vec![answer]).await.unwrap_err();
        let ErpError::NotConfirmed { evidence, .. } = &error else { panic!("{error:?}") };
        assert!(evidence.mutation.contains("in Freigabe") && !format!("{evidence:?}").contains("geheim"));
    }
    let good: fn() -> Response = || {
        data(
            &json!({ "rowModify": { "rowSave": { "fldBelegNr": "ER-1", "fldSel30312": "in Freigabe", "fldInExtBeaKz": 1 } } }),
        )
    };
    write(vec![good]).await.unwrap();
}

#[tokio::test]
async fn corrections_are_bounded_and_spare_what_is_needed() {
    let unknown: fn() -> Response = || {
        let message = "Cannot query field \"fldWeg\" on type \"Transaction\". Did you mean \"fldSel30312\"?";
        (StatusCode::BAD_REQUEST, axum::Json(json!({ "errors": [{ "message": message }] }))).into_response()
    };
    let object = read(vec![unknown, row], &[("fldWeg", FieldType::Text)]).await.unwrap();
    assert_eq!(object.missing, [FieldName::from("fldWeg")]);
    // Complaining on about a field that is no longer asked for is no reason to go on dropping.
    assert!(matches!(read(vec![unknown], &[("fldWeg", FieldType::Text)]).await, Err(ErpError::Refused { .. })));
    let no_state: fn() -> Response = || {
        axum::Json(json!({ "errors": [{ "message": "Unknown field \"fldSel30312\" on type \"Transaction\"." }] }))
            .into_response()
    };
    assert!(
        matches!(read(vec![no_state], &[]).await, Err(ErpError::UnknownFields { fields }) if fields == [FieldName::from("fldSel30312")])
    );
}

#[tokio::test]
async fn nothing_but_names_and_literals_enters_a_query() {
    let (microtech, seen) = serve(vec![row]).await;
    let bad = vec![(FieldName::from("fldA } x {"), FieldType::Text)];
    assert!(matches!(microtech.read(&target(), &bad).await, Err(ErpError::UnknownFields { .. })));
    let table = ErpTarget { table: "tbl { x".into(), ..target() };
    assert!(matches!(microtech.read(&table, &vec![]).await, Err(ErpError::Refused { .. })));
    assert!(seen.lock().unwrap().is_empty());
    let number = ErpTarget { number: "ER\"-1".into(), ..target() };
    assert!(matches!(microtech.read(&number, &vec![]).await, Err(ErpError::NoObject { .. })));
    let (headers, body) = seen.lock().unwrap().pop().unwrap();
    assert_eq!(headers["authorization"], "Bearer geheim-4711");
    assert!(serde_json::from_str::<Value>(&body).unwrap()["query"].as_str().unwrap().contains(r#"{string: "ER\"-1"}"#));
}

#[tokio::test]
async fn settings_that_cannot_work_are_refused_and_secrets_stay_hidden() {
    let new = |change: &dyn Fn(&mut ErpSettings)| {
        let mut settings = ErpSettings::new("https://erp.example/graphql", Secret::new("geheim"));
        change(&mut settings);
        assert!(!format!("{settings:?}").contains("geheim"));
        Microtech::new(BTreeMap::from([(TenantKey::new("c", "t"), settings)])).map(|_| ())
    };
    new(&|_| {}).unwrap();
    assert!(matches!(new(&|s| s.url = "ftp://x/".into()), Err(SettingsError::Url { .. })));
    assert!(matches!(new(&|s| s.url = "https://u:p@x/".into()), Err(SettingsError::Url { .. })));
    assert!(matches!(new(&|s| s.timeout_s = 0), Err(SettingsError::Timeout { .. })));
    assert!(matches!(new(&|s| s.state_field = "fld X".into()), Err(SettingsError::Name { .. })));
    assert!(matches!(new(&|s| s.token = Secret::new(" ")), Err(SettingsError::Token { .. })));
    let none = Microtech::new(BTreeMap::new()).unwrap();
    assert!(matches!(none.read(&target(), &vec![]).await, Err(ErpError::NotConfigured { .. })));
}

#[tokio::test]
async fn an_erp_that_hangs_or_is_not_there_is_unavailable() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/graphql", listener.local_addr().unwrap());
    let mut settings = ErpSettings::new(url, Secret::new("t"));
    settings.timeout_s = 1;
    let microtech = Microtech::new(BTreeMap::from([(TenantKey::new("c", "t"), settings)])).unwrap();
    // The listener never accepts: no answer in time.
    assert!(
        matches!(microtech.write(&start()).await, Err(ErpError::Unavailable { reason, .. }) if reason.contains("in time"))
    );
    drop(listener);
    assert!(matches!(microtech.read(&target(), &vec![]).await, Err(ErpError::Unavailable { .. })));
}
