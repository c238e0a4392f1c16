//! The S3 store against an S3 server that isn't ours, so that we don't grade ourselves.
//!
//! `cargo xtask test` starts one and says where it is; so can a person with a real bucket's server:
//! `CONNECTWORKFLOW_TEST_S3_ENDPOINT`, `…_REGION`, `…_ACCESS_KEY_ID`, `…_SECRET_ACCESS_KEY`, `…_PATH_STYLE`, `…_CHECKSUM`.
//! Without an endpoint the tests say that they were skipped; with `CONNECTWORKFLOW_TEST_S3_REQUIRED` they fail instead.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that can't start must fail loudly; a skip is said"
)]

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use adapters::s3::{S3Checksum, S3Credentials, S3Settings, S3SettingsError, S3Store, S3Timeouts};
use bytes::Bytes;
use ports::contract_suite::run_store_suite;
use ports::{BucketName, Condition, Key, PutError, Store, StoreError, self_test};

const PREFIX: &str = "CONNECTWORKFLOW_TEST_S3_";

fn variable(name: &str) -> Option<String> {
    std::env::var(format!("{PREFIX}{name}")).ok().filter(|value| !value.is_empty())
}

/// The server of this run, or None where there is none and none is demanded.
fn settings() -> Option<S3Settings> {
    let Some(endpoint) = variable("ENDPOINT") else {
        assert!(variable("REQUIRED").is_none(), "{PREFIX}REQUIRED is set, {PREFIX}ENDPOINT is not");
        eprintln!("SKIPPED: {PREFIX}ENDPOINT names no S3 server; `cargo xtask test` starts one");
        return None;
    };
    Some(S3Settings {
        endpoint: Some(endpoint),
        region: variable("REGION").unwrap_or_else(|| "us-east-1".to_owned()),
        path_style: variable("PATH_STYLE").is_none_or(|value| value == "true"),
        checksum: match variable("CHECKSUM").as_deref() {
            Some("when_required") => S3Checksum::WhenRequired,
            _ => S3Checksum::WhenSupported,
        },
        credentials: S3Credentials::Static {
            access_key_id: variable("ACCESS_KEY_ID").unwrap_or_else(|| "test".to_owned()),
            secret_access_key: variable("SECRET_ACCESS_KEY").unwrap_or_else(|| "test".to_owned()),
            session_token: None,
        },
        // A busy machine answers late; what is late is `Unknown`, which the suite takes for a fault.
        timeouts: S3Timeouts {
            connect: Duration::from_secs(30),
            attempt: Duration::from_secs(60),
            operation: Duration::from_secs(120),
        },
    })
}

fn nanos() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()
}

fn fresh_bucket(label: &str) -> BucketName {
    BucketName::configured(&format!("independent-{label}-{:x}", nanos())).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_independent_server_passes_the_contract_suite() {
    let Some(settings) = settings() else { return };
    run_store_suite(Arc::new(S3Store::connect(settings).unwrap())).await;
}

#[tokio::test]
async fn an_independent_server_passes_the_self_test() {
    let Some(settings) = settings() else { return };
    let store = S3Store::connect(settings).unwrap();
    let bucket = fresh_bucket("probe");
    store.create_bucket(&bucket).await.unwrap();
    self_test(&store, &bucket, &format!("{:x}", nanos())).await.unwrap();
    let left = store.list(&bucket, "", None, 10).await.unwrap();
    assert_eq!(left.keys, [], "the self-test leaves no key behind");
}

#[tokio::test]
async fn nobody_there_is_unknown_for_writes_and_unavailable_for_reads() {
    // A port that was free a moment ago; nobody listens on it.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let store = S3Store::connect(local(&address.to_string(), Duration::from_secs(5))).unwrap();
    let (bucket, key) = (BucketName::configured("nobody-there").unwrap(), Key::new("a").unwrap());
    let put = store.put(&bucket, &key, Bytes::from_static(b"x"), Condition::IfAbsent).await;
    assert!(matches!(put, Err(PutError::Unknown { .. })), "{put:?}");
    let get = store.get(&bucket, &key).await;
    assert!(matches!(get, Err(StoreError::Unavailable { .. })), "{get:?}");
}

#[tokio::test]
async fn an_answer_that_never_comes_is_unknown_and_asked_for_once() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let connections = tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok(Ok((stream, _))) = tokio::time::timeout(Duration::from_secs(3), listener.accept()).await {
            open.push(stream);
        }
        open.len()
    });
    let store = S3Store::connect(local(&address.to_string(), Duration::from_secs(1))).unwrap();
    let (bucket, key) = (BucketName::configured("never-answers").unwrap(), Key::new("a").unwrap());
    let put = store.put(&bucket, &key, Bytes::from_static(b"x"), Condition::IfAbsent).await;
    assert!(matches!(put, Err(PutError::Unknown { .. })), "{put:?}");
    assert_eq!(connections.await.unwrap(), 1, "a write is sent once");
}

#[test]
fn settings_are_checked_before_anything_is_sent() {
    let refused =
        S3Store::connect(S3Settings { region: String::new(), ..local("127.0.0.1:1", Duration::from_secs(1)) });
    assert!(matches!(refused, Err(S3SettingsError::Region { .. })));
}

fn local(address: &str, timeout: Duration) -> S3Settings {
    S3Settings {
        endpoint: Some(format!("http://{address}")),
        region: "us-east-1".to_owned(),
        path_style: true,
        checksum: S3Checksum::WhenSupported,
        credentials: S3Credentials::Static {
            access_key_id: "test".to_owned(),
            secret_access_key: "test".to_owned(),
            session_token: None,
        },
        timeouts: S3Timeouts { connect: timeout, attempt: timeout, operation: timeout },
    }
}
