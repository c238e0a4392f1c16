//! When to connect, give up on a silent connection, and poll. Pure; the clock is an argument.
//!
//! Invariant: at any time the connection is up, or a try is due within [`RETRY_MS_MAX`], and polls keep coming.
//! Never: timers, sockets.

use super::Link;

/// A connection without a sign of life for this long is dead; the server sends one every 20 s.
const SILENCE_MS_MAX: f64 = 45_000.0;
/// Polling while the connection is gone.
const POLL_MS: f64 = 10_000.0;
/// First pause before reconnecting; doubles with each try.
const RETRY_MS_MIN: f64 = 500.0;
/// Longest pause before reconnecting.
const RETRY_MS_MAX: f64 = 30_000.0;
/// A connection that takes longer than this is shown as lost.
const PATIENCE_MS: f64 = 3_000.0;
/// A handshake that takes longer than this is given up.
const HANDSHAKE_MS_MAX: f64 = 15_000.0;

/// What to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    Connect,
    Drop,
    Poll,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    Waiting { retry_at: f64 },
    Handshake { since: f64 },
    Open { seen_at: f64 },
}

/// The schedule of one page's connection.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    phase: Phase,
    tries: u32,
    down_since: f64,
    polled_at: f64,
}

impl Schedule {
    pub(super) fn new(now: f64) -> Self {
        Self { phase: Phase::Waiting { retry_at: now }, tries: 0, down_since: now, polled_at: now }
    }

    /// What is due at `now`.
    pub(super) fn due(&mut self, now: f64) -> Vec<Due> {
        let mut due = Vec::new();
        match self.phase {
            Phase::Waiting { retry_at } if now >= retry_at => {
                self.phase = Phase::Handshake { since: now };
                due.push(Due::Connect);
            }
            Phase::Handshake { since } if now - since > HANDSHAKE_MS_MAX => due.push(Due::Drop),
            Phase::Open { seen_at } if now - seen_at > SILENCE_MS_MAX => due.push(Due::Drop),
            Phase::Waiting { .. } | Phase::Handshake { .. } | Phase::Open { .. } => {}
        }
        if self.link(now) == Link::Lost && now - self.polled_at >= POLL_MS {
            self.polled_at = now;
            due.push(Due::Poll);
        }
        due
    }

    pub(super) fn opened(&mut self, now: f64) {
        self.tries = 0;
        self.phase = Phase::Open { seen_at: now };
    }

    pub(super) fn seen(&mut self, now: f64) {
        if let Phase::Open { seen_at } = &mut self.phase {
            *seen_at = now;
        }
    }

    /// The connection is gone. `spread` in 0..1 keeps a crowd from reconnecting at the same moment.
    pub(super) fn closed(&mut self, now: f64, spread: f64) {
        if matches!(self.phase, Phase::Open { .. }) {
            self.down_since = now;
            self.polled_at = now;
        }
        let pause = (RETRY_MS_MIN * f64::from(2_u32.saturating_pow(self.tries.min(8)))).min(RETRY_MS_MAX);
        self.tries += 1;
        self.phase = Phase::Waiting { retry_at: now + pause * (0.5 + spread / 2.0) };
    }

    /// Something says that the network is back: don't wait.
    pub(super) fn hurry(&mut self, now: f64) {
        if let Phase::Waiting { retry_at } = &mut self.phase {
            *retry_at = now;
        }
    }

    pub(super) fn link(&self, now: f64) -> Link {
        match self.phase {
            Phase::Open { .. } => Link::Open,
            Phase::Waiting { .. } | Phase::Handshake { .. } if now - self.down_since > PATIENCE_MS => Link::Lost,
            Phase::Waiting { .. } | Phase::Handshake { .. } => Link::Connecting,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connects_at_once_and_stays_quiet_while_open() {
        let mut schedule = Schedule::new(0.0);
        assert_eq!(schedule.due(0.0), [Due::Connect]);
        assert_eq!(schedule.link(100.0), Link::Connecting);
        schedule.opened(200.0);
        assert_eq!(schedule.link(200.0), Link::Open);
        assert!(schedule.due(20_000.0).is_empty());
        schedule.seen(20_000.0);
        assert!(schedule.due(60_000.0).is_empty());
        assert_eq!(schedule.due(66_000.0), [Due::Drop]);
    }

    #[test]
    fn a_lost_connection_is_polled_and_retried_ever_more_slowly() {
        let mut schedule = Schedule::new(0.0);
        schedule.due(0.0);
        schedule.opened(0.0);
        schedule.closed(1_000.0, 1.0);
        assert_eq!(schedule.link(2_000.0), Link::Connecting);
        assert_eq!(schedule.link(4_100.0), Link::Lost);
        let (mut connects, mut polls, mut longest, mut last) = (0, 0, 0.0_f64, 1_000.0);
        for second in 2..602 {
            let now = f64::from(second) * 1_000.0;
            for due in schedule.due(now) {
                match due {
                    Due::Connect => {
                        connects += 1;
                        longest = longest.max(now - last);
                        last = now;
                        schedule.closed(now, 1.0);
                    }
                    Due::Poll => polls += 1,
                    Due::Drop => panic!("nothing to drop"),
                }
            }
        }
        assert_eq!(polls, 60);
        assert!((20..=30).contains(&connects), "{connects}");
        assert!(longest <= RETRY_MS_MAX + 1_000.0, "{longest}");
        schedule.hurry(602_000.0);
        assert!(schedule.due(602_000.0).contains(&Due::Connect));
    }
}
