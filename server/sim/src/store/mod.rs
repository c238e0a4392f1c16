//! Stores for tests: one in memory, one that counts, one that fails on purpose (DESIGN §4, §12).
//!
//! Purpose: the engine's protocols are tried against every answer a store can give, the same way on every run.
//! Invariant: nothing here reads a wall clock or a source of randomness; equal seeds and equal calls give equal answers.
//! Never: a shortcut that a real store doesn't have; all of it speaks [`ports::Store`] only.

mod counting;
mod fault;
mod memory;
mod random;

pub use counting::{CALLS_KEPT_MAX, Call, CountingStore, Counts, Op};
pub(crate) use fault::Plan;
pub use fault::{Fault, FaultRates, FaultStore, Fired, LATE_CALLS_MAX, When};
pub use memory::{MemoryStore, OBJECT_BYTES_MAX};
pub use random::SplitMix64;
