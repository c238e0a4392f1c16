//! What a parsed blueprint is.

use vocab::{FieldName, FieldType, GroupName, InstanceStatus, StepId, TriggerGuid, UserId, WorkflowId};

use crate::expr::Expression;

/// A sound blueprint. Immutable once published; an instance is pinned to one version of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Blueprint {
    /// `workflowId`.
    pub id: WorkflowId,
    /// Name for people.
    pub name: String,
    /// Belegart for people and filters.
    pub object_type: String,
    /// What starts a run.
    pub trigger: Trigger,
    /// Where the object lies in the ERP.
    pub object: ObjectRef,
    /// Receipts.
    pub documents: Vec<DocumentTemplate>,
    /// Declared fields, in order.
    pub fields: Vec<FieldDecl>,
    /// Inbox columns, at most 6.
    pub summary: Vec<FieldName>,
    /// Steps; the first one is where a run begins.
    pub steps: Vec<StepDef>,
}

/// What starts a run (spec 001 §3.1).
#[derive(Debug, Clone, PartialEq)]
pub struct Trigger {
    /// GUID of the trigger definition.
    pub guid: TriggerGuid,
    /// Value of the ERP's blueprint field when polling.
    pub poll_name: Option<String>,
    /// Starts only where this holds.
    pub filter: Option<Expression>,
}

/// Where the object lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectRef {
    /// ERP table, e.g. `tblTransactions`.
    pub table: String,
    /// Its key field, e.g. `fldBelegNr`.
    pub key: FieldName,
}

/// One receipt; `{objectNumber}`, `{customerID}` and `{tenantID}` are filled in percent-encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentTemplate {
    /// Name for people.
    pub name: String,
    /// Key template below `documents/`.
    pub key: String,
}

/// One declared field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldDecl {
    /// ERP name.
    pub name: FieldName,
    /// Label.
    pub label: String,
    /// Type.
    pub kind: FieldType,
    /// ISO currency of an amount.
    pub currency: Option<String>,
    /// Options of choices.
    pub options: Vec<String>,
}

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepDef {
    /// Id, unique in the blueprint.
    pub id: StepId,
    /// What it does.
    pub kind: StepKind,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq)]
pub enum StepKind {
    /// A person decides.
    User(UserStep),
    /// The first case that holds decides.
    Condition(ConditionStep),
    /// The run ends.
    End(EndStep),
}

/// A user step (spec 001 §3.3 B).
#[derive(Debug, Clone, PartialEq)]
pub struct UserStep {
    /// Title of the task.
    pub title: String,
    /// Hint shown above the form.
    pub hint: Option<String>,
    /// Who gets it.
    pub assign: Assignment,
    /// Fields in the order of the form.
    pub fields: Vec<StepField>,
    /// Where approving leads.
    pub approve: StepId,
    /// Where rejecting leads.
    pub reject: StepId,
}

/// Who gets a task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Assignment {
    /// Groups; mandatory unless a user is named (spec 001 §8.5).
    pub groups: Vec<GroupName>,
    /// People, by the identity provider's id (`sub`).
    pub users: Vec<UserId>,
    /// Four eyes: not who decided one of these steps in this run.
    pub not_by: Vec<StepId>,
}

/// A field in a user step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepField {
    /// A declared field.
    pub name: FieldName,
    /// Shown (and therefore queried).
    pub visible: bool,
    /// May be changed.
    pub editable: bool,
    /// Must be filled in to approve.
    pub required: bool,
    /// Must hold for `#value` to approve.
    pub check: Option<Expression>,
}

/// A condition (spec 001 §3.3 A).
#[derive(Debug, Clone, PartialEq)]
pub struct ConditionStep {
    /// In order; the first that holds wins.
    pub cases: Vec<Case>,
    /// Otherwise.
    pub otherwise: StepId,
}

/// One case of a condition.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Must come out a boolean.
    pub when: Expression,
    /// Where it leads.
    pub next: StepId,
}

/// The run ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndStep {
    /// With what status.
    pub status: EndStatus,
}

/// How a blueprint may end a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndStatus {
    /// `APPROVED`
    Approved,
    /// `REJECTED`
    Rejected,
    /// `COMPLETED`
    Completed,
    /// `CANCELED`
    Canceled,
    /// `EXPIRED`
    Expired,
}

impl From<EndStatus> for InstanceStatus {
    fn from(status: EndStatus) -> Self {
        match status {
            EndStatus::Approved => Self::Approved,
            EndStatus::Rejected => Self::Rejected,
            EndStatus::Completed => Self::Completed,
            EndStatus::Canceled => Self::Canceled,
            EndStatus::Expired => Self::Expired,
        }
    }
}

impl Blueprint {
    /// The step with this id.
    pub fn step(&self, id: &StepId) -> Option<&StepDef> {
        self.steps.iter().find(|step| step.id == *id)
    }

    /// The user step with this id.
    pub fn user_step(&self, id: &StepId) -> Option<&UserStep> {
        match &self.step(id)?.kind {
            StepKind::User(user) => Some(user),
            StepKind::Condition(_) | StepKind::End(_) => None,
        }
    }

    /// The declaration of a field.
    pub fn field(&self, name: &FieldName) -> Option<&FieldDecl> {
        self.fields.iter().find(|field| field.name == *name)
    }
}
