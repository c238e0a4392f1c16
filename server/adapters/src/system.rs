//! The system's clock and its randomness.
//!
//! Purpose: the only place of the product that asks the machine for time or fresh ids.
//! Invariant: instance ids sort by their time of creation, random ids have 128 unpredictable bits.
//! Never: a cached or shared value; every call asks anew.

use chrono::{DateTime, Utc};
use ports::vocab::InstanceId;
use ports::{Clock, IdSource};
use uuid::Uuid;

/// The machine's clock. Its skew may cost time, never correctness (DESIGN §4, "Lock and start").
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> DateTime<Utc> {
        Utc::now()
    }
}

/// Ids from the machine's randomness.
#[derive(Debug, Clone, Copy, Default)]
pub struct RandomIds;

impl IdSource for RandomIds {
    fn instance_id(&self) -> InstanceId {
        InstanceId::new(Uuid::now_v7().to_string())
    }

    fn random_id(&self) -> String {
        // A v4 UUID has 122 random and six fixed bits. Turned by half their width, the fixed bits of one meet random
        // bits of the other, so that all 128 of their sum are random.
        let (first, second) = (Uuid::new_v4().as_u128(), Uuid::new_v4().as_u128());
        format!("{:032x}", first ^ second.rotate_left(u128::BITS / 2))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may panic")]

    use std::collections::BTreeSet;

    use super::*;

    const IDS: usize = 1_000;

    #[test]
    fn instance_ids_are_v7_and_sort_by_time() {
        let ids: Vec<String> = (0..IDS).map(|_| RandomIds.instance_id().as_str().to_owned()).collect();
        for id in &ids {
            assert_eq!(Uuid::parse_str(id).unwrap().get_version_num(), 7, "{id}");
        }
        assert!(ids.is_sorted(), "ids made one after the other sort that way");
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), IDS);
    }

    #[test]
    fn random_ids_are_128_bits_without_a_fixed_one() {
        let ids: Vec<String> = (0..IDS).map(|_| RandomIds.random_id()).collect();
        let (mut ones, mut zeros) = (0_u128, 0_u128);
        for id in &ids {
            assert_eq!(id.len(), 32, "{id}");
            let bits = u128::from_str_radix(id, 16).unwrap();
            ones |= bits;
            zeros |= !bits;
        }
        assert_eq!((ones, zeros), (u128::MAX, u128::MAX), "every bit is sometimes set and sometimes not");
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), IDS);
    }

    #[test]
    fn the_clock_is_the_systems() {
        let before = Utc::now();
        let now = SystemClock.now();
        assert!(before <= now && now <= Utc::now());
    }
}
