//! What the browser may ask, one file each.
//!
//! Invariant: explicit endpoint names (the spec's where it has them), JSON input, one backend call per body.
//! Never: logic. They are public endpoints; rights are checked behind the trait.

pub mod claim_task;
pub mod decide_task;
pub mod get_execution_log;
pub mod get_task_metadata;
pub mod leave_feedback;
pub mod list_tasks;
pub mod me;
pub mod save_draft;
pub mod unclaim_task;

pub use claim_task::{ClaimTask, claim_task};
pub use decide_task::{DecideTask, decide_task};
pub use get_execution_log::{GetExecutionLog, get_execution_log};
pub use get_task_metadata::{GetTaskMetadata, get_task_metadata};
pub use leave_feedback::{LeaveFeedback, leave_feedback};
pub use list_tasks::{ListTasks, list_tasks};
pub use me::{WhoAmI, me};
pub use save_draft::{SaveDraft, save_draft};
pub use unclaim_task::{UnclaimTask, unclaim_task};
