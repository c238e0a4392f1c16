//! One tenant, one ERP object, people, and a node that can be started anew over the same store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use engine::{
    DecisionInput, EngineError, InstanceRef, Orchestrator, Parts, TaskRef, TriggerAnswer, TriggerError, TriggerRequest,
};
use ports::{
    BucketName, Clock, ErpError, ErpFields, ErpMutation, ErpObject, ErpRead, ErpSet, ErpState, ErpTarget, ErpWrite,
    ErpWritten, Hint, Hints, IdSource, Key,
};
use workflow::Instance;
use workflow::event::{Actor, ErpEvidence};
use workflow::instance::ObjectValues;
use workflow::log::LogKind;
use workflow::vocab::{
    Decision, FieldName, FieldValue, GroupName, InstanceId, OperationId, Person, TenantKey, TriggerSource, UserId,
};

use crate::store::VersionedStore;

const BLUEPRINT: &str = include_str!("../../../../blueprints/rechnungsfreigabe.yaml");
const GUID: &str = "6f1b1c1e-6a0c-4a53-9d6e-0b8f6d1f7a10";

/// The ERP with one object.
pub(crate) struct Erp {
    object: Mutex<ErpObject>,
    /// What was written, in order.
    pub(crate) written: Mutex<Vec<(String, ErpSet)>>,
}

#[async_trait]
impl ErpRead for Erp {
    async fn read(&self, _target: &ErpTarget, _fields: &ErpFields) -> Result<ErpObject, ErpError> {
        Ok(self.object.lock().unwrap().clone())
    }
}

#[async_trait]
impl ErpWrite for Erp {
    async fn write(&self, mutation: &ErpMutation) -> Result<ErpWritten, ErpError> {
        let mut object = self.object.lock().unwrap();
        match &mutation.set {
            ErpSet::Start => object.state = ErpState::Running,
            ErpSet::Fields(fields) => {
                for (name, _, value) in fields {
                    object.values.insert(name.clone(), value.clone());
                }
            }
            ErpSet::End(outcome) => object.state = ErpState::Ended(*outcome),
        }
        let lsn: u64 = object.lsn.parse().unwrap();
        object.lsn = (lsn + 1).to_string();
        self.written.lock().unwrap().push((mutation.idempotency_key.clone(), mutation.set.clone()));
        Ok(ErpWritten { evidence: ErpEvidence::default() })
    }
}

#[derive(Default)]
struct Time(AtomicI64);

impl Clock for Time {
    fn now(&self) -> DateTime<Utc> {
        DateTime::<Utc>::UNIX_EPOCH + TimeDelta::days(20_000) + TimeDelta::seconds(self.0.load(Ordering::SeqCst))
    }
}

#[derive(Default)]
struct Ids(AtomicU64);

impl IdSource for Ids {
    fn instance_id(&self) -> InstanceId {
        InstanceId::new(format!("01900000-0000-7000-8000-{:012x}", self.0.fetch_add(1, Ordering::SeqCst)))
    }

    fn random_id(&self) -> String {
        format!("{:032x}", self.0.fetch_add(1, Ordering::SeqCst))
    }
}

struct NoHints;

impl Hints for NoHints {
    fn publish(&self, _hint: Hint) {}
}

pub(crate) struct World {
    pub(crate) store: Arc<VersionedStore>,
    pub(crate) erp: Arc<Erp>,
    clock: Arc<Time>,
    ids: Arc<Ids>,
    pub(crate) node: Orchestrator,
    operations: AtomicU64,
}

pub(crate) fn tenant() -> TenantKey {
    TenantKey::new("muster", "m1")
}

pub(crate) fn bucket() -> BucketName {
    BucketName::of_tenant(&tenant(), "test").unwrap()
}

pub(crate) fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

fn values() -> ObjectValues {
    let entries = [
        ("fldBelegNr", "ER-1001"),
        ("fldBelegart", "ER"),
        ("fldLieferant", "Müller GmbH"),
        ("fldGesamtNetto", "1000.00"),
        ("fldGesamtBrutto", "1190.00"),
        ("fldKostenstelle", "1000"),
    ];
    let text = |(name, value): &(&str, &str)| (FieldName::new(*name), FieldValue::Text((*value).to_owned()));
    entries.iter().map(text).collect()
}

fn node(world: &World) -> Orchestrator {
    Orchestrator::new(Parts {
        store: world.store.clone(),
        erp_read: world.erp.clone(),
        erp_write: world.erp.clone(),
        clock: world.clock.clone(),
        ids: world.ids.clone(),
        hints: Arc::new(NoHints),
        env: "test".to_owned(),
        tenants: vec![tenant()],
    })
}

pub(crate) fn anna() -> Actor {
    person("anna", "einkauf")
}

pub(crate) fn bert() -> Actor {
    person("bert", "buchhaltung")
}

fn person(id: &str, group: &str) -> Actor {
    let groups = BTreeSet::from([GroupName::new(group)]);
    Actor::Person { person: Person { id: UserId::new(id), name: id.to_owned() }, groups, roles: BTreeSet::new() }
}

impl World {
    /// A published blueprint and an object that asks for a run.
    pub(crate) async fn new() -> Self {
        let object = ErpObject {
            values: values(),
            lsn: "1".to_owned(),
            state: ErpState::Started,
            external: false,
            note: None,
            missing: Vec::new(),
        };
        let store = Arc::new(VersionedStore::default());
        let erp = Arc::new(Erp { object: Mutex::new(object), written: Mutex::default() });
        let (clock, ids) = (Arc::new(Time::default()), Arc::new(Ids::default()));
        let parts = Parts {
            store: store.clone(),
            erp_read: erp.clone(),
            erp_write: erp.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
            hints: Arc::new(NoHints),
            env: "test".to_owned(),
            tenants: vec![tenant()],
        };
        let node = Orchestrator::new(parts);
        let world = Self { store, erp, clock, ids, node, operations: AtomicU64::new(0) };
        world.node.publish(&tenant(), BLUEPRINT, "admin", None).await.unwrap();
        world
    }

    /// Another process over the same store: knows nothing yet.
    pub(crate) fn restart(&mut self) {
        self.node = node(self);
    }

    pub(crate) fn pass(&self, seconds: i64) {
        self.clock.0.fetch_add(seconds, Ordering::SeqCst);
    }

    pub(crate) fn ask_again(&self) {
        self.erp.object.lock().unwrap().state = ErpState::Started;
    }

    pub(crate) async fn trigger(&self) -> Result<TriggerAnswer, TriggerError> {
        let request = TriggerRequest {
            customer_id: "muster".into(),
            tenant_id: "m1".into(),
            trigger_guid: GUID.into(),
            object_number: "ER-1001".into(),
        };
        self.node.trigger(request, TriggerSource::Push).await
    }

    /// A started run whose `in Freigabe` is confirmed.
    pub(crate) async fn started(&self) -> InstanceRef {
        let TriggerAnswer::Started(at) = self.trigger().await.unwrap() else { panic!("not started") };
        self.settled(&at).await;
        at
    }

    /// Waits until nothing is pending at the ERP.
    pub(crate) async fn settled(&self, at: &InstanceRef) -> Instance {
        for _ in 0..2_000 {
            let instance = self.read(at).await.unwrap();
            let tidy = !instance.is_final()
                || self.store.keys("workflow/active/").iter().all(|key| !key.ends_with(at.instance_id.as_str()));
            if instance.effects.is_empty() && tidy {
                return instance;
            }
            self.node.tick().await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("effects of {at:?} stay pending");
    }

    pub(crate) async fn read(&self, at: &InstanceRef) -> Result<Instance, EngineError> {
        self.node.read_run(at).await.map(|(instance, _)| instance.as_ref().clone())
    }

    fn operation(&self) -> OperationId {
        OperationId::new(format!("operation-{}", self.operations.fetch_add(1, Ordering::SeqCst)))
    }

    pub(crate) async fn claim(&self, at: &InstanceRef, who: &Actor) {
        let visit = self.read(at).await.unwrap().open_visit().unwrap();
        let task = TaskRef { instance: at.clone(), visit };
        self.node.claim(&task, who, self.operation()).await.unwrap();
        self.pass(1);
    }

    pub(crate) async fn approve(&self, at: &InstanceRef, who: &Actor, changes: &[(&str, &str)]) {
        let (instance, blueprint) = self.node.read_run(at).await.unwrap();
        let task = instance.open_task().unwrap();
        let step = blueprint.user_step(task.step).unwrap();
        let object = self.erp.object.lock().unwrap().values.clone();
        let shown = step.fields.iter().filter(|field| field.visible);
        let shown: BTreeMap<FieldName, FieldValue> =
            shown.filter_map(|field| Some((field.name.clone(), object.get(&field.name)?.clone()))).collect();
        let changes =
            changes.iter().map(|(name, value)| (FieldName::new(*name), FieldValue::Text((*value).to_owned())));
        let input = DecisionInput {
            operation: self.operation(),
            revision: instance.revision,
            decision: Decision::Approve,
            claim_id: task.claim.unwrap().id.clone(),
            shown,
            changes: changes.collect(),
            comment: None,
        };
        let task = TaskRef { instance: at.clone(), visit: task.visit };
        self.node.decide(&task, who, input).await.unwrap();
        self.pass(1);
        self.settled(at).await;
    }

    /// The whole life of a run.
    pub(crate) async fn finished(&self) -> InstanceRef {
        let at = self.started().await;
        self.claim(&at, &anna()).await;
        self.approve(&at, &anna(), &[("fldKostenstelle", "2000")]).await;
        self.claim(&at, &bert()).await;
        self.approve(&at, &bert(), &[]).await;
        assert!(self.settled(&at).await.is_final());
        at
    }

    pub(crate) fn document(&self, at: &InstanceRef) -> Key {
        key(&format!("workflow/docs/m1/{}/{}.json", at.workflow_id, at.instance_id))
    }

    pub(crate) fn bytes(&self, at: &InstanceRef) -> Bytes {
        self.store.bytes(&bucket(), &self.document(at)).unwrap()
    }

    /// Every revision's bytes, oldest first.
    pub(crate) fn revisions(&self, at: &InstanceRef) -> Vec<Bytes> {
        self.store.history(&bucket(), &self.document(at))
    }

    pub(crate) fn damage(&self, at: &InstanceRef, bytes: impl Into<Bytes>) {
        self.store.by_hand(&bucket(), &self.document(at), bytes);
    }
}

/// A repair as the log tells it: reason, where the damaged bytes lie, restored revision.
pub(crate) fn repairs(instance: &Instance) -> Vec<(String, Option<String>, u64)> {
    let told = instance.history.iter().filter_map(|entry| match &entry.kind {
        LogKind::Repaired { reason, set_aside, restored_revision } => {
            assert!(entry.actor.is_none(), "repairs are the system's");
            Some((reason.clone(), set_aside.clone(), *restored_revision))
        }
        _ => None,
    });
    told.collect()
}
