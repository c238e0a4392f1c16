//! Time and fresh ids: the only two sources of non-determinism the engine has.

use chrono::{DateTime, Utc};
use workflow::vocab::InstanceId;

/// What time it is.
pub trait Clock: Send + Sync + 'static {
    /// Now, UTC.
    fn now(&self) -> DateTime<Utc>;
}

/// Fresh ids.
pub trait IdSource: Send + Sync + 'static {
    /// A new instance id: UUIDv7, so that ids sort by time.
    fn instance_id(&self) -> InstanceId;
    /// A random id for commits, claims, lock tokens and incidents: 128 random bits, hex.
    fn random_id(&self) -> String;
}
