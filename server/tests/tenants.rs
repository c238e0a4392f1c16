//! Tenant isolation and blueprint versions on the embedded store (DESIGN §4).
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use adapters::local::LocalStore;
use adapters::system::{RandomIds, SystemClock};
use async_trait::async_trait;
use bytes::Bytes;
use engine::{EngineError, Orchestrator, Parts, TriggerError, TriggerRequest};
use ports::{
    BucketName, ErpError, ErpFields, ErpMutation, ErpObject, ErpRead, ErpTarget, ErpWrite, ErpWritten, Hint, Hints,
    Key, Store,
};
use vocab::{ObjectNumber, TenantKey, TriggerGuid, TriggerSource, WorkflowId};

const YAML: &str = include_str!("../../blueprints/gutschrift.yaml");

/// No test here gets as far as the ERP.
struct NoErp;

#[async_trait]
impl ErpRead for NoErp {
    async fn read(&self, _: &ErpTarget, _: &ErpFields) -> Result<ErpObject, ErpError> {
        panic!("the ERP was read")
    }
}

#[async_trait]
impl ErpWrite for NoErp {
    async fn write(&self, _: &ErpMutation) -> Result<ErpWritten, ErpError> {
        panic!("the ERP was written")
    }
}

impl Hints for NoErp {
    fn publish(&self, _: Hint) {}
}

fn open(folder: &Path) -> Arc<dyn Store> {
    Arc::new(LocalStore::open(folder, Arc::new(SystemClock)).unwrap())
}

fn node(store: &Arc<dyn Store>, tenants: &[TenantKey]) -> Orchestrator {
    Orchestrator::new(Parts {
        store: Arc::clone(store),
        erp_read: Arc::new(NoErp),
        erp_write: Arc::new(NoErp),
        clock: Arc::new(SystemClock),
        ids: Arc::new(RandomIds),
        hints: Arc::new(NoErp),
        env: "test".to_owned(),
        tenants: tenants.to_vec(),
    })
}

fn names_both(error: &EngineError, asked: &TenantKey, owner: &TenantKey) {
    assert!(matches!(error, EngineError::ForeignBucket { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains(&asked.to_string()) && text.contains(&owner.to_string()), "{text}");
}

#[test]
fn hostile_names_map_to_a_legal_bucket_or_are_refused() {
    let long = "x".repeat(200);
    let good = [
        ("a-b", "c", "a-b-c"),
        ("a", "b-c", "a-b-c"),
        ("Ärger", "Größe", "aerger-groesse"),
        ("MUSTER", "m1", "muster-m1"),
        ("muster ", "m1-", "muster-m1"),
        ("192.168.0.1", "10.0.0.1", "192-168-0-1-10-0-0-1"),
        ("xn--a", "b", "xn-a-b"),
    ];
    for (customer, tenant, want) in good {
        let name = BucketName::of_tenant(&TenantKey::new(customer, tenant), "test").unwrap();
        assert_eq!(name.as_str(), format!("{want}-test-mbcom-cloud"), "{customer:?} {tenant:?}");
        assert!(BucketName::configured(name.as_str()).is_ok(), "{name}");
    }
    // The last two: an umlaut as letter and combining mark, and a letter from another script that looks like `a`.
    let bad = ["", " ", "..", "---", "a/b", "a\\b", "a\0b", "a\nb", "😀", "é", "u\u{308}", "\u{430}", long.as_str()];
    for part in bad {
        assert!(BucketName::of_tenant(&TenantKey::new(part, "m1"), "test").is_err(), "customer {part:?}");
        assert!(BucketName::of_tenant(&TenantKey::new("muster", part), "test").is_err(), "tenant {part:?}");
    }
    assert!(BucketName::of_tenant(&TenantKey::new("muster", "m1"), &"e".repeat(60)).is_err());
}

#[tokio::test]
async fn a_pair_that_meets_another_in_its_bucket_is_refused_every_access() {
    let pairs =
        [(("a-b", "c"), ("a", "b-c")), (("muster", "m1"), ("MUSTER", "m1")), (("Müller", "x"), ("Mueller", "x"))];
    for ((c1, t1), (c2, t2)) in pairs {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        let (owner, other) = (TenantKey::new(c1, t1), TenantKey::new(c2, t2));
        node(&store, std::slice::from_ref(&owner)).publish(&owner, YAML, "test", None).await.unwrap();
        let node = node(&store, &[owner.clone(), other.clone()]);
        let place = Key::new("documents/1.pdf").unwrap();
        names_both(&node.publish(&other, YAML, "test", None).await.unwrap_err(), &other, &owner);
        let read = node.blueprint(&other, &WorkflowId::new("gutschrift"), 1).await;
        names_both(&read.unwrap_err(), &other, &owner);
        names_both(&node.recover_tenant(&other).await.unwrap_err(), &other, &owner);
        names_both(&node.put_receipt(&other, &place, Bytes::new()).await.unwrap_err(), &other, &owner);
        let request = TriggerRequest {
            customer_id: other.customer.clone(),
            tenant_id: other.tenant.clone(),
            trigger_guid: TriggerGuid::new("1c7d52a4-5e0c-4f7b-8f0a-2f3f0f6f9b21"),
            object_number: ObjectNumber::new("1"),
        };
        match node.trigger(request, TriggerSource::Push).await.unwrap_err() {
            TriggerError::Engine(error) => names_both(&error, &other, &owner),
            error => panic!("{error}"),
        }
        assert!(node.open_rows(&[other]).is_empty());
        // The refusals left no trace, and the owner works on.
        let bucket = BucketName::of_tenant(&owner, "test").unwrap();
        assert!(store.get(&bucket, &place).await.unwrap().is_none());
        assert_eq!(node.publish(&owner, YAML, "test", None).await.unwrap(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_pairs_that_race_for_one_bucket_exactly_one_gets_it() {
    for _ in 0..10 {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        let (one, two) = (TenantKey::new("a-b", "c"), TenantKey::new("a", "b-c"));
        let (first, second) = (node(&store, std::slice::from_ref(&one)), node(&store, std::slice::from_ref(&two)));
        let (left, right) = tokio::join!(
            tokio::spawn({
                let one = one.clone();
                async move { first.publish(&one, YAML, "test", None).await }
            }),
            tokio::spawn({
                let two = two.clone();
                async move { second.publish(&two, YAML, "test", None).await }
            }),
        );
        match (left.unwrap(), right.unwrap()) {
            (Ok(1), Err(error)) => names_both(&error, &two, &one),
            (Err(error), Ok(1)) => names_both(&error, &one, &two),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn racing_publishers_lose_no_version_silently() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let tenant = TenantKey::new("muster", "m1");
    let text = |n: usize| format!("{YAML}\n# publisher {n}\n");
    let tasks: Vec<_> = (0..16)
        .map(|n| {
            let (node, tenant, yaml) = (node(&store, std::slice::from_ref(&tenant)), tenant.clone(), text(n));
            tokio::spawn(async move { node.publish(&tenant, &yaml, "test", None).await })
        })
        .collect();
    let bucket = BucketName::of_tenant(&tenant, "test").unwrap();
    let mut versions = BTreeSet::new();
    for (n, task) in tasks.into_iter().enumerate() {
        match task.await.unwrap() {
            Ok(version) => {
                assert!(versions.insert(version), "version {version} was given twice");
                let key = Key::new(format!("workflow/blueprints/gutschrift/{version}.yaml")).unwrap();
                assert_eq!(store.get(&bucket, &key).await.unwrap().unwrap().bytes, text(n).as_bytes());
            }
            // A clear conflict that asks to try again.
            Err(error) => assert!(matches!(error, EngineError::TooBusy { .. }), "{error}"),
        }
    }
    assert!(!versions.is_empty());
    let catalog = store.get(&bucket, &Key::new("workflow/blueprints/catalog.json").unwrap()).await.unwrap().unwrap();
    let catalog: engine::Catalog = serde_json::from_slice(&catalog.bytes).unwrap();
    let newest = catalog.workflows.values().next().unwrap().version;
    assert!(versions.contains(&newest), "the catalog names {newest}, published were {versions:?}");
    assert_eq!(Some(&newest), versions.last(), "an older version stands in the catalog: {versions:?}");
}

#[tokio::test]
async fn a_trigger_guid_belongs_to_one_blueprint() {
    let folder = tempfile::tempdir().unwrap();
    let tenant = TenantKey::new("muster", "m1");
    let node = node(&open(folder.path()), std::slice::from_ref(&tenant));
    node.publish(&tenant, YAML, "test", None).await.unwrap();
    let other = YAML.replace("id: gutschrift", "id: zweite");
    let error = node.publish(&tenant, &other, "test", None).await.unwrap_err().to_string();
    assert!(error.contains("already belongs to blueprint `gutschrift`"), "{error}");
}

fn publish(folder: &Path, extra: &[&str]) -> Output {
    let file = folder.join("blueprint.yaml");
    Command::new(env!("CARGO_BIN_EXE_connectworkflow"))
        .args(["blueprint", "publish"])
        .arg(&file)
        .arg("--config")
        .arg(folder.join("config.toml"))
        .args(extra)
        .output()
        .unwrap()
}

#[test]
fn blueprints_are_published_from_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let config = "[store]\npath = \"store\"\n[oidc]\nissuer = \"http://127.0.0.1:9\"\nclient_id = \"us\"\n\
                  [[tenant]]\ncustomer = \"muster\"\ntenant = \"m1\"\n";
    std::fs::write(folder.join("config.toml"), config).unwrap();
    std::fs::write(folder.join("blueprint.yaml"), YAML).unwrap();
    let tenant = ["--customer", "muster", "--tenant", "m1"];
    let text = |output: &Output| String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();

    let output = publish(folder, &tenant);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(text(&output).contains("version 1"), "{}", text(&output));

    assert_eq!(publish(folder, &["--customer", "muster"]).status.code(), Some(2));

    let output = publish(folder, &["--customer", "nord", "--tenant", "a"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("is not known here"), "{}", text(&output));

    let held = open(&folder.join("store"));
    let output = publish(folder, &tenant);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("in use by another process: stop that process first"), "{}", text(&output));
    drop(held);
}
