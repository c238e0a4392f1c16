//! Nodes of the engine over one store and one ERP.
//!
//! Invariant: a crashed node does nothing more; only what it had already sent out lands.

use std::sync::{Arc, Mutex, PoisonError};

use chrono::TimeDelta;
use engine::{Orchestrator, Parts};
use ports::vocab::TenantKey;
use ports::{ErpRead, ErpWrite, Hint, Hints, Store};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use super::{ErpTable, Hook, HookedErp, HookedStore, SeededIds, Trace, VirtualClock};

/// Wraps a node's store.
pub type WrapStore = Arc<dyn Fn(Arc<dyn Store>) -> Arc<dyn Store> + Send + Sync>;

/// What all nodes share.
#[derive(Clone)]
pub struct World {
    /// The store below the hooks.
    pub store: Arc<dyn Store>,
    /// The ERP's objects.
    pub erp: Arc<ErpTable>,
    /// The ERP's writing side, below the hooks; the table itself but in tests that plant a bug.
    pub erp_write: Arc<dyn ErpWrite>,
    /// Put between each engine and its hooked store; lets it pass but in tests that plant a bug.
    pub wrap_store: WrapStore,
    /// What happened.
    pub trace: Arc<Trace>,
    /// The tenants of every node.
    pub tenants: Vec<TenantKey>,
    origin: Instant,
}

impl World {
    /// A world over a store, with one tenant; it begins now.
    pub fn new(store: Arc<dyn Store>) -> Self {
        let origin = Instant::now();
        let erp = Arc::new(ErpTable::default());
        Self {
            store,
            erp_write: Arc::<ErpTable>::clone(&erp),
            erp,
            wrap_store: Arc::new(|store| store),
            trace: Arc::new(Trace::new(origin)),
            tenants: vec![TenantKey::new("muster", "m1")],
            origin,
        }
    }

    /// A clock of this world, off by `skew`.
    pub fn clock(&self, skew: TimeDelta) -> VirtualClock {
        VirtualClock::new(self.origin, skew)
    }

    /// Starts a node; its timers run from now on. `seed` makes its ids.
    pub fn node(&self, name: &str, hook: &Arc<dyn Hook>, skew: TimeDelta, seed: u64) -> Node {
        let name: Arc<str> = name.into();
        let clock = self.clock(skew);
        let erp = Arc::new(HookedErp {
            read: Arc::<ErpTable>::clone(&self.erp) as Arc<dyn ErpRead>,
            write: Arc::clone(&self.erp_write),
            hook: Arc::clone(hook),
            node: Arc::clone(&name),
        });
        let store = HookedStore { inner: Arc::clone(&self.store), hook: Arc::clone(hook), node: Arc::clone(&name) };
        let hints = Arc::new(HintSink::default());
        let engine = Orchestrator::new(Parts {
            store: (self.wrap_store)(Arc::new(store)),
            erp_read: Arc::<HookedErp>::clone(&erp),
            erp_write: erp,
            clock: Arc::new(clock.clone()),
            ids: Arc::new(SeededIds::new(seed, clock)),
            hints: Arc::<HintSink>::clone(&hints),
            env: "sim".to_owned(),
            tenants: self.tenants.clone(),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(engine.clone().run_timers());
        Node { name, engine, hints, tasks }
    }
}

/// One node.
pub struct Node {
    /// Its name.
    pub name: Arc<str>,
    /// Its engine.
    pub engine: Orchestrator,
    /// The hints it sent.
    pub hints: Arc<HintSink>,
    tasks: JoinSet<()>,
}

impl Node {
    /// Serves a request on this node; a crash takes it along. The answer comes through what `work` does with it.
    pub fn serve(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        while self.tasks.try_join_next().is_some() {}
        self.tasks.spawn(work);
    }

    /// Runs a request on this node beside the test; none when the node crashed meanwhile.
    pub fn request<T: Send + 'static>(
        &mut self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<Option<T>> {
        let (answer, answered) = tokio::sync::oneshot::channel();
        self.serve(async move {
            // Nobody waits for it any more.
            let _ = answer.send(work.await);
        });
        tokio::spawn(async move { answered.await.ok() })
    }

    /// Everything of this node stops where it stands.
    pub fn crash(&mut self) {
        self.engine.stop();
        self.tasks.abort_all();
    }
}

/// Collects hints.
#[derive(Debug, Default)]
pub struct HintSink {
    hints: Mutex<Vec<Hint>>,
}

impl HintSink {
    /// All hints so far.
    pub fn all(&self) -> Vec<Hint> {
        self.hints.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Hints for HintSink {
    fn publish(&self, hint: Hint) {
        self.hints.lock().unwrap_or_else(PoisonError::into_inner).push(hint);
    }
}
