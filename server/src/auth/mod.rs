//! Who somebody is: login over OpenID Connect, sessions, logout.
//!
//! Purpose: turns a browser's cookie into a [`Session`], and a session into what the person is in each tenant.
//! Invariant: a session exists in the store, under the hash of its token, before its cookie leaves; the browser is only
//! ever sent to the configured provider or to a path of this server; the server starts with the provider down.
//! Never: rights (the core decides), texts for people (failures are codes for `/anmeldung?fehler=CODE`), tokens in logs.

mod claims;
mod cookies;
mod error;
mod guard;
mod http;
mod login;
mod logout;
mod next;
mod origin;
mod pending;
mod provider;
mod session;
mod viewer;

use std::sync::Arc;

use axum::Router;
use axum::http::HeaderMap;
use axum::routing::{get, post};
use openidconnect::url::Url;
use ports::{BucketName, Clock, Store};

use crate::config::Settings;

use cookies::CookieNames;
pub use error::{AuthError, LoginFailure};
pub use guard::{CurrentSession, MaybeSession, load_session, require_session};
pub use origin::is_same_origin;
use pending::PendingLogins;
use provider::Provider;
pub use provider::ProviderStatus;
pub use session::{SESSION_IDLE_H, SESSION_LIFETIME_H, Session, Sessions};
pub use viewer::{language, viewer};

/// Where a failed login lands, with `?fehler=CODE`, and a logout without. Public, and registered at the provider as
/// address to return to after a logout.
pub const LANDING_PATH: &str = "/anmeldung";
/// Where a login starts; takes `next`.
pub const LOGIN_PATH: &str = "/auth/login";
/// Where the provider returns to; registered there.
pub const CALLBACK_PATH: &str = "/auth/callback";
/// Where a logout starts (POST).
pub const LOGOUT_PATH: &str = "/auth/logout";

/// Login, sessions, logout. Clones share everything.
#[derive(Clone)]
pub struct Auth(Arc<Inner>);

struct Inner {
    external_url: Url,
    provider: Provider,
    sessions: Sessions,
    pending: PendingLogins,
    cookies: CookieNames,
    groups_claim: String,
    clock: Arc<dyn Clock>,
}

impl Auth {
    /// Builds it; asks nobody anything yet.
    ///
    /// # Errors
    /// [`AuthError`] where addresses or names in the settings can't be used.
    pub fn new(settings: &Settings, store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Result<Self, AuthError> {
        let external_url = settings.server.external_url.clone();
        let bucket = BucketName::configured(&settings.store.system_bucket)
            .map_err(|error| AuthError::Settings { reason: error.to_string() })?;
        Ok(Self(Arc::new(Inner {
            provider: Provider::new(&settings.oidc, &external_url, clock.clone())?,
            sessions: Sessions::new(store, bucket, clock.clone()),
            pending: PendingLogins::new(settings.oidc.client_secret.as_ref()),
            cookies: CookieNames::new(settings.server.is_https()),
            groups_claim: settings.oidc.groups_claim.clone(),
            external_url,
            clock,
        })))
    }

    /// `/auth/login`, `/auth/callback`, `/auth/logout`.
    pub fn router(&self) -> Router {
        Router::new()
            .route(LOGIN_PATH, get(login::start))
            .route(CALLBACK_PATH, get(login::callback))
            .route(LOGOUT_PATH, post(logout::logout))
            .with_state(self.clone())
    }

    /// The session of a request's cookie.
    ///
    /// # Errors
    /// [`AuthError::Store`] where the store can't say.
    pub async fn session(&self, headers: &HeaderMap) -> Result<Option<Arc<Session>>, AuthError> {
        match cookies::find(headers, self.0.cookies.session()) {
            Some(token) => Ok(self.0.sessions.find(token).await?),
            None => Ok(None),
        }
    }

    /// Whether a request comes from one of our own pages; for everything that changes something by cookie, and for `/ws`.
    pub fn is_same_origin(&self, headers: &HeaderMap) -> bool {
        is_same_origin(headers, &self.0.external_url)
    }

    /// Asks the provider for its metadata unless it is known; for `/readyz`.
    pub async fn provider_status(&self) -> ProviderStatus {
        self.0.provider.status().await
    }

    /// The sessions, for the sweep that deletes lapsed ones.
    pub fn sessions(&self) -> &Sessions {
        &self.0.sessions
    }
}
