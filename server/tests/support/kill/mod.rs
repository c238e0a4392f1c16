//! What stands around the server while it is killed: the ERP, the identity provider, people, and the process itself.
//!
//! Invariant: everything here lives in the test's process and so survives each kill, as the real ones would.

pub(crate) mod outside;
pub(crate) mod person;
pub(crate) mod process;

/// Numbers that look random and are the same for the same seed.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % limit
    }
}
