//! `unclaimTask`.

use contract::{TaskDetail, UnclaimRequest};
use leptos::prelude::server;

use crate::{Failure, wire::Call};

/// Gives a task back.
///
/// # Errors
/// The backend's [`contract::AppError`], as a [`Failure`].
#[server(name = UnclaimTask, prefix = "/api/fn", endpoint = "unclaimTask", input = Call)]
pub async fn unclaim_task(request: UnclaimRequest) -> Result<TaskDetail, Failure> {
    let (backend, viewer) = (crate::backend::backend()?, crate::backend::viewer()?);
    crate::backend::answer(backend.unclaim(&viewer, request).await)
}
