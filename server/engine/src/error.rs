//! What can go wrong in the engine.

use ports::{BucketNameError, ErpError, KeyError, StoreError};
use workflow::Refusal;
use workflow::format::FormatError;

/// Why the engine did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The core refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// There is no such instance, task or receipt.
    #[error("there is no {what} `{id}`")]
    NotFound {
        /// What.
        what: &'static str,
        /// Which.
        id: String,
    },
    /// This tenant is not configured.
    #[error("tenant {tenant} is not known here: configure it first")]
    UnknownTenant {
        /// Which.
        tenant: String,
    },
    /// The bucket belongs to another pair (DESIGN §4, tenant isolation).
    #[error("bucket `{bucket}` belongs to {owner}, not to {tenant}: give one of them another name")]
    ForeignBucket {
        /// Bucket.
        bucket: String,
        /// Who asked.
        tenant: String,
        /// Whose it is.
        owner: String,
    },
    /// The pair has no bucket name.
    #[error(transparent)]
    BucketName(#[from] BucketNameError),
    /// A key can't be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The store can't be asked.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store refused a write.
    #[error("the store refused to write `{key}`: {reason}")]
    WriteRefused {
        /// Key.
        key: String,
        /// Why.
        reason: String,
    },
    /// It could not be found out whether a write happened; asking again is safe.
    #[error("it is not known whether `{key}` was written ({reason}): ask again, a repeat is safe")]
    OutcomeUnknown {
        /// Key.
        key: String,
        /// What was seen.
        reason: String,
    },
    /// Others were faster too often.
    #[error("`{key}` changed {tries} times while it was being written: try again")]
    TooBusy {
        /// Key.
        key: String,
        /// Tries.
        tries: u32,
    },
    /// A stored document can't be read, and no good version of it is left.
    #[error("the stored document `{key}` is damaged: {reason}; put a good copy of it back under this key")]
    Damaged {
        /// Key.
        key: String,
        /// What is wrong.
        reason: String,
    },
    /// A newer program wrote it: it is left as it is.
    #[error("the stored document `{key}` was not touched: {source}")]
    NewerFormat {
        /// Key.
        key: String,
        /// Which schemas.
        source: FormatError,
    },
    /// The ERP.
    #[error(transparent)]
    Erp(#[from] ErpError),
    /// A blueprint that can't be published.
    #[error("the blueprint can't be published: {reason}")]
    Blueprint {
        /// Why, with positions.
        reason: String,
    },
}
