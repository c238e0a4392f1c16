//! What the browser remembers between screens of one visit.
//!
//! Purpose: coming back to the inbox finds it as it was left; a decided task is gone at once; the last result is told.
//! Invariant: only ever a hint for the eye; every screen refetches.
//! Never: data that must survive a reload (that is the URL's and the draft's).

use std::collections::BTreeSet;

use contract::{Me, TaskFilter, TaskList, TaskRow, vocab::Action};
use leptos::prelude::*;

use crate::browser;

/// Task ids remembered as decided in this visit.
const GONE_MAX: usize = 1_000;

/// Where this browser remembers that a decision leads back to the list.
const AUTO_NEXT_KEY: &str = "next-task";

/// A line that tells what just happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flash {
    /// The sentence.
    pub(crate) text: String,
    /// What else is worth knowing.
    pub(crate) detail: Option<String>,
}

/// The memory, a context.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    /// What just happened.
    pub(crate) flash: RwSignal<Option<Flash>>,
    /// Who is signed in, once known.
    pub(crate) me: RwSignal<Option<Me>>,
    /// Counts for the navigation.
    pub(crate) open_count: RwSignal<Option<u32>>,
    list: StoredValue<Option<(TaskFilter, TaskList)>>,
    query: RwSignal<String>,
    scroll: StoredValue<i32>,
    last_task: StoredValue<Option<String>>,
    gone: StoredValue<BTreeSet<String>>,
    reloading: StoredValue<bool>,
    keep_flash: StoredValue<bool>,
    /// Whether a decision leads to the next task.
    pub(crate) auto_next: RwSignal<bool>,
}

impl Memory {
    /// Provides the context.
    pub(crate) fn provide() {
        let auto_next = RwSignal::new(true);
        Effect::new(move |_| {
            if browser::local_get(AUTO_NEXT_KEY).as_deref() == Some("off") {
                auto_next.set(false);
            }
        });
        provide_context(Self {
            flash: RwSignal::new(None),
            me: RwSignal::new(None),
            open_count: RwSignal::new(None),
            list: StoredValue::new(None),
            query: RwSignal::new(String::new()),
            scroll: StoredValue::new(0),
            last_task: StoredValue::new(None),
            gone: StoredValue::new(BTreeSet::new()),
            reloading: StoredValue::new(false),
            keep_flash: StoredValue::new(false),
            auto_next,
        });
    }

    /// The list as it was last seen with this filter.
    pub(crate) fn list(self, filter: &TaskFilter) -> Option<TaskList> {
        self.list.with_value(|list| list.as_ref().filter(|(seen, _)| seen == filter).map(|(_, list)| list.clone()))
    }

    /// Remembers a list, without what is gone.
    pub(crate) fn keep_list(self, filter: TaskFilter, list: TaskList) {
        self.open_count.set(Some(list.counts.open + list.counts.claimed));
        self.list.set_value(Some((filter, list)));
    }

    /// The inbox's query string, with its `?`, for links back.
    pub(crate) fn inbox_url(self) -> String {
        format!("{}{}", super::INBOX_PATH, self.query.get())
    }

    /// The same, for event handlers.
    pub(crate) fn inbox_url_untracked(self) -> String {
        format!("{}{}", super::INBOX_PATH, self.query.get_untracked())
    }

    /// Remembers the inbox's query string.
    pub(crate) fn keep_query(self, query: String) {
        if self.query.get_untracked() != query {
            self.query.set(query);
        }
    }

    /// How far the list was scrolled.
    pub(crate) fn scroll(self) -> i32 {
        self.scroll.get_value()
    }

    /// Remembers how far the list is scrolled.
    pub(crate) fn keep_scroll(self, top: i32) {
        self.scroll.set_value(top);
    }

    /// The task that was open last.
    pub(crate) fn last_task(self) -> Option<String> {
        self.last_task.get_value()
    }

    /// Remembers the open task.
    pub(crate) fn keep_task(self, task_id: String) {
        self.last_task.set_value(Some(task_id));
    }

    /// Switches whether a decision leads to the next task.
    pub(crate) fn switch_auto_next(self, on: bool) {
        self.auto_next.set(on);
        browser::local_set(AUTO_NEXT_KEY, if on { "on" } else { "off" });
    }

    /// The task to go on with after this one: the next one of the list as it was last seen that can be taken or is mine,
    /// from the top again after the last. None when the list holds none, or the person wants the list.
    pub(crate) fn next_task(self, task_id: &str) -> Option<String> {
        if !self.auto_next.get_untracked() {
            return None;
        }
        self.list.with_value(|list| {
            let (filter, list) = list.as_ref()?;
            if filter.done {
                return None;
            }
            self.gone.with_value(|gone| next_of(&list.rows, task_id, gone))
        })
    }

    /// I decided this task: no list shows it as open again, however late its answer.
    pub(crate) fn forget_task(self, task_id: &str) {
        self.gone.update_value(|gone| {
            if gone.len() < GONE_MAX {
                gone.insert(task_id.to_owned());
            }
        });
        self.list.update_value(|list| {
            if let Some((filter, list)) = list
                && !filter.done
            {
                list.rows.retain(|row| row.task_id != task_id);
            }
        });
    }

    /// Takes what I decided already out of a list of open tasks.
    pub(crate) fn without_gone(self, filter: &TaskFilter, mut list: TaskList) -> TaskList {
        if !filter.done {
            self.gone.with_value(|gone| list.rows.retain(|row| !gone.contains(&row.task_id)));
        }
        list
    }

    /// Loads the page again because the person asked for it: nothing typed gets lost, so nobody is asked.
    pub(crate) fn reload_on_purpose(self) {
        self.reloading.set_value(true);
        browser::reload();
    }

    /// Whether the page goes away because the person asked for it.
    pub(crate) fn reloads_on_purpose(self) -> bool {
        self.reloading.get_value()
    }

    /// Tells what just happened, also on the task that is opened next.
    pub(crate) fn tell_across(self, text: String, detail: Option<String>) {
        self.keep_flash.set_value(true);
        self.tell(text, detail);
    }

    /// A task was opened: what is told is over, unless it is what led here.
    pub(crate) fn clear_flash(self) {
        if !self.keep_flash.get_value() {
            self.flash.set(None);
        }
        self.keep_flash.set_value(false);
    }

    /// Tells what just happened.
    pub(crate) fn tell(self, text: String, detail: Option<String>) {
        self.flash.set(Some(Flash { text, detail }));
    }
}

fn next_of(rows: &[TaskRow], task_id: &str, gone: &BTreeSet<String>) -> Option<String> {
    let at = rows.iter().position(|row| row.task_id == task_id);
    let (before, after) = rows.split_at(at.unwrap_or(0));
    let mut candidates =
        after.iter().chain(before).filter(|row| row.task_id != task_id && !gone.contains(&row.task_id));
    let workable =
        |row: &&TaskRow| [Action::Claim, Action::Unclaim].iter().any(|act| row.allowed_actions.contains(act));
    candidates.find(workable).map(|row| row.task_id.clone())
}

/// The memory of this page.
pub(crate) fn use_memory() -> Memory {
    expect_context::<Memory>()
}

#[cfg(test)]
mod tests {
    use contract::{Moment, vocab::TaskState};

    use super::*;

    fn row(id: &str, actions: &[Action]) -> TaskRow {
        TaskRow {
            task_id: id.to_owned(),
            step_title: String::new(),
            workflow_name: String::new(),
            customer: String::new(),
            tenant: String::new(),
            object_type: String::new(),
            object_number: String::new(),
            state: TaskState::Open,
            claimed_by: None,
            mine: false,
            claim_id: None,
            opened_at: Moment { iso: String::new(), text: String::new() },
            decision: None,
            summary: Vec::new(),
            revision: 1,
            allowed_actions: actions.to_vec(),
        }
    }

    #[test]
    fn the_next_task_is_one_that_can_be_worked_on() {
        let (claim, mine) = ([Action::Claim], [Action::Unclaim]);
        let rows = [row("a", &claim), row("b", &mine), row("c", &[]), row("d", &claim)];
        let next = |id: &str, gone: &[&str]| next_of(&rows, id, &gone.iter().map(|id| (*id).to_owned()).collect());
        assert_eq!(next("b", &[]).as_deref(), Some("d"), "what others have is passed over");
        assert_eq!(next("d", &[]).as_deref(), Some("a"), "from the top again");
        assert_eq!(next("a", &[]).as_deref(), Some("b"), "my own counts");
        assert_eq!(next("b", &["d", "a"]), None);
        assert_eq!(next("elsewhere", &[]).as_deref(), Some("a"));
    }
}
