//! The orchestrator and what it is made of.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};
use ports::{BucketName, Clock, ErpRead, ErpWrite, Hints, IdSource, Key, Store};
use workflow::vocab::TenantKey;

use crate::EngineError;
use crate::background::Background;
use crate::blueprints::BlueprintCache;
use crate::drafts::DraftBook;
use crate::effects::EffectRunner;
use crate::index::TaskIndex;
use crate::limits::LOCKS_SEEN_MAX;
use crate::repair::DamagedRuns;
use crate::tenants::Tenants;

/// Receipt hashes remembered.
const HASHES_MAX: usize = 10_000;

/// The parts, built by `main` and nobody else.
pub struct Parts {
    /// Store.
    pub store: Arc<dyn Store>,
    /// Reading the ERP.
    pub erp_read: Arc<dyn ErpRead>,
    /// Writing the ERP.
    pub erp_write: Arc<dyn ErpWrite>,
    /// Clock.
    pub clock: Arc<dyn Clock>,
    /// Fresh ids.
    pub ids: Arc<dyn IdSource>,
    /// Where hints go.
    pub hints: Arc<dyn Hints>,
    /// The `{env}` of bucket names.
    pub env: String,
    /// Configured tenants.
    pub tenants: Vec<TenantKey>,
}

/// The engine. Cheap to clone: clones share everything.
#[derive(Clone)]
pub struct Orchestrator {
    store: Arc<dyn Store>,
    erp: Arc<dyn ErpRead>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    hints: Arc<dyn Hints>,
    node: Arc<str>,
    tenants: Arc<Tenants>,
    hashes: Arc<Mutex<BTreeMap<String, String>>>,
    locks_seen: Arc<Mutex<BTreeSet<(BucketName, Key)>>>,
    pub(crate) blueprints: Arc<BlueprintCache>,
    pub(crate) index: Arc<TaskIndex>,
    pub(crate) effects: Arc<EffectRunner>,
    pub(crate) damaged: Arc<DamagedRuns>,
    pub(crate) drafts: Arc<DraftBook>,
    pub(crate) background: Arc<Background>,
}

impl std::fmt::Debug for Orchestrator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Orchestrator").field("node", &self.node).finish_non_exhaustive()
    }
}

impl Orchestrator {
    /// Wires the parts.
    pub fn new(parts: Parts) -> Self {
        Self {
            node: parts.ids.random_id().into(),
            store: parts.store,
            erp: parts.erp_read,
            clock: parts.clock,
            ids: parts.ids,
            hints: parts.hints,
            tenants: Arc::new(Tenants::new(&parts.env, parts.tenants)),
            hashes: Arc::default(),
            locks_seen: Arc::default(),
            blueprints: Arc::default(),
            index: Arc::default(),
            effects: Arc::new(EffectRunner::new(parts.erp_write)),
            damaged: Arc::default(),
            drafts: Arc::default(),
            background: Arc::default(),
        }
    }

    /// Stops the background work of this node and its clones where it stands; nothing of it starts again. What is
    /// pending lies in the store, so another node, or this one after a restart, goes on with it.
    pub fn stop(&self) {
        self.background.stop();
    }

    /// Whether the tenant is configured.
    pub fn knows(&self, tenant: &TenantKey) -> bool {
        self.tenants.knows(tenant)
    }

    /// The configured tenants.
    pub fn tenants(&self) -> Vec<TenantKey> {
        self.tenants.keys().cloned().collect()
    }

    pub(crate) async fn bucket(&self, tenant: &TenantKey) -> Result<BucketName, EngineError> {
        self.tenants.bucket(self.store(), tenant, &self.ids.random_id()).await
    }

    pub(crate) fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }

    pub(crate) fn erp(&self) -> &dyn ErpRead {
        self.erp.as_ref()
    }

    pub(crate) fn ids(&self) -> &dyn IdSource {
        self.ids.as_ref()
    }

    pub(crate) fn hints(&self) -> &dyn Hints {
        self.hints.as_ref()
    }

    pub(crate) fn node(&self) -> &str {
        &self.node
    }

    /// Now, by the injected clock.
    pub fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// Whether this node knows that an object's lock exists. Locks are never deleted, so it stays true; not knowing
    /// costs one failed write.
    pub(crate) fn lock_seen(&self, bucket: &BucketName, key: &Key) -> bool {
        self.locks_seen.lock().unwrap_or_else(PoisonError::into_inner).contains(&(bucket.clone(), key.clone()))
    }

    pub(crate) fn remember_lock(&self, bucket: &BucketName, key: &Key) {
        let mut seen = self.locks_seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= LOCKS_SEEN_MAX {
            seen.clear();
        }
        seen.insert((bucket.clone(), key.clone()));
    }

    pub(crate) fn known_hash(&self, key: &str) -> Option<String> {
        self.hashes.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    pub(crate) fn remember_hash(&self, key: String, hash: String) {
        let mut hashes = self.hashes.lock().unwrap_or_else(PoisonError::into_inner);
        if hashes.len() >= HASHES_MAX {
            hashes.clear();
        }
        hashes.insert(key, hash);
    }
}
