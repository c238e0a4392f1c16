//! How a fresh list becomes the list on the screen. Pure.
//!
//! Invariant: while rows are held back, no row that stays changes its place; what is gone goes, except the row that
//! has the focus, which stays as done until the focus leaves.
//! Never: sort; the server's order is the order.

use std::collections::BTreeSet;

use contract::{TaskRow, vocab::TaskState};

/// What to show, and how many new rows wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Merged {
    /// Rows for the screen.
    pub(crate) rows: Vec<TaskRow>,
    /// New rows that wait behind "3 neue anzeigen".
    pub(crate) waiting: usize,
}

/// Merges. `hold` keeps new rows waiting; `focused` is the task id of the row that has the focus.
pub(crate) fn merge(shown: &[TaskRow], fresh: Vec<TaskRow>, hold: bool, focused: Option<&str>) -> Merged {
    if !hold {
        return Merged { rows: fresh, waiting: 0 };
    }
    let known: BTreeSet<&str> = shown.iter().map(|row| row.task_id.as_str()).collect();
    let waiting = fresh.iter().filter(|row| !known.contains(row.task_id.as_str())).count();
    let rows = shown
        .iter()
        .filter_map(|old| {
            let found = fresh.iter().find(|row| row.task_id == old.task_id);
            match found {
                Some(row) => Some(row.clone()),
                None if focused == Some(old.task_id.as_str()) => Some(ghost(old)),
                None => None,
            }
        })
        .collect();
    Merged { rows, waiting }
}

fn ghost(old: &TaskRow) -> TaskRow {
    TaskRow { state: TaskState::Done, claimed_by: None, mine: false, allowed_actions: Vec::new(), ..old.clone() }
}

#[cfg(test)]
mod tests {
    use contract::Moment;

    use super::*;

    fn row(id: &str, revision: u64) -> TaskRow {
        TaskRow {
            task_id: id.to_owned(),
            step_title: String::new(),
            workflow_name: String::new(),
            customer: String::new(),
            tenant: String::new(),
            object_type: String::new(),
            object_number: id.to_owned(),
            state: TaskState::Open,
            claimed_by: None,
            mine: false,
            claim_id: None,
            opened_at: Moment { iso: String::new(), text: String::new() },
            decision: None,
            summary: Vec::new(),
            revision,
            allowed_actions: Vec::new(),
        }
    }

    fn check(hold: bool, focused: Option<&str>, want: &[(&str, u64)], waiting: usize) {
        let shown = [row("a", 1), row("b", 1), row("c", 1)];
        let fresh = vec![row("new", 1), row("c", 2), row("a", 1)];
        let merged = merge(&shown, fresh, hold, focused);
        let got: Vec<(&str, u64)> = merged.rows.iter().map(|row| (row.task_id.as_str(), row.revision)).collect();
        assert_eq!(got, want);
        assert_eq!(merged.waiting, waiting);
    }

    #[test]
    fn untouched_lists_take_everything() {
        check(false, None, &[("new", 1), ("c", 2), ("a", 1)], 0);
    }

    #[test]
    fn held_lists_keep_places_update_in_place_and_count_what_waits() {
        check(true, None, &[("a", 1), ("c", 2)], 1);
    }

    #[test]
    fn the_focused_row_stays_as_done() {
        check(true, Some("b"), &[("a", 1), ("b", 1), ("c", 2)], 1);
        let merged = merge(&[row("b", 1)], Vec::new(), true, Some("b"));
        assert_eq!(merged.rows[0].state, TaskState::Done);
    }
}
