//! `me`.

use contract::Me;
use leptos::{prelude::server, server_fn::codec::Json};

use crate::Failure;

/// Who is signed in, and where they may do something.
///
/// # Errors
/// `SignedOut`.
#[server(name = WhoAmI, prefix = "/api/fn", endpoint = "me", input = Json)]
pub async fn me() -> Result<Me, Failure> {
    crate::backend::viewer().map(|viewer| viewer.me())
}
