//! The filter as the URL says it, and back. Pure.
//!
//! Invariant: `to_query(from_query(q))` names the same filter, so that reload, Back and a shared link restore it.
//! Never: defaults that differ between the two directions.

use contract::{TaskFilter, vocab::TaskState};

use crate::browser::{decode, encode};

const TENANT: &str = "mandant";
const OBJECT_TYPE: &str = "belegart";
const STATUS: &str = "status";
const MINE: &str = "meine";
const TEXT: &str = "q";
const VIEW: &str = "ansicht";
const VIEW_DONE: &str = "erledigt";

/// Characters of a search text that are taken from the URL.
const TEXT_CHARS_MAX: usize = 200;

/// The states that can be filtered by, as the URL names them.
pub(crate) const STATES: [(&str, TaskState); 2] = [("offen", TaskState::Open), ("in-bearbeitung", TaskState::Claimed)];

/// Reads a query string, with or without its `?`. Unknown names and values are ignored.
pub(crate) fn from_query(query: &str) -> TaskFilter {
    let mut filter = TaskFilter::default();
    for pair in query.trim_start_matches('?').split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = decode(value);
        if value.is_empty() {
            continue;
        }
        match name {
            TENANT => filter.tenant = Some(value),
            OBJECT_TYPE => filter.object_type = Some(value),
            STATUS => filter.status = state(&value),
            MINE => filter.mine = value == "1",
            TEXT => filter.q = Some(value.chars().take(TEXT_CHARS_MAX).collect()),
            VIEW => filter.done = value == VIEW_DONE,
            _ => {}
        }
    }
    filter
}

/// The state a URL value names.
pub(crate) fn state(value: &str) -> Option<TaskState> {
    STATES.iter().find(|(name, _)| *name == value).map(|(_, state)| *state)
}

/// The query string for a filter, with its `?`, empty for the plain inbox.
pub(crate) fn to_query(filter: &TaskFilter) -> String {
    let status = filter.status.and_then(|state| STATES.iter().find(|(_, known)| *known == state));
    let pairs = [
        (VIEW, filter.done.then_some(VIEW_DONE)),
        (TENANT, filter.tenant.as_deref()),
        (OBJECT_TYPE, filter.object_type.as_deref()),
        (STATUS, status.map(|(name, _)| *name)),
        (MINE, filter.mine.then_some("1")),
        (TEXT, filter.q.as_deref().filter(|text| !text.is_empty())),
    ];
    let mut query = String::new();
    for (name, value) in pairs {
        if let Some(value) = value {
            query.push(if query.is_empty() { '?' } else { '&' });
            query.push_str(name);
            query.push('=');
            query.push_str(&encode(value));
        }
    }
    query
}

/// Whether anything but the view is filtered.
pub(crate) fn narrows(filter: &TaskFilter) -> bool {
    *filter != TaskFilter { done: filter.done, ..TaskFilter::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_restores_the_filter() {
        let full = TaskFilter {
            tenant: Some("muster%20gmbh/m1".to_owned()),
            object_type: Some("Eingangsrechnung & Co".to_owned()),
            status: Some(TaskState::Claimed),
            mine: true,
            q: Some("Müller 100%".to_owned()),
            done: true,
        };
        for filter in [TaskFilter::default(), full] {
            assert_eq!(from_query(&to_query(&filter)), filter);
        }
        assert_eq!(to_query(&TaskFilter::default()), "");
    }

    #[test]
    fn nonsense_is_ignored() {
        assert_eq!(from_query("?status=foo&meine=ja&x=1&&="), TaskFilter::default());
        assert!(!narrows(&from_query("?ansicht=erledigt")));
        assert!(narrows(&from_query("?q=a")));
    }
}
