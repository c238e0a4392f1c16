//! What a write changes in the tables of the embedded store.
//!
//! Purpose: conditions, versions and their end, all inside the transaction of the caller.
//! Invariant: the pointer of a key, its versions, the queue of ended ones and the names of blobs change together or not at
//! all. The version that a key shows is never ended.
//! Never: a commit, and no removal of a file; the caller does both, in that order.

use ports::{BucketName, Condition, Key, VERSION_DAYS_MIN};
use redb::{ReadableTable, Table, WriteTransaction};

use super::tables::{
    BLOBS, BUCKETS, BYTES_KEY, COMMITS_KEY, CONTENTS, CURRENT, LAST_VERSION_KEY, META, RETIRED, Row, RowValue,
    VERSIONS, VersionKey,
};
use super::writer::{Body, Content, Outcome};

/// Versions a key may have, the current one among them. A key that is written all day (a session, a draft) would fill the
/// disk long before its oldest versions come of age.
pub const VERSIONS_PER_KEY_MAX: u64 = 256;
/// Bytes that the versions of a key may have together: a run with a long log rewrites it at each step.
pub const VERSION_BYTES_PER_KEY_MAX: u64 = 16 * 1024 * 1024;
/// Versions that a key keeps whatever their size, so that a damaged document finds a good one.
pub const VERSIONS_PER_KEY_KEPT: u64 = 8;
/// Versions that one write may end for the limits above; what is still too much goes with the next one.
const TRIM_PER_WRITE_MAX: usize = 64;
/// Microseconds until an overwritten version ends.
const RETENTION_US: i64 = VERSION_DAYS_MIN as i64 * 24 * 60 * 60 * 1_000_000;

/// The tables within one transaction.
pub(super) struct Tables<'t> {
    meta: Table<'t, &'static str, u64>,
    buckets: Table<'t, &'static str, i64>,
    current: Table<'t, (&'static str, &'static str), u64>,
    versions: Table<'t, VersionKey, RowValue>,
    contents: Table<'t, VersionKey, &'static [u8]>,
    retired: Table<'t, (i64, u64), (&'static str, &'static str)>,
    blobs: Table<'t, &'static str, ()>,
    now_us: i64,
    last_version: u64,
    commits: u64,
    bytes: u64,
    changed: bool,
    unused: Vec<String>,
}

/// What the caller must know of a transaction before its commit.
pub(super) struct Changes {
    /// Whether anything changed.
    pub(super) changed: bool,
    /// The store's number of commits with this one.
    pub(super) commits: u64,
    /// Blobs that nothing names any more once this is committed.
    pub(super) unused: Vec<String>,
}

impl<'t> Tables<'t> {
    pub(super) fn open(transaction: &'t WriteTransaction, now_us: i64) -> Result<Self, redb::Error> {
        let meta = transaction.open_table(META)?;
        let number = |key| Ok::<_, redb::Error>(meta.get(key)?.map_or(0, |value| value.value()));
        let (last_version, commits, bytes) = (number(LAST_VERSION_KEY)?, number(COMMITS_KEY)?, number(BYTES_KEY)?);
        Ok(Self {
            meta,
            buckets: transaction.open_table(BUCKETS)?,
            current: transaction.open_table(CURRENT)?,
            versions: transaction.open_table(VERSIONS)?,
            contents: transaction.open_table(CONTENTS)?,
            retired: transaction.open_table(RETIRED)?,
            blobs: transaction.open_table(BLOBS)?,
            now_us,
            last_version,
            commits,
            bytes,
            changed: false,
            unused: Vec::new(),
        })
    }

    /// Writes down the numbers of the store.
    pub(super) fn close(mut self) -> Result<Changes, redb::Error> {
        let commits = self.commits + 1;
        if self.changed {
            self.meta.insert(LAST_VERSION_KEY, self.last_version)?;
            self.meta.insert(COMMITS_KEY, commits)?;
            self.meta.insert(BYTES_KEY, self.bytes)?;
        }
        Ok(Changes { changed: self.changed, commits, unused: self.unused })
    }

    /// Whether anything was changed so far.
    pub(super) fn changed(&self) -> bool {
        self.changed
    }

    pub(super) fn create_bucket(&mut self, bucket: &BucketName) -> Result<Outcome, redb::Error> {
        if self.buckets.get(bucket.as_str())?.is_none() {
            self.buckets.insert(bucket.as_str(), self.now_us)?;
            self.changed = true;
        }
        Ok(Outcome::Done)
    }

    pub(super) fn put(
        &mut self,
        bucket: &BucketName,
        key: &Key,
        content: &mut Content,
        condition: &Condition,
    ) -> Result<Outcome, redb::Error> {
        if self.buckets.get(bucket.as_str())?.is_none() {
            return Ok(Outcome::NoBucket);
        }
        let at = (bucket.as_str(), key.as_str());
        let before = self.shown(at)?;
        let holds = match condition {
            Condition::None => true,
            Condition::IfAbsent => before.is_none(),
            Condition::IfMatch(etag) => {
                matches!(&before, Some((_, Some(row))) if row.etag == etag.0)
            }
        };
        if !holds {
            return Ok(Outcome::Lost);
        }
        // A deleted key goes on counting where it was.
        let newest = match &before {
            Some((_, Some(row))) => Some(row.clone()),
            Some((_, None)) | None => {
                let newest = self.versions.range(first(at)..=last(at))?.next_back().transpose()?;
                newest.map(|(_, row)| Row::read(row.value()))
            }
        };
        let (number, total) = newest.map_or((0, 0), |row| (row.number, row.total));
        self.last_version += 1;
        let version = self.last_version;
        let blob = match &mut content.body {
            Body::Inline(bytes) => {
                self.contents.insert((at.0, at.1, version), bytes.as_ref())?;
                None
            }
            Body::Blob(blob) => {
                // Before the commit: if that ends unknown, the file must be there.
                blob.keep();
                self.blobs.insert(blob.name(), ())?;
                Some(blob.name().to_owned())
            }
        };
        let row = Row {
            etag: content.etag.clone(),
            size: content.size,
            modified_us: self.now_us,
            blob,
            number: number + 1,
            total: total.saturating_add(content.size),
            retired_us: None,
        };
        self.versions.insert((at.0, at.1, version), row.value())?;
        self.current.insert(at, version)?;
        self.bytes = self.bytes.saturating_add(row.footprint(at.0, at.1));
        if let Some((version, Some(row))) = before {
            self.retire(at, version, row)?;
        }
        self.trim(at, version, &row)?;
        self.changed = true;
        Ok(Outcome::Done)
    }

    pub(super) fn delete(&mut self, bucket: &BucketName, key: &Key) -> Result<Outcome, redb::Error> {
        if self.buckets.get(bucket.as_str())?.is_none() {
            return Ok(Outcome::NoBucket);
        }
        let at = (bucket.as_str(), key.as_str());
        if let Some((version, row)) = self.shown(at)? {
            self.current.remove(at)?;
            if let Some(row) = row {
                self.retire(at, version, row)?;
            }
            self.changed = true;
        }
        Ok(Outcome::Done)
    }

    /// Ends up to `limit` versions that were overwritten or deleted long enough ago, the oldest first; their number.
    pub(super) fn expire(&mut self, limit: usize) -> Result<usize, redb::Error> {
        let until_us = self.now_us.saturating_sub(RETENTION_US);
        for count in 0..limit {
            let Some((queued, at)) = self.retired.first()?.map(|(queued, at)| {
                let (bucket, key) = at.value();
                (queued.value(), (bucket.to_owned(), key.to_owned()))
            }) else {
                return Ok(count);
            };
            let (retired_us, version) = queued;
            if retired_us > until_us {
                return Ok(count);
            }
            let at = (at.0.as_str(), at.1.as_str());
            let row = self.versions.get((at.0, at.1, version))?.map(|row| Row::read(row.value()));
            match row {
                Some(row) => self.end(at, version, &row)?,
                None => {
                    self.retired.remove(queued)?;
                }
            }
            self.changed = true;
        }
        Ok(limit)
    }

    /// The version that a key shows. One without facts is damaged: reads say so, and writing it anew heals it.
    fn shown(&self, at: (&str, &str)) -> Result<Option<(u64, Option<Row>)>, redb::Error> {
        let Some(version) = self.current.get(at)?.map(|version| version.value()) else { return Ok(None) };
        let row = self.versions.get((at.0, at.1, version))?;
        Ok(Some((version, row.map(|row| Row::read(row.value())))))
    }

    /// A version that its key no longer shows.
    fn retire(&mut self, at: (&str, &str), version: u64, mut row: Row) -> Result<(), redb::Error> {
        row.retired_us = Some(self.now_us);
        self.versions.insert((at.0, at.1, version), row.value())?;
        self.retired.insert((self.now_us, version), at)?;
        Ok(())
    }

    /// Ends the oldest versions of a key that has too many or too large ones.
    fn trim(&mut self, at: (&str, &str), newest: u64, newest_row: &Row) -> Result<(), redb::Error> {
        for _ in 0..TRIM_PER_WRITE_MAX {
            let oldest = self.versions.range(first(at)..=last(at))?.next().transpose()?;
            let Some((version, row)) = oldest.map(|(at, row)| (at.value().2, Row::read(row.value()))) else { break };
            let count = newest_row.number.saturating_sub(row.number) + 1;
            let bytes = newest_row.total.saturating_sub(row.total).saturating_add(row.size);
            let fits = count <= VERSIONS_PER_KEY_MAX && bytes <= VERSION_BYTES_PER_KEY_MAX;
            if version == newest || fits || count <= VERSIONS_PER_KEY_KEPT {
                break;
            }
            self.end(at, version, &row)?;
        }
        Ok(())
    }

    /// Removes a version that its key doesn't show.
    fn end(&mut self, at: (&str, &str), version: u64, row: &Row) -> Result<(), redb::Error> {
        self.versions.remove((at.0, at.1, version))?;
        self.contents.remove((at.0, at.1, version))?;
        if let Some(retired_us) = row.retired_us {
            self.retired.remove((retired_us, version))?;
        }
        if let Some(name) = &row.blob {
            self.blobs.remove(name.as_str())?;
            self.unused.push(name.clone());
        }
        self.bytes = self.bytes.saturating_sub(row.footprint(at.0, at.1));
        Ok(())
    }
}

fn first<'a>(at: (&'a str, &'a str)) -> (&'a str, &'a str, u64) {
    (at.0, at.1, 0)
}

fn last<'a>(at: (&'a str, &'a str)) -> (&'a str, &'a str, u64) {
    (at.0, at.1, u64::MAX)
}
