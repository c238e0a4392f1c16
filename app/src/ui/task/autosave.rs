//! Sends what is typed to the server, so that any browser of the person finds it.
//!
//! Invariant: one request at a time, always with the newest input, and none sooner than the server takes it; while one is
//! due or under way the server is behind.
//! Never: validation; a decision.

use std::time::Duration;

use contract::{AppError, DraftAnswer, DraftRequest};
use leptos::{prelude::*, task::spawn_local};

use crate::{browser, serverfns};

/// Rest after a key press before the draft is sent.
const TYPING_PAUSE_MS: u32 = 1_000;
/// Between two drafts (DESIGN §4: at most one PUT in 5 s).
const DRAFT_PAUSE_MS: f64 = 5_000.0;
/// After a request that failed.
const RETRY_MS: u32 = 10_000;

/// Where the newest input is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kept {
    /// On the server, since.
    Server(String),
    /// In this tab only.
    Tab,
}

/// The timer and the request under way.
#[derive(Clone, Copy)]
pub(crate) struct Autosave {
    due: StoredValue<bool>,
    sending: StoredValue<bool>,
    changed: StoredValue<bool>,
    sent_ms: StoredValue<f64>,
    kept: RwSignal<Option<Kept>>,
}

impl Autosave {
    /// Tells through `kept` where the input is.
    pub(crate) fn new(kept: RwSignal<Option<Kept>>) -> Self {
        Self {
            due: StoredValue::new(false),
            sending: StoredValue::new(false),
            changed: StoredValue::new(false),
            sent_ms: StoredValue::new(f64::NEG_INFINITY),
            kept,
        }
    }

    /// Whether the server doesn't have the newest input yet.
    pub(crate) fn behind(self) -> bool {
        self.due.try_get_value().unwrap_or(false)
            || self.sending.try_get_value().unwrap_or(false)
            || self.kept.try_get_untracked().flatten() == Some(Kept::Tab)
    }

    /// The input changed: sends it soon. `input` reads the newest; none when there is nobody to send it for any more.
    pub(crate) fn soon(self, input: impl Fn() -> Option<DraftRequest> + Copy + 'static) {
        self.after(TYPING_PAUSE_MS, input);
    }

    fn after(self, pause_ms: u32, input: impl Fn() -> Option<DraftRequest> + Copy + 'static) {
        if self.due.get_value() || self.sending.get_value() {
            self.changed.set_value(true);
            return;
        }
        self.due.set_value(true);
        let rest = self.sent_ms.get_value() + DRAFT_PAUSE_MS - browser::now_ms();
        let wait_ms = f64::from(pause_ms).max(rest);
        set_timeout(move || self.send(input), Duration::from_secs_f64(wait_ms / 1_000.0));
    }

    fn send(self, input: impl Fn() -> Option<DraftRequest> + Copy + 'static) {
        // The screen may be gone by now.
        if self.due.try_set_value(false).is_some() {
            return;
        }
        let Some(request) = input() else { return };
        self.changed.set_value(false);
        self.sending.set_value(true);
        spawn_local(async move {
            let answer = serverfns::save_draft(request).await.map_err(AppError::from);
            if self.sending.try_set_value(false).is_some() {
                return;
            }
            match answer {
                Ok(DraftAnswer::Saved { at }) => {
                    self.sent_ms.set_value(browser::now_ms());
                    let time = at.text.rsplit(' ').next().unwrap_or_default().to_owned();
                    self.kept.set(Some(Kept::Server(time)));
                }
                Ok(DraftAnswer::Dropped) => self.kept.set(None),
                Ok(DraftAnswer::TooSoon { retry_ms }) => {
                    self.after(retry_ms.max(TYPING_PAUSE_MS), input);
                    return;
                }
                // The tab keeps it; whoever lost the claim or the session is told by what they do next.
                Err(AppError::Unavailable { .. } | AppError::Internal { .. }) => {
                    self.kept.set(Some(Kept::Tab));
                    self.after(RETRY_MS, input);
                    return;
                }
                Err(_) => self.kept.set(Some(Kept::Tab)),
            }
            if self.changed.get_value() {
                self.soon(input);
            }
        });
    }
}
