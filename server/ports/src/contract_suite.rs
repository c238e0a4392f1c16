//! The contract suite of the store: what every implementation of [`Store`] must do, told in tests (DESIGN §4).
//!
//! Purpose: the embedded store, S3 and the simulators run the same tests, so that the engine can't tell them apart.
//! Invariant: every test uses keys of its own, so that tests neither need an order nor an empty store.
//! Never: a fact that only one implementation can know (paths, formats of version ids and etags).
//!
//! An adapter's own test calls [`run_store_suite`] on a multi-threaded runtime. A broken rule panics and names what was
//! expected; the store must be healthy, an `Unknown` or `Unavailable` answer is a failure here.

mod listing;
mod races;
mod reads;
mod versions;
mod writes;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;

pub use listing::{
    buckets_are_isolated, listing_cuts_the_limit, listing_is_ordered_and_paged, odd_keys_stay_themselves,
};
pub use races::{
    racing_creators_have_one_winner, racing_increments_lose_nothing, racing_readers_see_whole_objects,
    racing_updaters_have_one_winner,
};
pub use reads::{large_objects_come_back_whole, missing_buckets_are_named, missing_keys_are_none, ranges_have_edges};
pub use versions::{
    deleted_keys_keep_their_versions, overwrites_keep_their_versions, unknown_versions_are_none,
    version_lists_have_a_limit, versions_stay_with_their_key,
};
pub use writes::{
    buckets_are_created_once, conditions_decide_writes, deletes_are_idempotent, etags_follow_content,
    objects_may_be_empty,
};

use crate::{BucketName, Condition, ETag, Key, PutError, Store, Stored};

/// A store under test, with two buckets that exist and one that doesn't.
pub struct StoreSuite {
    store: Arc<dyn Store>,
    bucket: BucketName,
    other: BucketName,
    missing: BucketName,
}

/// Runs the whole suite, one test after the other.
///
/// # Panics
/// If the store breaks a rule of the contract.
pub async fn run_store_suite(store: Arc<dyn Store>) {
    let suite = StoreSuite::new(store).await;
    buckets_are_created_once(&suite).await;
    missing_buckets_are_named(&suite).await;
    missing_keys_are_none(&suite).await;
    etags_follow_content(&suite).await;
    conditions_decide_writes(&suite).await;
    deletes_are_idempotent(&suite).await;
    objects_may_be_empty(&suite).await;
    large_objects_come_back_whole(&suite).await;
    ranges_have_edges(&suite).await;
    listing_is_ordered_and_paged(&suite).await;
    listing_cuts_the_limit(&suite).await;
    odd_keys_stay_themselves(&suite).await;
    buckets_are_isolated(&suite).await;
    racing_creators_have_one_winner(&suite).await;
    racing_updaters_have_one_winner(&suite).await;
    racing_increments_lose_nothing(&suite).await;
    racing_readers_see_whole_objects(&suite).await;
    overwrites_keep_their_versions(&suite).await;
    deleted_keys_keep_their_versions(&suite).await;
    unknown_versions_are_none(&suite).await;
    versions_stay_with_their_key(&suite).await;
    version_lists_have_a_limit(&suite).await;
}

impl StoreSuite {
    /// Creates two buckets with names that no other run has.
    ///
    /// # Panics
    /// If the store can't create them.
    pub async fn new(store: Arc<dyn Store>) -> Self {
        let suite = Self { store, bucket: fresh_bucket("a"), other: fresh_bucket("b"), missing: fresh_bucket("none") };
        for bucket in [&suite.bucket, &suite.other] {
            must(suite.store.create_bucket(bucket).await, "create a bucket");
        }
        suite
    }

    async fn put(&self, key: &Key, bytes: impl Into<Bytes>, condition: Condition) -> Result<ETag, PutError> {
        self.store.put(&self.bucket, key, bytes.into(), condition).await
    }

    /// An unconditional write, which must succeed.
    async fn write(&self, key: &Key, bytes: impl Into<Bytes>) -> ETag {
        must(self.put(key, bytes, Condition::None).await, "write without a condition")
    }

    async fn get(&self, key: &Key) -> Option<Stored> {
        must(self.store.get(&self.bucket, key).await, "read an object")
    }

    /// Reads an object which must be there.
    async fn read(&self, key: &Key) -> Stored {
        self.get(key).await.unwrap_or_else(|| panic!("`{key}` was written and must be there"))
    }
}

/// A bucket name that no earlier run can have left in a store that lives longer than the tests.
fn fresh_bucket(label: &str) -> BucketName {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("suite-{label}-{nanos:x}-{:x}-{next:x}", std::process::id());
    must(BucketName::configured(&name), "build a bucket name")
}

fn key(text: &str) -> Key {
    must(Key::new(text), "build a key")
}

/// The value, or a panic that says what the store should have been able to do.
#[track_caller]
fn must<T, E: std::fmt::Display>(result: Result<T, E>, what: &str) -> T {
    result.unwrap_or_else(|error| panic!("a healthy store must {what}: {error}"))
}
