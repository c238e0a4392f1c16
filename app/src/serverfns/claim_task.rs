//! `claimTask`.

use contract::{ClaimRequest, TaskDetail};
use leptos::prelude::server;

use crate::{Failure, wire::Call};

/// Takes a task over.
///
/// # Errors
/// The backend's [`contract::AppError`], as a [`Failure`].
#[server(name = ClaimTask, prefix = "/api/fn", endpoint = "claimTask", input = Call)]
pub async fn claim_task(request: ClaimRequest) -> Result<TaskDetail, Failure> {
    let (backend, viewer) = (crate::backend::backend()?, crate::backend::viewer()?);
    crate::backend::answer(backend.claim(&viewer, request).await)
}
