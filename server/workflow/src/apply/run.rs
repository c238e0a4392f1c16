//! Runs system steps until a person's turn, an end, or a reason to stop.
//!
//! Invariant: every executed step leaves one log entry; a condition that does not come out yes or no stops the run
//! (DESIGN §7: never a silent yes or no). At most [`STEPS_PER_EVENT_MAX`] system steps per event.
//! Never: guesses a way on.

use vocab::{GroupName, InstanceStatus, Person, StepId, UserId};

use super::Refusal;
use super::draft::{Draft, corrupt};
use super::environment::{Moment, environment};
use crate::blueprint::{ConditionStep, StepKind, UserStep};
use crate::expr::{Env, ExprError, Expression};
use crate::instance::{COMPARED_CHARS_MAX, EffectKind, ObjectValues, STEPS_PER_EVENT_MAX, State};
use crate::log::{Compared, ConditionResult, LogKind};

/// Evaluates a condition for the log: the expression, what it compared, and its result. The error, where there is one,
/// says why there is no result.
pub fn evaluate(when: &Expression, env: &Env) -> (ConditionResult, Option<ExprError>) {
    let compared = when.compared(env).into_iter();
    let compared = compared.map(|(path, value)| Compared { path, value: clip(&value.to_string(), COMPARED_CHARS_MAX) });
    let outcome = when.eval_bool(env);
    let result = ConditionResult {
        when: when.source().to_owned(),
        compared: compared.collect(),
        result: outcome.as_ref().ok().copied(),
    };
    (result, outcome.err())
}

/// The text, cut to a number of characters; a cut is visible.
pub(super) fn clip(text: &str, chars_max: usize) -> String {
    if text.chars().nth(chars_max).is_none() {
        return text.to_owned();
    }
    let kept = text.chars().take(chars_max.saturating_sub(1));
    kept.chain(['…']).collect()
}

/// What a condition step came to.
struct Tried {
    cases: Vec<ConditionResult>,
    outcome: Result<StepId, String>,
}

impl Draft<'_> {
    /// Goes on at `target` with the object's values as they are now. `cause` is who brought the run here.
    pub(super) fn advance(
        &mut self,
        target: &StepId,
        object: &ObjectValues,
        cause: Option<&Person>,
    ) -> Result<(), Refusal> {
        let blueprint = self.blueprint;
        let moment = Moment { at: self.at, actor: cause };
        let mut env: Option<Result<Env, String>> = None;
        let mut target = target.clone();
        for _ in 0..STEPS_PER_EVENT_MAX {
            let step = blueprint.step(&target).ok_or_else(|| corrupt(format!("the blueprint has no step {target}")))?;
            match &step.kind {
                StepKind::User(user) => return self.open_task(&step.id, user),
                StepKind::End(end) => return self.reach_end(&step.id, end.status.into()),
                StepKind::Condition(condition) => {
                    let env = env.get_or_insert_with(|| {
                        environment(blueprint, &self.instance, object, moment).map_err(|error| error.to_string())
                    });
                    let Tried { cases, outcome } = try_cases(condition, env.as_ref());
                    let next_step = outcome.as_ref().ok().cloned();
                    let error = outcome.as_ref().err().cloned();
                    self.log(None, Some(&step.id), None, LogKind::Condition { cases, next_step, error })?;
                    match outcome {
                        Ok(next) => target = next,
                        Err(error) => return self.stop(&step.id, format!("condition {}: {error}", step.id)),
                    }
                }
            }
        }
        let reason =
            format!("more than {STEPS_PER_EVENT_MAX} system steps in a row; the blueprint goes round in circles");
        self.stop(&target, reason)
    }

    fn open_task(&mut self, step: &StepId, user: &UserStep) -> Result<(), Refusal> {
        self.instance.visits += 1;
        let visit = self.instance.visits;
        let groups = user.assign.groups.iter().map(GroupName::to_string).collect();
        let users = user.assign.users.iter().map(UserId::to_string).collect();
        self.log(None, Some(step), Some(visit), LogKind::TaskOpened { groups, users })?;
        self.enter(State::Task { step: step.clone(), visit, opened_at: self.at, claim: None });
        Ok(())
    }

    fn reach_end(&mut self, step: &StepId, status: InstanceStatus) -> Result<(), Refusal> {
        self.log(None, Some(step), None, LogKind::EndReached { status })?;
        self.effect(EffectKind::ErpEnd { outcome: status.into() });
        self.enter(State::Ending { step: step.clone(), status });
        Ok(())
    }

    fn stop(&mut self, step: &StepId, reason: String) -> Result<(), Refusal> {
        self.log(None, Some(step), None, LogKind::Stopped { reason: reason.clone() })?;
        self.enter(State::Stopped { step: step.clone(), reason });
        Ok(())
    }
}

/// Tries the cases in order, up to the first that holds or fails.
fn try_cases(condition: &ConditionStep, env: Result<&Env, &String>) -> Tried {
    let env = match env {
        Ok(env) => env,
        Err(error) => return Tried { cases: Vec::new(), outcome: Err(error.clone()) },
    };
    let mut cases = Vec::new();
    for case in &condition.cases {
        let (result, error) = evaluate(&case.when, env);
        let holds = result.result;
        cases.push(result);
        if let Some(error) = error {
            return Tried { cases, outcome: Err(format!("{}: {error}", case.when.source())) };
        }
        if holds == Some(true) {
            return Tried { cases, outcome: Ok(case.next.clone()) };
        }
    }
    Tried { cases, outcome: Ok(condition.otherwise.clone()) }
}
