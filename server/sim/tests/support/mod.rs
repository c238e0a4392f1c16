//! What the engine's simulation tests share: a blueprint, people, a world with two nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chrono::TimeDelta;
use engine::{
    DecisionInput, EngineError, InstanceRef, Orchestrator, Outcome, TaskRef, TriggerAnswer, TriggerError,
    TriggerRequest,
};
use ports::vocab::{
    CustomerId, Decision, FieldName, FieldValue, GroupName, ObjectNumber, OperationId, Person, TenantId, TenantKey,
    TriggerGuid, TriggerSource,
};
use ports::workflow::Instance;
use ports::workflow::event::Actor;
use ports::{BucketName, Key, Store};
use sim::store::MemoryStore;
use sim::world::{Gates, Hook, Node, VirtualClock, World};

pub(crate) const GUID: &str = "11111111-1111-4111-8111-111111111111";
pub(crate) const OTHER_GUID: &str = "22222222-2222-4222-8222-222222222222";

/// Two user steps with four eyes between them; `id` and `guid` make it a second blueprint.
pub(crate) fn blueprint(id: &str, guid: &str, name: &str) -> String {
    format!(
        r##"schema: 1
id: {id}
name: {name}
objectType: Rechnung
trigger: {{ guid: {guid} }}
object: {{ table: tblTransactions, key: fldBelegNr }}
fields:
  fldBelegNr:      {{ label: Belegnummer }}
  fldBetrag:       {{ label: Betrag, type: money, currency: EUR }}
  fldKostenstelle: {{ label: Kostenstelle, type: choice, options: ["1000", "2000", "3000"] }}
summary: [fldBetrag]
steps:
  - id: pruefung
    type: user
    title: Prüfung
    assign: {{ groups: [einkauf] }}
    fields:
      - {{ name: fldBetrag, visible: true }}
      - {{ name: fldKostenstelle, visible: true, editable: true }}
    approve: {{ next: betrag }}
    reject: {{ next: abgelehnt }}
  - id: betrag
    type: condition
    cases:
      - {{ when: "#object.fldBetrag <= 500", next: freigegeben }}
    else: kasse
  - id: kasse
    type: user
    title: Kasse
    assign: {{ groups: [buchhaltung], notBy: [pruefung] }}
    fields:
      - {{ name: fldBetrag, visible: true }}
    approve: {{ next: freigegeben }}
    reject: {{ next: abgelehnt }}
  - {{ id: freigegeben, type: end, status: APPROVED }}
  - {{ id: abgelehnt, type: end, status: REJECTED }}
"##
    )
}

/// A store of its own.
pub(crate) fn memory_store() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(Arc::new(VirtualClock::new(tokio::time::Instant::now(), TimeDelta::zero()))))
}

pub(crate) fn tenant() -> TenantKey {
    TenantKey::new("muster", "m1")
}

pub(crate) fn bucket() -> BucketName {
    BucketName::of_tenant(&tenant(), "sim").unwrap()
}

pub(crate) fn person(id: &str) -> Actor {
    let groups = BTreeSet::from([GroupName::new("einkauf"), GroupName::new("buchhaltung")]);
    Actor::Person { person: Person { id: id.into(), name: id.to_owned() }, groups, roles: BTreeSet::new() }
}

pub(crate) fn request(guid: &str, number: &str) -> TriggerRequest {
    TriggerRequest {
        customer_id: CustomerId::new("muster"),
        tenant_id: TenantId::new("m1"),
        trigger_guid: TriggerGuid::new(guid),
        object_number: ObjectNumber::new(number),
    }
}

pub(crate) async fn trigger(engine: &Orchestrator, guid: &str, number: &str) -> Result<TriggerAnswer, TriggerError> {
    engine.trigger(request(guid, number), TriggerSource::Push).await
}

/// The run that an answer names.
pub(crate) fn named(answer: &Result<TriggerAnswer, TriggerError>) -> InstanceRef {
    match answer {
        Ok(TriggerAnswer::Started(at) | TriggerAnswer::AlreadyRunning(at)) => at.clone(),
        other => panic!("no run named: {other:?}"),
    }
}

pub(crate) fn is_started(answer: &Result<TriggerAnswer, TriggerError>) -> bool {
    matches!(answer, Ok(TriggerAnswer::Started(_)))
}

pub(crate) fn is_already_running(answer: &Result<TriggerAnswer, TriggerError>) -> bool {
    matches!(answer, Ok(TriggerAnswer::AlreadyRunning(_)))
}

pub(crate) fn is_ignored(answer: &Result<TriggerAnswer, TriggerError>) -> bool {
    matches!(answer, Ok(TriggerAnswer::Ignored { .. }))
}

/// Two nodes, `a` and `b`, over one store, with a script between them and the world.
pub(crate) struct Two {
    pub(crate) world: World,
    pub(crate) gates: Arc<Gates>,
    pub(crate) a: Node,
    pub(crate) b: Node,
}

impl Two {
    /// With the blueprint published, object RE1 asking for a start, and both nodes having opened the tenant.
    pub(crate) async fn new() -> Self {
        let world = World::new(memory_store());
        let gates = Arc::new(Gates::default());
        let hook: Arc<dyn Hook> = Arc::<Gates>::clone(&gates);
        let a = world.node("a", &hook, TimeDelta::zero(), 1);
        let b = world.node("b", &hook, TimeDelta::zero(), 2);
        a.engine.publish(&tenant(), &blueprint("freigabe", GUID, "Freigabe"), "anna", None).await.unwrap();
        b.engine.publish(&tenant(), &blueprint("andere", OTHER_GUID, "Andere"), "anna", None).await.unwrap();
        world.erp.add("RE1", &[("fldBetrag", "1190.00"), ("fldKostenstelle", "1000")]);
        world.erp.request("RE1");
        pause(1).await;
        Self { world, gates, a, b }
    }

    /// Another node, e.g. one that crashed and starts again.
    pub(crate) fn node(&self, name: &str, seed: u64) -> Node {
        let hook: Arc<dyn Hook> = Arc::<Gates>::clone(&self.gates);
        self.world.node(name, &hook, TimeDelta::zero(), seed)
    }
}

pub(crate) async fn pause(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

pub(crate) fn op(text: &str) -> OperationId {
    OperationId::new(text)
}

/// A run as it lies in the store.
pub(crate) async fn stored(store: &dyn Store, at: &InstanceRef) -> Instance {
    let key = instance_key(at);
    let stored = store.get(&bucket(), &key).await.unwrap().unwrap_or_else(|| panic!("{key} is not there"));
    serde_json::from_slice(&stored.bytes).unwrap()
}

pub(crate) fn instance_key(at: &InstanceRef) -> Key {
    Key::new(format!("workflow/docs/m1/{}/{}.json", at.workflow_id, at.instance_id)).unwrap()
}

pub(crate) async fn keys(store: &dyn Store, prefix: &str) -> Vec<String> {
    let page = store.list(&bucket(), prefix, None, 1_000).await.unwrap();
    page.keys.into_iter().map(|key| key.as_str().to_owned()).collect()
}

/// The values that the open step shows, as the ERP has them.
pub(crate) fn shown(world: &World, number: &str, step: &str) -> BTreeMap<FieldName, FieldValue> {
    let names: &[&str] = if step == "pruefung" { &["fldBetrag", "fldKostenstelle"] } else { &["fldBetrag"] };
    let row = world.erp.row(number).unwrap();
    names.iter().map(|name| (FieldName::new(*name), row.values[&FieldName::new(*name)].clone())).collect()
}

/// Claims the open task and answers with what a decision needs.
pub(crate) async fn claim(engine: &Orchestrator, store: &dyn Store, at: &InstanceRef, who: &str) -> TaskRef {
    let visit = stored(store, at).await.open_visit().unwrap();
    let task = TaskRef { instance: at.clone(), visit };
    static CLAIMS: AtomicU64 = AtomicU64::new(0);
    let operation = op(&format!("claim-{}", CLAIMS.fetch_add(1, Ordering::SeqCst)));
    engine.claim(&task, &person(who), operation).await.unwrap();
    task
}

/// The decision on the open task by whoever has claimed it, as a browser would send it.
pub(crate) async fn input(world: &World, at: &InstanceRef, decision: Decision, operation: &str) -> DecisionInput {
    let instance = stored(world.store.as_ref(), at).await;
    let task = instance.open_task().unwrap();
    DecisionInput {
        operation: op(operation),
        revision: instance.revision,
        decision,
        claim_id: task.claim.unwrap().id.clone(),
        shown: shown(world, instance.start.object_number.as_str(), task.step.as_str()),
        changes: BTreeMap::new(),
        comment: (decision == Decision::Reject).then(|| "Falsch".to_owned()),
    }
}

/// Claims and decides the open task.
pub(crate) async fn decide(
    world: &World,
    engine: &Orchestrator,
    at: &InstanceRef,
    who: &str,
    decision: Decision,
) -> Result<Outcome, EngineError> {
    let task = claim(engine, world.store.as_ref(), at, who).await;
    let input = input(world, at, decision, &format!("decide-{who}-{}", task.visit)).await;
    engine.decide(&task, &person(who), input).await
}

/// Brings a run to its end: rejected by anna.
pub(crate) async fn finish(world: &World, engine: &Orchestrator, at: &InstanceRef) {
    decide(world, engine, at, "anna", Decision::Reject).await.unwrap();
    pause(1).await;
    assert!(stored(world.store.as_ref(), at).await.is_final());
}
