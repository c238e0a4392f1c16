//! `getExecutionLog`.

use contract::LogView;
use leptos::prelude::server;

use crate::{Failure, wire::Call};

/// The execution log of one run (spec 001 §8.3).
///
/// # Errors
/// The backend's [`contract::AppError`], as a [`Failure`].
#[server(name = GetExecutionLog, prefix = "/api/fn", endpoint = "getExecutionLog", input = Call)]
pub async fn get_execution_log(instance_id: String) -> Result<LogView, Failure> {
    let (backend, viewer) = (crate::backend::backend()?, crate::backend::viewer()?);
    crate::backend::answer(backend.log(&viewer, &instance_id).await)
}
