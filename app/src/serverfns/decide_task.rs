//! `decideTask`.

use contract::{DecisionRequest, DecisionResult};
use leptos::prelude::server;

use crate::{Failure, wire::Call};

/// Approves or rejects.
///
/// # Errors
/// The backend's [`contract::AppError`], as a [`Failure`].
#[server(name = DecideTask, prefix = "/api/fn", endpoint = "decideTask", input = Call)]
pub async fn decide_task(request: DecisionRequest) -> Result<DecisionResult, Failure> {
    let (backend, viewer) = (crate::backend::backend()?, crate::backend::viewer()?);
    crate::backend::answer(backend.decide(&viewer, request).await)
}
