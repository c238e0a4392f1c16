//! `kill -9` with the real process: 200 runs under load over HTTP, killed again and again; then everything is counted
//! (DESIGN §4, issue "State that survives anything").
//!
//! The ERP, the identity provider and the people live in the test and survive. What counts at the end is the store and what
//! the ERP noted: one run per object, every acknowledged trigger and decision exactly once, every effect once in effect.
//! `KILL_NINE_SEED` replays the moments of the kills.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test may panic and says what it met"
)]
#![cfg(feature = "demo")]

#[path = "support/kill/mod.rs"]
mod kill;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use adapters::local::LocalStore;
use adapters::s3::{S3Checksum, S3Credentials, S3Settings, S3Store, S3Timeouts};
use adapters::system::SystemClock;
use engine::InstanceRef;
use ports::{BucketName, Key, Store};
use serde_json::Value;
use server::{Server, Settings};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use vocab::{Decision, InstanceStatus, TenantKey};
use workflow::Instance;
use workflow::log::LogKind;

use kill::Dice;
use kill::outside::{CUSTOMER, Outside, TENANT};
use kill::person::{Acknowledged, CUT_OFF, Person, trigger};
use kill::process::Process;

/// Runs.
const RUNS: usize = 200;
/// Kills under load.
const KILLS: usize = 10;
/// Runs worked on at the same time.
const WORKERS: usize = 12;
/// Every so many objects their trigger comes twice at once.
const TWICE_EVERY: usize = 3;
/// Every so many runs the first person rejects.
const REJECT_EVERY: usize = 5;
/// Times the store is looked at before something that should have been tidied up counts as left over.
const SETTLE_TRIES_MAX: usize = 15;

const BLUEPRINT: &str = r##"
schema: 1
id: pruefung
name: Prüfung
objectType: Eingangsrechnung
trigger: { guid: 7b0f6f0e-3a55-4a1c-9d52-5a7e2b1c0d11, pollName: Pruefung }
object: { table: tblTransactions, key: fldBelegNr }
fields:
  fldBelegNr: { label: Belegnummer }
  fldGesamtBrutto: { label: Betrag brutto, type: money, currency: EUR }
  fldVerwendung: { label: Verwendung, type: multiline }
summary: [fldBelegNr]
steps:
  - id: sachlich
    type: user
    title: Sachliche Prüfung
    assign: { groups: [einkauf] }
    fields:
      - { name: fldBelegNr, visible: true }
      - { name: fldVerwendung, visible: true, editable: true }
    approve: { next: grenze }
    reject: { next: abgelehnt }
  - id: grenze
    type: condition
    cases:
      - { when: "#object.fldGesamtBrutto > 10000", next: abgelehnt }
    else: kaufmaennisch
  - id: kaufmaennisch
    type: user
    title: Kaufmännische Freigabe
    assign: { groups: [buchhaltung], notBy: [sachlich] }
    fields:
      - { name: fldBelegNr, visible: true }
      - { name: fldVerwendung, visible: true }
    approve: { next: freigegeben }
    reject: { next: abgelehnt }
  - { id: freigegeben, type: end, status: APPROVED }
  - { id: abgelehnt, type: end, status: REJECTED }
"##;

/// Which store the server runs on: its section of the configuration, and how the test looks into it while the server is
/// down.
struct Kind {
    section: String,
    open: Box<dyn Fn() -> Arc<dyn Store>>,
}

/// What the test was told while the server lived.
#[derive(Default)]
struct Told {
    /// Object → the run that its trigger's answer named.
    runs: BTreeMap<String, String>,
    decisions: Vec<Acknowledged>,
}

fn rejects(at: usize) -> bool {
    at.is_multiple_of(REJECT_EVERY)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_acknowledged_is_lost_or_doubled_on_the_embedded_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let section = format!("[store]\nkind = \"local\"\npath = \"{}\"\n", path.display());
    let open = move || -> Arc<dyn Store> { Arc::new(LocalStore::open(&path, Arc::new(SystemClock)).unwrap()) };
    kill_and_count(folder.path(), Kind { section, open: Box::new(open) }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_acknowledged_is_lost_or_doubled_on_s3() {
    const ENDPOINT: &str = "CONNECTWORKFLOW_TEST_S3_ENDPOINT";
    let Ok(endpoint) = std::env::var(ENDPOINT) else {
        use std::io::Write as _;
        assert!(std::env::var_os("CONNECTWORKFLOW_TEST_S3_REQUIRED").is_none(), "{ENDPOINT} is not set");
        // Not by `eprintln!`, which a passing test swallows.
        writeln!(std::io::stderr(), "skipped: kill -9 on S3; {ENDPOINT} names the server").unwrap();
        return;
    };
    let access_key_id = std::env::var("CONNECTWORKFLOW_TEST_S3_ACCESS_KEY_ID").unwrap();
    let secret_access_key = std::env::var("CONNECTWORKFLOW_TEST_S3_SECRET_ACCESS_KEY").unwrap();
    let section = format!(
        "[store]\nkind = \"s3\"\nendpoint = \"{endpoint}\"\naccess_key_id = \"{access_key_id}\"\nsecret_access_key = \
         \"{secret_access_key}\"\n"
    );
    let credentials = S3Credentials::Static { access_key_id, secret_access_key, session_token: None };
    let settings = S3Settings {
        endpoint: Some(endpoint),
        region: "us-east-1".to_owned(),
        path_style: true,
        checksum: S3Checksum::WhenSupported,
        credentials,
        timeouts: S3Timeouts::default(),
    };
    let open = move || -> Arc<dyn Store> { Arc::new(S3Store::connect(settings.clone()).unwrap()) };
    let folder = tempfile::tempdir().unwrap();
    kill_and_count(folder.path(), Kind { section, open: Box::new(open) }).await;
}

async fn kill_and_count(folder: &Path, kind: Kind) {
    let seed = std::env::var("KILL_NINE_SEED").map_or(20_261_201, |seed| seed.parse().unwrap());
    println!("replay with KILL_NINE_SEED={seed}");
    let numbers: Vec<String> = (0..RUNS).map(|at| format!("ER-{at:04}")).collect();
    let app = format!("http://{}", TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap());
    let outside = Outside::start(folder, &app, &numbers).await;
    let mut process = Process::new(folder, &outside, &kind.section);
    {
        let server = Server::build(Settings::load(Some(process.config())).unwrap()).await.unwrap();
        server.engine().publish(&TenantKey::new(CUSTOMER, TENANT), BLUEPRINT, "test", None).await.unwrap();
    }
    process.start().await;
    let people = [
        Person::sign_in(&app, &outside.idp, "einkauf").await,
        Person::sign_in(&app, &outside.idp, "buchhaltung").await,
    ];

    let (gate, allowed) = watch::channel(0);
    let work = tokio::spawn(work(numbers.clone(), outside.trigger.clone(), people, allowed));
    let mut dice = Dice::new(seed);
    for kill in 1..=KILLS {
        gate.send_replace(RUNS * kill / KILLS);
        tokio::time::sleep(Duration::from_millis(700 + dice.below(1_300))).await;
        process.kill().await;
        process.start().await;
    }
    let told = match work.await {
        Ok(told) => told,
        Err(error) => panic!("{error}; the server said:\n{}", process.log()),
    };
    println!("{KILLS} kills, {} requests cut off", CUT_OFF.load(Ordering::SeqCst));
    assert!(CUT_OFF.load(Ordering::SeqCst) > 0, "the kills hit a server at work");

    wait_for_the_erp(&outside).await;
    late_copies(&outside, &numbers).await;
    let store = settled_store(&mut process, &kind).await;
    count(store.as_ref(), &told, &numbers).await;
    count_in_the_erp(&outside, &numbers).await;
}

/// Works through all objects, as far as the gate is open: trigger, then both people.
async fn work(
    numbers: Vec<String>,
    settings: sim::erp::TriggerSettings,
    people: [Person; 2],
    allowed: watch::Receiver<usize>,
) -> Told {
    let (next, numbers) = (Arc::new(AtomicUsize::new(0)), Arc::new(numbers));
    let mut workers = JoinSet::new();
    for _ in 0..WORKERS {
        let (next, numbers, settings) = (Arc::clone(&next), Arc::clone(&numbers), settings.clone());
        let (people, mut allowed) = (people.clone(), allowed.clone());
        workers.spawn(async move {
            let mut told = Told::default();
            loop {
                let at = next.fetch_add(1, Ordering::SeqCst);
                let Some(number) = numbers.get(at) else { return told };
                allowed.wait_for(|open| at < *open).await.unwrap();
                told.runs.insert(number.clone(), start(&settings, number, at.is_multiple_of(TWICE_EVERY)).await);
                let [buyer, bookkeeper] = &people;
                if rejects(at) {
                    told.decisions.push(buyer.decide(number, Decision::Reject, None).await);
                } else {
                    let change = format!("geprüft {number}");
                    told.decisions.push(buyer.decide(number, Decision::Approve, Some(&change)).await);
                    told.decisions.push(bookkeeper.decide(number, Decision::Approve, None).await);
                }
            }
        });
    }
    let mut all = Told::default();
    while let Some(told) = workers.join_next().await {
        let told = told.unwrap();
        all.runs.extend(told.runs);
        all.decisions.extend(told.decisions);
    }
    all
}

/// Triggers a run, twice at once if asked; the run that was named.
async fn start(settings: &sim::erp::TriggerSettings, number: &str, twice: bool) -> String {
    if !twice {
        return trigger(settings, number).await.expect("the object asks for a start");
    }
    let (one, other) = tokio::join!(trigger(settings, number), trigger(settings, number));
    assert_eq!(one, other, "two copies of the trigger of {number} name one run");
    one.expect("the object asks for a start")
}

/// Until the ERP shows an end for every object.
async fn wait_for_the_erp(outside: &Outside) {
    let all = async {
        loop {
            let objects = outside.objects().await;
            if objects.iter().all(|object| object["external"] == Value::Bool(false)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), all).await.expect("every run ends in the ERP");
}

/// Copies of triggers that were delayed until after the end start nothing.
async fn late_copies(outside: &Outside, numbers: &[String]) {
    for number in numbers.iter().step_by(7) {
        assert_eq!(
            trigger(&outside.trigger, number).await,
            None,
            "a late copy of the trigger of {number} starts nothing"
        );
    }
}

/// The store without a server, once nothing is unfinished in it. A run whose end the ERP knows may still have to be tidied
/// up: the server gets its time for that, between looks.
async fn settled_store(process: &mut Process, kind: &Kind) -> Arc<dyn Store> {
    for _ in 0..SETTLE_TRIES_MAX {
        process.kill().await;
        let store = (kind.open)();
        let active = keys(store.as_ref(), "workflow/active/").await;
        if active.is_empty() {
            return store;
        }
        println!("{} runs are not tidied up yet", active.len());
        drop(store);
        process.start().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    panic!("runs stay unfinished; the server said:\n{}", process.log());
}

fn bucket() -> BucketName {
    BucketName::of_tenant(&TenantKey::new(CUSTOMER, TENANT), "kill").unwrap()
}

async fn keys(store: &dyn Store, prefix: &str) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    loop {
        let page = store.list(&bucket(), prefix, keys.last(), 1_000).await.unwrap();
        keys.extend(page.keys);
        if !page.more {
            return keys;
        }
    }
}

async fn documents(store: &dyn Store, prefix: &str) -> Vec<Value> {
    let mut documents = Vec::new();
    for key in keys(store, prefix).await {
        let stored = store.get(&bucket(), &key).await.unwrap().unwrap();
        documents.push(serde_json::from_slice(&stored.bytes).unwrap());
    }
    documents
}

/// Counts what the store holds.
async fn count(store: &dyn Store, told: &Told, numbers: &[String]) {
    let instances: Vec<Instance> =
        documents(store, "workflow/docs/").await.into_iter().map(|doc| serde_json::from_value(doc).unwrap()).collect();
    let mut by_number: BTreeMap<&str, &Instance> = BTreeMap::new();
    for instance in &instances {
        let number = instance.start.object_number.as_str();
        assert!(by_number.insert(number, instance).is_none(), "{number} has more than one run");
    }
    let expected: BTreeSet<&str> = numbers.iter().map(String::as_str).collect();
    assert_eq!(by_number.keys().copied().collect::<BTreeSet<_>>(), expected, "every object has its run");

    for (at, number) in numbers.iter().enumerate() {
        let instance = by_number[number.as_str()];
        let named = InstanceRef::decode(&told.runs[number]).unwrap();
        assert_eq!(named.instance_id, instance.start.instance_id, "{number}: the acknowledged trigger's run");
        let status = if rejects(at) { InstanceStatus::Rejected } else { InstanceStatus::Approved };
        assert_eq!(instance.status, status, "{number}");
        assert!(instance.effects.is_empty(), "{number}: effects are left: {:?}", instance.effects);
        instance.check_invariants().unwrap_or_else(|error| panic!("{number}: {error}"));
        workflow::log::verify(&instance.history).unwrap_or_else(|error| panic!("{number}: {error}"));
        check_log(number, instance, told);
    }

    // A lock whose run exists is a pointer to it, whatever its state says (DESIGN §4 rule 2): a kill between the two writes
    // leaves the word behind, and whoever asks next goes by the rule.
    let locks = documents(store, "workflow/locks/").await;
    assert_eq!(locks.len(), RUNS, "one lock for each object");
    for lock in &locks {
        let number = lock["start"]["objectNumber"].as_str().unwrap();
        let run = by_number[number].start.instance_id.as_str();
        assert_eq!(lock["start"]["instanceId"], run, "the lock of {number} stands for its run");
    }
    let unreleased = locks.iter().filter(|lock| lock["phase"] != "pointer").count();
    println!("{unreleased} locks are pointers only because their run exists");
    let mut done: Vec<String> = documents(store, "workflow/done/")
        .await
        .iter()
        .map(|done| done["objectNumber"].as_str().unwrap().to_owned())
        .collect();
    done.sort();
    assert_eq!(done, numbers, "every run has one summary");
}

/// Every acknowledged decision is in the log once, and nothing happened twice.
fn check_log(number: &str, instance: &Instance, told: &Told) {
    let decided: Vec<(String, Decision)> = instance
        .history
        .iter()
        .filter_map(|entry| match &entry.kind {
            LogKind::Decided { decision, .. } => {
                Some((entry.actor.as_ref().unwrap().id.as_str().to_owned(), *decision))
            }
            _ => None,
        })
        .collect();
    let acknowledged: Vec<(String, Decision)> = told
        .decisions
        .iter()
        .filter(|one| one.number == number)
        .map(|one| (format!("demo-{}", one.user), one.decision))
        .collect();
    assert_eq!(decided, acknowledged, "{number}: decisions in the log and acknowledged ones");
    let count = |wanted: fn(&LogKind) -> bool| instance.history.iter().filter(|entry| wanted(&entry.kind)).count();
    assert_eq!(count(|kind| matches!(kind, LogKind::Started { .. })), 1, "{number}: starts");
    assert_eq!(count(|kind| matches!(kind, LogKind::Ended { .. })), 1, "{number}: ends");
    assert_eq!(count(|kind| matches!(kind, LogKind::Stopped { .. })), 0, "{number}: stops");
    assert_eq!(count(|kind| matches!(kind, LogKind::Claimed { .. })), decided.len(), "{number}: claims");
    let mut confirmed: Vec<String> = instance
        .history
        .iter()
        .filter_map(|entry| match &entry.kind {
            LogKind::ErpWritten { effect, .. } => Some(format!("{effect:?}")),
            _ => None,
        })
        .collect();
    let all = confirmed.len();
    confirmed.sort();
    confirmed.dedup();
    assert_eq!(confirmed.len(), all, "{number}: an effect was confirmed twice");
}

/// What the ERP shows and what it took: every effect once in effect, none after its successor.
async fn count_in_the_erp(outside: &Outside, numbers: &[String]) {
    let objects = outside.objects().await;
    assert_eq!(objects.len(), RUNS);
    for object in &objects {
        let number = object["number"].as_str().unwrap();
        let at = numbers.iter().position(|known| known == number).unwrap();
        let (state, text) = if rejects(at) {
            ("abgelehnt", "ungeprüft".to_owned())
        } else {
            ("freigegeben", format!("geprüft {number}"))
        };
        assert_eq!(object["state"], state, "{number}");
        assert_eq!(object["external"], false, "{number}");
        assert_eq!(object["fields"]["fldVerwendung"], text, "{number}");
    }
    let mut by_number: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    let saved = outside.saved();
    let writes = saved.len();
    for one in saved {
        by_number.entry(one.number).or_default().push((one.key, one.mutation));
    }
    let mut effects = 0;
    for (at, number) in numbers.iter().enumerate() {
        let mut order = by_number.remove(number).unwrap_or_default();
        // A repeat after a lost answer writes the same again, which changes nothing.
        order.dedup();
        let keys: BTreeSet<&String> = order.iter().map(|(key, _)| key).collect();
        assert_eq!(
            keys.len(),
            order.len(),
            "{number}: an effect came back after its successor, or changed: {order:#?}"
        );
        let expected = if rejects(at) { 2 } else { 3 };
        assert_eq!(order.len(), expected, "{number}: start, changed fields, end: {order:#?}");
        effects += order.len();
    }
    assert!(by_number.is_empty(), "writes to objects that have no run: {by_number:?}");
    println!("{effects} effects, {} of them sent again after a kill", writes - effects);
}
