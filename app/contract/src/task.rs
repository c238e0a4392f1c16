//! Tasks: the list, one task with everything its step needs, and what a person sends back.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use vocab::{Action, ClaimId, Decision, FieldName, FieldType, FieldValue, OperationId, Person, Role, TaskState};

use crate::{LogView, Moment};

/// Who is signed in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Me {
    /// The person.
    pub person: Person,
    /// Where they may do something.
    pub tenants: Vec<TenantView>,
}

/// A tenant this person has something to do in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantView {
    /// Kunde.
    pub customer: String,
    /// Mandant.
    pub tenant: String,
    /// Roles there.
    pub roles: Vec<Role>,
    /// Blueprint groups there.
    pub groups: Vec<String>,
}

/// What to list. Every member maps to a URL parameter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TaskFilter {
    /// `customer/tenant`, percent-encoded parts; none = all.
    pub tenant: Option<String>,
    /// Belegart as the blueprint names it.
    pub object_type: Option<String>,
    /// Open or claimed; none = both.
    pub status: Option<TaskState>,
    /// Only what I claimed.
    pub mine: bool,
    /// Text in the object number, title or summary.
    pub q: Option<String>,
    /// Tasks I decided (list "Erledigt") instead of the open ones.
    pub done: bool,
}

/// The inbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskList {
    /// Newest first.
    pub rows: Vec<TaskRow>,
    /// Counts over everything the person may see, whatever the filter.
    pub counts: TaskCounts,
    /// Tenants to filter by, `(value, label)`.
    pub tenants: Vec<(String, String)>,
    /// Object types to filter by.
    pub object_types: Vec<String>,
    /// Whether rows beyond the page limit were left out.
    pub truncated: bool,
}

/// Counts over what the person may see.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskCounts {
    /// Nobody has it.
    pub open: u32,
    /// Somebody has it.
    pub claimed: u32,
    /// I have it.
    pub mine: u32,
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRow {
    /// Opaque task id.
    pub task_id: String,
    /// The step's title.
    pub step_title: String,
    /// The blueprint's name.
    pub workflow_name: String,
    /// Kunde.
    pub customer: String,
    /// Mandant.
    pub tenant: String,
    /// Object type.
    pub object_type: String,
    /// Belegnummer.
    pub object_number: String,
    /// Offen, beansprucht, abgeschlossen.
    pub state: TaskState,
    /// Who has it.
    pub claimed_by: Option<Person>,
    /// Whether that is me.
    pub mine: bool,
    /// My claim, where I have one, so that the list can give the task back.
    #[serde(default)]
    pub claim_id: Option<ClaimId>,
    /// Since when it is open.
    pub opened_at: Moment,
    /// What I decided, in the list "Erledigt".
    pub decision: Option<Decision>,
    /// The blueprint's `summary` fields, formatted.
    pub summary: Vec<SummaryCell>,
    /// The instance's revision.
    pub revision: u64,
    /// What I may do from the list.
    pub allowed_actions: Vec<Action>,
}

/// One summary field of a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryCell {
    /// Label.
    pub label: String,
    /// Formatted value.
    pub text: String,
    /// How to align it.
    pub kind: FieldType,
}

/// Everything a step needs in one answer (`getTaskMetadata`, spec 001 §8.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskDetail {
    /// The row, so that list and detail never disagree.
    pub row: TaskRow,
    /// The blueprint's hint for this step.
    pub hint: Option<String>,
    /// Names this visit of the step; sent back with every act.
    pub visit: u64,
    /// My claim, where I have one; sent back with every act.
    pub claim_id: Option<ClaimId>,
    /// Visible fields in the blueprint's order.
    pub fields: Vec<FormField>,
    /// Labels of fields that the ERP no longer knows.
    pub missing_fields: Vec<String>,
    /// Why the ERP's values could not be read, where they couldn't (the form is then empty and nothing can be decided).
    pub erp_problem: Option<String>,
    /// Receipts.
    pub documents: Vec<DocumentView>,
    /// Where approving leads: a step's title or an end status key.
    pub approve_leads_to: String,
    /// Where rejecting leads.
    pub reject_leads_to: String,
    /// What I may do.
    pub allowed_actions: Vec<Action>,
    /// Notices in plain words, as message keys with values.
    pub notices: Vec<TaskNotice>,
    /// The run's log (read rights permitting).
    pub log: Option<LogView>,
    /// Opaque instance id.
    pub instance_id: String,
    /// What I typed at this visit and haven't sent, while I have the task.
    #[serde(default)]
    pub draft: Option<DraftView>,
}

/// What a person typed and hasn't sent. It is kept as typed: whether it fits is looked at when it is sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    /// Inputs that were touched.
    #[serde(default)]
    pub typed: BTreeMap<FieldName, FieldValue>,
    /// The comment.
    #[serde(default)]
    pub comment: String,
}

impl Draft {
    /// Whether there is nothing worth keeping.
    pub fn is_empty(&self) -> bool {
        self.typed.is_empty() && self.comment.is_empty()
    }
}

/// A draft as the server keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftView {
    /// What was typed.
    pub draft: Draft,
    /// When it was saved.
    pub saved_at: Moment,
}

/// Keep a draft; an empty one is dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftRequest {
    /// Opaque task id.
    pub task_id: String,
    /// My claim.
    pub claim_id: ClaimId,
    /// What was typed.
    pub draft: Draft,
}

/// What became of a draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "draft", rename_all = "kebab-case")]
pub enum DraftAnswer {
    /// It is in the store.
    Saved {
        /// Since when.
        at: Moment,
    },
    /// There is none any more.
    Dropped,
    /// The last one was saved too short a time ago: send the newest again after this time.
    TooSoon {
        /// Milliseconds to wait.
        retry_ms: u32,
    },
}

/// Something the person should know before deciding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "notice", rename_all = "kebab-case")]
pub enum TaskNotice {
    /// An earlier write to the ERP is not confirmed yet; it is tried again.
    ErpWritePending {
        /// Last error.
        error: Option<String>,
        /// Tries so far.
        attempts: u32,
    },
    /// The decision is taken and waits for the ERP.
    WaitingForErp,
    /// The run's blueprint excludes me from this step because I decided an earlier one.
    FourEyes,
    /// The first note that came with the trigger.
    FirstNote {
        /// Its text.
        text: String,
    },
}

/// One field of the form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormField {
    /// ERP name.
    pub name: FieldName,
    /// Label.
    pub label: String,
    /// How to show and enter it.
    pub kind: FieldType,
    /// Machine form; send it back as `shown`.
    pub value: FieldValue,
    /// Formatted for reading.
    pub text: String,
    /// Whether this step lets it be edited.
    pub editable: bool,
    /// Whether it must be filled in.
    pub required: bool,
    /// Options of choices.
    pub options: Vec<String>,
    /// ISO currency of an amount.
    pub currency: Option<String>,
    /// Whether this is the amount that matters: shown large.
    #[serde(default)]
    pub prominent: bool,
}

/// One receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentView {
    /// Name from the blueprint.
    pub name: String,
    /// Same-origin URL, range requests welcome.
    pub url: String,
    /// Whether it can be shown.
    pub state: DocumentState,
}

/// Whether a receipt can be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum DocumentState {
    /// Starts like a PDF.
    Pdf {
        /// Bytes.
        size: u64,
    },
    /// Something else lies there.
    NotPdf {
        /// What it seems to be: `html`, `png`, `xml`, `empty`, `unknown`.
        seems: String,
        /// Bytes.
        size: u64,
    },
    /// Nothing lies there.
    Missing,
    /// The store could not be asked.
    Unavailable,
}

/// Take a task over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimRequest {
    /// Opaque task id.
    pub task_id: String,
    /// This intent.
    #[serde(deserialize_with = "operation")]
    pub operation: OperationId,
}

/// Give it back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnclaimRequest {
    /// Opaque task id.
    pub task_id: String,
    /// This intent.
    #[serde(deserialize_with = "operation")]
    pub operation: OperationId,
    /// The claim to release.
    pub claim_id: ClaimId,
}

/// A decision with what was on the screen (DESIGN §5 "A decision carries the values that were shown").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionRequest {
    /// Opaque task id.
    pub task_id: String,
    /// This intent.
    #[serde(deserialize_with = "operation")]
    pub operation: OperationId,
    /// Approve or reject.
    pub decision: Decision,
    /// The revision the page was built from. A remark that somebody else left after it stops the decision: whoever
    /// decides has read what the others said.
    pub revision: u64,
    /// The step visit it was built from.
    pub visit: u64,
    /// My claim.
    pub claim_id: ClaimId,
    /// Values as they were shown, before any edit, in machine form.
    pub shown: BTreeMap<FieldName, FieldValue>,
    /// Fields the person changed, in machine form (amounts as typed are accepted too).
    pub changes: BTreeMap<FieldName, FieldValue>,
    /// Comment; a rejection needs one.
    pub comment: Option<String>,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionResult {
    /// The instance's new revision.
    pub revision: u64,
    /// Whether the ERP has confirmed everything already.
    pub erp_confirmed: bool,
}

/// A remark at any step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedbackRequest {
    /// Opaque task id.
    pub task_id: String,
    /// This intent.
    #[serde(deserialize_with = "operation")]
    pub operation: OperationId,
    /// The step visit it belongs to.
    pub visit: u64,
    /// The remark.
    pub text: String,
}

/// Reads an operation id from outside: bounded, because it is kept.
fn operation<'de, D: Deserializer<'de>>(deserializer: D) -> Result<OperationId, D::Error> {
    let text = String::deserialize(deserializer)?;
    OperationId::parse(&text).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_id_is_bounded_where_it_comes_in() {
        let read = |id: &str| serde_json::from_str::<ClaimRequest>(&format!(r#"{{"task_id":"t","operation":"{id}"}}"#));
        assert!(read("7c9e6679-7425-40de-944b-e07fc1f90ae7").is_ok());
        for bad in [String::new(), "x".repeat(5_000), "a b".to_owned()] {
            let said = read(&bad).map_err(|error| error.to_string());
            assert!(said.is_err_and(|said| said.contains("1 to 64 characters")), "{bad:.10}");
        }
    }
}
