//! `listTasks`.

use contract::{TaskFilter, TaskList};
use leptos::prelude::server;

use crate::{Failure, wire::Call};

/// The inbox, or what I decided.
///
/// # Errors
/// The backend's [`contract::AppError`], as a [`Failure`].
#[server(name = ListTasks, prefix = "/api/fn", endpoint = "listTasks", input = Call)]
pub async fn list_tasks(filter: TaskFilter) -> Result<TaskList, Failure> {
    let (backend, viewer) = (crate::backend::backend()?, crate::backend::viewer()?);
    crate::backend::answer(backend.list(&viewer, filter).await)
}
