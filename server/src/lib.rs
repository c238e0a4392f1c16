//! The connectworkflow server: configuration, routes, sessions, push, projections, wiring.
//!
//! Purpose: turns requests into calls of the engine, and what it knows into views.
//! Invariant: components are built in `serve` (and `demo`) only; stored records end in `projection`.
//! Never: business rules.

pub mod auth;
mod backend;
mod client_address;
pub mod config;
#[cfg(feature = "demo")]
pub mod demo;
mod failure;
mod problem;
mod projection;
mod push;
mod routes;
mod serve;
mod state;
mod store;
pub mod trigger_auth;
mod trigger_limit;

pub use backend::Backend;
pub use config::Settings;
pub use serve::{Server, StartError};
pub use store::check as check_store;
