//! Wiring: settings become components here and nowhere else (DESIGN §2 rule 11).

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use adapters::microtech::{ErpSettings as Erp, Microtech, Secret as ErpSecret, StateValues};
use adapters::system::{RandomIds, SystemClock};
use engine::{Orchestrator, Parts};
use leptos::config::LeptosOptions;
use ports::Clock;
use tokio::net::TcpListener;
use vocab::TenantKey;

use crate::auth::Auth;
use crate::backend::Backend;
use crate::config::{ErpSettings, Settings, TenantSettings};
use crate::push::{PushHub, as_hints};
use crate::routes::router;
use crate::state::AppState;
use crate::trigger_auth::TriggerAuth;
use crate::trigger_limit::TriggerLimit;

/// Why the server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A part can't be built.
    #[error("{part}: {reason}")]
    Part {
        /// Which.
        part: &'static str,
        /// Why.
        reason: String,
    },
    /// The address can't be listened on.
    #[error("{address} can't be listened on: {reason}")]
    Listen {
        /// Address.
        address: SocketAddr,
        /// Why.
        reason: std::io::Error,
    },
    /// Serving ended by an error.
    #[error("the server stopped: {0}")]
    Served(std::io::Error),
}

pub(crate) fn part(part: &'static str) -> impl Fn(&dyn std::fmt::Display) -> StartError {
    move |reason| StartError::Part { part, reason: reason.to_string() }
}

/// A server that is ready to listen.
pub struct Server {
    state: AppState,
}

impl Server {
    /// Builds every component, after the store has proved its guarantees; asks nothing of the identity provider or the
    /// ERP.
    ///
    /// # Errors
    /// [`StartError::Part`] names what can't be built, or which guarantee the store breaks, and why.
    pub async fn build(settings: Settings) -> Result<Self, StartError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let store = crate::store::open(&settings.store, Arc::clone(&clock)).await?;
        let erp = Microtech::new(erp_settings(&settings.tenant)).map_err(|e| part("ERP settings")(&e))?;
        let erp = Arc::new(erp);
        let push = PushHub::default();
        let engine = Orchestrator::new(Parts {
            store: Arc::clone(&store),
            erp_read: erp.clone(),
            erp_write: erp,
            clock: Arc::clone(&clock),
            ids: Arc::new(RandomIds),
            hints: as_hints(&push),
            env: settings.server.env.clone(),
            tenants: settings.tenant.iter().map(TenantSettings::key).collect(),
        });
        let auth = Auth::new(&settings, Arc::clone(&store), Arc::clone(&clock)).map_err(|e| part("login")(&e))?;
        let trigger_limit = TriggerLimit::new(settings.server.triggers_per_minute, Arc::clone(&clock));
        let trigger_auth = TriggerAuth::new(&settings.tenant, clock).map_err(|e| part("trigger settings")(&e))?;
        let settings = Arc::new(settings);
        let leptos = leptos_options(settings.server.address);
        let build = bundle_name(&leptos);
        let state = AppState {
            backend: Backend::new(engine, Arc::clone(&settings)),
            settings,
            auth,
            trigger_auth: Arc::new(trigger_auth),
            trigger_limit: Arc::new(trigger_limit),
            push,
            store,
            leptos,
            build,
        };
        Ok(Self { state })
    }

    /// The engine.
    pub fn engine(&self) -> &Orchestrator {
        self.state.backend.engine()
    }

    /// Rebuilds what is unfinished, then serves until the process is told to stop. `ready` is called once it listens.
    ///
    /// # Errors
    /// [`StartError::Listen`], [`StartError::Served`].
    pub async fn run(self, ready: impl FnOnce(SocketAddr)) -> Result<(), StartError> {
        let address = self.state.settings.server.address;
        let listener = TcpListener::bind(address).await.map_err(|reason| StartError::Listen { address, reason })?;
        let bound = listener.local_addr().map_err(|reason| StartError::Listen { address, reason })?;
        let timers = tokio::spawn(self.engine().clone().run_timers());
        let sweep = tokio::spawn(sweep_sessions(self.state.auth.clone()));
        ready(bound);
        let service = router(self.state).into_make_service_with_connect_info::<SocketAddr>();
        let served = axum::serve(listener, service).with_graceful_shutdown(stopped()).await;
        timers.abort();
        sweep.abort();
        served.map_err(StartError::Served)
    }
}

/// Deletes lapsed sessions now and then.
async fn sweep_sessions(auth: Auth) {
    const EVERY: std::time::Duration = std::time::Duration::from_secs(3_600);
    loop {
        tokio::time::sleep(EVERY).await;
        match auth.sessions().sweep().await {
            Ok(count) => tracing::info!(count, "lapsed sessions deleted"),
            Err(error) => tracing::warn!(%error, "lapsed sessions not deleted"),
        }
    }
}

async fn stopped() {
    if let Err(error) = tokio::signal::ctrl_c().await {
        tracing::error!(%error, "signals can't be heard; stop the process by other means");
        std::future::pending::<()>().await;
    }
}

fn erp_settings(tenants: &[TenantSettings]) -> BTreeMap<TenantKey, Erp> {
    tenants.iter().filter_map(|tenant| Some((tenant.key(), erp(tenant.erp.as_ref()?)))).collect()
}

fn erp(settings: &ErpSettings) -> Erp {
    let token = settings.token.as_ref().map_or("", |token| token.expose());
    let mut erp = Erp::new(settings.url.as_str(), ErpSecret::new(token));
    erp.timeout_s = settings.timeout_s;
    erp.state_field = settings.state_field.as_str().into();
    erp.blueprint_field = settings.blueprint_field.as_str().into();
    if let Some(field) = &settings.trigger_guid_field {
        erp.trigger_guid_field = field.as_str().into();
    }
    erp.state_changed_field = settings.state_changed_field.as_str().into();
    erp.external_flag_field = settings.external_flag_field.as_str().into();
    erp.note_field = settings.note_field.as_str().into();
    let states = &settings.states;
    erp.states = StateValues {
        none: states.none.clone(),
        requested: states.requested.clone(),
        started: states.started.clone(),
        running: states.running.clone(),
        released: states.approved.clone(),
        rejected: states.rejected.clone(),
    };
    erp
}

/// Where the bundle lies: from the environment as the set-up commands give it, else beside the binary's project.
fn leptos_options(address: SocketAddr) -> LeptosOptions {
    let from = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    LeptosOptions::builder()
        .output_name(from("LEPTOS_OUTPUT_NAME", "connectworkflow"))
        .site_root(from("LEPTOS_SITE_ROOT", "target/site"))
        .site_pkg_dir(from("LEPTOS_SITE_PKG_DIR", "pkg"))
        .site_addr(address)
        .hash_files(true)
        .build()
}

/// A name for the bundle this server serves: its hash file's text, shortened.
fn bundle_name(options: &LeptosOptions) -> Arc<str> {
    let file: Option<PathBuf> =
        std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.join(options.hash_file.as_ref())));
    let text = file.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
    let name: String = text.split_whitespace().collect::<Vec<_>>().join("-").chars().take(120).collect();
    if name.is_empty() { env!("CARGO_PKG_VERSION").into() } else { name.into() }
}
