//! Whether the person is in the middle of something in the list, so that nothing may move under their hands.
//!
//! Invariant: an untouched list at its top is never busy, so that new rows appear there at once.
//! Never: called on the server.

use std::cell::Cell;

use leptos::prelude::document;

use crate::browser;

/// Pixels from the top that still count as "at the top".
const TOP_PX: i32 = 8;
/// A pointer that moved over the list this recently may be about to click.
const POINTER_MS: f64 = 1_000.0;

/// The element that scrolls.
pub(crate) const LIST: &str = "#task-list";

thread_local! {
    static POINTER_AT: Cell<f64> = const { Cell::new(0.0) };
}

/// The pointer moved over the list.
pub(crate) fn pointer_moved() {
    POINTER_AT.with(|at| at.set(browser::now_ms()));
}

/// Whether new rows have to wait.
pub(crate) fn busy() -> bool {
    let pointer_near = POINTER_AT.with(|at| browser::now_ms() - at.get() < POINTER_MS);
    let scrolled = browser::query(LIST).is_some_and(|list| list.scroll_top() > TOP_PX);
    pointer_near || scrolled || browser::query("#task-list :focus-visible").is_some()
}

/// The task whose row has the focus.
pub(crate) fn focused_task() -> Option<String> {
    let row = document().active_element()?.closest("[data-task]").ok().flatten()?;
    row.get_attribute("data-task")
}
