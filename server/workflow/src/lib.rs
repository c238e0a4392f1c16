//! The pure core: what a blueprint means, what an event does to an instance, what the log says about it.
//!
//! Purpose: `apply(&Blueprint, &Instance, Event) -> Result<Step, Refusal>` and everything it needs.
//! Invariant: same input, same output, on every node and in every replay. Time, actors and fresh ids arrive inside
//! events; maps are ordered.
//! Never: async, I/O, a clock, randomness, `HashMap`.

pub mod apply;
pub mod blueprint;
pub mod event;
pub mod expr;
pub mod format;
pub mod instance;
pub mod log;
pub mod rights;

pub use apply::{Refusal, Step, apply, start};
pub use blueprint::Blueprint;
pub use event::{Actor, Event, EventKind};
pub use instance::Instance;
pub use vocab;
