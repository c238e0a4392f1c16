//! What the engine needs from the outside world, as traits, and the errors they may answer with.
//!
//! Purpose: the engine talks to these; adapters and simulators implement them and pass the same contract suite.
//! Invariant: no SDK type, no vendor's name in a signature.
//! Never: an implementation, except of plain values (keys, bucket names).

mod bucket;
mod clock;
#[cfg(feature = "contract-suite")]
pub mod contract_suite;
mod erp;
mod hints;
mod self_test;
mod store;

pub use bucket::{BUCKET_CHARS_MAX, BucketName, BucketNameError};
pub use clock::{Clock, IdSource};
pub use erp::{
    ErpError, ErpFields, ErpMutation, ErpObject, ErpRead, ErpSet, ErpState, ErpTarget, ErpWrite, ErpWritten,
};
pub use hints::{Hint, Hints};
pub use self_test::{Guarantee, SelfTestError, self_test};
pub use store::{
    Condition, ETag, KEY_BYTES_MAX, Key, KeyError, ListPage, ObjectInfo, PutError, Store, StoreError, Stored,
    VERSION_DAYS_MIN, encode_part,
};
pub use workflow::{self, vocab};
