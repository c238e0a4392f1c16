//! The WorkflowOrchestrator (spec 001 §1): load → apply → commit → publish → run effects.
//!
//! Purpose: everything between a request and the stored truth.
//! Invariant: the conditional PUT of an instance is the only commit point; hints and effects happen after it.
//! Never: HTTP, SQL, an SDK, a wall clock of its own.

mod background;
mod blueprints;
mod commit;
mod documents;
mod drafts;
mod effects;
mod error;
mod index;
mod instances;
mod journal;
mod keys;
mod limits;
mod lock;
mod orchestrator;
mod receipts;
mod recovery;
mod repair;
mod restore;
mod start;
mod tasks;
mod tenants;
mod timers;

pub use blueprints::{Catalog, CatalogEntry};
pub use documents::{DecisionSummary, DoneSummary};
pub use drafts::{DraftInput, DraftOutcome, SavedDraft};
pub use error::EngineError;
pub use index::{DoneRow, PendingWrite, TaskRowData};
pub use keys::{InstanceRef, TaskRef};
pub use orchestrator::{Orchestrator, Parts};
pub use receipts::{Receipt, ReceiptState};
pub use repair::DamagedRun;
pub use start::{TriggerAnswer, TriggerError, TriggerRequest};
pub use tasks::{DecisionInput, OpenedTask, Outcome};
