//! Sessions: in the store of the system bucket, under the hash of their token; a copy in memory.
//!
//! Invariant: the token itself is nowhere but in the browser's cookie; a session that is not in the store is none (another
//! node may have ended it: a copy is believed for [`COPY_S`]); "seen" is written under the condition that nobody wrote
//! or deleted meanwhile, so an ended session never comes back.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use chrono::{DateTime, Duration, Utc};
use openidconnect::CsrfToken;
use ports::{BucketName, Clock, Condition, ETag, Key, PutError, Store, StoreError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use vocab::Person;

use crate::config::Secret;

use super::AuthError;

/// Hours after which a session ends, whatever happens.
pub const SESSION_LIFETIME_H: i64 = 12;
/// Hours without a request after which a session ends.
pub const SESSION_IDLE_H: i64 = 8;
/// Seconds for which a copy in memory is believed without asking the store.
const COPY_S: i64 = 60;
/// Seconds between two writes of "seen".
const SEEN_EVERY_S: i64 = 900;
/// Copies in memory.
const COPIES_MAX: usize = 20_000;
/// Random bytes of a token.
const TOKEN_BYTES: u32 = 32;
/// Characters of a token.
const TOKEN_CHARS: usize = 43;
/// Times a new session is tried to be written.
const PUT_TRIES_MAX: u32 = 3;
/// Sessions read at once by the sweep.
const SWEEP_PAGE: u32 = 500;
/// Version of the stored form.
const SCHEMA: u32 = 1;
const PREFIX: &str = "sessions/";

/// Somebody signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Who.
    pub person: Person,
    /// Their groups at the identity provider, when they signed in.
    pub idp_groups: Vec<String>,
    /// When they signed in.
    pub created_at: DateTime<Utc>,
    /// When they were last seen, to a quarter of an hour.
    pub seen_at: DateTime<Utc>,
    /// Their ID token, for the provider's logout.
    pub(super) id_token: Option<Secret>,
}

impl Session {
    /// Whether it has ended by itself.
    pub fn is_over(&self, now: DateTime<Utc>) -> bool {
        now >= self.created_at + Duration::hours(SESSION_LIFETIME_H)
            || now >= self.seen_at + Duration::hours(SESSION_IDLE_H)
    }
}

#[derive(Serialize, Deserialize)]
struct StoredSession {
    schema: u32,
    person: Person,
    idp_groups: Vec<String>,
    created_at: DateTime<Utc>,
    seen_at: DateTime<Utc>,
    id_token: Option<String>,
}

struct Kept {
    session: Arc<Session>,
    etag: ETag,
    read_at: DateTime<Utc>,
}

/// All sessions.
pub struct Sessions {
    store: Arc<dyn Store>,
    bucket: BucketName,
    clock: Arc<dyn Clock>,
    has_bucket: AtomicBool,
    copies: Mutex<HashMap<String, Kept>>,
}

impl Sessions {
    pub(super) fn new(store: Arc<dyn Store>, bucket: BucketName, clock: Arc<dyn Clock>) -> Self {
        Self { store, bucket, clock, has_bucket: AtomicBool::new(false), copies: Mutex::default() }
    }

    /// A new session; its token, once it is kept.
    pub(super) async fn create(
        &self,
        person: Person,
        idp_groups: Vec<String>,
        id_token: Option<Secret>,
    ) -> Result<String, AuthError> {
        if !self.has_bucket.load(Ordering::Acquire) {
            self.store.create_bucket(&self.bucket).await?;
            self.has_bucket.store(true, Ordering::Release);
        }
        let now = self.clock.now();
        let token = CsrfToken::new_random_len(TOKEN_BYTES).secret().clone();
        let session = Session { person, idp_groups, created_at: now, seen_at: now, id_token };
        let (name, key) = names(&token)?;
        let etag = self.put_new(&key, encode(&session)?).await?;
        self.remember(name, session, etag, now);
        Ok(token)
    }

    /// The session of a token.
    pub(super) async fn find(&self, token: &str) -> Result<Option<Arc<Session>>, AuthError> {
        if token.len() != TOKEN_CHARS || !token.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_') {
            return Ok(None);
        }
        let now = self.clock.now();
        let (name, key) = names(token)?;
        let copy = self.copies().get(&name).map(|copy| (copy.session.clone(), copy.etag.clone(), copy.read_at));
        let (session, etag) = match copy {
            Some((session, etag, read_at)) if now < read_at + Duration::seconds(COPY_S) => (session, etag),
            Some(_) | None => match self.read(&key).await? {
                Some((session, etag)) => (self.remember(name.clone(), session, etag.clone(), now), etag),
                None => {
                    self.copies().remove(&name);
                    return Ok(None);
                }
            },
        };
        if session.is_over(now) {
            self.copies().remove(&name);
            self.store.delete(&self.bucket, &key).await?;
            return Ok(None);
        }
        if now >= session.seen_at + Duration::seconds(SEEN_EVERY_S) {
            return self.touch(name, &key, &session, etag, now).await;
        }
        Ok(Some(session))
    }

    /// Ends a session, here and for every other node.
    pub(super) async fn end(&self, token: &str) -> Result<(), AuthError> {
        let (name, key) = names(token)?;
        self.copies().remove(&name);
        Ok(self.store.delete(&self.bucket, &key).await?)
    }

    /// Deletes lapsed sessions of people who never came back; how many. To be called now and then.
    ///
    /// # Errors
    /// [`AuthError::Store`]; what was deleted stays deleted.
    pub async fn sweep(&self) -> Result<usize, AuthError> {
        let now = self.clock.now();
        let mut after: Option<Key> = None;
        let mut deleted = 0;
        loop {
            let page = match self.store.list(&self.bucket, PREFIX, after.as_ref(), SWEEP_PAGE).await {
                Err(StoreError::NoBucket { .. }) => return Ok(deleted),
                page => page?,
            };
            for key in &page.keys {
                if self.read(key).await?.is_some_and(|(session, _)| session.is_over(now)) {
                    self.store.delete(&self.bucket, key).await?;
                    deleted += 1;
                }
            }
            after = page.keys.last().cloned();
            if !page.more || after.is_none() {
                return Ok(deleted);
            }
        }
    }

    /// Writes "seen". Whoever else did it meanwhile did the same; whoever ended the session ended it.
    async fn touch(
        &self,
        name: String,
        key: &Key,
        session: &Session,
        etag: ETag,
        now: DateTime<Utc>,
    ) -> Result<Option<Arc<Session>>, AuthError> {
        let seen = Session { seen_at: now, ..session.clone() };
        match self.store.put(&self.bucket, key, encode(&seen)?, Condition::IfMatch(etag)).await {
            Ok(etag) => Ok(Some(self.remember(name, seen, etag, now))),
            Err(error) => {
                if !matches!(error, PutError::Lost | PutError::Conflict) {
                    tracing::warn!(%error, "a session's last use can't be written");
                }
                match self.read(key).await? {
                    Some((session, etag)) => Ok(Some(self.remember(name, session, etag, now))),
                    None => {
                        self.copies().remove(&name);
                        Ok(None)
                    }
                }
            }
        }
    }

    /// The key is random and new, so the same bytes may be sent again without a condition.
    async fn put_new(&self, key: &Key, bytes: Bytes) -> Result<ETag, AuthError> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.store.put(&self.bucket, key, bytes.clone(), Condition::None).await {
                Ok(etag) => return Ok(etag),
                Err(PutError::Unknown { .. } | PutError::Conflict | PutError::Lost) if tries < PUT_TRIES_MAX => {}
                Err(error) => return Err(AuthError::NotKept { reason: error.to_string() }),
            }
        }
    }

    async fn read(&self, key: &Key) -> Result<Option<(Session, ETag)>, AuthError> {
        let stored = match self.store.get(&self.bucket, key).await {
            Ok(Some(stored)) => stored,
            Ok(None) | Err(StoreError::NoBucket { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let damaged = |reason: String| StoreError::Damaged { key: key.to_string(), reason };
        let session: StoredSession =
            serde_json::from_slice(&stored.bytes).map_err(|error| damaged(error.to_string()))?;
        if session.schema != SCHEMA {
            return Err(damaged(format!("schema {} is not {SCHEMA}", session.schema)).into());
        }
        let StoredSession { person, idp_groups, created_at, seen_at, id_token, schema: _ } = session;
        let session = Session { person, idp_groups, created_at, seen_at, id_token: id_token.map(Secret::new) };
        Ok(Some((session, stored.info.etag)))
    }

    fn remember(&self, name: String, session: Session, etag: ETag, now: DateTime<Utc>) -> Arc<Session> {
        let session = Arc::new(session);
        let mut copies = self.copies();
        if copies.len() >= COPIES_MAX {
            copies.retain(|_, copy| now < copy.read_at + Duration::seconds(COPY_S));
        }
        if copies.len() < COPIES_MAX {
            copies.insert(name, Kept { session: session.clone(), etag, read_at: now });
        }
        session
    }

    fn copies(&self) -> MutexGuard<'_, HashMap<String, Kept>> {
        self.copies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a token's session is called: the hash, and the key made from it.
fn names(token: &str) -> Result<(String, Key), AuthError> {
    let name: String = Sha256::digest(token).iter().map(|byte| format!("{byte:02x}")).collect();
    let key =
        Key::new(format!("{PREFIX}{name}.json")).map_err(|error| AuthError::NotKept { reason: error.to_string() })?;
    Ok((name, key))
}

fn encode(session: &Session) -> Result<Bytes, AuthError> {
    let stored = StoredSession {
        schema: SCHEMA,
        person: session.person.clone(),
        idp_groups: session.idp_groups.clone(),
        created_at: session.created_at,
        seen_at: session.seen_at,
        id_token: session.id_token.as_ref().map(|token| token.expose().to_owned()),
    };
    serde_json::to_vec(&stored).map(Bytes::from).map_err(|error| AuthError::NotKept { reason: error.to_string() })
}

#[cfg(test)]
mod tests;
