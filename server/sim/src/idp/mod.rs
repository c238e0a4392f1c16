//! The demo's identity provider: OpenID Connect, authorization code with PKCE, built on the provider types of
//! `openidconnect`.
//!
//! Purpose: the demo and the tests sign in over the same protocol, with the same checks, as with a company's provider.
//! Invariant: it serves loopback only (the issuer's host and every request's `Host` must be loopback); a code is good for
//! one exchange within [`CODE_LIFETIME_S`], with the verifier of its challenge and the redirect address it was made for.
//! Never: passwords. Whoever reaches the page may be anybody, which is why it must not be reachable.
//!
//! Tokens are signed with EdDSA (Ed25519): `openidconnect` signs and verifies it itself, keys are made in no time, and the
//! key file needs no more than the standard's 48 bytes.

mod authorize;
mod claims;
mod discovery;
mod grants;
mod guard;
mod key;
mod logout;
mod page;
mod token;
mod users;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::routing::get;
use chrono::{DateTime, Utc};
use openidconnect::url::Url;
use openidconnect::{IssuerUrl, url};
use ports::Clock;

use grants::Grants;
use key::SigningKey;
pub use users::{DemoUser, demo_group, demo_users};

/// Seconds an authorization code is good for.
pub const CODE_LIFETIME_S: i64 = 60;
/// Seconds an access token is good for.
pub const ACCESS_TOKEN_LIFETIME_S: i64 = 600;
/// Seconds an ID token is good for.
pub const ID_TOKEN_LIFETIME_S: i64 = 300;
/// Bytes a request body may have.
pub const BODY_BYTES_MAX: usize = 16 * 1024;

/// How the provider is set up.
#[derive(Clone)]
pub struct IdpSettings {
    /// Issuer, e.g. `http://127.0.0.1:3002`; a path is possible when the router is nested there.
    pub issuer: String,
    /// The one client.
    pub client_id: String,
    /// Its secret.
    pub client_secret: String,
    /// Addresses a login may return to, compared character by character.
    pub redirect_uris: Vec<String>,
    /// Addresses a logout may return to, compared character by character.
    pub post_logout_uris: Vec<String>,
    /// Where the signing key is kept, so that a restart doesn't change it.
    pub data_dir: PathBuf,
}

/// Why the provider can't be built.
#[derive(Debug, thiserror::Error)]
pub enum IdpError {
    /// The issuer is no usable address.
    #[error("issuer `{issuer}` is not an http address: {reason}")]
    Issuer {
        /// The issuer.
        issuer: String,
        /// Why.
        reason: String,
    },
    /// The issuer is not loopback.
    #[error("issuer `{issuer}` is not on loopback: the demo's identity provider asks for no password, use 127.0.0.1")]
    NotLoopback {
        /// The issuer.
        issuer: String,
    },
    /// A return address is no address.
    #[error("return address `{uri}` is not an address: {reason}")]
    ReturnAddress {
        /// The address.
        uri: String,
        /// Why.
        reason: String,
    },
    /// The signing key can't be read or kept.
    #[error("signing key `{path}`: {reason}")]
    Key {
        /// Its file.
        path: String,
        /// Why.
        reason: String,
    },
    /// Two users with one name, or none at all.
    #[error("user names must be there and differ: `{name}`")]
    Users {
        /// The name.
        name: String,
    },
}

/// The provider. Clones share everything.
#[derive(Clone)]
pub struct IdpSim(Arc<Inner>);

struct Inner {
    issuer: IssuerUrl,
    settings: IdpSettings,
    users: Vec<DemoUser>,
    key: SigningKey,
    grants: Mutex<Grants>,
    groups_in_id_token: AtomicBool,
    clock: Arc<dyn Clock>,
}

struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> DateTime<Utc> {
        Utc::now()
    }
}

impl IdpSim {
    /// Builds the provider; makes and keeps its signing key where there is none yet.
    ///
    /// # Errors
    /// [`IdpError`].
    pub fn new(settings: IdpSettings, users: Vec<DemoUser>) -> Result<Self, IdpError> {
        Self::with_clock(settings, users, Arc::new(SystemClock))
    }

    /// The same with another clock, so that tests needn't wait for a code to lapse.
    ///
    /// # Errors
    /// [`IdpError`].
    pub fn with_clock(settings: IdpSettings, users: Vec<DemoUser>, clock: Arc<dyn Clock>) -> Result<Self, IdpError> {
        let issuer = IssuerUrl::new(settings.issuer.clone())
            .map_err(|error| IdpError::Issuer { issuer: settings.issuer.clone(), reason: error.to_string() })?;
        check_issuer(&issuer)?;
        for uri in settings.redirect_uris.iter().chain(&settings.post_logout_uris) {
            Url::parse(uri).map_err(|error| IdpError::ReturnAddress { uri: uri.clone(), reason: error.to_string() })?;
        }
        for (index, user) in users.iter().enumerate() {
            if user.name.is_empty()
                || users[..index].iter().any(|other| other.name == user.name || other.sub == user.sub)
            {
                return Err(IdpError::Users { name: user.name.clone() });
            }
        }
        if users.is_empty() {
            return Err(IdpError::Users { name: String::new() });
        }
        let key = SigningKey::load_or_create(&settings.data_dir)?;
        Ok(Self(Arc::new(Inner {
            issuer,
            settings,
            users,
            key,
            grants: Mutex::default(),
            groups_in_id_token: AtomicBool::new(true),
            clock,
        })))
    }

    /// Some providers send groups in userinfo only; with `false` this one does. Default `true`.
    pub fn set_groups_in_id_token(&self, included: bool) {
        self.0.groups_in_id_token.store(included, Ordering::Relaxed);
    }

    /// All routes, relative to the issuer's path.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/.well-known/openid-configuration", get(discovery::configuration))
            .route("/jwks", get(discovery::jwks))
            .route("/authorize", get(authorize::ask).post(authorize::choose))
            .route("/token", axum::routing::post(token::exchange))
            .route("/userinfo", get(claims::userinfo).post(claims::userinfo))
            .route("/logout", get(logout::end).post(logout::end_by_form))
            .layer(axum::middleware::from_fn(guard::loopback_only))
            .layer(axum::extract::DefaultBodyLimit::max(BODY_BYTES_MAX))
            .with_state(self.clone())
    }

    fn now(&self) -> DateTime<Utc> {
        self.0.clock.now()
    }

    fn grants(&self) -> MutexGuard<'_, Grants> {
        self.0.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn user(&self, name: &str) -> Option<&DemoUser> {
        self.0.users.iter().find(|user| user.name == name)
    }

    /// An endpoint under the issuer.
    fn endpoint(&self, name: &str) -> Result<Url, url::ParseError> {
        self.0.issuer.join(name)
    }
}

fn check_issuer(issuer: &IssuerUrl) -> Result<(), IdpError> {
    let refuse = |reason: &str| IdpError::Issuer { issuer: issuer.as_str().to_owned(), reason: reason.to_owned() };
    let address = issuer.url();
    if address.scheme() != "http" && address.scheme() != "https" {
        return Err(refuse("the scheme must be http or https"));
    }
    if address.query().is_some() || address.fragment().is_some() {
        return Err(refuse("an issuer has no query and no fragment"));
    }
    if !guard::is_loopback_host(address.host_str().unwrap_or_default()) {
        return Err(IdpError::NotLoopback { issuer: issuer.as_str().to_owned() });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
