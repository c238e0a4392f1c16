//! Ids from a seed.

use std::sync::{Mutex, PoisonError};

use ports::vocab::InstanceId;
use ports::{Clock, IdSource};
use uuid::Builder;

use super::{Rng, VirtualClock};

/// Ids of one node.
#[derive(Debug)]
pub struct SeededIds {
    rng: Mutex<Rng>,
    clock: VirtualClock,
}

impl SeededIds {
    /// From a seed; instance ids carry the clock's time.
    pub fn new(seed: u64, clock: VirtualClock) -> Self {
        Self { rng: Mutex::new(Rng::new(seed)), clock }
    }

    fn bytes(&self) -> [u8; 16] {
        let mut rng = self.rng.lock().unwrap_or_else(PoisonError::into_inner);
        let (high, low) = (rng.next_u64(), rng.next_u64());
        ((u128::from(high) << 64) | u128::from(low)).to_be_bytes()
    }
}

impl IdSource for SeededIds {
    fn instance_id(&self) -> InstanceId {
        let millis = u64::try_from(self.clock.now().timestamp_millis()).unwrap_or(0);
        let bytes = self.bytes();
        let mut random = [0_u8; 10];
        for (to, from) in random.iter_mut().zip(bytes) {
            *to = from;
        }
        InstanceId::new(Builder::from_unix_timestamp_millis(millis, &random).into_uuid().to_string())
    }

    fn random_id(&self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.bytes()))
    }
}
