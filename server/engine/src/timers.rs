//! Timers, derived from what is stored: a restart loses none.

use std::time::Duration;

use workflow::EventKind;
use workflow::event::Actor;

use crate::index::TaskRowData;
use crate::{EngineError, Orchestrator};

/// How often due rows are looked for.
const TICK: Duration = Duration::from_secs(1);
/// Ticks between two tries to read tenants that could not be read.
const RECOVER_TICKS: u32 = 30;
/// Ticks between two looks at every unfinished run (DESIGN §4 "Versioning and repair", §9): hourly.
const INSPECT_TICKS: u32 = 3_600;

impl Orchestrator {
    /// Runs until dropped: recovers every tenant, then works off what is due.
    pub async fn run_timers(self) {
        let mut failed: Vec<_> = self.recover().await.into_iter().map(|(tenant, _)| tenant).collect();
        let mut ticks = 0_u32;
        loop {
            tokio::time::sleep(TICK).await;
            ticks = ticks.wrapping_add(1);
            if ticks.is_multiple_of(RECOVER_TICKS) && !failed.is_empty() {
                let mut still = Vec::new();
                for tenant in failed {
                    if self.recover_tenant(&tenant).await.is_err() {
                        still.push(tenant);
                    }
                }
                failed = still;
            }
            if ticks.is_multiple_of(INSPECT_TICKS) {
                let engine = self.clone();
                self.background.spawn(async move {
                    engine.relist().await;
                    engine.inspect().await;
                });
            }
            self.tick().await;
        }
    }

    /// Works off what is due now; each run on its own, so that one slow ERP delays no other tenant.
    pub async fn tick(&self) {
        let now = self.now();
        for row in self.index.due(now) {
            let lapsed = row.task.as_ref().and_then(|task| task.claim.as_ref()).filter(|claim| claim.until <= now);
            if let Some(claim) = lapsed {
                let event = EventKind::ClaimLapsed { claim_id: claim.id.clone() };
                if let Err(error) = self.step(&row.at, &Actor::System, &event).await {
                    tracing::warn!(run = %row.at.instance_id, %error, "claim not released");
                }
            }
            if row.pending.is_some() {
                self.spawn_due(row);
            }
        }
    }

    fn spawn_due(&self, row: TaskRowData) {
        if !self.effects.start_once(&row.at) {
            return;
        }
        let engine = self.clone();
        self.background.spawn(async move {
            if let Err(error) = engine.work_off(&row).await {
                tracing::warn!(run = %row.at.instance_id, %error, "ERP write stays pending");
            }
            engine.effects.stop_once(&row.at);
        });
    }

    async fn work_off(&self, row: &TaskRowData) -> Result<(), EngineError> {
        // Whoever made the row may have kicked it off just then, and may be done by now.
        let done = self.index.row(&row.at).is_none_or(|newest| newest.revision > row.revision);
        if done || self.effects.is_busy(&row.at) {
            return Ok(());
        }
        let loaded = self.load_known(&row.at).await?;
        self.run_effects(Self::as_committed(&row.at, loaded), None).await
    }
}
