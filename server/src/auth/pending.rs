//! A login under way, kept in a cookie of the browser that started it.
//!
//! Purpose: nothing is stored for people who never come back, and any node can finish what another began.
//! Invariant: the cookie is signed (key derived from the client secret), bound to its `state` by name and content, and
//! lapses after [`LOGIN_LIFETIME_S`].

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use openidconnect::core::{CoreHmacKey, CoreJwsSigningAlgorithm};
use openidconnect::{CsrfToken, PrivateSigningKey, SigningError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::config::Secret;

/// Seconds a login may take.
pub(super) const LOGIN_LIFETIME_S: i64 = 600;
/// Logins one browser may have open; a further one ends them all.
pub(super) const OPEN_LOGINS_MAX: usize = 8;
/// Bytes of a cookie.
const COOKIE_BYTES_MAX: usize = 4_096;
/// Keeps this use of the client secret apart from every other.
const PURPOSE: &str = "connectworkflow login cookie v1";

/// What must be remembered between going to the provider and coming back.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PendingLogin {
    pub(super) state: String,
    pub(super) nonce: String,
    pub(super) verifier: String,
    pub(super) next: String,
    pub(super) until: i64,
}

/// Seals and opens the cookies.
pub(super) struct PendingLogins {
    key: CoreHmacKey,
}

impl PendingLogins {
    /// A public client has no secret to derive the key from; it gets one of this process.
    pub(super) fn new(client_secret: Option<&Secret>) -> Self {
        let random = CsrfToken::new_random_len(32);
        let secret = client_secret.map_or(random.secret().as_str(), Secret::expose);
        let mut hasher = Sha256::new();
        hasher.update(PURPOSE);
        hasher.update([0]);
        hasher.update(secret);
        Self { key: CoreHmacKey::new(hasher.finalize().to_vec()) }
    }

    /// What the cookie of a state is called: part of the state's hash.
    pub(super) fn id(state: &str) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(state)).chars().take(12).collect()
    }

    /// The cookie's value.
    pub(super) fn seal(&self, login: &PendingLogin) -> Result<String, SealError> {
        let body = URL_SAFE_NO_PAD.encode(serde_json::to_vec(login)?);
        let tag = self.tag(&body)?;
        Ok(format!("{body}.{tag}"))
    }

    /// The login of a cookie, if it is ours, for this state and in time.
    pub(super) fn open(&self, value: &str, state: &str, now: DateTime<Utc>) -> Option<PendingLogin> {
        if value.len() > COOKIE_BYTES_MAX {
            return None;
        }
        let (body, tag) = value.split_once('.')?;
        if Sha256::digest(self.tag(body).ok()?) != Sha256::digest(tag) {
            return None;
        }
        let login: PendingLogin = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(body).ok()?).ok()?;
        let is_this = Sha256::digest(&login.state) == Sha256::digest(state);
        (is_this && login.until > now.timestamp()).then_some(login)
    }

    fn tag(&self, body: &str) -> Result<String, SigningError> {
        let tag = self.key.sign(&CoreJwsSigningAlgorithm::HmacSha256, body.as_bytes())?;
        Ok(URL_SAFE_NO_PAD.encode(tag))
    }
}

/// A cookie that can't be made.
#[derive(Debug, thiserror::Error)]
pub(super) enum SealError {
    #[error("the login cookie can't be written: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the login cookie can't be signed: {0}")]
    Sign(#[from] SigningError),
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that can't seal must fail loudly")]
mod tests {
    use super::*;

    fn login() -> PendingLogin {
        let text = str::to_owned;
        PendingLogin { state: text("s"), nonce: text("n"), verifier: text("v"), next: text("/"), until: 1_000 }
    }

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(seconds, 0).unwrap()
    }

    #[test]
    fn only_our_own_cookie_for_this_state_in_time_opens() {
        let logins = PendingLogins::new(Some(&Secret::new("geheim")));
        let sealed = logins.seal(&login()).unwrap();
        assert!(logins.open(&sealed, "s", at(999)).unwrap() == login());
        assert!(logins.open(&sealed, "s", at(1_000)).is_none(), "lapsed");
        assert!(logins.open(&sealed, "t", at(0)).is_none(), "another state");
        assert!(PendingLogins::new(Some(&Secret::new("anders"))).open(&sealed, "s", at(0)).is_none());
        assert!(PendingLogins::new(None).open(&sealed, "s", at(0)).is_none());
        let forged = logins.seal(&PendingLogin { next: "/x".to_owned(), ..login() }).unwrap();
        let (body, _) = forged.split_once('.').unwrap();
        let (_, tag) = sealed.split_once('.').unwrap();
        assert!(logins.open(&format!("{body}.{tag}"), "s", at(0)).is_none(), "changed content");
        for nonsense in ["", ".", "a.b", &"a".repeat(5_000)] {
            assert!(logins.open(nonsense, "s", at(0)).is_none());
        }
    }

    #[test]
    fn another_node_with_the_same_secret_opens_it() {
        let sealed = PendingLogins::new(Some(&Secret::new("geheim"))).seal(&login()).unwrap();
        assert!(PendingLogins::new(Some(&Secret::new("geheim"))).open(&sealed, "s", at(0)).is_some());
    }
}
