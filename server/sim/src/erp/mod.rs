//! The simulated ERP: microtech büro+ as a real GraphQL server over HTTP, with the state and the silent failures of the
//! real one (DESIGN §6), and a page to play the ERP's user.
//!
//! Invariant: everything that was answered survives a restart; each save gives a row version that was never there
//! before. It shares no code with the adapter that talks to it, so that it doesn't share its errors.
//! Never: takes part in a production build; listens on anything by itself.

mod filter;
mod model;
mod routes;
mod schema;
mod state;
mod trigger;
mod write;

use std::path::PathBuf;
use std::sync::Arc;

use async_graphql::dynamic::Schema;
use axum::Router;

pub(crate) use self::model::german_amount;
pub use self::model::{
    BLUEPRINT_FIELD, CHANGED_FIELD, EXTERNAL_FIELD, KEY_FIELD, LSN_FIELD, STATE_FIELD, STATE_NONE, STATE_STARTED,
    SimObject, SimValue, TRIGGER_GUID_FIELD,
};
use self::state::{State, TenantState};
pub use self::trigger::{TriggerAnswer, TriggerSettings};

/// What can go wrong in the simulator.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// The disk.
    #[error("{path} could not be read or written: {reason}")]
    Disk {
        /// Which file.
        path: String,
        /// Why.
        reason: String,
    },
    /// The state file's content.
    #[error("{path} is no state of this simulator: {reason}; start over with --fresh")]
    StateFile {
        /// Which file.
        path: String,
        /// Why.
        reason: String,
    },
    /// The GraphQL schema doesn't hold together.
    #[error("the simulator's schema is wrong: {reason}")]
    Schema {
        /// Why.
        reason: String,
    },
    /// The HTTP client.
    #[error("the HTTP client could not be set up: {reason}")]
    Client {
        /// Why.
        reason: String,
    },
    /// Unknown customer and tenant.
    #[error("the simulator has no such tenant")]
    NoTenant,
    /// Unknown object.
    #[error("there is no object {number}")]
    NoObject {
        /// Which.
        number: String,
    },
    /// A field can't take a value.
    #[error("field {field}: {reason}")]
    Field {
        /// Which.
        field: String,
        /// Why.
        reason: String,
    },
    /// The object names no trigger definition.
    #[error("object {number} names no trigger GUID; give one with ?guid=")]
    NoGuid {
        /// Which.
        number: String,
    },
    /// The token could not be signed.
    #[error("the trigger's token could not be signed: {reason}")]
    Token {
        /// Why.
        reason: String,
    },
    /// The app doesn't answer.
    #[error("{url} does not answer: {reason}")]
    Unreachable {
        /// Which address.
        url: String,
        /// Why.
        reason: String,
    },
    /// Nothing was to be changed.
    #[error("nothing was changed")]
    Unchanged,
    /// The process is ending.
    #[error("the simulator is being stopped")]
    Stopped,
}

/// One tenant's ERP and what it starts with.
#[derive(Debug, Clone)]
pub struct SimTenant {
    /// Kunde.
    pub customer: String,
    /// Mandant.
    pub tenant: String,
    /// Bearer token that its GraphQL endpoint wants.
    pub erp_token: String,
    /// How it reaches the app.
    pub trigger: TriggerSettings,
    /// Objects it has at the first start.
    pub objects: Vec<SimObject>,
}

struct Inner {
    tenants: Vec<SimTenant>,
    state: State,
    schema: Schema,
    http: reqwest::Client,
}

/// The simulator; clones share their state.
#[derive(Clone)]
pub struct ErpSim(Arc<Inner>);

impl ErpSim {
    /// Opens it over a folder. Where that holds a state, it goes on from there.
    ///
    /// # Errors
    /// [`SimError::Disk`], [`SimError::StateFile`], [`SimError::Field`] for objects with foreign fields.
    pub fn open(data_dir: PathBuf, mut tenants: Vec<SimTenant>) -> Result<Self, SimError> {
        let state = State::open(&data_dir, &mut tenants)?;
        let schema = schema::build().map_err(|error| SimError::Schema { reason: error.to_string() })?;
        // The app is on this machine: no proxy of the environment may stand between.
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| SimError::Client { reason: error.to_string() })?;
        Ok(Self(Arc::new(Inner { tenants, state, schema, http })))
    }

    /// Its routes: `POST /{customer}/{tenant}/graphql` and the simulator's own (see [`routes`]).
    pub fn router(&self) -> Router {
        routes::router(self.clone())
    }

    fn tenant(&self, customer: &str, tenant: &str) -> Result<usize, SimError> {
        let found = self.0.tenants.iter().position(|one| one.customer == customer && one.tenant == tenant);
        found.ok_or(SimError::NoTenant)
    }

    fn tenant_count(&self) -> usize {
        self.0.tenants.len()
    }

    fn settings(&self, tenant: usize) -> Result<&SimTenant, SimError> {
        self.0.tenants.get(tenant).ok_or(SimError::NoTenant)
    }

    fn schema(&self) -> &Schema {
        &self.0.schema
    }

    fn http(&self) -> &reqwest::Client {
        &self.0.http
    }

    fn look<T>(&self, tenant: usize, look: impl FnOnce(&TenantState) -> T) -> Result<T, SimError> {
        self.0.state.look(tenant, look)
    }

    fn object(&self, tenant: usize, number: &str) -> Result<Option<SimObject>, SimError> {
        self.look(tenant, |state| state.objects.get(number).cloned())
    }

    async fn change<T: Send + 'static>(
        &self,
        tenant: usize,
        change: impl FnOnce(&mut TenantState) -> Result<T, SimError> + Send + 'static,
    ) -> Result<T, SimError> {
        let inner = Arc::clone(&self.0);
        let changed = tokio::task::spawn_blocking(move || inner.state.change(tenant, change)).await;
        changed.map_err(|_| SimError::Stopped)?
    }

    async fn set_down(&self, tenant: usize, on: bool) -> Result<(), SimError> {
        self.change(tenant, move |state| {
            state.down = on;
            Ok(())
        })
        .await
    }

    async fn set_locked(&self, tenant: usize, number: &str, on: bool) -> Result<SimObject, SimError> {
        let number = number.to_owned();
        self.change(tenant, move |state| match state.objects.get_mut(&number) {
            Some(object) => {
                object.locked = on;
                Ok(object.clone())
            }
            None => Err(SimError::NoObject { number }),
        })
        .await
    }
}

#[cfg(test)]
mod tests;
