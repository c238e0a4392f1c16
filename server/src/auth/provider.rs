//! The identity provider: its metadata and keys, fetched when first needed and kept.
//!
//! Invariant: it may be down at any time. What was learnt stays usable until it can be learnt again; failures are
//! remembered for a moment, so that a dead provider doesn't hold up every request; keys are fetched again for an unknown
//! key id, but not more often than once in [`REDISCOVERY_S`].

use std::sync::Arc;

use chrono::{DateTime, Duration, Utc};
use openidconnect::core::{
    CoreAuthDisplay, CoreAuthPrompt, CoreClientAuthMethod, CoreErrorResponseType, CoreGenderClaim, CoreJsonWebKey,
    CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm, CoreRevocableToken, CoreRevocationErrorResponse,
    CoreTokenIntrospectionResponse, CoreTokenType,
};
use openidconnect::url::Url;
use openidconnect::{
    AuthType, Client, ClientId, ClientSecret, EmptyExtraTokenFields, EndpointMaybeSet, EndpointNotSet, EndpointSet,
    IdToken, IdTokenFields, IssuerUrl, JwsSigningAlgorithm, ProviderMetadataWithLogout, RedirectUrl,
    StandardErrorResponse, StandardTokenResponse,
};
use ports::Clock;
use tokio::sync::Mutex;

use crate::config::OidcSettings;

use super::claims::ExtraClaims;
use super::http::ProviderHttp;
use super::{AuthError, CALLBACK_PATH};

/// Seconds after which metadata and keys are fetched again: a key taken out of service is trusted no longer than that.
const KEEP_S: i64 = 3_600;
/// Seconds between two fetches because of an unknown key id.
const REDISCOVERY_S: i64 = 30;
/// Seconds for which a failure answers everybody.
const FAILURE_S: i64 = 3;
/// Seconds until a refresh that failed is tried again.
const REFRESH_RETRY_S: i64 = 60;

/// The provider's ID token.
pub(super) type ProviderIdToken =
    IdToken<ExtraClaims, CoreGenderClaim, CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm>;

type ProviderIdTokenFields = IdTokenFields<
    ExtraClaims,
    EmptyExtraTokenFields,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJwsSigningAlgorithm,
>;

/// The token endpoint's answer.
pub(super) type ProviderTokens = StandardTokenResponse<ProviderIdTokenFields, CoreTokenType>;

/// `CoreClient` with our claims.
pub(super) type ProviderClient = Client<
    ExtraClaims,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    StandardErrorResponse<CoreErrorResponseType>,
    ProviderTokens,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// Whether the provider can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderStatus {
    /// Its metadata and keys are known.
    Up,
    /// They aren't, and why.
    Down(String),
}

/// The provider.
pub(super) struct Provider {
    issuer: IssuerUrl,
    client_id: ClientId,
    client_secret: Option<ClientSecret>,
    redirect_url: RedirectUrl,
    scopes: Vec<String>,
    http: ProviderHttp,
    clock: Arc<dyn Clock>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    metadata: Option<Arc<ProviderMetadataWithLogout>>,
    fresh_until: Option<DateTime<Utc>>,
    rediscovered_at: Option<DateTime<Utc>>,
    failed: Option<(DateTime<Utc>, String)>,
}

impl Provider {
    pub(super) fn new(settings: &OidcSettings, external_url: &Url, clock: Arc<dyn Clock>) -> Result<Self, AuthError> {
        let refuse = |reason: String| AuthError::Settings { reason };
        let callback = external_url.join(CALLBACK_PATH).map_err(|error| refuse(error.to_string()))?;
        Ok(Self {
            issuer: IssuerUrl::new(settings.issuer.clone())
                .map_err(|error| refuse(format!("issuer `{}`: {error}", settings.issuer)))?,
            client_id: ClientId::new(settings.client_id.clone()),
            client_secret: settings.client_secret.as_ref().map(|secret| ClientSecret::new(secret.expose().to_owned())),
            redirect_url: RedirectUrl::from_url(callback),
            scopes: settings.scopes.iter().filter(|scope| *scope != "openid").cloned().collect(),
            http: ProviderHttp::new().map_err(|error| refuse(error.to_string()))?,
            clock,
            known: Mutex::default(),
        })
    }

    pub(super) fn client_id(&self) -> &ClientId {
        &self.client_id
    }

    pub(super) fn issuer(&self) -> &IssuerUrl {
        &self.issuer
    }

    pub(super) fn scopes(&self) -> &[String] {
        &self.scopes
    }

    pub(super) fn http(&self) -> &ProviderHttp {
        &self.http
    }

    /// The metadata, fetched if it isn't known or has become old.
    pub(super) async fn metadata(&self) -> Result<Arc<ProviderMetadataWithLogout>, String> {
        let now = self.clock.now();
        let mut known = self.known.lock().await;
        if let Some(metadata) = &known.metadata
            && known.fresh_until.is_some_and(|until| now < until)
        {
            return Ok(metadata.clone());
        }
        if let Some((at, reason)) = &known.failed
            && now < *at + Duration::seconds(FAILURE_S)
            && known.metadata.is_none()
        {
            return Err(reason.clone());
        }
        match self.discover().await {
            Ok(metadata) => Ok(known.learn(metadata, now)),
            Err(reason) => {
                tracing::warn!(issuer = self.issuer.as_str(), %reason, "the identity provider can't be asked");
                known.failed = Some((now, reason.clone()));
                known.fresh_until = Some(now + Duration::seconds(REFRESH_RETRY_S));
                known.metadata.clone().ok_or(reason)
            }
        }
    }

    /// The metadata again, because a token names a key that isn't known. Answers the old one where it was fetched for
    /// that reason just now.
    pub(super) async fn rediscover(&self) -> Result<Arc<ProviderMetadataWithLogout>, String> {
        let now = self.clock.now();
        let mut known = self.known.lock().await;
        if let Some(metadata) = &known.metadata
            && known.rediscovered_at.is_some_and(|at| now < at + Duration::seconds(REDISCOVERY_S))
        {
            return Ok(metadata.clone());
        }
        known.rediscovered_at = Some(now);
        let metadata = self.discover().await?;
        Ok(known.learn(metadata, now))
    }

    /// Whether it can be used right now.
    pub(super) async fn status(&self) -> ProviderStatus {
        match self.metadata().await {
            Ok(_) => ProviderStatus::Up,
            Err(reason) => ProviderStatus::Down(reason),
        }
    }

    /// A client over the metadata.
    pub(super) fn client(&self, metadata: &ProviderMetadataWithLogout) -> ProviderClient {
        let client = ProviderClient::from_provider_metadata(
            metadata.clone(),
            self.client_id.clone(),
            self.client_secret.clone(),
        );
        client.set_auth_type(auth_type(metadata)).set_redirect_uri(self.redirect_url.clone())
    }

    async fn discover(&self) -> Result<ProviderMetadataWithLogout, String> {
        ProviderMetadataWithLogout::discover_async(self.issuer.clone(), &self.http)
            .await
            .map_err(|error| with_sources(&error))
    }
}

impl Known {
    fn learn(&mut self, metadata: ProviderMetadataWithLogout, now: DateTime<Utc>) -> Arc<ProviderMetadataWithLogout> {
        let metadata = Arc::new(metadata);
        self.metadata = Some(metadata.clone());
        self.fresh_until = Some(now + Duration::seconds(KEEP_S));
        self.failed = None;
        metadata
    }
}

/// Algorithms an ID token may be signed with: what the provider says, less `none` and shared secrets.
pub(super) fn signing_algorithms(metadata: &ProviderMetadataWithLogout) -> Vec<CoreJwsSigningAlgorithm> {
    metadata
        .id_token_signing_alg_values_supported()
        .iter()
        .filter(|algorithm| **algorithm != CoreJwsSigningAlgorithm::None && !algorithm.uses_shared_secret())
        .cloned()
        .collect()
}

/// Basic unless the provider names methods and Basic isn't among them.
fn auth_type(metadata: &ProviderMetadataWithLogout) -> AuthType {
    match metadata.token_endpoint_auth_methods_supported() {
        Some(methods)
            if !methods.contains(&CoreClientAuthMethod::ClientSecretBasic)
                && methods.contains(&CoreClientAuthMethod::ClientSecretPost) =>
        {
            AuthType::RequestBody
        }
        Some(_) | None => AuthType::BasicAuth,
    }
}

/// An error with what caused it, in one line.
pub(super) fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
