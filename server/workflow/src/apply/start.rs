//! The first revision.
//!
//! Invariant: the ERP's `in Freigabe` is the first effect of every run, also of one that ends at once.

use chrono::{DateTime, Utc};

use super::draft::{Draft, corrupt};
use super::{Refusal, Step};
use crate::blueprint::Blueprint;
use crate::instance::{EffectKind, INSTANCE_SCHEMA, Instance, ObjectValues, StartFacts, State};
use crate::log::{ConditionResult, LogKind};

/// Makes the first revision: logs the start, runs system steps, opens the first task or reaches an end.
/// `object` holds the values as the ERP says now, `filter` what the trigger's filter compared.
///
/// # Errors
/// [`Refusal::Corrupt`] when the facts name another blueprint, or the log can't be written.
pub fn start(
    blueprint: &Blueprint,
    start: StartFacts,
    object: ObjectValues,
    filter: Option<ConditionResult>,
    at: DateTime<Utc>,
    commit_id: String,
) -> Result<Step, Refusal> {
    if start.workflow_id != blueprint.id {
        return Err(corrupt(format!("the start is for blueprint {}, not for {}", start.workflow_id, blueprint.id)));
    }
    let Some(first) = blueprint.steps.first() else {
        return Err(corrupt(format!("blueprint {} has no step", blueprint.id)));
    };
    let state = State::Stopped { step: first.id.clone(), reason: "not begun".to_owned() };
    let instance = Instance {
        schema: INSTANCE_SCHEMA,
        revision: 1,
        commit_id,
        start: start.clone(),
        workflow_name: blueprint.name.clone(),
        object_type: blueprint.object_type.clone(),
        status: vocab::InstanceStatus::Open,
        current_step: first.id.clone(),
        claimed_by: None,
        // Replaced below: a run's first steps always lead somewhere.
        state,
        visits: 0,
        data: std::collections::BTreeMap::new(),
        summary: ObjectValues::new(),
        effects: Vec::new(),
        operations: Vec::new(),
        sync_error_note: None,
        started_at: at,
        ended_at: None,
        history: Vec::new(),
    };
    let values = object.clone();
    let mut draft = Draft { blueprint, instance, at, created: Vec::new() };
    draft.refresh_summary(&values);
    draft.effect(EffectKind::ErpStart);
    let head = LogKind::Started { run: Box::new(start), workflow_name: blueprint.name.clone(), object, filter };
    draft.log(None, None, None, head)?;
    draft.advance(&first.id, &values, None)?;
    Ok(draft.finish())
}
