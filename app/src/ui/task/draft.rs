//! What a person typed and hasn't sent, kept in this tab until it is sent.
//!
//! Invariant: keyed by task and step visit, so that a draft never lands on the next step; saved without validation.
//! Never: sent anywhere; a draft is no decision.

use contract::vocab::FieldValue;
use serde::{Deserialize, Serialize};

use super::values::Typed;
use crate::browser;

/// What is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Draft {
    /// Inputs that were touched.
    #[serde(default)]
    pub(crate) typed: Typed,
    /// The comment.
    #[serde(default)]
    pub(crate) comment: String,
}

impl Draft {
    /// Whether there is nothing worth keeping.
    pub(crate) fn is_empty(&self) -> bool {
        self.typed.is_empty() && self.comment.is_empty()
    }
}

fn key(task_id: &str, visit: u64) -> String {
    format!("draft:{task_id}:{visit}")
}

/// The draft of this visit, where there is one that can be read.
pub(crate) fn load(task_id: &str, visit: u64) -> Option<Draft> {
    let text = browser::session_get(&key(task_id, visit))?;
    serde_json::from_str::<Draft>(&text).ok().filter(|draft| !draft.is_empty())
}

/// Keeps the draft, or forgets an empty one. False when the browser refuses to store it.
pub(crate) fn save(task_id: &str, visit: u64, draft: &Draft) -> bool {
    if draft.is_empty() {
        discard(task_id, visit);
        return true;
    }
    serde_json::to_string(draft).is_ok_and(|text| browser::session_set(&key(task_id, visit), &text))
}

/// Forgets the draft.
pub(crate) fn discard(task_id: &str, visit: u64) {
    browser::session_remove(&key(task_id, visit));
}

/// The text of a typed value.
pub(crate) fn text_of(value: &FieldValue) -> String {
    match value {
        FieldValue::Text(text) => text.clone(),
        FieldValue::Bool(yes) => yes.to_string(),
        FieldValue::Null | FieldValue::List(_) => String::new(),
    }
}
