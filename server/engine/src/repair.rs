//! Damaged instances: noticed, set aside, replaced by the newest good revision (DESIGN §4 "Versioning and repair").
//!
//! Purpose: whoever reads an instance gets one that is whole, belongs to its key and is the newest that was ever
//! committed. What is damaged: bytes that don't parse, a broken seal or hash chain, broken invariants, another run's
//! document, a document that is gone, and an older version that somebody put back.
//! Invariant: the damaged bytes are kept before anything replaces them; what is restored is a *new* revision with its own
//! log entry, written under the damaged document's tag; a run that ended never runs again.
//! Never: touches a newer program's document; invents content where no good version is left.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, Datelike, TimeZone, Utc};
use futures_util::future::try_join_all;
use ports::{BucketName, Condition, ETag, Key, ObjectInfo, StoreError, Stored};
use sha2::{Digest, Sha256};
use workflow::event::{Actor, RepairFacts};
use workflow::vocab::TenantKey;
use workflow::{Event, EventKind, Instance};

use crate::commit::{Written, conditional_write};
use crate::documents::{ActiveDoc, DoneSummary, decode, to_bytes};
use crate::instances::{Loaded, check};
use crate::limits::{
    DAMAGED_RUNS_MAX, DOCUMENT_BYTES_MAX, DONE_MONTHS_MAX, REPAIR_READS, REPAIR_TRIES_MAX, REPAIR_VERSIONS_MAX,
};
use crate::{EngineError, InstanceRef, Orchestrator, keys};

/// How closely a document is looked at besides its own soundness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Against what this node knows: no request more for a run it knows.
    Quick,
    /// Against the store's older versions: one request more.
    Versions,
}

/// A run whose document is damaged and can't be restored; for operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedRun {
    /// Which run.
    pub at: InstanceRef,
    /// Its document.
    pub key: String,
    /// What is wrong.
    pub reason: String,
    /// Where the damaged bytes are kept.
    pub set_aside: Option<String>,
}

/// The runs that could not be restored, each with the tag of the content that was looked at.
#[derive(Debug, Default)]
pub(crate) struct DamagedRuns(Mutex<BTreeMap<InstanceRef, (Option<ETag>, DamagedRun)>>);

impl DamagedRuns {
    fn get(&self, at: &InstanceRef, etag: Option<&ETag>) -> Option<DamagedRun> {
        let runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        runs.get(at).filter(|(seen, _)| seen.as_ref() == etag).map(|(_, run)| run.clone())
    }

    fn put(&self, etag: Option<ETag>, run: DamagedRun) {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if runs.len() >= DAMAGED_RUNS_MAX {
            runs.pop_first();
        }
        runs.insert(run.at.clone(), (etag, run));
    }

    fn remove(&self, at: &InstanceRef) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(at);
    }
}

/// Where an instance lies.
struct Place<'a> {
    at: &'a InstanceRef,
    bucket: BucketName,
    key: Key,
}

/// What one try to read an instance came to.
enum Tried {
    Found(Box<Loaded>),
    Missing,
    /// Somebody wrote meanwhile.
    Again,
}

/// What a look beyond the document itself came to.
enum Doubt {
    None,
    Moved,
    Outdated(String),
}

/// A damaged document as it was found; without bytes where the store itself could not give them.
struct Found<'a> {
    etag: Option<ETag>,
    bytes: Option<&'a [u8]>,
}

impl Orchestrator {
    /// Runs whose documents are damaged and could not be restored, in some tenants.
    pub fn damaged_runs(&self, tenants: &[TenantKey]) -> Vec<DamagedRun> {
        let runs = self.damaged.0.lock().unwrap_or_else(PoisonError::into_inner);
        runs.values().map(|(_, run)| run).filter(|run| tenants.contains(&run.at.tenant)).cloned().collect()
    }

    /// Looks closely at every unfinished run of every tenant and repairs what is damaged; run hourly. One run's trouble
    /// stops no other.
    pub async fn inspect(&self) {
        for tenant in self.tenants() {
            let keys = match self.list_all(&tenant, keys::ACTIVE_PREFIX).await {
                Ok(keys) => keys,
                Err(error) => {
                    tracing::error!(%tenant, %error, "unfinished runs could not be inspected");
                    continue;
                }
            };
            for key in &keys {
                let Some((workflow_id, instance_id)) = keys::active_parts(key) else { continue };
                let at = InstanceRef { tenant: tenant.clone(), workflow_id, instance_id };
                if let Err(error) = self.load_sound(&at, Depth::Versions).await {
                    tracing::error!(%tenant, %key, %error, "run could not be inspected");
                }
            }
            tracing::debug!(%tenant, runs = keys.len(), "unfinished runs inspected");
        }
    }

    /// Reads an instance that is whole and the newest; repairs it first where it is not.
    pub(crate) async fn load_sound(&self, at: &InstanceRef, depth: Depth) -> Result<Option<Loaded>, EngineError> {
        let bucket = self.bucket(&at.tenant).await?;
        let key = keys::instance(&at.tenant.tenant, &at.workflow_id, &at.instance_id)?;
        let place = Place { at, bucket, key };
        for _ in 0..REPAIR_TRIES_MAX {
            match self.try_load(&place, depth).await? {
                Tried::Found(loaded) => return Ok(Some(*loaded)),
                Tried::Missing => return Ok(None),
                Tried::Again => {}
            }
        }
        Err(EngineError::TooBusy { key: place.key.to_string(), tries: REPAIR_TRIES_MAX })
    }

    async fn try_load(&self, place: &Place<'_>, depth: Depth) -> Result<Tried, EngineError> {
        // Before the read: what is read afterwards can't be older, unless somebody put an older version back.
        let known = self.index.revision(place.at);
        let stored = match self.store().get(&place.bucket, &place.key).await {
            Ok(Some(stored)) => stored,
            Ok(None) => {
                let found = Found { etag: None, bytes: None };
                return self.repair(place, found, "the document is gone, older versions of it are not").await;
            }
            Err(StoreError::Damaged { reason, .. }) => {
                let info = self.store().head(&place.bucket, &place.key).await.ok().flatten();
                let Some(info) = info else {
                    return Err(EngineError::Damaged { key: place.key.to_string(), reason });
                };
                return self.repair(place, Found { etag: Some(info.etag), bytes: None }, &reason).await;
            }
            Err(error) => return Err(error.into()),
        };
        let Stored { info, bytes } = stored;
        let reason = match inspected(place, &bytes) {
            Err(EngineError::Damaged { reason, .. }) => reason,
            Err(error) => return Err(error),
            Ok(instance) => match self.doubt(place, &instance, &info.etag, known, depth).await? {
                Doubt::None => return self.found(place, instance, info.etag).await,
                Doubt::Moved => return Ok(Tried::Again),
                Doubt::Outdated(reason) => reason,
            },
        };
        self.repair(place, Found { etag: Some(info.etag), bytes: Some(&bytes) }, &reason).await
    }

    async fn found(&self, place: &Place<'_>, instance: Instance, etag: ETag) -> Result<Tried, EngineError> {
        let start = &instance.start;
        let blueprint = self.blueprint(&place.at.tenant, &start.workflow_id, start.version).await?;
        self.damaged.remove(place.at);
        Ok(Tried::Found(Box::new(Loaded { instance, etag, blueprint })))
    }

    /// Whether a sound document is not the newest that was ever committed.
    async fn doubt(
        &self,
        place: &Place<'_>,
        instance: &Instance,
        etag: &ETag,
        known: Option<u64>,
        depth: Depth,
    ) -> Result<Doubt, EngineError> {
        let revision = instance.revision;
        if let Some(known) = known.filter(|known| revision < *known) {
            return Ok(Doubt::Outdated(format!(
                "revision {revision} was put back, revision {known} was there already"
            )));
        }
        let mut closely = depth == Depth::Versions;
        let mut orphan = false;
        if known.is_none() && !closely && !instance.is_final() {
            // An unfinished run always has its active key; one without may have ended before this node started.
            let active = keys::active(&place.at.workflow_id, &place.at.instance_id)?;
            orphan = self.store().head(&place.bucket, &active).await?.is_none();
            closely = orphan;
        }
        if !closely {
            return Ok(Doubt::None);
        }
        let versions = self.versions_of(&place.bucket, &place.key).await?;
        if versions.first().is_some_and(|current| current.etag != *etag) {
            return Ok(Doubt::Moved);
        }
        if may_hide_newer(&versions)
            && let Some((best, _)) = self.newest_good(place, &versions).await?
            && best.revision > revision
        {
            let reason = format!("revision {revision} was put back, revision {} was there already", best.revision);
            return Ok(Doubt::Outdated(reason));
        }
        if orphan {
            return self.orphan(place, instance).await;
        }
        Ok(Doubt::None)
    }

    /// An unfinished run without active key and without a newer version: it ended, as its summary proves, or the key was
    /// lost and is written anew.
    async fn orphan(&self, place: &Place<'_>, instance: &Instance) -> Result<Doubt, EngineError> {
        if let Some(DoneSummary { status, ended_at, .. }) = self.done_of(place, instance).await? {
            let reason = format!("it is unfinished, but its summary says that it ended as {status:?} at {ended_at}");
            return Ok(Doubt::Outdated(reason));
        }
        let active = keys::active(&place.at.workflow_id, &place.at.instance_id)?;
        let body = to_bytes(&active, &ActiveDoc::of(&instance.start))?;
        let mark = place.at.instance_id.as_str();
        conditional_write(self.store(), &place.bucket, &active, body, Condition::IfAbsent, mark).await?;
        tracing::error!(key = %active, "the active key of an unfinished run was missing and is written anew");
        Ok(Doubt::None)
    }

    /// Sets the damaged document aside and restores the newest good revision.
    async fn repair(&self, place: &Place<'_>, found: Found<'_>, reason: &str) -> Result<Tried, EngineError> {
        if let Some(run) = self.damaged.get(place.at, found.etag.as_ref()) {
            return Err(hopeless(&run));
        }
        let versions = self.versions_of(&place.bucket, &place.key).await?;
        let Some((best, newer)) = self.newest_good(place, &versions).await? else {
            if found.etag.is_none() && versions.is_empty() {
                return Ok(Tried::Missing);
            }
            let set_aside = self.set_aside(place, &found).await?;
            let run =
                DamagedRun { at: place.at.clone(), key: place.key.to_string(), reason: reason.to_owned(), set_aside };
            let error = hopeless(&run);
            tracing::error!(%error, "damaged document without good version");
            self.damaged.put(found.etag, run);
            return Err(error);
        };
        let set_aside = self.set_aside(place, &found).await?;
        let done = if best.is_final() { None } else { self.done_of(place, &best).await? };
        // Every version is one commit, so the lost revisions end at most this high; their numbers must not be used again.
        let seen =
            [self.index.revision(place.at), done.as_ref().map(|done| done.revision), Some(best.revision + newer)];
        let highest = seen.into_iter().flatten().max().unwrap_or(best.revision);
        let ended = done.map(|done| (done.status, done.ended_at));
        let facts = RepairFacts { revision: highest + 1, reason: reason.to_owned(), set_aside, ended };
        self.write_repaired(place, found.etag, &best, facts).await
    }

    async fn write_repaired(
        &self,
        place: &Place<'_>,
        etag: Option<ETag>,
        best: &Instance,
        facts: RepairFacts,
    ) -> Result<Tried, EngineError> {
        let blueprint = self.blueprint(&place.at.tenant, &place.at.workflow_id, best.start.version).await?;
        let commit_id = self.ids().random_id();
        let (reason, set_aside) = (facts.reason.clone(), facts.set_aside.clone());
        let kind = EventKind::Repaired(facts);
        let event = Event { at: self.now(), actor: Actor::System, commit_id: commit_id.clone(), kind };
        let next = workflow::apply(&blueprint, best, event)?.instance;
        check(&next)?;
        let bytes = to_bytes(&place.key, &next)?;
        let condition = etag.map_or(Condition::IfAbsent, Condition::IfMatch);
        let written = conditional_write(self.store(), &place.bucket, &place.key, bytes, condition, &commit_id).await?;
        let Written::Won(etag) = written else { return Ok(Tried::Again) };
        tracing::error!(
            key = %place.key, %reason, set_aside, restored = best.revision, revision = next.revision,
            "damaged document set aside and the newest good revision restored"
        );
        let committed = self.committed(place.at, next, blueprint, etag.clone());
        if committed.instance.is_final()
            && let Err(error) = self.tidy_up(place.at, &committed.instance).await
        {
            tracing::warn!(key = %place.key, %error, "restored finished run not tidied up yet");
        }
        match etag {
            Some(etag) => self.found(place, committed.instance.as_ref().clone(), etag).await,
            None => Ok(Tried::Again),
        }
    }

    /// Keeps the damaged bytes under a key of their own; safe to repeat. Answers with the key.
    async fn set_aside(&self, place: &Place<'_>, found: &Found<'_>) -> Result<Option<String>, EngineError> {
        let Some(bytes) = found.bytes else { return Ok(None) };
        let key = keys::damaged_instance(&place.at.instance_id, &sha256(bytes))?;
        self.keep(&place.bucket, &key, bytes).await?;
        Ok(Some(key.to_string()))
    }

    /// Writes bytes under a key that names their hash: whoever was there before wrote the same.
    pub(crate) async fn keep(&self, bucket: &BucketName, key: &Key, bytes: &[u8]) -> Result<(), EngineError> {
        let bytes = bytes::Bytes::copy_from_slice(bytes);
        conditional_write(self.store(), bucket, key, bytes, Condition::IfAbsent, "").await.map(|_written| ())
    }

    pub(crate) async fn versions_of(&self, bucket: &BucketName, key: &Key) -> Result<Vec<ObjectInfo>, EngineError> {
        Ok(self.store().versions(bucket, key, REPAIR_VERSIONS_MAX).await?)
    }

    /// The bytes of one version; none where they are gone or the store can't give them.
    pub(crate) async fn version_bytes(
        &self,
        bucket: &BucketName,
        key: &Key,
        info: &ObjectInfo,
    ) -> Result<Option<bytes::Bytes>, EngineError> {
        let Some(version) = info.version.as_deref().filter(|_| info.size <= DOCUMENT_BYTES_MAX) else {
            return Ok(None);
        };
        match self.store().get_version(bucket, key, version).await {
            Ok(stored) => Ok(stored.map(|stored| stored.bytes)),
            Err(StoreError::Damaged { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The good version with the highest revision, and how many versions were written after it.
    async fn newest_good(
        &self,
        place: &Place<'_>,
        versions: &[ObjectInfo],
    ) -> Result<Option<(Instance, u64)>, EngineError> {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut distinct: Vec<(u64, &ObjectInfo)> = Vec::new();
        for (age, info) in (0..).zip(versions) {
            if seen.insert(info.etag.0.as_str()) {
                distinct.push((age, info));
            }
        }
        let mut best: Option<(Instance, u64)> = None;
        for some in distinct.chunks(REPAIR_READS) {
            let mut reads = Vec::with_capacity(some.len());
            for (_, info) in some {
                reads.push(self.version_bytes(&place.bucket, &place.key, info));
            }
            for ((age, _), bytes) in some.iter().zip(try_join_all(reads).await?) {
                match bytes.map(|bytes| inspected(place, &bytes)) {
                    Some(Ok(instance)) if best.as_ref().is_none_or(|(b, _)| instance.revision > b.revision) => {
                        best = Some((instance, *age));
                    }
                    None | Some(Ok(_) | Err(EngineError::Damaged { .. })) => {}
                    Some(Err(error)) => return Err(error),
                }
            }
        }
        Ok(best)
    }

    /// The summary that proves that a run ended, whatever its document says.
    async fn done_of(&self, place: &Place<'_>, instance: &Instance) -> Result<Option<DoneSummary>, EngineError> {
        if let Some(row) = self.index.done_row(place.at) {
            return Ok(Some(row.done));
        }
        for month in months(instance.started_at, self.now()) {
            let key = keys::done(month, &place.at.instance_id)?;
            let Some(stored) = self.store().get(&place.bucket, &key).await? else { continue };
            match decode::<DoneSummary>(&key, &stored.bytes) {
                Ok(done) if done.start == instance.start => return Ok(Some(done)),
                Ok(_) => tracing::error!(%key, "summary names another run"),
                Err(EngineError::Damaged { reason, .. }) => tracing::error!(%key, %reason, "summary is damaged"),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

/// The instance in these bytes, if it is whole and the one that its key names.
fn inspected(place: &Place<'_>, bytes: &[u8]) -> Result<Instance, EngineError> {
    let damaged = |reason: String| EngineError::Damaged { key: place.key.to_string(), reason };
    let instance: Instance = decode(&place.key, bytes)?;
    let belongs = instance.start.tenant_key() == place.at.tenant
        && instance.start.instance_id == place.at.instance_id
        && instance.start.workflow_id == place.at.workflow_id;
    if !belongs {
        return Err(damaged("it names another tenant, blueprint or run than its key".to_owned()));
    }
    instance.check_invariants().map_err(damaged)?;
    Ok(instance)
}

/// Whether an older version may hold a later revision. The log only grows, so a version that is put back is smaller than
/// one behind it, or has the tag of one (tags of committed documents never recur: each has its own commit id).
fn may_hide_newer(versions: &[ObjectInfo]) -> bool {
    let Some((current, older)) = versions.split_first() else { return false };
    older.iter().any(|version| version.etag == current.etag || version.size >= current.size)
}

fn hopeless(run: &DamagedRun) -> EngineError {
    let kept = run.set_aside.as_ref().map_or_else(String::new, |key| format!(", its bytes are kept as `{key}`"));
    let reason = format!("{}; no good version of it is left{kept}", run.reason);
    EngineError::Damaged { key: run.key.clone(), reason }
}

/// SHA-256, hex.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// One moment in each month from the first to the last, at most [`DONE_MONTHS_MAX`].
fn months(first: DateTime<Utc>, last: DateTime<Utc>) -> Vec<DateTime<Utc>> {
    let mut months = Vec::new();
    let (mut year, mut month) = (first.year(), first.month());
    while (year, month) <= (last.year(), last.month()) && months.len() < DONE_MONTHS_MAX {
        months.extend(Utc.with_ymd_and_hms(year, month, 1, 0, 0, 0).single());
        (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    }
    months
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_month_is_looked_at_once() {
        let at = |year, month, day| Utc.with_ymd_and_hms(year, month, day, 12, 0, 0).single();
        let (Some(first), Some(last)) = (at(2025, 11, 30), at(2026, 2, 1)) else { panic!("no such day") };
        let found: Vec<String> = months(first, last).into_iter().map(keys::done_prefix).collect();
        let want = ["2025-11", "2025-12", "2026-01", "2026-02"].map(|month| format!("workflow/done/{month}/"));
        assert_eq!(found, want);
        assert_eq!(months(last, last).len(), 1);
        assert_eq!(months(last, first).len(), 0);
        assert_eq!(months(DateTime::UNIX_EPOCH, last).len(), DONE_MONTHS_MAX);
    }
}
