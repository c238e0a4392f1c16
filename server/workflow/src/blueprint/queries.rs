//! What a step needs from the ERP.
//!
//! Purpose: which fields are read, and which of them a person sees (DESIGN §6: the visible ones, plus those that
//! expressions and the summary name; the browser gets only the visible ones).
//! Invariant: every name is declared; the parser saw to that.
//! Never: builds a query.

use std::collections::BTreeSet;

use vocab::{FieldName, StepId};

use super::model::{Blueprint, StepKind, UserStep};
use crate::expr::Expression;

impl Blueprint {
    /// The fields to read: what the filter, any condition and the summary name; with a user step also its visible
    /// fields and those that its checks name.
    pub fn query_fields(&self, step: Option<&StepId>) -> BTreeSet<FieldName> {
        let mut fields: BTreeSet<FieldName> = self.summary.iter().cloned().collect();
        let mut of = |expression: &Expression| fields.extend(expression.object_fields());
        self.trigger.filter.iter().for_each(&mut of);
        for step in &self.steps {
            match &step.kind {
                StepKind::Condition(condition) => condition.cases.iter().for_each(|case| of(&case.when)),
                StepKind::User(_) | StepKind::End(_) => {}
            }
        }
        if let Some(user) = step.and_then(|id| self.user_step(id)) {
            user.fields.iter().filter_map(|field| field.check.as_ref()).for_each(of);
            fields.extend(user.visible_fields());
        }
        fields
    }

    /// The fields that a person sees at this step, in the order of the form; none where it is no user step.
    pub fn visible_fields(&self, step: &StepId) -> Vec<FieldName> {
        self.user_step(step).map(|user| user.visible_fields().collect()).unwrap_or_default()
    }
}

impl UserStep {
    fn visible_fields(&self) -> impl Iterator<Item = FieldName> + '_ {
        self.fields.iter().filter(|field| field.visible).map(|field| field.name.clone())
    }
}
