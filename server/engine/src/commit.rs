//! The one helper that does every conditional write and knows its four outcomes (DESIGN §4 "Commit protocol").
//!
//! Invariant: what is reported as won happened, what is reported as lost did not and won't.

use bytes::Bytes;
use ports::{BucketName, Condition, ETag, Key, PutError, Store};

use crate::EngineError;
use crate::limits::{WRITE_PAUSE, WRITE_TRIES_MAX};

/// How a conditional write ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Written {
    /// It is in the store. Its tag, unless it was only found out later (somebody may have built on it since).
    Won(Option<ETag>),
    /// Somebody else's is.
    Lost,
}

/// Writes `bytes` under `condition`. `mark` is a random text that only this write and what is built on it contain
/// (commit id, lock token): it tells our own write when its answer got lost.
///
/// # Errors
/// [`EngineError::OutcomeUnknown`] when the store's answers stay unclear, [`EngineError::WriteRefused`] when it says no.
pub(crate) async fn conditional_write(
    store: &dyn Store,
    bucket: &BucketName,
    key: &Key,
    bytes: Bytes,
    condition: Condition,
    mark: &str,
) -> Result<Written, EngineError> {
    let mut unclear: Option<String> = None;
    let mut pause = WRITE_PAUSE;
    for _ in 0..WRITE_TRIES_MAX {
        match store.put(bucket, key, bytes.clone(), condition.clone()).await {
            Ok(etag) => return Ok(Written::Won(Some(etag))),
            Err(PutError::Lost) => match unclear {
                None => return Ok(Written::Lost),
                Some(_) => return read_back(store, bucket, key, mark).await,
            },
            // The same bytes again: "not there" would prove nothing, a late write can still land.
            Err(PutError::Conflict) => unclear = Some("409, a concurrent write".to_owned()),
            Err(PutError::Unknown { reason }) => unclear = Some(reason),
            Err(PutError::Refused { reason }) => {
                return Err(match unclear {
                    None => EngineError::WriteRefused { key: key.to_string(), reason },
                    Some(_) => EngineError::OutcomeUnknown { key: key.to_string(), reason },
                });
            }
        }
        tokio::time::sleep(pause).await;
        pause *= 2;
    }
    let reason = unclear.unwrap_or_default();
    Err(EngineError::OutcomeUnknown { key: key.to_string(), reason })
}

/// After a 412 that follows an unclear answer: was the winner us?
async fn read_back(store: &dyn Store, bucket: &BucketName, key: &Key, mark: &str) -> Result<Written, EngineError> {
    match store.get(bucket, key).await {
        Ok(Some(stored)) if contains(&stored.bytes, mark.as_bytes()) => Ok(Written::Won(None)),
        Ok(_) => Ok(Written::Lost),
        Err(error) => Err(EngineError::OutcomeUnknown { key: key.to_string(), reason: error.to_string() }),
    }
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    !needle.is_empty() && haystack.windows(needle.len()).any(|window| window == needle)
}

#[cfg(test)]
#[path = "commit_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "commit_random_tests.rs"]
mod random_tests;
