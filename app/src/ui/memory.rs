//! What the browser remembers between screens of one visit.
//!
//! Purpose: coming back to the inbox finds it as it was left; a decided task is gone at once; the last result is told.
//! Invariant: only ever a hint for the eye; every screen refetches.
//! Never: data that must survive a reload (that is the URL's and the draft's).

use std::collections::BTreeSet;

use contract::{Me, TaskFilter, TaskList};
use leptos::prelude::*;

use crate::browser;

/// Task ids remembered as decided in this visit.
const GONE_MAX: usize = 1_000;

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
}

impl Memory {
    /// Provides the context.
    pub(crate) fn provide() {
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

    /// Tells what just happened.
    pub(crate) fn tell(self, text: String, detail: Option<String>) {
        self.flash.set(Some(Flash { text, detail }));
    }
}

/// The memory of this page.
pub(crate) fn use_memory() -> Memory {
    expect_context::<Memory>()
}
