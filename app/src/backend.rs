//! What the server functions need from the server: one trait per area and the person who asks.
//!
//! Invariant: a server function finds both here and calls one method. The implementation lives in the server.
//! Never: an implementation; a decision about rights.

use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use contract::{
    AppError, ClaimRequest, DecisionRequest, DecisionResult, DraftAnswer, DraftRequest, FeedbackRequest, LogView, Me,
    TaskDetail, TaskFilter, TaskList, TenantView, UnclaimRequest,
    vocab::{GroupName, Person, Role, TenantKey},
};
use leptos::prelude::use_context;

use crate::failure::{Failure, set_status};

/// Who asks, resolved by the server from the session.
#[derive(Clone, Debug)]
pub struct Viewer {
    /// The person.
    pub person: Person,
    /// Where they may do something. A right holds for its own tenant only (DESIGN §5 "Rights").
    pub memberships: Vec<Membership>,
}

/// What a person is in one tenant.
#[derive(Clone, Debug)]
pub struct Membership {
    /// The exact pair.
    pub tenant: TenantKey,
    /// Blueprint groups there.
    pub groups: BTreeSet<GroupName>,
    /// Roles there.
    pub roles: BTreeSet<Role>,
}

impl Viewer {
    /// The person as the screens show them.
    pub fn me(&self) -> Me {
        let tenants = self.memberships.iter().map(|membership| TenantView {
            customer: membership.tenant.customer.as_str().to_owned(),
            tenant: membership.tenant.tenant.as_str().to_owned(),
            roles: membership.roles.iter().copied().collect(),
            groups: membership.groups.iter().map(|group| group.as_str().to_owned()).collect(),
        });
        Me { person: self.person.clone(), tenants: tenants.collect() }
    }
}

/// Everything the task screens ask for. Implemented in the server over the orchestrator.
#[async_trait]
pub trait TasksBackend: Send + Sync + 'static {
    /// The inbox, or what the viewer decided.
    ///
    /// # Errors
    /// [`AppError`], as for every method here.
    async fn list(&self, viewer: &Viewer, filter: TaskFilter) -> Result<TaskList, AppError>;
    /// One task with everything its step needs.
    async fn detail(&self, viewer: &Viewer, task_id: &str) -> Result<TaskDetail, AppError>;
    /// Takes a task over.
    async fn claim(&self, viewer: &Viewer, request: ClaimRequest) -> Result<TaskDetail, AppError>;
    /// Gives a task back.
    async fn unclaim(&self, viewer: &Viewer, request: UnclaimRequest) -> Result<TaskDetail, AppError>;
    /// Approves or rejects.
    async fn decide(&self, viewer: &Viewer, request: DecisionRequest) -> Result<DecisionResult, AppError>;
    /// Leaves a remark without deciding.
    async fn feedback(&self, viewer: &Viewer, request: FeedbackRequest) -> Result<TaskDetail, AppError>;
    /// Keeps what was typed and isn't sent.
    async fn save_draft(&self, viewer: &Viewer, request: DraftRequest) -> Result<DraftAnswer, AppError>;
    /// The execution log of one run.
    async fn log(&self, viewer: &Viewer, instance_id: &str) -> Result<LogView, AppError>;
}

/// The backend of this request.
///
/// # Errors
/// `Internal` where the server provided none, which is a wiring mistake.
pub(crate) fn backend() -> Result<Arc<dyn TasksBackend>, Failure> {
    use_context::<Arc<dyn TasksBackend>>()
        .ok_or_else(|| refused(AppError::Internal { incident: "no task backend in the request's context".to_owned() }))
}

/// The person of this request.
///
/// # Errors
/// `SignedOut`.
pub(crate) fn viewer() -> Result<Viewer, Failure> {
    use_context::<Option<Viewer>>().flatten().ok_or_else(|| refused(AppError::SignedOut))
}

/// The backend's answer as a server function's, with the HTTP status that belongs to it.
///
/// # Errors
/// The backend's.
pub(crate) fn answer<T>(result: Result<T, AppError>) -> Result<T, Failure> {
    result.map_err(refused)
}

fn refused(error: AppError) -> Failure {
    set_status(&error);
    Failure(error)
}
