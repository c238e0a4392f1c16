//! Small line icons, drawn here so that nothing is loaded.
//!
//! Invariant: decoration only; the word beside an icon carries the meaning.

use leptos::prelude::*;

pub(crate) const INBOX: &str = "M2.5 9.5h3l1 2h3l1-2h3M2.5 9.5l2-6h7l2 6v3.5h-11z";
pub(crate) const DONE: &str = "M3 8.5l3.2 3.2L13 4.5";
pub(crate) const CROSS: &str = "M4 4l8 8M12 4l-8 8";
pub(crate) const OPEN: &str = "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11z";
pub(crate) const CLAIMED: &str = "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11zM8 5v3l2 1.5";
pub(crate) const BACK: &str = "M9.5 3.5L5 8l4.5 4.5";
pub(crate) const HELP: &str = "M1.8 4.5h12.4v7H1.8zM4.2 7h.1M6.7 7h.1M9.2 7h.1M11.7 7h.1M5 9.3h6";
pub(crate) const EXIT: &str = "M6.5 2.8H3v10.4h3.5M7 8h6.5M11 5.3L13.7 8L11 10.7";
pub(crate) const WARN: &str = "M8 2.5l6 10.7H2zM8 6.5v3M8 11.4v.1";
pub(crate) const INFO: &str = "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11zM8 7.3v3.2M8 5.3v.1";
pub(crate) const LOCK: &str = "M4 7.2h8v6H4zM5.5 7.2V5.3a2.5 2.5 0 0 1 5 0v1.9";
pub(crate) const SERVER: &str = "M3 3h10v4H3zM3 9h10v4H3zM5.2 5h.1M5.2 11h.1";
pub(crate) const FORK: &str = "M4 3v3.5c0 2 4 1.5 4 3.5v3M12 3v3.5c0 2-4 1.5-4 3.5";
pub(crate) const TALK: &str = "M2.5 3.5h11v7H8l-3 2.7v-2.7H2.5z";
pub(crate) const PLAY: &str = "M5 3.5l7 4.5l-7 4.5z";
pub(crate) const FLAG: &str = "M4 13.5v-10.5h7.5l-1.5 2.7l1.5 2.8H4";
pub(crate) const GLOBE: &str =
    "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11zM2.5 8h11M8 2.5c-2.6 3.3-2.6 7.7 0 11M8 2.5c2.6 3.3 2.6 7.7 0 11";
pub(crate) const DOCUMENT: &str = "M4 2.5h5l3 3v8H4zM9 2.5v3h3";

/// One icon, 16 × 16, in the text's colour.
#[component]
pub(crate) fn Icon(path: &'static str) -> impl IntoView {
    view! {
        <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
            <path d=path></path>
        </svg>
    }
}

/// The icon of a row's state (`texts::state_tone`).
pub(crate) fn of_state(tone: &str) -> &'static str {
    match tone {
        "approved" | "done" => DONE,
        "rejected" => CROSS,
        "claimed" | "mine" => CLAIMED,
        _ => OPEN,
    }
}

/// The icon of a log entry's kind.
pub(crate) fn of_log(kind: &str) -> &'static str {
    match kind {
        "started" => PLAY,
        "condition" => FORK,
        "task-opened" => INBOX,
        "claimed" | "unclaimed" | "claim-lapsed" => LOCK,
        "approved" | "decided" => DONE,
        "rejected" => CROSS,
        "feedback" => TALK,
        "erp-failed" | "stopped" => WARN,
        "ended" | "end-reached" => FLAG,
        _ => SERVER,
    }
}
