//! `leaveFeedback`.

use contract::{FeedbackRequest, TaskDetail};
use leptos::{prelude::server, server_fn::codec::Json};

use crate::Failure;

/// Leaves a remark without deciding.
///
/// # Errors
/// The backend's [`contract::AppError`], as a [`Failure`].
#[server(name = LeaveFeedback, prefix = "/api/fn", endpoint = "leaveFeedback", input = Json)]
pub async fn leave_feedback(request: FeedbackRequest) -> Result<TaskDetail, Failure> {
    let (backend, viewer) = (crate::backend::backend()?, crate::backend::viewer()?);
    crate::backend::answer(backend.feedback(&viewer, request).await)
}
