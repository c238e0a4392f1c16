//! Sessions over a store in memory and a clock that is turned by hand.

#![expect(clippy::unwrap_used, reason = "a test that can't set up must fail loudly")]

use std::sync::atomic::AtomicI64;

use vocab::UserId;

use super::*;

#[path = "../../../tests/support/mem_store.rs"]
mod mem_store;
use mem_store::MemStore;

struct Turned(AtomicI64);

impl Clock for Turned {
    fn now(&self) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + self.0.load(Ordering::SeqCst), 0).unwrap()
    }
}

struct Bench {
    store: Arc<MemStore>,
    clock: Arc<Turned>,
}

impl Bench {
    fn new() -> Self {
        Self { store: Arc::default(), clock: Arc::new(Turned(AtomicI64::new(0))) }
    }

    /// One node; a second call is another node, or the same one after a restart.
    fn node(&self) -> Sessions {
        Sessions::new(self.store.clone(), BucketName::configured("system").unwrap(), self.clock.clone())
    }

    fn at(&self, seconds: i64) {
        self.clock.0.store(seconds, Ordering::SeqCst);
    }
}

async fn sign_in(sessions: &Sessions) -> String {
    let person = Person { id: UserId::new("u-1"), name: "Erika Einkauf".to_owned() };
    sessions.create(person, vec!["/muster/einkauf".to_owned()], Some(Secret::new("id-token"))).await.unwrap()
}

#[tokio::test]
async fn a_session_survives_a_restart_and_its_token_is_stored_nowhere() {
    let bench = Bench::new();
    let token = sign_in(&bench.node()).await;
    let session = bench.node().find(&token).await.unwrap().unwrap();
    assert_eq!(session.person.name, "Erika Einkauf");
    assert_eq!(session.idp_groups, ["/muster/einkauf"]);
    assert!(session.id_token.as_ref().unwrap().is("id-token"));
    assert!(!bench.store.dump().contains(&token));
    assert_eq!(token.len(), TOKEN_CHARS);
}

#[tokio::test]
async fn foreign_tokens_are_nobody() {
    let bench = Bench::new();
    let sessions = bench.node();
    assert_eq!(sessions.find(&"a".repeat(TOKEN_CHARS)).await.unwrap(), None, "before there is a bucket");
    let token = sign_in(&sessions).await;
    for other in ["", "x", &"a".repeat(TOKEN_CHARS), &format!("{token}a"), "../../../etc/passwd", &"ä".repeat(43)] {
        assert_eq!(sessions.find(other).await.unwrap(), None, "{other}");
    }
}

#[tokio::test]
async fn it_ends_after_twelve_hours_of_work() {
    let bench = Bench::new();
    let sessions = bench.node();
    let token = sign_in(&sessions).await;
    for hour in 1..12 {
        bench.at(hour * 3_600);
        assert!(sessions.find(&token).await.unwrap().is_some(), "hour {hour}");
    }
    bench.at(12 * 3_600 - 1);
    assert!(sessions.find(&token).await.unwrap().is_some());
    bench.at(12 * 3_600);
    assert_eq!(sessions.find(&token).await.unwrap(), None);
    assert_eq!(bench.store.dump(), "", "and is gone from the store");
}

#[tokio::test]
async fn it_ends_after_eight_hours_of_silence() {
    let bench = Bench::new();
    let sessions = bench.node();
    let token = sign_in(&sessions).await;
    bench.at(8 * 3_600 - 1);
    assert!(sessions.find(&token).await.unwrap().is_some());
    let other = sign_in(&sessions).await;
    bench.at(16 * 3_600 - 1);
    assert_eq!(sessions.find(&other).await.unwrap(), None);
}

#[tokio::test]
async fn a_logout_counts_on_every_node_and_a_late_touch_does_not_undo_it() {
    let bench = Bench::new();
    let (here, there) = (bench.node(), bench.node());
    let token = sign_in(&here).await;
    assert!(there.find(&token).await.unwrap().is_some());
    here.end(&token).await.unwrap();
    assert_eq!(here.find(&token).await.unwrap(), None);
    bench.at(COPY_S);
    assert_eq!(there.find(&token).await.unwrap(), None, "the copy is believed for a minute only");

    let token = sign_in(&here).await;
    bench.at(COPY_S + SEEN_EVERY_S - 1);
    assert!(there.find(&token).await.unwrap().is_some());
    here.end(&token).await.unwrap();
    bench.at(COPY_S + SEEN_EVERY_S);
    assert_eq!(there.find(&token).await.unwrap(), None, "its touch finds nothing to touch");
    assert_eq!(bench.store.dump(), "");
}

#[tokio::test]
async fn a_store_that_is_down_is_not_a_signed_out_person() {
    let bench = Bench::new();
    let sessions = bench.node();
    let token = sign_in(&sessions).await;
    bench.store.set_down(true);
    assert!(sessions.find(&token).await.unwrap().is_some(), "from memory");
    bench.at(COPY_S);
    assert!(matches!(sessions.find(&token).await, Err(AuthError::Store(_))));
    bench.store.set_down(false);
    assert!(sessions.find(&token).await.unwrap().is_some());
}

#[tokio::test]
async fn the_sweep_takes_lapsed_sessions_only() {
    let bench = Bench::new();
    let sessions = bench.node();
    assert_eq!(sessions.sweep().await.unwrap(), 0, "before there is a bucket");
    sign_in(&sessions).await;
    bench.at(7 * 3_600);
    let token = sign_in(&sessions).await;
    bench.at(9 * 3_600);
    assert_eq!(sessions.sweep().await.unwrap(), 1);
    assert!(bench.node().find(&token).await.unwrap().is_some());
}
