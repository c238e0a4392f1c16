//! `leaveFeedback`.

use contract::{FeedbackRequest, TaskDetail};
use leptos::prelude::server;

use crate::{Failure, wire::Call};

/// Leaves a remark without deciding.
///
/// # Errors
/// The backend's [`contract::AppError`], as a [`Failure`].
#[server(name = LeaveFeedback, prefix = "/api/fn", endpoint = "leaveFeedback", input = Call)]
pub async fn leave_feedback(request: FeedbackRequest) -> Result<TaskDetail, Failure> {
    let (backend, viewer) = (crate::backend::backend()?, crate::backend::viewer()?);
    crate::backend::answer(backend.feedback(&viewer, request).await)
}
