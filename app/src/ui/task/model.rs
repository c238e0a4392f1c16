//! The state of the task screen and everything that can be done on it.
//!
//! Invariant: what a person typed survives every refresh, error and lost race; nobody is navigated away but by their
//! own decision's success.
//! Never: decide what is allowed; `allowed_actions` says.

use std::collections::BTreeMap;

use contract::{
    AppError, ClaimRequest, DecisionRequest, DecisionResult, Draft, DraftRequest, FeedbackRequest, FieldProblemKind,
    FormField, TaskDetail, UnclaimRequest,
    vocab::{Action, Decision, FieldName, FieldValue, OperationId},
};
use leptos::{prelude::*, task::spawn_local};

use super::{
    autosave::{Autosave, Kept},
    draft,
    intent::Intents,
    values::{self, Typed},
};
use crate::{
    browser, serverfns,
    texts::{Locale, fill, say},
    ui::memory::Memory,
};

/// The name under which the server reports problems with the comment.
pub(crate) const COMMENT: &str = "comment";

/// What is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Busy {
    Claim,
    Unclaim,
    Approve,
    Reject,
    Feedback,
}

/// Which text box is open below the buttons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Panel {
    None,
    Comment,
    Reject,
    Feedback,
}

/// How the receipt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receipt {
    /// There is none to show.
    None,
    /// Not on the screen yet.
    Loading,
    /// On the screen.
    Shown,
    /// Can't be shown.
    Failed,
    /// Can't be shown, and the person goes on without.
    Acknowledged,
}

/// The screen's state.
#[derive(Clone, Copy)]
pub(crate) struct Model {
    pub(crate) locale: Locale,
    pub(crate) memory: Memory,
    pub(crate) detail: RwSignal<TaskDetail>,
    pub(crate) typed: RwSignal<Typed>,
    pub(crate) comment: RwSignal<String>,
    pub(crate) feedback: RwSignal<String>,
    pub(crate) problems: RwSignal<BTreeMap<FieldName, FieldProblemKind>>,
    /// Fields that changed in the ERP while the page was open, with the text they had.
    pub(crate) updated: RwSignal<BTreeMap<FieldName, String>>,
    pub(crate) error: RwSignal<Option<AppError>>,
    pub(crate) busy: RwSignal<Option<Busy>>,
    pub(crate) panel: RwSignal<Panel>,
    pub(crate) receipt: RwSignal<Receipt>,
    /// Where the draft is kept.
    pub(crate) kept: RwSignal<Option<Kept>>,
    autosave: Autosave,
    pub(crate) restored: RwSignal<bool>,
    intents: StoredValue<Intents>,
    fetching: StoredValue<bool>,
    again: StoredValue<bool>,
    leave: Callback<Option<String>>,
}

impl Model {
    /// From what the server sent. `leave` goes on after a decision: to a task, or back to the inbox.
    pub(crate) fn new(locale: Locale, memory: Memory, detail: TaskDetail, leave: Callback<Option<String>>) -> Self {
        let kept = RwSignal::new(None);
        let receipt = if detail.documents.is_empty() { Receipt::None } else { Receipt::Loading };
        Self {
            locale,
            memory,
            detail: RwSignal::new(detail),
            typed: RwSignal::new(Typed::new()),
            comment: RwSignal::new(String::new()),
            feedback: RwSignal::new(String::new()),
            problems: RwSignal::new(BTreeMap::new()),
            updated: RwSignal::new(BTreeMap::new()),
            error: RwSignal::new(None),
            busy: RwSignal::new(None),
            panel: RwSignal::new(Panel::None),
            receipt: RwSignal::new(receipt),
            kept,
            autosave: Autosave::new(kept),
            restored: RwSignal::new(false),
            intents: StoredValue::new(Intents::default()),
            fetching: StoredValue::new(false),
            again: StoredValue::new(false),
            leave,
        }
    }

    /// Whether the server allows it. Tracked.
    pub(crate) fn may(self, action: Action) -> bool {
        self.detail.with(|detail| detail.allowed_actions.contains(&action))
    }

    fn may_untracked(self, action: Action) -> bool {
        self.detail.with_untracked(|detail| detail.allowed_actions.contains(&action))
    }

    /// Whether approving has to wait for the receipt. Tracked.
    pub(crate) fn waits_for_receipt(self) -> bool {
        matches!(self.receipt.get(), Receipt::Loading | Receipt::Failed)
    }

    /// Whether something typed isn't sent yet.
    pub(crate) fn dirty(self) -> bool {
        !self.draft().is_empty()
    }

    /// Whether leaving now could lose something typed: the server doesn't have it yet.
    pub(crate) fn unsaved(self) -> bool {
        self.dirty() && self.autosave.behind()
    }

    fn draft(self) -> Draft {
        Draft { typed: self.typed.get_untracked(), comment: self.comment.get_untracked() }
    }

    fn key(self) -> (String, u64) {
        self.detail.with_untracked(|detail| (detail.row.task_id.clone(), detail.visit))
    }

    /// Brings a draft of this visit back. In a browser only.
    pub(crate) fn restore(self) {
        let (task_id, visit) = self.key();
        if !self.may_untracked(Action::Edit) {
            return;
        }
        let newest = self.detail.with_untracked(|detail| draft::newest(&task_id, visit, detail.draft.as_ref()));
        if let Some(draft) = newest {
            self.typed.set(draft.typed);
            self.comment.set(draft.comment);
            self.restored.set(true);
        }
    }

    /// Something was typed into a field.
    pub(crate) fn type_field(self, field: &FormField, value: FieldValue) {
        self.typed.update(|typed| {
            if values::is_changed(self.locale, field, &value) {
                typed.insert(field.name.clone(), value);
            } else {
                typed.remove(&field.name);
            }
        });
        self.clear_problem(&field.name);
        self.save();
    }

    /// Something was typed into the comment.
    pub(crate) fn type_comment(self, text: String) {
        self.comment.set(text);
        self.clear_problem(&FieldName::new(COMMENT));
        self.save();
    }

    fn clear_problem(self, name: &FieldName) {
        if self.problems.with_untracked(|problems| problems.contains_key(name)) {
            self.problems.update(|problems| {
                problems.remove(name);
            });
        }
    }

    fn save(self) {
        let (task_id, visit) = self.key();
        draft::save(&task_id, visit, &self.draft());
        self.autosave.soon(move || self.draft_request());
    }

    /// The newest input for the server, while the task is mine.
    fn draft_request(self) -> Option<DraftRequest> {
        let draft = Draft { typed: self.typed.try_get_untracked()?, comment: self.comment.try_get_untracked()? };
        self.detail.try_with_untracked(|detail| {
            let claim_id = detail.claim_id.clone()?;
            let mine = detail.allowed_actions.contains(&Action::Approve);
            mine.then(|| DraftRequest { task_id: detail.row.task_id.clone(), claim_id, draft })
        })?
    }

    /// Throws the draft away.
    pub(crate) fn discard(self) {
        let (task_id, visit) = self.key();
        draft::discard(&task_id, visit);
        self.typed.set(Typed::new());
        self.comment.set(String::new());
        self.problems.set(BTreeMap::new());
        self.kept.set(None);
        self.restored.set(false);
        self.autosave.soon(move || self.draft_request());
    }

    /// Fetches the task again, keeping what was typed. In a browser only.
    pub(crate) fn refresh(self) {
        if self.fetching.try_get_value() != Some(false) {
            self.again.try_set_value(true);
            return;
        }
        self.fetching.set_value(true);
        let (task_id, _) = self.key();
        spawn_local(async move {
            loop {
                self.again.try_set_value(false);
                let answer = serverfns::get_task_metadata(task_id.clone()).await;
                let Some(asked_again) = self.again.try_get_value() else { return };
                match answer.map_err(AppError::from) {
                    Ok(detail) => self.take(detail),
                    Err(AppError::NotFound) => self.over(),
                    // The page still shows what it knew; an act will say what is wrong.
                    Err(_) => {}
                }
                if !asked_again {
                    break;
                }
            }
            self.fetching.try_set_value(false);
        });
    }

    /// The task is no longer there for this person: what is on the screen stays, to read.
    fn over(self) {
        self.detail.update(|detail| {
            detail.allowed_actions.clear();
            detail.row.allowed_actions.clear();
        });
        self.error.set(Some(AppError::Stale { who: None, at: None, what: None, done: true }));
    }

    fn take(self, fresh: TaskDetail) {
        let unchanged = self.detail.try_with_untracked(|old| fresh.row.revision < old.row.revision || *old == fresh);
        if unchanged != Some(false) {
            return;
        }
        let mut updated = self.updated.get_untracked();
        self.detail.with_untracked(|old| {
            for field in &fresh.fields {
                let before = old.fields.iter().find(|before| before.name == field.name);
                if let Some(before) = before.filter(|before| !values::same(field.kind, &before.value, &field.value)) {
                    updated.insert(field.name.clone(), before.text.clone());
                }
            }
        });
        if self.updated.with_untracked(|old| *old != updated) {
            self.updated.set(updated);
        }
        self.detail.set(fresh);
    }

    /// Takes the task over.
    pub(crate) fn claim(self) {
        let (task_id, _) = self.key();
        let id = self.intent("claim".to_owned());
        self.run(Busy::Claim, async move { serverfns::claim_task(ClaimRequest { task_id, operation: id }).await }, {
            move |detail| {
                self.take(detail);
                self.restore();
                browser::focus_soon("[data-first-input]");
            }
        });
    }

    /// Gives the task back. The draft stays in this tab.
    pub(crate) fn unclaim(self) {
        let (task_id, _) = self.key();
        let Some(claim_id) = self.detail.with_untracked(|detail| detail.claim_id.clone()) else { return };
        let operation = self.intent(format!("unclaim {claim_id}"));
        let request = UnclaimRequest { task_id, operation, claim_id };
        self.run(Busy::Unclaim, async move { serverfns::unclaim_task(request).await }, move |detail| {
            self.panel.set(Panel::None);
            self.take(detail);
        });
    }

    /// Leaves a remark.
    pub(crate) fn send_feedback(self) {
        let text = self.feedback.get_untracked().trim().to_owned();
        if text.is_empty() {
            self.complain(BTreeMap::from([(FieldName::new("feedback"), FieldProblemKind::Required)]));
            return;
        }
        let (task_id, visit) = self.key();
        let operation = self.intent(format!("feedback {visit} {text}"));
        let request = FeedbackRequest { task_id, operation, visit, text };
        self.run(Busy::Feedback, async move { serverfns::leave_feedback(request).await }, move |detail| {
            self.feedback.set(String::new());
            self.panel.set(Panel::None);
            self.take(detail);
            self.memory.tell(say!(self.locale, task.feedback_saved).to_owned(), None);
        });
    }

    /// Approves, if the input allows it and the receipt is settled.
    pub(crate) fn approve(self) {
        if matches!(self.receipt.get_untracked(), Receipt::Loading | Receipt::Failed) {
            return;
        }
        self.decide(Decision::Approve);
    }

    /// Rejects; without a comment the person is asked for one.
    pub(crate) fn reject(self) {
        self.decide(Decision::Reject);
    }

    fn decide(self, decision: Decision) {
        let comment = self.comment.get_untracked().trim().to_owned();
        let (changes, mut problems) = self.detail.with_untracked(|detail| {
            self.typed.with_untracked(|typed| values::changes(self.locale, &detail.fields, typed))
        });
        if decision == Decision::Reject {
            // A rejection's edits stay in the log only; what can't be read must not stand in its way.
            problems.clear();
            if comment.is_empty() {
                problems.insert(FieldName::new(COMMENT), FieldProblemKind::Required);
            }
        }
        if !problems.is_empty() {
            self.complain(problems);
            return;
        }
        let Some(request) = self.request(decision, changes, comment) else { return };
        let busy = if decision == Decision::Approve { Busy::Approve } else { Busy::Reject };
        self.run(busy, async move { serverfns::decide_task(request).await }, move |result| {
            self.decided(decision, &result);
        });
    }

    fn request(self, decision: Decision, changes: Typed, comment: String) -> Option<DecisionRequest> {
        let mut request = self.detail.with_untracked(|detail| {
            let shown = detail.fields.iter().map(|field| (field.name.clone(), field.value.clone())).collect();
            Some(DecisionRequest {
                task_id: detail.row.task_id.clone(),
                operation: OperationId::new(""),
                decision,
                revision: detail.row.revision,
                visit: detail.visit,
                claim_id: detail.claim_id.clone()?,
                shown,
                changes,
                comment: (!comment.is_empty()).then_some(comment),
            })
        })?;
        request.operation = self.intent(serde_json::to_string(&request).unwrap_or_default());
        Some(request)
    }

    fn decided(self, decision: Decision, result: &DecisionResult) {
        let (task_id, visit) = self.key();
        let object = self.detail.with_untracked(|detail| detail.row.object_number.clone());
        draft::discard(&task_id, visit);
        self.typed.set(Typed::new());
        self.comment.set(String::new());
        let next = self.memory.next_task(&task_id);
        self.memory.forget_task(&task_id);
        // The page of a decided task may stay for a moment; it offers nothing any more.
        self.detail.update(|detail| detail.allowed_actions.clear());
        let template = match decision {
            Decision::Approve => say!(self.locale, task.approved),
            Decision::Reject => say!(self.locale, task.rejected),
        };
        let detail = (!result.erp_confirmed).then(|| say!(self.locale, task.erp_follows).to_owned());
        let text = fill(template, &[("object", &object)]);
        match next {
            Some(_) => self.memory.tell_across(text, detail),
            None => self.memory.tell(text, detail),
        }
        self.leave.run(next);
    }

    /// Shows what is wrong and puts the focus on the first of it.
    fn complain(self, problems: BTreeMap<FieldName, FieldProblemKind>) {
        if problems.contains_key(&FieldName::new(COMMENT)) && self.panel.get_untracked() != Panel::Reject {
            self.panel.set(Panel::Comment);
        }
        self.problems.set(problems);
        browser::focus_soon("[aria-invalid=true]");
    }

    fn intent(self, content: String) -> OperationId {
        self.intents
            .try_update_value(|intents| intents.id_for(content, browser::operation_id))
            .unwrap_or_else(browser::operation_id)
    }

    fn run<T: 'static>(
        self,
        busy: Busy,
        call: impl Future<Output = Result<T, crate::Failure>> + 'static,
        done: impl FnOnce(T) + 'static,
    ) {
        if self.busy.get_untracked().is_some() {
            return;
        }
        self.busy.set(Some(busy));
        self.error.set(None);
        spawn_local(async move {
            let answer = call.await.map_err(AppError::from);
            if self.busy.try_set(None).is_some() {
                // The screen is gone: nothing to show it on.
                return;
            }
            self.intents.try_update_value(|intents| intents.answered(answer.as_ref().err()));
            match answer {
                Ok(value) => done(value),
                Err(error) => self.failed(error),
            }
        });
    }

    fn failed(self, error: AppError) {
        match &error {
            AppError::Invalid { problems } if !problems.is_empty() => {
                let problems = problems.iter().map(|problem| (problem.name.clone(), problem.kind)).collect();
                self.complain(problems);
            }
            AppError::Stale { .. } | AppError::ValuesChanged { .. } | AppError::Refused { .. } => self.refresh(),
            AppError::Invalid { .. }
            | AppError::BadRequest { .. }
            | AppError::SignedOut
            | AppError::NotFound
            | AppError::Unavailable { .. }
            | AppError::Internal { .. } => {}
        }
        self.error.set(Some(error));
    }
}
