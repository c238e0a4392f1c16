//! The state machine as a whole: refusals, lives of runs, golden logs, random sequences, the chain.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on must fail where it stands")]

mod chain;
mod effects;
mod entries;
mod fixture;
mod golden;
mod limits;
mod random;
mod refusals;
mod repaired;
mod rights;
mod runs;
mod traces;
