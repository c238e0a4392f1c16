//! The invariants of DESIGN §12, checked on what lies in the store and the ERP once everything is quiet.

use std::collections::{BTreeMap, BTreeSet};

use engine::InstanceRef;
use ports::vocab::{FieldName, FieldValue, InstanceId, WorkflowId};
use ports::workflow::Instance;
use ports::workflow::instance::{EffectKind, ErpOutcome, State};
use ports::workflow::log::LogKind;
use ports::{ErpState, Key, Store};
use sim::world::{Change, ChangedBy, Node};

use crate::driver::Sim;
use crate::support::{bucket, keys, tenant};

/// Every run in the store.
pub(crate) async fn instances(store: &dyn Store) -> Vec<(InstanceRef, Instance)> {
    let mut out = Vec::new();
    for key in keys(store, "workflow/docs/").await {
        let stored = store.get(&bucket(), &Key::new(key.clone()).unwrap()).await.unwrap().unwrap();
        let instance: Instance = serde_json::from_slice(&stored.bytes).unwrap_or_else(|error| panic!("{key}: {error}"));
        let at = InstanceRef {
            tenant: tenant(),
            workflow_id: instance.start.workflow_id.clone(),
            instance_id: instance.start.instance_id.clone(),
        };
        out.push((at, instance));
    }
    // In the order in which they began.
    out.sort_by_key(|(_, instance)| (instance.started_at, instance.start.instance_id.clone()));
    out
}

/// Runs, and how many are over.
pub(crate) async fn count(sim: &Sim) -> (u64, u64) {
    let all = instances(sim.world.store.as_ref()).await;
    let finals = all.iter().filter(|(_, instance)| instance.is_final()).count();
    (all.len() as u64, finals as u64)
}

/// All broken rules, in words.
pub(crate) async fn all(sim: &Sim, fresh: &Node) -> Vec<String> {
    let store = sim.world.store.as_ref();
    let runs = instances(store).await;
    let mut broken = Vec::new();
    for (at, run) in &runs {
        one_run(at, run, &mut broken);
    }
    let by_id: BTreeMap<&InstanceId, &Instance> = runs.iter().map(|(at, run)| (&at.instance_id, run)).collect();
    index_keys(store, &runs, &mut broken).await;
    objects(sim, &runs, &mut broken).await;
    effects(&sim.world.erp.changes(), &by_id, &mut broken);
    answers(sim, &by_id, &mut broken);
    let listed: BTreeSet<_> = fresh.engine.open_rows(&[tenant()]).into_iter().map(|row| row.at.instance_id).collect();
    let open: BTreeSet<_> =
        runs.iter().filter(|(_, run)| !run.is_final()).map(|(at, _)| at.instance_id.clone()).collect();
    if listed != open {
        broken.push(format!("a node that starts now lists {listed:?}, unfinished are {open:?}"));
    }
    broken
}

/// Chain intact, log and state agree, final or waiting for something named.
fn one_run(at: &InstanceRef, run: &Instance, broken: &mut Vec<String>) {
    let id = &at.instance_id;
    if let Err(reason) = run.check_invariants() {
        broken.push(format!("run {id}: {reason}"));
    }
    let waits = match &run.state {
        State::Task { .. } | State::Final { .. } => run.effects.is_empty(),
        State::Syncing { .. } | State::Ending { .. } | State::Stopped { .. } => false,
    };
    if !waits {
        broken.push(format!("run {id} is neither over nor waiting for a person: {:?} {:?}", run.state, run.effects));
    }
}

/// Active keys are the unfinished runs, summaries the finished ones.
async fn index_keys(store: &dyn Store, runs: &[(InstanceRef, Instance)], broken: &mut Vec<String>) {
    let path = |at: &InstanceRef| format!("workflow/active/{}/{}", at.workflow_id, at.instance_id);
    let want: BTreeSet<String> = runs.iter().filter(|(_, run)| !run.is_final()).map(|(at, _)| path(at)).collect();
    let have: BTreeSet<String> = keys(store, "workflow/active/").await.into_iter().collect();
    if want != have {
        broken.push(format!("active keys are {have:?}, unfinished runs {want:?}"));
    }
    let want: BTreeSet<String> =
        runs.iter().filter(|(_, run)| run.is_final()).map(|(at, _)| at.instance_id.to_string()).collect();
    let name = |key: String| key.rsplit('/').next().unwrap_or_default().trim_end_matches(".json").to_owned();
    let have: BTreeSet<String> = keys(store, "workflow/done/").await.into_iter().map(name).collect();
    if want != have {
        broken.push(format!("summaries are {have:?}, finished runs {want:?}"));
    }
}

/// Per object: no run lost or doubled, the lock points to the latest, the ERP shows what the run says.
async fn objects(sim: &Sim, runs: &[(InstanceRef, Instance)], broken: &mut Vec<String>) {
    let requests = sim.answers.lock().unwrap().requests.clone();
    for number in sim.world.erp.numbers() {
        let mine: Vec<&(InstanceRef, Instance)> =
            runs.iter().filter(|(_, run)| run.start.object_number.as_str() == number).collect();
        let asked = requests.get(&number).copied().unwrap_or_default();
        let open = mine.iter().filter(|(_, run)| !run.is_final()).count();
        if open > 1 || mine.len() as u64 > asked {
            broken.push(format!("{number}: {} runs ({open} unfinished) for {asked} requests", mine.len()));
        }
        if asked > 0 && mine.is_empty() {
            broken.push(format!("{number}: {asked} requests and no run"));
        }
        let key = Key::new(format!("workflow/locks/{number}.json")).unwrap();
        let lock = sim.world.store.get(&bucket(), &key).await.unwrap();
        let points = lock.and_then(|stored| {
            let value: serde_json::Value = serde_json::from_slice(&stored.bytes).ok()?;
            value["start"]["instanceId"].as_str().map(str::to_owned)
        });
        let reached = points.as_deref().is_none_or(|id| mine.iter().any(|(at, _)| at.instance_id.as_str() == id));
        let open_missed =
            mine.iter().any(|(at, run)| !run.is_final() && points.as_deref() != Some(at.instance_id.as_str()));
        if !reached || open_missed || (points.is_none() && !mine.is_empty()) {
            broken.push(format!("{number}: its lock points to {points:?}"));
        }
        let last = points.and_then(|id| mine.iter().find(|(at, _)| at.instance_id.as_str() == id).copied());
        if let Some((_, run)) = last {
            erp_state(sim, &number, run, broken);
        }
        cost_centre(sim, &number, &mine, broken);
    }
}

fn erp_state(sim: &Sim, number: &str, run: &Instance, broken: &mut Vec<String>) {
    let row = sim.world.erp.row(number).unwrap();
    let want = match &run.state {
        State::Final { status } => match ErpOutcome::from(*status) {
            ErpOutcome::None => (ErpState::None, false),
            outcome => (ErpState::Ended(outcome), false),
        },
        State::Task { .. } | State::Syncing { .. } | State::Ending { .. } | State::Stopped { .. } => {
            (ErpState::Running, true)
        }
    };
    if (row.state.clone(), row.external) != want {
        broken.push(format!(
            "{number}: the ERP shows {:?}, external {}; its run wants {want:?}",
            row.state, row.external
        ));
    }
}

/// The latest approved edit is what the ERP holds; nobody else writes this field.
fn cost_centre(sim: &Sim, number: &str, runs: &[&(InstanceRef, Instance)], broken: &mut Vec<String>) {
    let field = FieldName::new("fldKostenstelle");
    // In the order in which they reached the ERP: the nodes' clocks say little about it.
    let changes = sim.world.erp.changes();
    let mut runs: Vec<_> = runs.to_vec();
    runs.sort_by_key(|(at, _)| {
        let id = at.instance_id.as_str();
        changes.iter().position(|change| matches!(&change.by, ChangedBy::Engine(key) if key.starts_with(id)))
    });
    let mut edits = runs.iter().flat_map(|(_, run)| &run.history).filter_map(|entry| match &entry.kind {
        LogKind::ErpWritten { what: EffectKind::ErpChanges { fields }, .. } => fields.get(&field),
        LogKind::ErpWritten { .. }
        | LogKind::Started { .. }
        | LogKind::Condition { .. }
        | LogKind::TaskOpened { .. }
        | LogKind::Claimed { .. }
        | LogKind::Unclaimed { .. }
        | LogKind::ClaimLapsed { .. }
        | LogKind::Decided { .. }
        | LogKind::Feedback { .. }
        | LogKind::RequestedAgain
        | LogKind::Repaired { .. }
        | LogKind::ErpFailed { .. }
        | LogKind::EndReached { .. }
        | LogKind::Ended { .. }
        | LogKind::Stopped { .. } => None,
    });
    let first = FieldValue::Text("1000".to_owned());
    let want = edits.next_back().unwrap_or(&first);
    let have = &sim.world.erp.row(number).unwrap().values[&field];
    if have != want {
        broken.push(format!("{number}: the ERP has cost centre {have:?}, the log says {want:?}"));
    }
}

/// Every write of the ERP belongs to a committed effect, none is made twice, and none is logged that was not made.
fn effects(changes: &[Change], runs: &BTreeMap<&InstanceId, &Instance>, broken: &mut Vec<String>) {
    let mut last: BTreeMap<&str, usize> = BTreeMap::new();
    for (place, change) in changes.iter().enumerate() {
        let ChangedBy::Engine(key) = &change.by else { continue };
        if let Some(before) = last.insert(key, place) {
            let between = &changes[before + 1..place];
            let disturbed = between.iter().any(|other| other.number == change.number && other.by == ChangedBy::User);
            if !disturbed {
                broken.push(format!("effect {key} was written twice: {}", change.what));
            }
        }
    }
    let mut known: BTreeSet<String> = BTreeSet::new();
    for (id, run) in runs {
        for entry in &run.history {
            if let LogKind::ErpWritten { effect, evidence, .. } = &entry.kind {
                let key = format!("{id}-{}-{}", effect.revision, effect.index);
                let written = last.contains_key(key.as_str());
                let without = evidence.mutation.is_empty();
                if !written && !without {
                    broken.push(format!("the log says that effect {key} was written; the ERP has no such write"));
                }
                known.insert(key);
            }
        }
        known.extend(run.effects.iter().map(|effect| format!("{id}-{}-{}", effect.key.revision, effect.key.index)));
    }
    for key in last.keys().filter(|key| !known.contains(**key)) {
        broken.push(format!("the ERP was written for {key}, which was never committed"));
    }
}

/// Every acknowledged answer is true.
fn answers(sim: &Sim, runs: &BTreeMap<&InstanceId, &Instance>, broken: &mut Vec<String>) {
    let answers = sim.answers.lock().unwrap();
    for (at, number, version, started) in &answers.named {
        match runs.get(&at.instance_id) {
            None => {
                broken.push(format!("a trigger of {number} was told of run {}, which does not exist", at.instance_id));
            }
            Some(run) if run.start.object_number.as_str() != number => {
                broken.push(format!("a trigger of {number} was told of run {}", at.instance_id));
            }
            Some(run)
                if *started && run.start.workflow_id == WorkflowId::new("freigabe") && run.start.version < *version =>
            {
                broken
                    .push(format!("run {} has version {}, {version} was published", at.instance_id, run.start.version));
            }
            Some(_) => {}
        }
    }
    for asked in &answers.asked {
        let Some(run) = runs.get(&asked.at.instance_id) else { continue };
        let done = run.operations.iter().any(|record| record.id.as_str() == asked.operation);
        match &asked.answer {
            Some(Ok(revision)) => {
                let same = |record: &&ports::workflow::instance::OperationRecord| {
                    record.by.id.as_str() == asked.who && record.revision == *revision
                };
                if run.operations.iter().find(same).is_none() {
                    broken.push(format!(
                        "{} by {} was told revision {revision}; it made none",
                        asked.operation, asked.who
                    ));
                }
            }
            Some(Err(error)) if asked.refused && done => {
                let otherwise = answers.asked.iter().any(|other| other.operation == asked.operation && !other.refused);
                if !otherwise {
                    broken.push(format!("{} was refused ({error}) and done all the same", asked.operation));
                }
            }
            Some(Err(_)) | None => {}
        }
    }
}
