//! One seed's world: nodes, a workload, chaos, then quiet, then the checks.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::TimeDelta;
use engine::{DecisionInput, EngineError, InstanceRef, Orchestrator, Outcome, TaskRef, TriggerAnswer};
use ports::ErpState;
use ports::vocab::{ClaimId, Decision, FieldName, FieldValue};
use ports::workflow::Instance;
use sim::world::{Hook, Node, Rng, Trace, World};

use crate::chaos::{Chaos, Rates};
use crate::check;
use crate::sabotage::Sabotage;
use crate::support::{self, GUID, OTHER_GUID, tenant};

const OBJECTS: [&str; 3] = ["RE1", "RE2", "RE3"];
const PEOPLE: [&str; 4] = ["anna", "bert", "cleo", "dora"];
/// Things that happen while there is chaos.
const STEPS: u64 = 90;

/// What came of a seed.
pub(crate) struct Report {
    pub(crate) hash: String,
    pub(crate) lines: Vec<String>,
    pub(crate) violations: Vec<String>,
    pub(crate) runs: u64,
    pub(crate) finals: u64,
    pub(crate) crashes: u64,
    pub(crate) faults: u64,
}

/// A request of a person, as it was answered: none when the answer never came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) at: InstanceRef,
    pub(crate) who: String,
    pub(crate) operation: String,
    pub(crate) answer: Option<Result<u64, String>>,
    pub(crate) refused: bool,
}

/// What was answered.
#[derive(Default)]
pub(crate) struct Answers {
    /// Run that a 2xx named, the object, and the version that had been published before the trigger came.
    pub(crate) named: Vec<(InstanceRef, String, u32, bool)>,
    pub(crate) asked: Vec<Asked>,
    /// How often a user of the ERP asked for a start.
    pub(crate) requests: BTreeMap<String, u64>,
    pub(crate) published: u32,
}

pub(crate) struct Sim {
    pub(crate) world: World,
    pub(crate) chaos: Arc<Chaos>,
    pub(crate) answers: Arc<Mutex<Answers>>,
    rng: Rng,
    nodes: Vec<Node>,
    crashes: u64,
    started: u64,
    /// Restarts in a thousand steps, besides those that an outside call brings.
    restarts: u64,
}

pub(crate) async fn run(seed: u64, sabotage: Option<Sabotage>) -> Report {
    let mut rng = Rng::new(seed);
    let mut world = World::new(support::memory_store());
    if let Some(bug) = sabotage {
        bug.plant(&mut world);
    }
    world.erp.honour_keys(rng.permille(500));
    let rates = Rates { fail: rng.below(50), late: rng.below(25), crash: rng.below(8) };
    let chaos = Arc::new(Chaos::new(rng.fork(), Arc::clone(&world.trace), rates));
    let answers = Arc::new(Mutex::new(Answers::default()));
    let restarts = *rng.pick(&[10, 30, 250]).unwrap();
    let mut sim = Sim { world, chaos, answers, rng, nodes: Vec::new(), crashes: 0, started: 0, restarts };
    sim.prepare().await;
    sim.chaos.set(true);
    for _ in 0..STEPS {
        sim.step().await;
    }
    sim.chaos.set(false);
    sim.settle().await;
    let fresh = sim.start_node("z");
    support::pause(120).await;
    let violations = check::all(&sim, &fresh).await;
    let (runs, finals) = check::count(&sim).await;
    let trace: &Trace = &sim.world.trace;
    Report {
        hash: trace.hash(),
        lines: trace.lines(),
        violations,
        runs,
        finals,
        crashes: sim.crashes,
        faults: sim.chaos.faults.load(Ordering::SeqCst),
    }
}

impl Sim {
    async fn prepare(&mut self) {
        for number in OBJECTS {
            self.world.erp.add(number, &[("fldBetrag", "1190.00"), ("fldKostenstelle", "1000")]);
        }
        let nodes = 2 + self.rng.below(2);
        for name in ["a", "b", "c"].into_iter().take(usize::try_from(nodes).unwrap()) {
            let node = self.start_node(name);
            self.nodes.push(node);
        }
        let engine = &self.nodes[0].engine;
        for (id, guid) in [("freigabe", GUID), ("andere", OTHER_GUID)] {
            engine.publish(&tenant(), &support::blueprint(id, guid, "Freigabe"), "anna", None).await.unwrap();
        }
        self.answers.lock().unwrap().published = 1;
    }

    fn start_node(&mut self, name: &str) -> Node {
        self.started += 1;
        let skew = TimeDelta::milliseconds(i64::try_from(self.rng.below(240_000)).unwrap() - 120_000);
        let hook: Arc<dyn Hook> = Arc::<Chaos>::clone(&self.chaos);
        self.world.node(name, &hook, skew, self.rng.next_u64())
    }

    async fn step(&mut self) {
        let long = self.rng.permille(60);
        let wait = self.rng.below(if long { 90_000 } else { 1_200 });
        tokio::time::sleep(Duration::from_millis(wait)).await;
        let mut doomed = self.chaos.doomed();
        if self.rng.permille(self.restarts) {
            let at = usize::try_from(self.rng.below(self.nodes.len() as u64)).unwrap();
            doomed.insert(self.nodes[at].name.to_string());
        }
        for name in doomed {
            self.crash(&name);
        }
        match self.rng.below(100) {
            0..20 => self.erp_request(),
            20..32 => self.post(GUID, Duration::ZERO),
            32..36 => self.post(OTHER_GUID, Duration::ZERO),
            36..40 => {
                let delay = Duration::from_secs(5 + self.rng.below(100));
                self.post(GUID, delay);
            }
            40..60 => self.claim().await,
            60..88 => self.decide().await,
            88..91 => self.unclaim().await,
            91..94 => self.feedback().await,
            94..97 => self.edit(),
            _ => self.publish(),
        }
    }

    fn crash(&mut self, name: &str) {
        let Some(at) = self.nodes.iter().position(|node| *node.name == *name) else { return };
        self.world.trace.note(&format!("crash {name}"));
        self.crashes += 1;
        self.nodes.swap_remove(at).crash();
        let node = self.start_node(name);
        self.nodes.push(node);
    }

    fn object(&mut self) -> &'static str {
        self.rng.pick(&OBJECTS).unwrap()
    }

    fn node(&mut self) -> usize {
        usize::try_from(self.rng.below(self.nodes.len() as u64)).unwrap()
    }

    /// A user of the ERP asks for a start, and the ERP posts it.
    fn erp_request(&mut self) {
        let number = self.object();
        let row = self.world.erp.row(number).unwrap();
        // Mostly a sensible one; now and then while a run is under way, or twice.
        if row.state == ErpState::Running && !self.rng.permille(150) {
            return;
        }
        self.world.erp.request(number);
        self.world.trace.note(&format!("erp request {number}"));
        *self.answers.lock().unwrap().requests.entry(number.to_owned()).or_default() += 1;
        let guid = if self.rng.permille(800) { GUID } else { OTHER_GUID };
        self.post_for(guid, number, Duration::ZERO);
    }

    /// A duplicate or delayed POST of something that was asked for before.
    fn post(&mut self, guid: &'static str, delay: Duration) {
        let number = self.object();
        if self.answers.lock().unwrap().requests.contains_key(number) {
            self.post_for(guid, number, delay);
        }
    }

    fn post_for(&mut self, guid: &'static str, number: &'static str, delay: Duration) {
        let at = self.node();
        let (answers, trace) = (Arc::clone(&self.answers), Arc::clone(&self.world.trace));
        let node = &mut self.nodes[at];
        let (engine, name) = (node.engine.clone(), Arc::clone(&node.name));
        node.serve(async move {
            tokio::time::sleep(delay).await;
            post(&engine, &name, guid, number, &answers, &trace).await;
        });
    }

    /// An open run that the store knows, as some browser sees it.
    async fn open_run(&mut self) -> Option<(InstanceRef, Instance)> {
        let open: Vec<_> = check::instances(self.world.store.as_ref())
            .await
            .into_iter()
            .filter(|(_, instance)| instance.open_task().is_some())
            .collect();
        self.rng.pick(&open).cloned()
    }

    async fn claim(&mut self) {
        let Some((at, instance)) = self.open_run().await else { return };
        let who = *self.rng.pick(&PEOPLE).unwrap();
        let task = TaskRef { instance: at, visit: instance.open_visit().unwrap() };
        let operation = format!("claim-{}", self.rng.next_u64());
        self.ask(task, who, operation, Act::Claim);
    }

    async fn unclaim(&mut self) {
        let Some((at, instance)) = self.open_run().await else { return };
        let Some(claim) = instance.open_task().and_then(|task| task.claim) else { return };
        let task = TaskRef { instance: at, visit: instance.open_visit().unwrap() };
        let operation = format!("unclaim-{}", self.rng.next_u64());
        let who = PEOPLE.into_iter().find(|who| claim.by.id.as_str() == *who).unwrap();
        self.ask(task, who, operation, Act::Unclaim(claim.id.clone()));
    }

    async fn feedback(&mut self) {
        let Some((at, instance)) = self.open_run().await else { return };
        let task = TaskRef { instance: at, visit: instance.open_visit().unwrap() };
        let who = *self.rng.pick(&PEOPLE).unwrap();
        let operation = format!("feedback-{}", self.rng.next_u64());
        self.ask(task, who, operation, Act::Feedback);
    }

    async fn decide(&mut self) {
        let Some((at, instance)) = self.open_run().await else { return };
        let open = instance.open_task().unwrap();
        let Some(claim) = open.claim else { return };
        let number = instance.start.object_number.as_str();
        let shown = support::shown(&self.world, number, open.step.as_str());
        let decision = if self.rng.permille(700) { Decision::Approve } else { Decision::Reject };
        let mut changes = BTreeMap::new();
        if open.step.as_str() == "pruefung" && self.rng.permille(600) {
            let value = *self.rng.pick(&["1000", "2000", "3000"]).unwrap();
            changes.insert(FieldName::new("fldKostenstelle"), FieldValue::Text(value.to_owned()));
        }
        let operation = format!("decide-{}", self.rng.next_u64());
        let input = DecisionInput {
            operation: support::op(&operation),
            revision: instance.revision,
            decision,
            claim_id: claim.id.clone(),
            shown,
            changes,
            comment: (decision == Decision::Reject).then(|| "Falsch".to_owned()),
        };
        let holder = PEOPLE.into_iter().find(|who| claim.by.id.as_str() == *who).unwrap();
        // Sometimes somebody who does not hold the claim tries.
        let who = if self.rng.permille(900) { holder } else { *self.rng.pick(&PEOPLE).unwrap() };
        let task = TaskRef { instance: at, visit: open.visit };
        // A double click, perhaps to another node.
        if self.rng.permille(150) {
            self.ask(task.clone(), who, operation.clone(), Act::Decide(Box::new(input.clone())));
        }
        self.ask(task, who, operation, Act::Decide(Box::new(input)));
    }

    fn ask(&mut self, task: TaskRef, who: &'static str, operation: String, act: Act) {
        let at = self.node();
        let (answers, trace) = (Arc::clone(&self.answers), Arc::clone(&self.world.trace));
        let node = &mut self.nodes[at];
        let (engine, name) = (node.engine.clone(), Arc::clone(&node.name));
        let asked = Asked {
            at: task.instance.clone(),
            who: who.to_owned(),
            operation: operation.clone(),
            answer: None,
            refused: false,
        };
        let place = {
            let mut answers = answers.lock().unwrap();
            answers.asked.push(asked);
            answers.asked.len() - 1
        };
        node.serve(async move {
            let answer = act.run(&engine, &task, who, &operation).await;
            trace.note(&format!("{name} answers {operation} by {who}: {answer:?}"));
            let mut answers = answers.lock().unwrap();
            let asked = &mut answers.asked[place];
            asked.refused = matches!(answer, Err(EngineError::Refused(_)));
            asked.answer = Some(answer.map(|outcome| outcome.revision).map_err(|error| error.to_string()));
        });
    }

    fn edit(&mut self) {
        let number = self.object();
        let value = format!("{}.00", 100 + self.rng.below(2_000));
        self.world.trace.note(&format!("erp edit {number} {value}"));
        self.world.erp.edit(number, "fldBetrag", &value);
    }

    fn publish(&mut self) {
        let yaml = support::blueprint("freigabe", GUID, &format!("Freigabe {}", self.rng.below(1_000)));
        let at = self.node();
        let (answers, trace) = (Arc::clone(&self.answers), Arc::clone(&self.world.trace));
        let node = &mut self.nodes[at];
        let engine = node.engine.clone();
        node.serve(async move {
            let answer = engine.publish(&tenant(), &yaml, "anna", None).await;
            trace.note(&format!("published {answer:?}"));
            if let Ok(version) = answer {
                let mut answers = answers.lock().unwrap();
                answers.published = answers.published.max(version);
            }
        });
    }

    /// Faults are off: late writes land, retries come round, and the ERP's recovery asks again for what still stands.
    async fn settle(&mut self) {
        for name in self.chaos.doomed() {
            self.crash(&name);
        }
        support::pause(200).await;
        for _ in 0..20 {
            let standing: Vec<String> = self.standing();
            if standing.is_empty() {
                break;
            }
            for number in standing {
                let at = self.node();
                let node = &self.nodes[at];
                post(&node.engine, &node.name, GUID, &number, &self.answers, &self.world.trace).await;
                post(&node.engine, &node.name, OTHER_GUID, &number, &self.answers, &self.world.trace).await;
            }
            support::pause(70).await;
        }
        support::pause(200).await;
    }

    fn standing(&self) -> Vec<String> {
        let asks = |number: &String| self.world.erp.row(number).is_some_and(|row| row.state.asks_for_start());
        self.world.erp.numbers().into_iter().filter(asks).collect()
    }
}

/// What a person does.
enum Act {
    Claim,
    Unclaim(ClaimId),
    Feedback,
    Decide(Box<DecisionInput>),
}

impl Act {
    async fn run(
        self,
        engine: &Orchestrator,
        task: &TaskRef,
        who: &str,
        operation: &str,
    ) -> Result<Outcome, EngineError> {
        let (actor, operation) = (support::person(who), support::op(operation));
        match self {
            Self::Claim => engine.claim(task, &actor, operation).await,
            Self::Unclaim(claim_id) => engine.unclaim(task, &actor, claim_id, operation).await,
            Self::Feedback => engine.feedback(task, &actor, operation, "Bitte eilig".to_owned()).await,
            Self::Decide(input) => engine.decide(task, &actor, *input).await,
        }
    }
}

async fn post(engine: &Orchestrator, name: &str, guid: &str, number: &str, answers: &Mutex<Answers>, trace: &Trace) {
    let published = answers.lock().unwrap().published;
    let answer = support::trigger(engine, guid, number).await;
    trace.note(&format!("{name} answers trigger {number}: {answer:?}"));
    let (at, started) = match answer {
        Ok(TriggerAnswer::Started(at)) => (at, true),
        Ok(TriggerAnswer::AlreadyRunning(at)) => (at, false),
        Ok(TriggerAnswer::Ignored { .. }) | Err(_) => return,
    };
    let version = if guid == GUID { published } else { 1 };
    answers.lock().unwrap().named.push((at, number.to_owned(), version, started));
}
