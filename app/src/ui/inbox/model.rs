//! The inbox's state: rows with a signal each, what waits, and how both are refreshed.
//!
//! Invariant: one fetch at a time; a hint during a fetch causes one more. A row's spinner and error belong to its task.
//! Never: markup.

use contract::{
    AppError, ClaimRequest, TaskCounts, TaskFilter, TaskList, TaskRow, UnclaimRequest,
    vocab::{ClaimId, OperationId},
};
use leptos::{prelude::*, task::spawn_local};

use super::merge::merge;
use crate::{browser, serverfns, ui::memory::Memory};

/// One row of the screen.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    /// What the server says.
    pub(crate) row: RwSignal<TaskRow>,
    /// What was asked and isn't answered yet.
    pub(crate) pending: RwSignal<Option<Pending>>,
    /// Why it failed.
    pub(crate) error: RwSignal<Option<AppError>>,
}

/// What was asked for a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pending {
    /// Take it over.
    Claim,
    /// Give it back.
    Unclaim,
}

/// The inbox's state.
#[derive(Clone, Copy)]
pub(crate) struct Model {
    /// Task id and its row, in order.
    pub(crate) entries: RwSignal<Vec<(String, Entry)>>,
    /// New rows that wait.
    pub(crate) waiting: RwSignal<usize>,
    /// Counts over everything.
    pub(crate) counts: RwSignal<TaskCounts>,
    /// Tenants to filter by.
    pub(crate) tenants: RwSignal<Vec<(String, String)>>,
    /// Object types to filter by.
    pub(crate) object_types: RwSignal<Vec<String>>,
    /// Whether rows were left out.
    pub(crate) truncated: RwSignal<bool>,
    /// Why the list could not be read.
    pub(crate) error: RwSignal<Option<AppError>>,
    filter: Memo<TaskFilter>,
    memory: Memory,
    shown_filter: StoredValue<TaskFilter>,
    fresh: StoredValue<Option<TaskList>>,
    fetching: StoredValue<bool>,
    again: StoredValue<bool>,
    owner: StoredValue<Owner>,
}

impl Model {
    /// From the first answer.
    pub(crate) fn new(filter: Memo<TaskFilter>, memory: Memory, first: Result<TaskList, AppError>) -> Self {
        let shown = filter.get_untracked();
        let (list, error) = match first {
            Ok(list) => (memory.without_gone(&shown, list), None),
            Err(error) => (TaskList::default(), Some(error)),
        };
        let model = Self {
            entries: RwSignal::new(list.rows.iter().map(entry).collect()),
            waiting: RwSignal::new(0),
            counts: RwSignal::new(list.counts),
            tenants: RwSignal::new(list.tenants.clone()),
            object_types: RwSignal::new(list.object_types.clone()),
            truncated: RwSignal::new(list.truncated),
            error: RwSignal::new(error),
            filter,
            memory,
            shown_filter: StoredValue::new(shown.clone()),
            fresh: StoredValue::new(None),
            fetching: StoredValue::new(false),
            again: StoredValue::new(false),
            owner: StoredValue::new(Owner::current().unwrap_or_default()),
        };
        // Other parts of the page watch the memory: it must not change while the page wakes up.
        Effect::new(move |_| {
            if model.error.with_untracked(Option::is_none) {
                memory.keep_list(shown.clone(), list.clone());
            }
        });
        model
    }

    /// Fetches the list, now or right after the fetch that is under way. In a browser only.
    pub(crate) fn refresh(self) {
        if self.fetching.try_get_value() != Some(false) {
            self.again.try_set_value(true);
            return;
        }
        self.fetching.set_value(true);
        spawn_local(async move {
            loop {
                self.again.try_set_value(false);
                let Some(filter) = self.filter.try_get_untracked() else { return };
                let answer = serverfns::list_tasks(filter.clone()).await.map_err(AppError::from);
                // The screen may be gone by now.
                let Some(asked_again) = self.again.try_get_value() else { return };
                if self.filter.try_get_untracked().as_ref() == Some(&filter) {
                    self.take(filter, answer);
                }
                if !asked_again {
                    break;
                }
            }
            self.fetching.try_set_value(false);
        });
    }

    fn take(self, filter: TaskFilter, answer: Result<TaskList, AppError>) {
        let list = match answer {
            Ok(list) => self.memory.without_gone(&filter, list),
            Err(error) => {
                self.error.set(Some(error));
                return;
            }
        };
        if self.error.with_untracked(Option::is_some) {
            self.error.set(None);
        }
        let same_view = self.shown_filter.with_value(|shown| *shown == filter);
        self.shown_filter.set_value(filter.clone());
        let hold = same_view && super::touch::busy();
        self.show(&list, hold);
        self.fresh.set_value(Some(list.clone()));
        self.memory.keep_list(filter, list);
    }

    fn show(self, list: &TaskList, hold: bool) {
        set_if_new(self.counts, list.counts);
        set_if_new(self.tenants, list.tenants.clone());
        set_if_new(self.object_types, list.object_types.clone());
        set_if_new(self.truncated, list.truncated);
        let shown: Vec<TaskRow> =
            self.entries.with_untracked(|entries| entries.iter().map(|(_, entry)| entry.row.get_untracked()).collect());
        let focused = super::touch::focused_task();
        let merged = merge(&shown, list.rows.clone(), hold, focused.as_deref());
        set_if_new(self.waiting, merged.waiting);
        self.put(merged.rows);
    }

    /// Shows what waits.
    pub(crate) fn show_waiting(self) {
        if let Some(list) = self.fresh.get_value() {
            self.show(&list, false);
        }
    }

    /// Shows what waits, if nobody is in the middle of something any more.
    pub(crate) fn show_waiting_if_idle(self) {
        if self.waiting.get_untracked() > 0 && !super::touch::busy() {
            self.show_waiting();
        }
    }

    fn put(self, rows: Vec<TaskRow>) {
        let before = self.entries.get_untracked();
        let ids_before: Vec<&str> = before.iter().map(|(id, _)| id.as_str()).collect();
        let same_ids = ids_before.iter().copied().eq(rows.iter().map(|row| row.task_id.as_str()));
        let mut after = Vec::with_capacity(rows.len());
        for row in rows {
            match before.iter().find(|(id, _)| *id == row.task_id) {
                Some((id, entry)) => {
                    let newer = entry.row.with_untracked(|old| row.revision >= old.revision && *old != row);
                    if newer {
                        entry.row.set(row);
                        if entry.error.with_untracked(Option::is_some) {
                            entry.error.set(None);
                        }
                    }
                    after.push((id.clone(), *entry));
                }
                // Signals of a row live as long as the screen, not as long as the effect that made them.
                None => after.push(self.owner.with_value(|owner| owner.with(|| entry(&row)))),
            }
        }
        if !same_ids {
            self.entries.set(after);
        }
    }

    /// Takes a task over or gives it back, showing it at once.
    pub(crate) fn act(self, entry: Entry, what: Pending) {
        if entry.pending.get_untracked().is_some() {
            return;
        }
        let (task_id, claim_id) = entry.row.with_untracked(|row| (row.task_id.clone(), row.claim_id.clone()));
        entry.pending.set(Some(what));
        entry.error.set(None);
        spawn_local(async move {
            let answer = send(what, task_id, claim_id).await;
            entry.pending.try_set(None);
            match answer {
                Ok(row) => {
                    entry.row.try_set(row);
                }
                Err(error) => {
                    entry.error.try_set(Some(error));
                }
            }
            self.refresh();
        });
    }
}

async fn send(what: Pending, task_id: String, claim_id: Option<ClaimId>) -> Result<TaskRow, AppError> {
    let operation: OperationId = browser::operation_id();
    let detail = match (what, claim_id) {
        (Pending::Claim, _) => serverfns::claim_task(ClaimRequest { task_id, operation }).await?,
        (Pending::Unclaim, Some(claim_id)) => {
            serverfns::unclaim_task(UnclaimRequest { task_id, operation, claim_id }).await?
        }
        (Pending::Unclaim, None) => return Err(AppError::Stale { who: None, at: None, what: None, done: false }),
    };
    Ok(detail.row)
}

fn entry(row: &TaskRow) -> (String, Entry) {
    let entry = Entry { row: RwSignal::new(row.clone()), pending: RwSignal::new(None), error: RwSignal::new(None) };
    (row.task_id.clone(), entry)
}

fn set_if_new<T: PartialEq + Send + Sync + Clone + 'static>(signal: RwSignal<T>, value: T) {
    if signal.with_untracked(|old| *old != value) {
        signal.set(value);
    }
}
