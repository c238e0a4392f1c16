//! The store on S3, or on a server that speaks its protocol (DESIGN §4).
//!
//! Purpose: several nodes on one store that somebody else keeps alive.
//! Invariant: a write is sent once, and its outcome is one of four: won, lost (412), conflict (409), unknown.
//! Never: a repeated write, an SDK type in a public signature, a secret in a message.

mod answer;
mod bucket;
mod read;
mod settings;

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_s3::Client;
use aws_sdk_s3::primitives::ByteStream;
use bytes::Bytes;
use ports::{BucketName, Condition, ETag, Key, ListPage, ObjectInfo, PutError, Store, StoreError, Stored};

use answer::Answer;
use read::{Reader, Wanted};
pub use settings::{S3Checksum, S3Credentials, S3Settings, S3SettingsError, S3Timeouts};

/// Bytes an object may have.
pub const OBJECT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// A store on an S3 server.
#[derive(Clone)]
pub struct S3Store {
    reads: Client,
    writes: Client,
    region: String,
    body: Duration,
}

impl S3Store {
    /// Builds the clients; asks nothing of the server.
    ///
    /// # Errors
    /// [`S3SettingsError`] names the value at fault.
    pub fn connect(settings: S3Settings) -> Result<Self, S3SettingsError> {
        let (reads, writes) = settings.clients()?;
        Ok(Self { reads, writes, region: settings.region, body: settings.timeouts.operation })
    }

    fn reader(&self) -> Reader<'_> {
        Reader { client: &self.reads, body: self.body }
    }
}

impl fmt::Debug for S3Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Store").field("region", &self.region).finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for S3Store {
    async fn create_bucket(&self, bucket: &BucketName) -> Result<(), StoreError> {
        bucket::create(&self.reads, &self.region, bucket).await
    }

    async fn get(&self, bucket: &BucketName, key: &Key) -> Result<Option<Stored>, StoreError> {
        self.reader().get(&Wanted { bucket, key, range: None, version: None }).await
    }

    async fn get_range(&self, bucket: &BucketName, key: &Key, range: Range<u64>) -> Result<Option<Stored>, StoreError> {
        self.reader().get(&Wanted { bucket, key, range: Some(range), version: None }).await
    }

    async fn head(&self, bucket: &BucketName, key: &Key) -> Result<Option<ObjectInfo>, StoreError> {
        self.reader().head(bucket, key).await
    }

    async fn put(&self, bucket: &BucketName, key: &Key, bytes: Bytes, condition: Condition) -> Result<ETag, PutError> {
        let size = bytes.len() as u64;
        if size > OBJECT_BYTES_MAX {
            let reason = format!("the object has {size} bytes, at most {OBJECT_BYTES_MAX} are possible");
            return Err(PutError::Refused { reason });
        }
        let request = self.writes.put_object().bucket(bucket.as_str()).key(key.as_str()).body(ByteStream::from(bytes));
        let request = match &condition {
            Condition::None => request,
            Condition::IfAbsent => request.if_none_match("*"),
            Condition::IfMatch(etag) => request.if_match(&etag.0),
        };
        match request.send().await {
            Ok(output) => output
                .e_tag
                .map(ETag)
                .ok_or_else(|| PutError::Unknown { reason: "the answer to the write has no etag".to_owned() }),
            Err(error) => Err(Answer::of(&error).of_put(bucket, &condition)),
        }
    }

    async fn delete(&self, bucket: &BucketName, key: &Key) -> Result<(), StoreError> {
        match self.reads.delete_object().bucket(bucket.as_str()).key(key.as_str()).send().await {
            Ok(_) => Ok(()),
            Err(error) => {
                let answer = Answer::of(&error);
                if answer.is_missing_object() { Ok(()) } else { Err(answer.of_read(bucket)) }
            }
        }
    }

    async fn list(
        &self,
        bucket: &BucketName,
        prefix: &str,
        after: Option<&Key>,
        limit: u32,
    ) -> Result<ListPage, StoreError> {
        self.reader().list(bucket, prefix, after, limit).await
    }

    async fn versions(&self, bucket: &BucketName, key: &Key, limit: u32) -> Result<Vec<ObjectInfo>, StoreError> {
        self.reader().versions(bucket, key, limit).await
    }

    async fn get_version(&self, bucket: &BucketName, key: &Key, version: &str) -> Result<Option<Stored>, StoreError> {
        if version.is_empty() {
            // S3 takes an empty id for none, and would read the current content.
            return self.reader().bucket_exists(bucket).await.map(|()| None);
        }
        self.reader().get(&Wanted { bucket, key, range: None, version: Some(version) }).await
    }
}
