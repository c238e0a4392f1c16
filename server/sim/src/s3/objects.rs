//! The calls of S3 that the adapter makes, carried out on a store.
//!
//! Invariant: conditions are decided by the store alone, in one call; status codes are those that S3 answers.
//! Never: a call that does less than it was asked and says 200.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::{HeaderMap, HeaderValue, StatusCode};
use ports::{BucketName, Condition, ETag, Key, KeyError, ObjectInfo, PutError, Store, StoreError, Stored};
use s3s::dto::{
    BucketVersioningStatus, CreateBucketInput, CreateBucketOutput, DeleteObjectInput, DeleteObjectOutput,
    ETagCondition, GetBucketLifecycleConfigurationInput, GetBucketLifecycleConfigurationOutput,
    GetBucketVersioningInput, GetBucketVersioningOutput, GetObjectInput, GetObjectOutput, HeadBucketInput,
    HeadBucketOutput, HeadObjectInput, HeadObjectOutput, LifecycleRule, ListObjectVersionsInput,
    ListObjectVersionsOutput, ListObjectsV2Input, ListObjectsV2Output, PutBucketLifecycleConfigurationInput,
    PutBucketLifecycleConfigurationOutput, PutBucketVersioningInput, PutBucketVersioningOutput, PutObjectInput,
    PutObjectOutput, Range, StreamingBlob, Timestamp,
};
use s3s::{Body, S3, S3Error, S3ErrorCode, S3Request, S3Response, S3Result};

use crate::store::OBJECT_BYTES_MAX;

/// What S3 knows about a bucket and the port doesn't.
#[derive(Default)]
struct BucketSettings {
    versioning: Option<BucketVersioningStatus>,
    lifecycle: Option<Vec<LifecycleRule>>,
}

/// S3 over a store.
pub(super) struct Front {
    pub(super) store: Arc<dyn Store>,
    settings: Mutex<BTreeMap<BucketName, BucketSettings>>,
}

impl Front {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self { store, settings: Mutex::new(BTreeMap::new()) }
    }

    fn settings(&self) -> MutexGuard<'_, BTreeMap<BucketName, BucketSettings>> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a bucket shows its versions.
    pub(super) fn is_versioned(&self, bucket: &BucketName) -> bool {
        let settings = self.settings();
        let status = settings.get(bucket).and_then(|settings| settings.versioning.as_ref());
        status.is_some_and(|status| status.as_str() == BucketVersioningStatus::ENABLED)
    }

    /// The bucket of a call, which must exist.
    async fn existing(&self, name: &str) -> S3Result<BucketName> {
        let bucket = bucket_of(name)?;
        self.store.list(&bucket, "", None, 1).await.map_err(failed)?;
        Ok(bucket)
    }

    /// Reads an object, a version of it, or a part of it; with the part's place when only a part was asked for.
    async fn read(
        &self,
        bucket: &BucketName,
        key: &Key,
        version: Option<&str>,
        range: Option<Range>,
    ) -> S3Result<(Stored, Option<String>)> {
        let missing = || S3Error::from(S3ErrorCode::NoSuchKey);
        if let Some(version) = version {
            let found = self.store.get_version(bucket, key, version).await.map_err(failed)?;
            let stored = found.ok_or_else(|| S3Error::from(S3ErrorCode::NoSuchVersion))?;
            return match range {
                None => Ok((stored, None)),
                Some(_) => Err(not_implemented("a range of an old version")),
            };
        }
        let wanted = match range {
            None => {
                let stored = self.store.get(bucket, key).await.map_err(failed)?.ok_or_else(missing)?;
                return Ok((stored, None));
            }
            Some(Range::Int { first, last }) => first..last.map_or(u64::MAX, |last| last.saturating_add(1)),
            Some(suffix @ Range::Suffix { .. }) => {
                let info = self.store.head(bucket, key).await.map_err(failed)?.ok_or_else(missing)?;
                suffix.check(info.size).map_err(|_| failed(StoreError::BadRange { size: info.size }))?
            }
        };
        let first = wanted.start;
        let stored = self.store.get_range(bucket, key, wanted).await.map_err(failed)?.ok_or_else(missing)?;
        let last = first + (stored.bytes.len() as u64).saturating_sub(1);
        let place = format!("bytes {first}-{last}/{}", stored.info.size);
        Ok((stored, Some(place)))
    }

    /// The error of a write that did not succeed, as S3 tells it.
    async fn put_failed(&self, bucket: &BucketName, key: &Key, condition: &Condition, error: PutError) -> S3Error {
        match error {
            PutError::Lost => match (condition, self.store.head(bucket, key).await) {
                // S3 answers If-Match on a missing key with 404 (measured).
                (Condition::IfMatch(_), Ok(None)) => S3Error::from(S3ErrorCode::NoSuchKey),
                _ => S3Error::from(S3ErrorCode::PreconditionFailed),
            },
            PutError::Conflict => S3Error::from(S3ErrorCode::ConditionalRequestConflict),
            PutError::Unknown { reason } => S3Error::with_message(S3ErrorCode::InternalError, reason),
            PutError::Refused { reason } => match self.store.head(bucket, key).await {
                Err(error @ StoreError::NoBucket { .. }) => failed(error),
                _ => S3Error::with_message(S3ErrorCode::InvalidRequest, reason),
            },
        }
    }
}

#[async_trait]
impl S3 for Front {
    async fn create_bucket(&self, request: S3Request<CreateBucketInput>) -> S3Result<S3Response<CreateBucketOutput>> {
        let bucket = bucket_of(&request.input.bucket)?;
        match self.store.list(&bucket, "", None, 1).await {
            Ok(_) => Err(S3ErrorCode::BucketAlreadyOwnedByYou.into()),
            Err(StoreError::NoBucket { .. }) => {
                self.store.create_bucket(&bucket).await.map_err(failed)?;
                let location = Some(format!("/{bucket}"));
                Ok(S3Response::new(CreateBucketOutput { location }))
            }
            Err(error) => Err(failed(error)),
        }
    }

    async fn head_bucket(&self, request: S3Request<HeadBucketInput>) -> S3Result<S3Response<HeadBucketOutput>> {
        self.existing(&request.input.bucket).await?;
        Ok(S3Response::new(HeadBucketOutput::default()))
    }

    async fn put_bucket_versioning(
        &self,
        request: S3Request<PutBucketVersioningInput>,
    ) -> S3Result<S3Response<PutBucketVersioningOutput>> {
        let bucket = self.existing(&request.input.bucket).await?;
        let status = request.input.versioning_configuration.status;
        self.settings().entry(bucket).or_default().versioning = status;
        Ok(S3Response::new(PutBucketVersioningOutput::default()))
    }

    async fn get_bucket_versioning(
        &self,
        request: S3Request<GetBucketVersioningInput>,
    ) -> S3Result<S3Response<GetBucketVersioningOutput>> {
        let bucket = self.existing(&request.input.bucket).await?;
        let status = self.settings().get(&bucket).and_then(|settings| settings.versioning.clone());
        Ok(S3Response::new(GetBucketVersioningOutput { status, ..Default::default() }))
    }

    async fn put_bucket_lifecycle_configuration(
        &self,
        request: S3Request<PutBucketLifecycleConfigurationInput>,
    ) -> S3Result<S3Response<PutBucketLifecycleConfigurationOutput>> {
        let bucket = self.existing(&request.input.bucket).await?;
        let rules = request.input.lifecycle_configuration.map(|configuration| configuration.rules);
        self.settings().entry(bucket).or_default().lifecycle = rules;
        Ok(S3Response::new(PutBucketLifecycleConfigurationOutput::default()))
    }

    async fn get_bucket_lifecycle_configuration(
        &self,
        request: S3Request<GetBucketLifecycleConfigurationInput>,
    ) -> S3Result<S3Response<GetBucketLifecycleConfigurationOutput>> {
        let bucket = self.existing(&request.input.bucket).await?;
        let rules = self.settings().get(&bucket).and_then(|settings| settings.lifecycle.clone());
        let rules = Some(rules.ok_or_else(|| S3Error::from(S3ErrorCode::NoSuchLifecycleConfiguration))?);
        Ok(S3Response::new(GetBucketLifecycleConfigurationOutput { rules, ..Default::default() }))
    }

    async fn put_object(&self, request: S3Request<PutObjectInput>) -> S3Result<S3Response<PutObjectOutput>> {
        let input = request.input;
        if input.write_offset_bytes.is_some() || input.content_md5.is_some() {
            return Err(not_implemented("appending and Content-MD5"));
        }
        let (bucket, key) = (bucket_of(&input.bucket)?, key_of(&input.key)?);
        let condition = condition_of(input.if_match, input.if_none_match)?;
        let bytes = whole(input.body).await?;
        match self.store.put(&bucket, &key, bytes, condition.clone()).await {
            Ok(etag) => {
                let e_tag = Some(s3s::dto::ETag::Strong(etag.0));
                Ok(S3Response::new(PutObjectOutput { e_tag, ..Default::default() }))
            }
            Err(error) => Err(self.put_failed(&bucket, &key, &condition, error).await),
        }
    }

    async fn get_object(&self, request: S3Request<GetObjectInput>) -> S3Result<S3Response<GetObjectOutput>> {
        let input = request.input;
        if input.if_match.is_some() || input.if_none_match.is_some() || input.part_number.is_some() {
            return Err(not_implemented("conditional reads and reads of parts"));
        }
        let (bucket, key) = (bucket_of(&input.bucket)?, key_of(&input.key)?);
        let (stored, content_range) = self.read(&bucket, &key, input.version_id.as_deref(), input.range).await?;
        let ObjectInfo { etag, version, modified, .. } = stored.info;
        Ok(S3Response::new(GetObjectOutput {
            accept_ranges: Some("bytes".to_owned()),
            content_length: Some(length(stored.bytes.len() as u64)?),
            content_range,
            body: Some(StreamingBlob::from(Body::from(stored.bytes))),
            e_tag: Some(s3s::dto::ETag::Strong(etag.0)),
            last_modified: Some(timestamp(modified)),
            version_id: version.filter(|_| self.is_versioned(&bucket)),
            ..Default::default()
        }))
    }

    async fn head_object(&self, request: S3Request<HeadObjectInput>) -> S3Result<S3Response<HeadObjectOutput>> {
        let input = request.input;
        if input.if_match.is_some() || input.if_none_match.is_some() || input.range.is_some() {
            return Err(not_implemented("conditional and partial heads"));
        }
        let (bucket, key) = (bucket_of(&input.bucket)?, key_of(&input.key)?);
        let info = match input.version_id {
            Some(version) => self.read(&bucket, &key, Some(&version), None).await?.0.info,
            None => {
                let info = self.store.head(&bucket, &key).await.map_err(failed)?;
                info.ok_or_else(|| S3Error::from(S3ErrorCode::NoSuchKey))?
            }
        };
        Ok(S3Response::new(HeadObjectOutput {
            accept_ranges: Some("bytes".to_owned()),
            content_length: Some(length(info.size)?),
            e_tag: Some(s3s::dto::ETag::Strong(info.etag.0)),
            last_modified: Some(timestamp(info.modified)),
            version_id: info.version.filter(|_| self.is_versioned(&bucket)),
            ..Default::default()
        }))
    }

    async fn delete_object(&self, request: S3Request<DeleteObjectInput>) -> S3Result<S3Response<DeleteObjectOutput>> {
        let input = request.input;
        if input.version_id.is_some() || input.if_match.is_some() {
            return Err(not_implemented("deleting a version, and conditional deletes"));
        }
        let (bucket, key) = (bucket_of(&input.bucket)?, key_of(&input.key)?);
        self.store.delete(&bucket, &key).await.map_err(failed)?;
        let delete_marker = self.is_versioned(&bucket).then_some(true);
        Ok(S3Response::new(DeleteObjectOutput { delete_marker, ..Default::default() }))
    }

    async fn list_objects_v2(
        &self,
        request: S3Request<ListObjectsV2Input>,
    ) -> S3Result<S3Response<ListObjectsV2Output>> {
        self.list_page(request.input).await.map(S3Response::new)
    }

    async fn list_object_versions(
        &self,
        request: S3Request<ListObjectVersionsInput>,
    ) -> S3Result<S3Response<ListObjectVersionsOutput>> {
        self.version_page(request.input).await.map(S3Response::new)
    }
}

pub(super) fn bucket_of(name: &str) -> S3Result<BucketName> {
    BucketName::configured(name)
        .map_err(|error| S3Error::with_message(S3ErrorCode::InvalidBucketName, error.to_string()))
}

pub(super) fn key_of(text: &str) -> S3Result<Key> {
    Key::new(text).map_err(|error| {
        let code = match error {
            KeyError::TooLong { .. } => S3ErrorCode::KeyTooLongError,
            KeyError::NotPlain { .. } => S3ErrorCode::InvalidArgument,
        };
        S3Error::with_message(code, error.to_string())
    })
}

/// The error of a read or delete, as S3 tells it.
pub(super) fn failed(error: StoreError) -> S3Error {
    let text = error.to_string();
    match error {
        StoreError::NoBucket { .. } => S3Error::with_message(S3ErrorCode::NoSuchBucket, text),
        StoreError::Unavailable { .. } => {
            let mut error = S3Error::with_message(S3ErrorCode::ServiceUnavailable, text);
            error.set_status_code(StatusCode::SERVICE_UNAVAILABLE);
            error
        }
        StoreError::Damaged { .. } => S3Error::with_message(S3ErrorCode::InternalError, text),
        StoreError::BadRange { size } => {
            let mut error = S3Error::with_message(S3ErrorCode::InvalidRange, text);
            if let Ok(place) = HeaderValue::try_from(format!("bytes */{size}")) {
                error.set_headers(HeaderMap::from_iter([(http::header::CONTENT_RANGE, place)]));
            }
            error
        }
    }
}

pub(super) fn not_implemented(what: &str) -> S3Error {
    S3Error::with_message(S3ErrorCode::NotImplemented, format!("the simulated S3 server doesn't know {what}"))
}

pub(super) fn timestamp(at: DateTime<Utc>) -> Timestamp {
    std::time::SystemTime::from(at).into()
}

/// A size as S3's types want it.
pub(super) fn length(size: u64) -> S3Result<i64> {
    i64::try_from(size).map_err(|_| S3Error::with_message(S3ErrorCode::InternalError, format!("{size} bytes")))
}

fn condition_of(if_match: Option<ETagCondition>, if_none_match: Option<ETagCondition>) -> S3Result<Condition> {
    match (if_match, if_none_match) {
        (None, None) => Ok(Condition::None),
        (None, Some(ETagCondition::Any)) => Ok(Condition::IfAbsent),
        (Some(ETagCondition::ETag(etag)), None) => Ok(Condition::IfMatch(ETag(etag.into_value()))),
        (Some(_), _) | (None, Some(_)) => {
            Err(not_implemented("other conditions than If-None-Match: * and If-Match with a tag"))
        }
    }
}

/// The whole body; an upload that breaks off is no object.
async fn whole(body: Option<StreamingBlob>) -> S3Result<Bytes> {
    let Some(body) = body else { return Ok(Bytes::new()) };
    Body::from(body).store_all_limited(OBJECT_BYTES_MAX).await.map_err(|error| {
        let code =
            if error.to_string().contains("limit") { S3ErrorCode::EntityTooLarge } else { S3ErrorCode::IncompleteBody };
        S3Error::with_source(code, error)
    })
}
