//! Listings of keys and versions, page by page.
//!
//! Invariant: keys come in the order of their UTF-8 bytes; a page that says "truncated" names where the next one begins.
//! Never: folders; a delimiter is refused.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ports::{Key, ObjectInfo};
use s3s::dto::{
    DeleteMarkerEntry, ETag, EncodingType, ListObjectVersionsInput, ListObjectVersionsOutput, ListObjectsV2Input,
    ListObjectsV2Output, Object, ObjectVersion,
};
use s3s::{S3Error, S3ErrorCode, S3Result};

use super::objects::{Front, bucket_of, failed, key_of, length, not_implemented, timestamp};

/// Entries a page may have.
const PAGE_MAX: u32 = 1_000;
/// The id of the only version of an object in a bucket without versions.
const NO_VERSION: &str = "null";
/// What an encoded key shows as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');

/// One line of a listing of versions.
enum Row {
    Version(ObjectVersion),
    Deleted(DeleteMarkerEntry),
}

impl Front {
    pub(super) async fn list_page(&self, input: ListObjectsV2Input) -> S3Result<ListObjectsV2Output> {
        let bucket = bucket_of(&input.bucket)?;
        if input.delimiter.is_some() {
            return Err(not_implemented("delimiters"));
        }
        let encode = encoder(input.encoding_type.as_ref())?;
        let max = page_size(input.max_keys)?;
        let prefix = input.prefix.unwrap_or_default();
        let after = match (&input.continuation_token, &input.start_after) {
            (Some(token), _) => Some(position(token)?),
            (None, Some(after)) if !after.is_empty() => Some(key_of(after)?),
            (None, _) => None,
        };
        let page = self.store.list(&bucket, &prefix, after.as_ref(), max).await.map_err(failed)?;
        let more = page.more && max > 0;
        let next = page.keys.last().filter(|_| more).map(|last| BASE64_URL_SAFE_NO_PAD.encode(last.as_str()));
        let mut contents = Vec::new();
        for key in page.keys {
            // Deleted since the page was made: S3 wouldn't list it either.
            let Some(info) = self.store.head(&bucket, &key).await.map_err(failed)? else { continue };
            contents.push(Object {
                e_tag: Some(ETag::Strong(info.etag.0)),
                key: Some(encode(key.as_str())),
                last_modified: Some(timestamp(info.modified)),
                size: Some(length(info.size)?),
                ..Default::default()
            });
        }
        Ok(ListObjectsV2Output {
            name: Some(input.bucket),
            key_count: i32::try_from(contents.len()).ok(),
            max_keys: i32::try_from(max).ok(),
            is_truncated: Some(more),
            next_continuation_token: next,
            continuation_token: input.continuation_token,
            start_after: input.start_after.map(|after| encode(&after)),
            prefix: Some(encode(&prefix)),
            encoding_type: input.encoding_type,
            contents: Some(contents),
            ..Default::default()
        })
    }

    pub(super) async fn version_page(&self, input: ListObjectVersionsInput) -> S3Result<ListObjectVersionsOutput> {
        let bucket = bucket_of(&input.bucket)?;
        if input.delimiter.is_some() {
            return Err(not_implemented("delimiters"));
        }
        let encode = encoder(input.encoding_type.as_ref())?;
        let max = page_size(input.max_keys)?;
        let prefix = input.prefix.clone().unwrap_or_default();
        let marker = input.key_marker.as_deref().filter(|marker| !marker.is_empty()).map(key_of).transpose()?;
        let version_marker = input.version_id_marker.as_deref().filter(|version| !version.is_empty());

        let mut keys: Vec<Key> = Vec::new();
        // A deleted key isn't listed by the store, but its versions are asked for by its full name.
        keys.extend(Key::new(prefix.as_str()).ok().filter(|key| marker.as_ref().is_none_or(|marker| key > marker)));
        keys.extend(marker.clone().filter(|_| version_marker.is_some()));
        let page = self.store.list(&bucket, &prefix, marker.as_ref(), PAGE_MAX).await.map_err(failed)?;
        keys.extend(page.keys);
        keys.sort();
        keys.dedup();

        let mut rows = Vec::new();
        for key in &keys {
            let skip = version_marker.filter(|_| marker.as_ref() == Some(key));
            rows.extend(self.rows(&bucket, key, skip, &encode).await?);
            if rows.len() > max as usize {
                break;
            }
        }
        let more = max > 0 && (rows.len() > max as usize || page.more);
        rows.truncate(max as usize);
        let last = rows.last().filter(|_| more).map(|row| match row {
            Row::Version(version) => (version.key.clone(), version.version_id.clone()),
            Row::Deleted(marker) => (marker.key.clone(), marker.version_id.clone()),
        });
        let (next_key_marker, next_version_id_marker) = last.unwrap_or_default();
        let (mut versions, mut delete_markers) = (Vec::new(), Vec::new());
        for row in rows {
            match row {
                Row::Version(version) => versions.push(version),
                Row::Deleted(marker) => delete_markers.push(marker),
            }
        }
        Ok(ListObjectVersionsOutput {
            name: Some(input.bucket),
            prefix: Some(encode(&prefix)),
            max_keys: i32::try_from(max).ok(),
            is_truncated: Some(more),
            key_marker: input.key_marker,
            version_id_marker: input.version_id_marker,
            next_key_marker,
            next_version_id_marker,
            encoding_type: input.encoding_type,
            versions: Some(versions),
            delete_markers: Some(delete_markers),
            ..Default::default()
        })
    }

    /// The lines of one key, newest first, those up to and with the version `skip` left out.
    async fn rows(
        &self,
        bucket: &ports::BucketName,
        key: &Key,
        skip: Option<&str>,
        encode: &impl Fn(&str) -> String,
    ) -> S3Result<Vec<Row>> {
        let current = self.store.head(bucket, key).await.map_err(failed)?;
        let row = |info: ObjectInfo, version: String, latest: bool| {
            Ok::<_, S3Error>(Row::Version(ObjectVersion {
                e_tag: Some(ETag::Strong(info.etag.0)),
                is_latest: Some(latest),
                key: Some(encode(key.as_str())),
                last_modified: Some(timestamp(info.modified)),
                size: Some(length(info.size)?),
                version_id: Some(version),
                ..Default::default()
            }))
        };
        if !self.is_versioned(bucket) {
            return current.into_iter().map(|info| row(info, NO_VERSION.to_owned(), true)).collect();
        }
        let versions = self.store.versions(bucket, key, PAGE_MAX).await.map_err(failed)?;
        let mut rows = Vec::new();
        if current.is_none() && !versions.is_empty() && skip.is_none() {
            rows.push(Row::Deleted(DeleteMarkerEntry {
                is_latest: Some(true),
                key: Some(encode(key.as_str())),
                version_id: Some("deleted".to_owned()),
                ..Default::default()
            }));
        }
        let mut skipping = skip.filter(|version| *version != "deleted");
        for (at, info) in versions.into_iter().enumerate() {
            let version = info.version.clone().unwrap_or_else(|| NO_VERSION.to_owned());
            match skipping {
                Some(last) if last == version => skipping = None,
                Some(_) => {}
                None => rows.push(row(info, version, at == 0 && current.is_some())?),
            }
        }
        Ok(rows)
    }
}

fn page_size(max_keys: Option<i32>) -> S3Result<u32> {
    let asked = max_keys.unwrap_or(1_000);
    let asked = u32::try_from(asked).map_err(|_| S3Error::from(S3ErrorCode::InvalidArgument))?;
    Ok(asked.min(PAGE_MAX))
}

/// How keys are written in the answer.
fn encoder(asked: Option<&EncodingType>) -> S3Result<impl Fn(&str) -> String + use<>> {
    let encode = match asked.map(EncodingType::as_str) {
        None => false,
        Some(EncodingType::URL) => true,
        Some(_) => return Err(S3ErrorCode::InvalidArgument.into()),
    };
    Ok(move |key: &str| if encode { utf8_percent_encode(key, PLAIN).to_string() } else { key.to_owned() })
}

/// Where a listing goes on, from the token that the page before gave.
fn position(token: &str) -> S3Result<Key> {
    let wrong = || S3Error::with_message(S3ErrorCode::InvalidArgument, "The continuation token provided is incorrect");
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(token).map_err(|_| wrong())?;
    key_of(&String::from_utf8(bytes).map_err(|_| wrong())?)
}
