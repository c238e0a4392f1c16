//! `saveDraft`.

use contract::{DraftAnswer, DraftRequest};
use leptos::prelude::server;

use crate::{Failure, wire::Call};

/// Keeps what was typed and isn't sent, for the holder of the claim.
///
/// # Errors
/// The backend's [`contract::AppError`], as a [`Failure`].
#[server(name = SaveDraft, prefix = "/api/fn", endpoint = "saveDraft", input = Call)]
pub async fn save_draft(request: DraftRequest) -> Result<DraftAnswer, Failure> {
    let (backend, viewer) = (crate::backend::backend()?, crate::backend::viewer()?);
    crate::backend::answer(backend.save_draft(&viewer, request).await)
}
