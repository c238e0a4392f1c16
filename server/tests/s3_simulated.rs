//! The S3 adapter against the simulated S3 server: the port's contract, each injected fault, and no retry of a write
//! (DESIGN §4 "Commit protocol").
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;
use std::time::Duration;

use adapters::s3::{S3Checksum, S3Credentials, S3Settings, S3Store, S3Timeouts};
use adapters::system::SystemClock;
use bytes::Bytes;
use ports::{BucketName, Condition, Key, PutError, Store, StoreError};
use sim::s3::{S3Faults, S3Server};
use sim::store::{Fault, MemoryStore, Op, When};

struct Setup {
    /// What is really there.
    behind: Arc<MemoryStore>,
    server: S3Server,
    store: Arc<S3Store>,
}

fn bucket() -> BucketName {
    BucketName::configured("test-bucket").unwrap()
}

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

impl Setup {
    async fn new(checksum: S3Checksum, timeouts: S3Timeouts) -> Self {
        let behind = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let credentials =
            sim::s3::S3Credentials { access_key: "TESTKEY".to_owned(), secret_key: "test-secret".to_owned() };
        let address = "127.0.0.1:0".parse().unwrap();
        let server = S3Server::start(behind.clone(), address, &credentials, S3Faults::none()).await.unwrap();
        let settings = S3Settings {
            endpoint: Some(server.endpoint()),
            region: "us-east-1".to_owned(),
            path_style: true,
            checksum,
            credentials: S3Credentials::Static {
                access_key_id: credentials.access_key,
                secret_access_key: credentials.secret_key,
                session_token: None,
            },
            timeouts,
        };
        let store = Arc::new(S3Store::connect(settings).unwrap());
        store.create_bucket(&bucket()).await.unwrap();
        Self { behind, server, store }
    }

    async fn healthy() -> Self {
        Self::new(S3Checksum::WhenSupported, S3Timeouts::default()).await
    }

    async fn put(&self, name: &str, condition: Condition) -> Result<(), PutError> {
        self.store.put(&bucket(), &key(name), Bytes::from_static(b"new"), condition).await.map(|_| ())
    }

    async fn is_there(&self, name: &str) -> bool {
        self.behind.get(&bucket(), &key(name)).await.unwrap().is_some()
    }

    fn faults(&self) -> &Arc<S3Faults> {
        self.server.faults()
    }
}

fn is_unknown(answer: &Result<(), PutError>) -> bool {
    matches!(answer, Err(PutError::Unknown { .. }))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_adapter_keeps_the_contract_with_checksums() {
    ports::contract_suite::run_store_suite(Setup::healthy().await.store.clone()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_adapter_keeps_the_contract_without_checksums() {
    let setup = Setup::new(S3Checksum::WhenRequired, S3Timeouts::default()).await;
    ports::contract_suite::run_store_suite(setup.store.clone()).await;
}

#[tokio::test]
async fn each_fault_of_a_write_has_its_own_outcome_and_is_sent_once() {
    let setup = Setup::healthy().await;
    let cases = [
        ("before", Fault::Before, true, false),
        ("busy", Fault::Busy, true, false),
        ("lost", Fault::AnswerLost, true, true),
        ("conflict", Fault::Conflict, false, false),
        ("conflict-after", Fault::ConflictAfter, false, true),
    ];
    for (name, fault, unknown, there) in cases {
        for condition in [Condition::IfAbsent, Condition::None] {
            setup.behind.delete(&bucket(), &key(name)).await.unwrap();
            setup.faults().on(When::put(name), fault);
            let before = setup.faults().calls();
            let answer = setup.put(name, condition).await;
            assert_eq!(is_unknown(&answer), unknown, "{fault:?}: {answer:?}");
            assert_eq!(answer == Err(PutError::Conflict), !unknown, "{fault:?}: {answer:?}");
            assert_eq!(setup.is_there(name).await, there, "{fault:?}");
            assert_eq!(setup.faults().calls(), before + 1, "{fault:?}: a write is sent once");
        }
    }
    assert!(setup.faults().unmet().is_empty(), "every fault happened");
}

#[tokio::test]
async fn a_write_that_takes_too_long_is_unknown_wherever_it_hangs() {
    let wait = Duration::from_millis(300);
    let timeouts = S3Timeouts { connect: wait, attempt: wait, operation: wait };
    let setup = Setup::new(S3Checksum::WhenRequired, timeouts).await;
    for (name, fault, there) in [("a", Fault::HangBefore, false), ("b", Fault::HangAfter, true)] {
        setup.faults().on(When::put(name), fault);
        let answer = setup.put(name, Condition::IfAbsent).await;
        assert!(is_unknown(&answer), "{fault:?}: {answer:?}");
        assert_eq!(setup.is_there(name).await, there, "{fault:?}");
    }
}

#[tokio::test]
async fn a_lost_condition_is_lost_and_a_missing_bucket_is_refused() {
    let setup = Setup::healthy().await;
    setup.put("a", Condition::IfAbsent).await.unwrap();
    assert_eq!(setup.put("a", Condition::IfAbsent).await, Err(PutError::Lost));
    let etag = setup.store.head(&bucket(), &key("a")).await.unwrap().unwrap().etag;
    assert_eq!(setup.put("missing", Condition::IfMatch(etag.clone())).await, Err(PutError::Lost));
    setup.put("a", Condition::IfMatch(etag)).await.unwrap();
    let nowhere = BucketName::configured("nowhere").unwrap();
    let refused = setup.store.put(&nowhere, &key("a"), Bytes::new(), Condition::None).await;
    assert!(matches!(refused, Err(PutError::Refused { .. })), "{refused:?}");
}

#[tokio::test]
async fn reads_are_repeated_and_then_unavailable() {
    let setup = Setup::healthy().await;
    setup.put("a", Condition::None).await.unwrap();
    setup.faults().on(When::op(Op::Get, "a"), Fault::Busy);
    assert!(setup.store.get(&bucket(), &key("a")).await.unwrap().is_some(), "one 503 is bridged");
    setup.faults().set_rates(sim::store::FaultRates { busy: 1_000, ..sim::store::FaultRates::NONE });
    let answer = setup.store.get(&bucket(), &key("a")).await;
    assert!(matches!(answer, Err(StoreError::Unavailable { .. })), "{answer:?}");
}

#[tokio::test]
async fn versions_are_the_stores_and_a_delete_keeps_them() {
    let setup = Setup::healthy().await;
    for text in ["one", "two", "three"] {
        setup.store.put(&bucket(), &key("a"), text.into(), Condition::None).await.unwrap();
    }
    setup.store.put(&bucket(), &key("ab"), "other".into(), Condition::None).await.unwrap();
    let head = setup.store.head(&bucket(), &key("a")).await.unwrap().unwrap();
    let versions = setup.store.versions(&bucket(), &key("a"), 10).await.unwrap();
    assert_eq!(versions.len(), 3, "another key's versions aren't ours");
    assert_eq!((&versions[0].etag, &versions[0].version), (&head.etag, &head.version), "the newest is the current one");
    assert_eq!(setup.store.versions(&bucket(), &key("a"), 2).await.unwrap(), versions[..2]);
    setup.store.delete(&bucket(), &key("a")).await.unwrap();
    assert_eq!(setup.store.versions(&bucket(), &key("a"), 10).await.unwrap().len(), 3);
    let oldest = versions[2].version.as_deref().unwrap();
    let read = setup.store.get_version(&bucket(), &key("a"), oldest).await.unwrap().unwrap();
    assert_eq!(read.bytes, "one");
    assert_eq!(setup.store.get_version(&bucket(), &key("a"), "none").await.unwrap(), None);
}
