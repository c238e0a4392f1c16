//! A whole world in one process for tests of the engine: an ERP in memory, a clock that follows tokio's paused time, ids
//! from a seed, and a hook before and after every outside call of every node.
//!
//! Invariant: the same seed and the same script give the same world, call by call.
//! Never: real time, real randomness, threads.

mod clock;
mod erp;
mod gates;
mod hook;
mod ids;
mod node;
mod rng;
mod trace;

pub use clock::VirtualClock;
pub use erp::{Change, ChangedBy, ErpTable, Row};
pub use gates::{Gate, Gates};
pub use hook::{Call, Hook, HookedErp, HookedStore, Moment, NoHook, Verdict};
pub use ids::SeededIds;
pub use node::{HintSink, Node, World, WrapStore};
pub use rng::Rng;
pub use trace::Trace;
