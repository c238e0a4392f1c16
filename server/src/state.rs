//! What every route may use.

use std::sync::Arc;

use axum::extract::FromRef;
use leptos::config::LeptosOptions;
use ports::Store;

use crate::auth::Auth;
use crate::backend::Backend;
use crate::config::Settings;
use crate::push::PushHub;
use crate::trigger_auth::TriggerAuth;
use crate::trigger_limit::TriggerLimit;

/// Shared by all routes; clones share everything.
#[derive(Clone)]
pub struct AppState {
    pub(crate) settings: Arc<Settings>,
    pub(crate) backend: Backend,
    pub(crate) auth: Auth,
    pub(crate) trigger_auth: Arc<TriggerAuth>,
    pub(crate) trigger_limit: Arc<TriggerLimit>,
    pub(crate) push: PushHub,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) leptos: LeptosOptions,
    pub(crate) build: Arc<str>,
}

impl FromRef<AppState> for LeptosOptions {
    fn from_ref(state: &AppState) -> Self {
        state.leptos.clone()
    }
}

impl FromRef<AppState> for Auth {
    fn from_ref(state: &AppState) -> Self {
        state.auth.clone()
    }
}
