//! `getTaskMetadata`.

use contract::TaskDetail;
use leptos::prelude::server;

use crate::{Failure, wire::Call};

/// Everything a step needs in one answer (spec 001 §8.2).
///
/// # Errors
/// The backend's [`contract::AppError`], as a [`Failure`].
#[server(name = GetTaskMetadata, prefix = "/api/fn", endpoint = "getTaskMetadata", input = Call)]
pub async fn get_task_metadata(task_id: String) -> Result<TaskDetail, Failure> {
    let (backend, viewer) = (crate::backend::backend()?, crate::backend::viewer()?);
    crate::backend::answer(backend.detail(&viewer, &task_id).await)
}
