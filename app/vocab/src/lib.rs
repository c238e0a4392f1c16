//! The nouns of the product, said once.
//!
//! Purpose: typed ids, statuses, decisions and field values that the core, the server and the browser share.
//! Invariant: plain data with serde; every id is a newtype, so that a tenant can't be passed for a customer.
//! Never: I/O, clocks, business rules.

mod amount;
mod ids;
mod status;
mod values;

pub use amount::{AmountError, canonical_amount, format_amount_de, format_amount_en};
pub use ids::{
    BadOperationId, ClaimId, CustomerId, FieldName, GroupName, InstanceId, OPERATION_ID_CHARS_MAX, ObjectNumber,
    OperationId, StepId, TenantId, TenantKey, TriggerGuid, UserId, WorkflowId,
};
pub use status::{Action, Decision, InstanceStatus, Language, Role, TaskAct, TaskState, TriggerSource};
pub use values::{FieldType, FieldValue, Person};
