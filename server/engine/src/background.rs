//! Work that goes on after the answer: effects that were kicked off, runs that the timer looks after.
//!
//! Invariant: it belongs to its node and stops with it; nothing that was stopped runs on.
//! Never: the only place where something stands that must not get lost; what is pending lies in the store.

use std::future::Future;
use std::sync::{Mutex, PoisonError};

use tokio::task::JoinSet;

/// A node's background work.
#[derive(Debug, Default)]
pub(crate) struct Background {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    running: JoinSet<()>,
    stopped: bool,
}

impl Background {
    /// Starts some work; after [`Self::stop`] nothing starts any more.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(ended) = state.running.try_join_next() {
            if let Err(error) = ended
                && error.is_panic()
            {
                tracing::error!(%error, "background work panicked; what it left pending is tried again");
            }
        }
        if !state.stopped {
            state.running.spawn(work);
        }
    }

    /// Stops everything where it stands, as a crash would.
    pub(crate) fn stop(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.stopped = true;
        state.running.abort_all();
    }
}
