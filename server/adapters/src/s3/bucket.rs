//! Buckets: created where absent, ours, versioned, with old versions that expire.
//!
//! Invariant: a bucket that [`create`] returned `Ok` for keeps every overwritten content for [`VERSION_DAYS_MIN`] days.
//! Never: another's lifecycle rule removed or changed, an unfinished upload or a current object expired.

use std::sync::atomic::{AtomicBool, Ordering};

use aws_sdk_s3::Client;
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::types::{
    BucketLifecycleConfiguration, BucketLocationConstraint, BucketVersioningStatus, CreateBucketConfiguration,
    ExpirationStatus, LifecycleRule, LifecycleRuleFilter, NoncurrentVersionExpiration, VersioningConfiguration,
};
use ports::{BucketName, StoreError, VERSION_DAYS_MIN};

use super::answer::Answer;

/// Our lifecycle rule among those of the bucket.
const RULE_ID: &str = "connectworkflow-old-versions";
/// The one region whose name must not be sent when a bucket is created.
const DEFAULT_REGION: &str = "us-east-1";
/// Whether this process has said that old versions won't expire by themselves.
static WARNED: AtomicBool = AtomicBool::new(false);

/// Creates a bucket where it is absent and sees to its versions.
pub(super) async fn create(client: &Client, region: &str, bucket: &BucketName) -> Result<(), StoreError> {
    exist(client, region, bucket).await?;
    keep_versions(client, bucket).await?;
    expire_versions(client, bucket).await
}

async fn exist(client: &Client, region: &str, bucket: &BucketName) -> Result<(), StoreError> {
    let mut request = client.create_bucket().bucket(bucket.as_str());
    if region != DEFAULT_REGION {
        let place = CreateBucketConfiguration::builder().location_constraint(BucketLocationConstraint::from(region));
        request = request.create_bucket_configuration(place.build());
    }
    let answer = match request.send().await {
        Ok(_) => return Ok(()),
        Err(error) => Answer::of(&error),
    };
    if answer.is("BucketAlreadyOwnedByYou") {
        return Ok(());
    }
    if answer.is("BucketAlreadyExists") {
        let reason = format!(
            "bucket `{bucket}` exists and belongs to another account: choose another `server.env` or `store.system_bucket`"
        );
        return Err(StoreError::Unavailable { reason });
    }
    // Another node creates it just now, or we may use it but not create any.
    if answer.has_status(409) || answer.has_status(403) {
        return match client.head_bucket().bucket(bucket.as_str()).send().await {
            Ok(_) => Ok(()),
            Err(_) => Err(answer.of_read(bucket)),
        };
    }
    Err(answer.of_read(bucket))
}

async fn keep_versions(client: &Client, bucket: &BucketName) -> Result<(), StoreError> {
    let now = client.get_bucket_versioning().bucket(bucket.as_str()).send().await;
    if now.is_ok_and(|now| now.status() == Some(&BucketVersioningStatus::Enabled)) {
        return Ok(());
    }
    let enabled = VersioningConfiguration::builder().status(BucketVersioningStatus::Enabled).build();
    let put = client.put_bucket_versioning().bucket(bucket.as_str()).versioning_configuration(enabled).send().await;
    put.map(|_| ()).map_err(|error| {
        let reason = format!(
            "versioning of bucket `{bucket}` can't be turned on: {}; turn it on by hand or grant the right to",
            Answer::of(&error).text()
        );
        StoreError::Unavailable { reason }
    })
}

async fn expire_versions(client: &Client, bucket: &BucketName) -> Result<(), StoreError> {
    let mut rules = match client.get_bucket_lifecycle_configuration().bucket(bucket.as_str()).send().await {
        Ok(now) => now.rules.unwrap_or_default(),
        Err(error) => {
            let answer = Answer::of(&error);
            if !answer.is("NoSuchLifecycleConfiguration") {
                return without_lifecycle(bucket, &error);
            }
            Vec::new()
        }
    };
    warn_of_short_rules(bucket, &rules);
    if rules.iter().any(|rule| rule.id() == Some(RULE_ID)) {
        return Ok(());
    }
    rules.push(our_rule().map_err(|reason| StoreError::Unavailable { reason })?);
    let all = BucketLifecycleConfiguration::builder().set_rules(Some(rules)).build();
    let all = all.map_err(|error| StoreError::Unavailable { reason: error.to_string() })?;
    let put = client.put_bucket_lifecycle_configuration().bucket(bucket.as_str()).lifecycle_configuration(all);
    match put.send().await {
        Ok(_) => Ok(()),
        Err(error) => without_lifecycle(bucket, &error),
    }
}

fn our_rule() -> Result<LifecycleRule, String> {
    let days = i32::try_from(VERSION_DAYS_MIN).map_err(|error| error.to_string())?;
    LifecycleRule::builder()
        .id(RULE_ID)
        .status(ExpirationStatus::Enabled)
        .filter(LifecycleRuleFilter::builder().prefix("").build())
        .noncurrent_version_expiration(NoncurrentVersionExpiration::builder().noncurrent_days(days).build())
        .build()
        .map_err(|error| error.to_string())
}

/// An operator's rule may take old versions away too early; it is theirs, so it is only named.
fn warn_of_short_rules(bucket: &BucketName, rules: &[LifecycleRule]) {
    for rule in rules {
        let days = rule.noncurrent_version_expiration().and_then(NoncurrentVersionExpiration::noncurrent_days);
        if days.is_some_and(|days| i64::from(days) < i64::from(VERSION_DAYS_MIN)) {
            tracing::warn!(%bucket, rule = rule.id().unwrap_or_default(), ?days,
                "a lifecycle rule expires old versions before {VERSION_DAYS_MIN} days: damaged documents can't be restored");
        }
    }
}

/// A server without lifecycle rules (or that lets us set none) keeps every version: more disk, nothing lost.
fn without_lifecycle<E>(bucket: &BucketName, error: &SdkError<E, HttpResponse>) -> Result<(), StoreError>
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    let answer = Answer::of(error);
    if !answer.is_unsupported() && !answer.has_status(400) {
        return Err(answer.of_read(bucket));
    }
    if !WARNED.swap(true, Ordering::Relaxed) {
        tracing::warn!(%bucket, reason = %answer.text(),
            "the S3 server takes no lifecycle rule: expire versions older than {VERSION_DAYS_MIN} days by other means");
    }
    Ok(())
}
