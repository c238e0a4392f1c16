//! What a person typed and hasn't sent, kept in this tab with every key press until it is sent. The server's copy, which
//! any browser finds, follows within seconds (`autosave`).
//!
//! Invariant: keyed by task and step visit, so that a draft never lands on the next step; saved without validation.
//! Never: a decision.

use contract::{Draft, DraftView, vocab::FieldValue};
use serde::{Deserialize, Serialize};

use crate::browser;

/// A draft as this tab keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Kept {
    #[serde(flatten)]
    draft: Draft,
    /// When, by the browser's clock, in milliseconds since 1970.
    #[serde(default)]
    at_ms: f64,
}

fn key(task_id: &str, visit: u64) -> String {
    format!("draft:{task_id}:{visit}")
}

/// The draft to go on with: this tab's or the server's, whichever is newer.
pub(crate) fn newest(task_id: &str, visit: u64, server: Option<&DraftView>) -> Option<Draft> {
    let kept = browser::session_get(&key(task_id, visit)).and_then(|text| serde_json::from_str::<Kept>(&text).ok());
    choose(kept, server.map(|saved| (saved.draft.clone(), browser::parse_ms(&saved.saved_at.iso))))
}

fn choose(kept: Option<Kept>, server: Option<(Draft, f64)>) -> Option<Draft> {
    let draft = match (kept, server) {
        (Some(kept), Some((draft, at_ms))) => {
            if at_ms > kept.at_ms {
                draft
            } else {
                kept.draft
            }
        }
        (Some(kept), None) => kept.draft,
        (None, Some((draft, _))) => draft,
        (None, None) => return None,
    };
    (!draft.is_empty()).then_some(draft)
}

/// Keeps the draft, or forgets an empty one. False when the browser refuses to store it.
pub(crate) fn save(task_id: &str, visit: u64, draft: &Draft) -> bool {
    if draft.is_empty() {
        discard(task_id, visit);
        return true;
    }
    let kept = Kept { draft: draft.clone(), at_ms: browser::now_ms() };
    serde_json::to_string(&kept).is_ok_and(|text| browser::session_set(&key(task_id, visit), &text))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(comment: &str) -> Draft {
        Draft { comment: comment.to_owned(), ..Draft::default() }
    }

    #[test]
    fn the_newer_draft_wins_and_an_empty_one_is_none() {
        let kept = |comment: &str| Some(Kept { draft: draft(comment), at_ms: 1_000.0 });
        assert_eq!(choose(kept("here"), Some((draft("there"), 2_000.0))), Some(draft("there")));
        assert_eq!(choose(kept("here"), Some((draft("there"), 500.0))), Some(draft("here")));
        assert_eq!(choose(None, Some((draft("there"), 500.0))), Some(draft("there")));
        assert_eq!(choose(kept("here"), None), Some(draft("here")));
        assert_eq!(choose(kept(""), None), None);
        assert_eq!(choose(None, None), None);
    }
}
