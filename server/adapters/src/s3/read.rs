//! Reads of the S3 store: objects, parts, versions, listings.
//!
//! Invariant: what is returned is whole: the bytes are as many as the server announced.
//! Never: more than [`OBJECT_BYTES_MAX`] in memory, a listing longer than S3's page.

use std::ops::Range;
use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::operation::get_object::GetObjectOutput;
use aws_sdk_s3::primitives::DateTime as SdkTime;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use ports::{BucketName, ETag, Key, ListPage, ObjectInfo, StoreError, Stored};

use super::OBJECT_BYTES_MAX;
use super::answer::Answer;
use super::settings::READ_ATTEMPTS_MAX;

/// Keys or versions in one page (S3's limit, and the port's).
const PAGE_MAX: u32 = 1_000;
/// Pages of versions that are read for one key: delete markers fill them too.
const VERSION_PAGES_MAX: u32 = 100;

/// What a GET asks for.
pub(super) struct Wanted<'w> {
    pub(super) bucket: &'w BucketName,
    pub(super) key: &'w Key,
    pub(super) range: Option<Range<u64>>,
    pub(super) version: Option<&'w str>,
}

/// The client for reads and how long a body may take.
pub(super) struct Reader<'r> {
    pub(super) client: &'r Client,
    pub(super) body: Duration,
}

impl Reader<'_> {
    /// Reads an object or part of it. A body that breaks off is asked for again, a few times.
    pub(super) async fn get(&self, wanted: &Wanted<'_>) -> Result<Option<Stored>, StoreError> {
        let Wanted { bucket, key, range, .. } = wanted;
        if let Some(range) = range
            && (range.start >= range.end || i64::try_from(range.start).is_err())
        {
            // S3 has no empty range, and reads no number larger than this.
            let info = self.head(bucket, key).await?;
            return info.map_or(Ok(None), |info| Err(StoreError::BadRange { size: info.size }));
        }
        let mut broken = String::new();
        for _ in 0..READ_ATTEMPTS_MAX {
            let output = match self.ask(wanted).await? {
                Found::Output(output) => output,
                Found::Nothing => return Ok(None),
                Found::BadRange => {
                    let info = self.head(bucket, key).await?;
                    return info.map_or(Ok(None), |info| Err(StoreError::BadRange { size: info.size }));
                }
            };
            match self.whole(*output, wanted).await? {
                Ok(stored) => return Ok(Some(stored)),
                Err(reason) => broken = reason,
            }
        }
        Err(StoreError::Unavailable { reason: format!("bucket `{bucket}`, key `{key}`: {broken}") })
    }

    async fn ask(&self, wanted: &Wanted<'_>) -> Result<Found, StoreError> {
        let mut request = self.client.get_object().bucket(wanted.bucket.as_str()).key(wanted.key.as_str());
        if let Some(range) = &wanted.range {
            let last = range.end.saturating_sub(1).min(i64::MAX.unsigned_abs());
            request = request.range(format!("bytes={}-{last}", range.start));
        }
        request = request.set_version_id(wanted.version.map(str::to_owned));
        let answer = match request.send().await {
            Ok(output) => return Ok(Found::Output(Box::new(output))),
            Err(error) => Answer::of(&error),
        };
        if answer.is_missing_object() {
            return Ok(Found::Nothing);
        }
        // An id that no version can have is a 400, that of a delete marker a 405. Other 400s (an expired token, a request
        // that took too long) say nothing of the version: taken for "none", a repair would pass over the newest good one.
        if wanted.version.is_some() && (answer.is("InvalidArgument") || answer.is("MethodNotAllowed")) {
            return Ok(Found::Nothing);
        }
        if answer.has_status(416) {
            return Ok(Found::BadRange);
        }
        Err(answer.of_read(wanted.bucket))
    }

    /// The whole body; the inner error is one that asking again may heal.
    async fn whole(&self, output: GetObjectOutput, wanted: &Wanted<'_>) -> Result<Result<Stored, String>, StoreError> {
        let damaged = |reason: &str| StoreError::Damaged { key: wanted.key.to_string(), reason: reason.to_owned() };
        let odd = |what: &str| odd_answer(wanted.bucket, wanted.key, what);
        let length = output.content_length().and_then(|length| u64::try_from(length).ok());
        let length = length.ok_or_else(|| odd("length"))?;
        if length > OBJECT_BYTES_MAX {
            return Err(damaged(&format!("{length} bytes, at most {OBJECT_BYTES_MAX} are read")));
        }
        let total = output.content_range().and_then(|range| range.rsplit('/').next()?.parse::<u64>().ok());
        let info = ObjectInfo {
            etag: ETag(output.e_tag().ok_or_else(|| odd("etag"))?.to_owned()),
            size: total.unwrap_or(length),
            version: output.version_id().map(str::to_owned),
            modified: moment(output.last_modified()).ok_or_else(|| odd("date"))?,
        };
        let bytes = match tokio::time::timeout(self.body, output.body.collect()).await {
            Ok(Ok(body)) => body.into_bytes(),
            Ok(Err(error)) => return Ok(Err(format!("the answer broke off: {error}"))),
            Err(_) => return Ok(Err(format!("the answer took longer than {} s", self.body.as_secs()))),
        };
        if bytes.len() as u64 != length {
            return Ok(Err(format!("{} of {length} bytes arrived", bytes.len())));
        }
        match (&wanted.range, total) {
            (Some(range), None) => part(range, bytes, info).map(Ok),
            (Some(_) | None, _) => Ok(Ok(Stored { info, bytes })),
        }
    }

    /// Asks about an object. A HEAD without success has no body, so a missing bucket is asked for apart.
    pub(super) async fn head(&self, bucket: &BucketName, key: &Key) -> Result<Option<ObjectInfo>, StoreError> {
        let output = match self.client.head_object().bucket(bucket.as_str()).key(key.as_str()).send().await {
            Ok(output) => output,
            Err(error) => {
                let answer = Answer::of(&error);
                if !answer.has_status(404) {
                    return Err(answer.of_read(bucket));
                }
                self.bucket_exists(bucket).await?;
                return Ok(None);
            }
        };
        let odd = |what: &str| odd_answer(bucket, key, what);
        Ok(Some(ObjectInfo {
            etag: ETag(output.e_tag().ok_or_else(|| odd("etag"))?.to_owned()),
            size: output.content_length().and_then(|length| u64::try_from(length).ok()).ok_or_else(|| odd("length"))?,
            version: output.version_id().map(str::to_owned),
            modified: moment(output.last_modified()).ok_or_else(|| odd("date"))?,
        }))
    }

    /// Fails with [`StoreError::NoBucket`] if there is none.
    pub(super) async fn bucket_exists(&self, bucket: &BucketName) -> Result<(), StoreError> {
        match self.client.head_bucket().bucket(bucket.as_str()).send().await {
            Ok(_) => Ok(()),
            Err(error) => {
                let answer = Answer::of(&error);
                if answer.has_status(404) {
                    return Err(StoreError::NoBucket { bucket: bucket.to_string() });
                }
                Err(answer.of_read(bucket))
            }
        }
    }

    /// One page of keys.
    pub(super) async fn list(
        &self,
        bucket: &BucketName,
        prefix: &str,
        after: Option<&Key>,
        limit: u32,
    ) -> Result<ListPage, StoreError> {
        let request = self.client.list_objects_v2().bucket(bucket.as_str()).prefix(prefix);
        let request = request.set_start_after(after.map(Key::to_string)).max_keys(page(limit));
        let output = request.send().await.map_err(|error| Answer::of(&error).of_read(bucket))?;
        let more = output.is_truncated().unwrap_or(false);
        let mut keys = Vec::with_capacity(output.contents().len());
        for object in output.contents() {
            let text = object.key().unwrap_or_default();
            match Key::new(text) {
                Ok(key) => keys.push(key),
                // Not ours: no code of ours can have written it, and no caller can ask for it.
                Err(error) => tracing::warn!(%bucket, %error, "a foreign object is left out of the listing"),
            }
        }
        Ok(ListPage { keys, more })
    }

    /// The versions of exactly this key, newest first, without delete markers.
    pub(super) async fn versions(
        &self,
        bucket: &BucketName,
        key: &Key,
        limit: u32,
    ) -> Result<Vec<ObjectInfo>, StoreError> {
        let limit = usize::try_from(limit.min(PAGE_MAX)).unwrap_or_default();
        let mut found = Vec::new();
        let (mut key_marker, mut version_marker) = (None, None);
        for _ in 0..VERSION_PAGES_MAX {
            let request = self.client.list_object_versions().bucket(bucket.as_str()).prefix(key.as_str());
            let request = request.set_key_marker(key_marker).set_version_id_marker(version_marker);
            let output = request.send().await.map_err(|error| Answer::of(&error).of_read(bucket))?;
            for version in output.versions().iter().filter(|version| version.key() == Some(key.as_str())) {
                let odd = |what: &str| odd_answer(bucket, key, what);
                found.push(ObjectInfo {
                    etag: ETag(version.e_tag().ok_or_else(|| odd("etag of a version"))?.to_owned()),
                    size: version.size().and_then(|size| u64::try_from(size).ok()).unwrap_or_default(),
                    version: version.version_id().map(str::to_owned),
                    modified: moment(version.last_modified()).ok_or_else(|| odd("date of a version"))?,
                });
            }
            // The key comes before all that only begin with it.
            let passed = output.next_key_marker().is_some_and(|next| next != key.as_str());
            if found.len() >= limit || passed || !output.is_truncated().unwrap_or(false) {
                found.truncate(limit);
                return Ok(found);
            }
            (key_marker, version_marker) = (output.next_key_marker, output.next_version_id_marker);
        }
        let reason = format!("bucket `{bucket}`, key `{key}`: more than {VERSION_PAGES_MAX} pages of versions");
        Err(StoreError::Unavailable { reason })
    }
}

enum Found {
    Output(Box<GetObjectOutput>),
    Nothing,
    BadRange,
}

/// The part asked for, out of the whole object that a server without ranges sends.
fn part(range: &Range<u64>, bytes: Bytes, info: ObjectInfo) -> Result<Stored, StoreError> {
    let size = bytes.len() as u64;
    let bounds = usize::try_from(range.start).ok().zip(usize::try_from(range.end.min(size)).ok());
    match bounds.filter(|(start, end)| start < end) {
        Some((start, end)) => Ok(Stored { info, bytes: bytes.slice(start..end) }),
        None => Err(StoreError::BadRange { size }),
    }
}

fn page(limit: u32) -> i32 {
    i32::try_from(limit.min(PAGE_MAX)).unwrap_or_default()
}

/// In whole seconds: the header has no more, and the same object must look the same in every answer.
fn moment(time: Option<&SdkTime>) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp(time?.secs(), 0)
}

/// An answer without what S3 always says comes from something in between; it tells nothing of the object.
fn odd_answer(bucket: &BucketName, key: &Key, what: &str) -> StoreError {
    StoreError::Unavailable { reason: format!("bucket `{bucket}`, key `{key}`: the answer has no {what}") }
}
