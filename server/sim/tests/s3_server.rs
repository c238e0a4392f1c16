//! The simulated S3 server answers as S3 does, and fails as it was told to. The client signs by hand and retries nothing,
//! so that nobody's SDK hides what the server says.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/signed.rs"]
mod signed;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use ports::{BucketName, Clock, Key, Store};
use reqwest::Method;
use signed::{Answer, Client};
use sim::s3::{S3Credentials, S3Faults, S3Server, S3ServerError};
use sim::store::{Fault, FaultRates, MemoryStore, Op, When};

/// A clock that stands.
struct Standing;

impl Clock for Standing {
    fn now(&self) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH
    }
}

struct Setup {
    store: Arc<MemoryStore>,
    server: S3Server,
    client: Client,
}

impl Setup {
    async fn new() -> Self {
        let store = Arc::new(MemoryStore::new(Arc::new(Standing)));
        let credentials = S3Credentials { access_key: "TESTKEY".to_owned(), secret_key: "test-secret".to_owned() };
        let address = "127.0.0.1:0".parse().unwrap();
        let server = S3Server::start(store.clone(), address, &credentials, S3Faults::none()).await.unwrap();
        let client = Client {
            endpoint: server.endpoint(),
            access_key: credentials.access_key,
            secret_key: credentials.secret_key,
            http: reqwest::Client::builder().retry(reqwest::retry::never()).no_proxy().build().unwrap(),
        };
        let setup = Self { store, server, client };
        assert_eq!(setup.call(Method::PUT, "/bucket", "", &[], "").await.status, 200);
        setup
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        query: &str,
        headers: &[(&str, &str)],
        body: &'static str,
    ) -> Answer {
        self.client.send(method, path, query, headers, body).await.unwrap()
    }

    async fn put(&self, key: &str, headers: &[(&str, &str)], body: &'static str) -> Answer {
        self.call(Method::PUT, &format!("/bucket/{key}"), "", headers, body).await
    }

    async fn get(&self, path: &str, query: &str) -> Answer {
        self.call(Method::GET, path, query, &[], "").await
    }

    /// What is really there.
    async fn stored(&self, key: &str) -> Option<String> {
        let bucket = BucketName::configured("bucket").unwrap();
        let stored = self.store.get(&bucket, &Key::new(key).unwrap()).await.unwrap()?;
        Some(String::from_utf8(stored.bytes.to_vec()).unwrap())
    }
}

#[tokio::test]
async fn conditions_are_answered_with_s3s_codes() {
    let setup = Setup::new().await;
    let created = setup.put("a/b.json", &[("if-none-match", "*")], "one").await;
    let etag = created.header("etag").to_owned();
    assert_eq!(created.status, 200);
    assert!(etag.starts_with('"') && etag.ends_with('"'), "tags are quoted: {etag}");
    let lost = setup.put("a/b.json", &[("if-none-match", "*")], "two").await;
    assert_eq!((lost.status.as_u16(), lost.element("Code")), (412, "PreconditionFailed"));
    let lost = setup.put("a/b.json", &[("if-match", "\"0000\"")], "two").await;
    assert_eq!((lost.status.as_u16(), lost.element("Code")), (412, "PreconditionFailed"));
    let missing = setup.put("none", &[("if-match", etag.as_str())], "two").await;
    assert_eq!((missing.status.as_u16(), missing.element("Code")), (404, "NoSuchKey"), "If-Match on nothing");
    assert_eq!(setup.put("a/b.json", &[("if-match", etag.as_str())], "two").await.status, 200);
    assert_eq!(setup.stored("a/b.json").await.as_deref(), Some("two"));
    let odd = setup.put("a/b.json", &[("if-none-match", etag.as_str())], "three").await;
    assert_eq!((odd.status.as_u16(), odd.element("Code")), (501, "NotImplemented"));
}

#[tokio::test]
async fn reads_have_ranges_and_say_what_is_missing() {
    let setup = Setup::new().await;
    setup.put("a", &[], "0123456789").await;
    for (range, expected, place) in
        [("bytes=3-5", "345", "bytes 3-5/10"), ("bytes=8-99", "89", "bytes 8-9/10"), ("bytes=-2", "89", "bytes 8-9/10")]
    {
        let part = setup.call(Method::GET, "/bucket/a", "", &[("range", range)], "").await;
        assert_eq!((part.status.as_u16(), part.body.as_str(), part.header("content-range")), (206, expected, place));
    }
    let outside = setup.call(Method::GET, "/bucket/a", "", &[("range", "bytes=10-11")], "").await;
    assert_eq!((outside.status.as_u16(), outside.element("Code")), (416, "InvalidRange"));
    assert_eq!(outside.header("content-range"), "bytes */10");
    let head = setup.call(Method::HEAD, "/bucket/a", "", &[], "").await;
    assert_eq!((head.status.as_u16(), head.header("content-length")), (200, "10"));
    assert_eq!(setup.call(Method::HEAD, "/bucket/b", "", &[], "").await.status, 404);
    assert_eq!(setup.get("/bucket/b", "").await.element("Code"), "NoSuchKey");
    let nowhere = setup.get("/nowhere/b", "").await;
    assert_eq!((nowhere.status.as_u16(), nowhere.element("Code")), (404, "NoSuchBucket"));
    let nowhere = setup.call(Method::PUT, "/nowhere/b", "", &[], "x").await;
    assert_eq!((nowhere.status.as_u16(), nowhere.element("Code")), (404, "NoSuchBucket"));
    let again = setup.call(Method::PUT, "/bucket", "", &[], "").await;
    assert_eq!((again.status.as_u16(), again.element("Code")), (409, "BucketAlreadyOwnedByYou"));
    for _ in 0..2 {
        assert_eq!(setup.call(Method::DELETE, "/bucket/a", "", &[], "").await.status, 204);
    }
    assert_eq!(setup.stored("a").await, None);
}

#[tokio::test]
async fn listings_come_in_pages() {
    let setup = Setup::new().await;
    for key in ["a/1", "a/2", "a/3", "b/1", "a/%C3%BC"] {
        assert_eq!(setup.put(key, &[], "x").await.status, 200);
    }
    let first = setup.get("/bucket", "list-type=2&max-keys=2&prefix=a%2F").await;
    assert_eq!((first.elements("Key"), first.element("IsTruncated")), (vec!["a/1", "a/2"], "true"));
    let token = first.element("NextContinuationToken");
    let rest = setup.get("/bucket", &format!("continuation-token={token}&list-type=2&prefix=a%2F")).await;
    assert_eq!((rest.elements("Key"), rest.element("IsTruncated")), (vec!["a/3", "a/ü"], "false"));
    let after = setup.get("/bucket", "encoding-type=url&list-type=2&start-after=a%2F3").await;
    assert_eq!(after.elements("Key"), ["a/%C3%BC", "b/1"]);
    let folders = setup.get("/bucket", "delimiter=%2F&list-type=2").await;
    assert_eq!(folders.status, 501, "what it doesn't know it says");
}

#[tokio::test]
async fn versions_show_once_they_are_switched_on() {
    let setup = Setup::new().await;
    setup.put("a", &[], "one").await;
    let plain = setup.get("/bucket", "prefix=a&versions=").await;
    assert_eq!(plain.elements("VersionId"), ["null"]);
    assert_eq!(setup.get("/bucket", "versioning=").await.element("Status"), "");
    let on = r#"<VersioningConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Status>Enabled</Status></VersioningConfiguration>"#;
    assert_eq!(setup.call(Method::PUT, "/bucket", "versioning=", &[], on).await.status, 200);
    assert_eq!(setup.get("/bucket", "versioning=").await.element("Status"), "Enabled");

    setup.put("a", &[], "two").await;
    let both = setup.get("/bucket", "prefix=a&versions=").await;
    let ids = both.elements("VersionId");
    assert_eq!((ids.len(), both.elements("IsLatest")), (2, vec!["true", "false"]), "{}", both.body);
    let old = setup.get("/bucket/a", &format!("versionId={}", ids[1])).await;
    assert_eq!((old.status.as_u16(), old.body.as_str()), (200, "one"));
    assert_eq!(setup.get("/bucket/a", "versionId=none").await.element("Code"), "NoSuchVersion");
    let page = setup.get("/bucket", "max-keys=1&prefix=a&versions=").await;
    assert_eq!((page.element("IsTruncated"), page.element("NextKeyMarker")), ("true", "a"));
    let marker = page.element("NextVersionIdMarker");
    let next = setup.get("/bucket", &format!("key-marker=a&prefix=a&version-id-marker={marker}&versions=")).await;
    assert_eq!(next.elements("VersionId"), [ids[1]]);

    setup.call(Method::DELETE, "/bucket/a", "", &[], "").await;
    let deleted = setup.get("/bucket", "prefix=a&versions=").await;
    assert!(deleted.body.contains("<DeleteMarker>"), "{}", deleted.body);
    assert_eq!(deleted.elements("VersionId").len(), 3);
}

#[tokio::test]
async fn only_the_right_key_gets_in() {
    let mut setup = Setup::new().await;
    setup.client.secret_key = "wrong".to_owned();
    let refused = setup.put("a", &[], "x").await;
    assert_eq!((refused.status.as_u16(), refused.element("Code")), (403, "SignatureDoesNotMatch"));
    setup.client.access_key = "NOBODY".to_owned();
    assert_eq!(setup.put("a", &[], "x").await.element("Code"), "InvalidAccessKeyId");
    assert_eq!(
        setup.client.http.get(format!("{}/bucket/a", setup.client.endpoint)).send().await.unwrap().status(),
        403
    );
    assert_eq!(setup.stored("a").await, None);
}

#[tokio::test]
async fn it_refuses_to_listen_to_other_machines() {
    let store = Arc::new(MemoryStore::new(Arc::new(Standing)));
    let credentials = S3Credentials { access_key: "a".to_owned(), secret_key: "b".to_owned() };
    let started = S3Server::start(store, "0.0.0.0:0".parse().unwrap(), &credentials, S3Faults::none()).await;
    assert!(matches!(started, Err(S3ServerError::NotLoopback { .. })));
}

#[tokio::test]
async fn each_fault_is_what_its_name_says() {
    let setup = Setup::new().await;
    let faults = setup.server.faults();
    let put = |key: &'static str| setup.client.send(Method::PUT, key, "", &[("if-none-match", "*")], "new");

    faults.on(When::put("conflict"), Fault::Conflict);
    let answer = put("/bucket/conflict").await.unwrap();
    assert_eq!((answer.status.as_u16(), answer.element("Code")), (409, "ConditionalRequestConflict"));
    assert_eq!(setup.stored("conflict").await, None);

    faults.on(When::put("after"), Fault::ConflictAfter);
    assert_eq!(put("/bucket/after").await.unwrap().status, 409);
    assert_eq!(setup.stored("after").await.as_deref(), Some("new"));

    faults.on(When::put("busy"), Fault::Busy);
    let answer = put("/bucket/busy").await.unwrap();
    assert_eq!((answer.status.as_u16(), answer.element("Code")), (503, "SlowDown"));
    assert_eq!(setup.stored("busy").await, None);

    faults.on(When::put("before"), Fault::Before);
    put("/bucket/before").await.unwrap_err();
    assert_eq!(setup.stored("before").await, None);

    faults.on(When::put("lost"), Fault::AnswerLost);
    put("/bucket/lost").await.unwrap_err();
    assert_eq!(setup.stored("lost").await.as_deref(), Some("new"));

    faults.on(When::op(Op::List, "a/*"), Fault::Busy);
    assert_eq!(setup.get("/bucket", "list-type=2&prefix=a%2Fb").await.status, 503);
    assert!(faults.unmet().is_empty(), "every fault happened");
    assert_eq!(faults.fired().len(), 6);
}

#[tokio::test]
async fn a_hanging_request_happened_or_not_by_its_place() {
    let setup = Setup::new().await;
    for (fault, expected) in [(Fault::HangBefore, None), (Fault::HangAfter, Some("new"))] {
        setup.server.faults().on(When::put("a"), fault);
        tokio::select! {
            answer = setup.client.send(Method::PUT, "/bucket/a", "", &[], "new") => panic!("it must hang: {answer:?}"),
            () = setup.server.faults().hung() => {}
        }
        assert_eq!(setup.stored("a").await.as_deref(), expected, "{fault:?}");
    }
}

#[tokio::test]
async fn a_late_write_lands_with_a_later_request() {
    let setup = Setup::new().await;
    setup.server.faults().on(When::put("a"), Fault::Late { calls: 1 });
    setup.client.send(Method::PUT, "/bucket/a", "", &[], "late").await.unwrap_err();
    assert_eq!(setup.stored("a").await, None);
    setup.get("/bucket/other", "").await;
    while setup.stored("a").await.is_none() {
        tokio::task::yield_now().await;
    }
    assert_eq!(setup.stored("a").await.as_deref(), Some("late"));
}

#[tokio::test]
async fn rates_can_be_switched_off() {
    let setup = Setup::new().await;
    setup.server.faults().set_rates(FaultRates { busy: 1_000, ..FaultRates::NONE });
    assert_eq!(setup.put("a", &[], "x").await.status, 503);
    setup.server.faults().heal();
    assert_eq!(setup.put("a", &[], "x").await.status, 200);
}
