//! Change hints: sent only after a commit, never data, allowed to get lost.

use workflow::vocab::{InstanceId, TenantKey, WorkflowId};

/// An instance has a new revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// Whose.
    pub tenant: TenantKey,
    /// Which blueprint.
    pub workflow_id: WorkflowId,
    /// Which instance.
    pub instance_id: InstanceId,
    /// Its new revision.
    pub revision: u64,
}

/// Where hints go (WebSockets of this node, later other nodes).
pub trait Hints: Send + Sync + 'static {
    /// Passes a hint on; must not block.
    fn publish(&self, hint: Hint);
}
