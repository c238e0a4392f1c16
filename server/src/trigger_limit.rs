//! How many triggers a tenant may send in a minute (DESIGN §8, 429).
//!
//! Purpose: one tenant's runaway ERP must not take the server away from the others.
//! Invariant: counted per tenant and only after the token was verified, so that nobody uses up another's share and the
//! map holds configured tenants only.
//! Never: shared between nodes; with n nodes a tenant may send n times as many.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use ports::Clock;
use vocab::TenantKey;

/// Seconds of a window.
const WINDOW_S: i64 = 60;

/// Counts each tenant's triggers in the current minute.
pub(crate) struct TriggerLimit {
    per_minute: u32,
    clock: Arc<dyn Clock>,
    counts: Mutex<BTreeMap<TenantKey, (i64, u32)>>,
}

impl TriggerLimit {
    /// `per_minute` 0: no limit.
    pub(crate) fn new(per_minute: u32, clock: Arc<dyn Clock>) -> Self {
        Self { per_minute, clock, counts: Mutex::default() }
    }

    /// Counts one trigger.
    ///
    /// # Errors
    /// The seconds until the tenant may send again.
    pub(crate) fn count(&self, tenant: &TenantKey) -> Result<(), u32> {
        if self.per_minute == 0 {
            return Ok(());
        }
        let now = self.clock.now().timestamp();
        let window = now.div_euclid(WINDOW_S);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = counts.entry(tenant.clone()).or_insert((window, 0));
        if entry.0 != window {
            *entry = (window, 0);
        }
        if entry.1 >= self.per_minute {
            return Err(u32::try_from(WINDOW_S - now.rem_euclid(WINDOW_S)).unwrap_or(1));
        }
        entry.1 += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may panic")]

    use std::sync::atomic::{AtomicI64, Ordering};

    use chrono::{DateTime, Utc};

    use super::*;

    struct Hand(AtomicI64);

    impl Clock for Hand {
        fn now(&self) -> DateTime<Utc> {
            DateTime::from_timestamp(self.0.load(Ordering::SeqCst), 0).unwrap()
        }
    }

    #[test]
    fn each_tenant_has_its_own_share_and_gets_it_back() {
        let clock = Arc::new(Hand(AtomicI64::new(600)));
        let limit = TriggerLimit::new(2, clock.clone());
        let (one, other) = (TenantKey::new("muster", "m1"), TenantKey::new("muster", "m2"));
        assert_eq!([limit.count(&one), limit.count(&one), limit.count(&one)], [Ok(()), Ok(()), Err(60)]);
        assert_eq!(limit.count(&other), Ok(()));
        clock.0.store(659, Ordering::SeqCst);
        assert_eq!(limit.count(&one), Err(1));
        clock.0.store(660, Ordering::SeqCst);
        assert_eq!(limit.count(&one), Ok(()));
    }

    #[test]
    fn zero_means_no_limit() {
        let limit = TriggerLimit::new(0, Arc::new(Hand(AtomicI64::new(0))));
        assert!((0..10_000).all(|_| limit.count(&TenantKey::new("a", "b")).is_ok()));
    }
}
