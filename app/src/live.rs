//! The one place that listens to the server's hints.
//!
//! Purpose: a WebSocket that reconnects by itself, and counters that screens watch to refetch what they show.
//! Invariant: a hint is never data; losing one costs at most a poll, because every (re)connection counts as a resync.
//! Never: fetches, rendering.

mod schedule;
mod socket;

use std::collections::BTreeMap;

use contract::PushMessage;
use leptos::prelude::*;

/// Tasks whose counters are kept apart; beyond that they are dropped and everything counts as changed.
const TASKS_MAX: usize = 500;

/// How the connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    /// Not there yet, too early to worry anybody.
    Connecting,
    /// Hints arrive.
    Open,
    /// Gone; the screens poll.
    Lost,
}

/// What screens watch.
#[derive(Clone, Copy)]
pub(crate) struct Live {
    link: RwSignal<Link>,
    outdated: RwSignal<bool>,
    build: StoredValue<Option<String>>,
    any: RwSignal<u64>,
    all: RwSignal<u64>,
    tasks: RwSignal<BTreeMap<String, u64>>,
}

impl Live {
    /// Provides the context and, in a browser, connects.
    pub(crate) fn provide() -> Self {
        let live = Self {
            link: RwSignal::new(Link::Connecting),
            outdated: RwSignal::new(false),
            build: StoredValue::new(None),
            any: RwSignal::new(0),
            all: RwSignal::new(0),
            tasks: RwSignal::new(BTreeMap::new()),
        };
        provide_context(live);
        Effect::new(move |_| socket::connect(live));
        live
    }

    /// How the connection is.
    pub(crate) fn link(self) -> Link {
        self.link.get()
    }

    /// Whether hints arrive right now.
    pub(crate) fn is_open_untracked(self) -> bool {
        self.link.get_untracked() == Link::Open
    }

    /// Whether the server runs a newer build than this page.
    pub(crate) fn outdated(self) -> bool {
        self.outdated.get()
    }

    /// Changes with every hint.
    pub(crate) fn any_version(self) -> u64 {
        self.any.get()
    }

    /// Changes when this task may have changed.
    pub(crate) fn task_version(self, task_id: &str) -> u64 {
        let own = self.tasks.with(|tasks| tasks.get(task_id).copied().unwrap_or(0));
        own + self.all.get()
    }

    fn take(self, message: PushMessage) {
        match message {
            PushMessage::Hello { build } => {
                let changed = self.build.with_value(|known| known.as_ref().is_some_and(|known| *known != build));
                if changed {
                    self.outdated.set(true);
                } else {
                    self.build.set_value(Some(build));
                }
            }
            PushMessage::Changed { task_id, revision: _ } => self.changed(task_id),
            PushMessage::Resync => self.resync(),
            PushMessage::Ping => {}
        }
    }

    fn changed(self, task_id: String) {
        if self.tasks.with_untracked(|tasks| tasks.len() >= TASKS_MAX) {
            self.tasks.set(BTreeMap::new());
            self.resync();
            return;
        }
        self.tasks.update(|tasks| *tasks.entry(task_id).or_insert(0) += 1);
        self.any.update(|version| *version += 1);
    }

    fn resync(self) {
        self.all.update(|version| *version += 1);
        self.any.update(|version| *version += 1);
    }

    fn show(self, link: Link) {
        if self.link.get_untracked() != link {
            self.link.set(link);
        }
    }
}
