//! `me`.

use contract::Me;
use leptos::prelude::server;

use crate::{Failure, wire::Call};

/// Who is signed in, and where they may do something.
///
/// # Errors
/// `SignedOut`.
#[server(name = WhoAmI, prefix = "/api/fn", endpoint = "me", input = Call)]
pub async fn me() -> Result<Me, Failure> {
    crate::backend::viewer().map(|viewer| viewer.me())
}
