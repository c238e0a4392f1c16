//! A clock that follows tokio's time, so that paused time is the engine's time; each node's may be off.

use chrono::{DateTime, TimeDelta, Utc};
use ports::Clock;
use tokio::time::Instant;

/// 2026-03-02 08:00 UTC, a Monday: where every simulated world begins.
const BEGIN_S: i64 = 1_772_438_400;

/// The clock of one node.
#[derive(Debug, Clone)]
pub struct VirtualClock {
    origin: Instant,
    skew: TimeDelta,
}

impl VirtualClock {
    /// A clock that stands at the world's beginning at `origin`, off by `skew`.
    pub fn new(origin: Instant, skew: TimeDelta) -> Self {
        Self { origin, skew }
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> DateTime<Utc> {
        let begin = DateTime::from_timestamp(BEGIN_S, 0).unwrap_or_default();
        let passed = TimeDelta::from_std(self.origin.elapsed()).unwrap_or(TimeDelta::MAX);
        begin.checked_add_signed(passed).and_then(|now| now.checked_add_signed(self.skew)).unwrap_or(begin)
    }
}
