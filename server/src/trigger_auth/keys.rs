//! A tenant's key: given, or fetched from where its issuer publishes them.
//!
//! Invariant: a key verifies the configured algorithm only. Published keys are fetched when first needed, again after
//! [`KEEP_S`], and for an unknown key id at most once in [`REFETCH_S`]; with the issuer down, known keys go on working.

use std::time::Duration;

use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation};
use tokio::sync::Mutex;

use crate::config::{TriggerAlgorithm, TriggerSettings};

use super::claims::Claims;
use super::{TokenProblem, TriggerAuthError};

/// Seconds published keys are used without asking again.
const KEEP_S: u64 = 3_600;
/// Seconds between two fetches.
const REFETCH_S: u64 = 30;
/// Seconds one fetch may take.
const FETCH_TIMEOUT_S: u64 = 5;
/// Bytes published keys may have.
const JWKS_BYTES_MAX: usize = 256 * 1024;

/// The key and the one algorithm it is for.
pub(super) struct VerifyKey {
    algorithm: Algorithm,
    source: Source,
}

enum Source {
    Given(DecodingKey),
    Published(Box<Published>),
}

struct Published {
    url: String,
    http: reqwest::Client,
    known: Mutex<Fetched>,
}

#[derive(Default)]
struct Fetched {
    keys: Option<JwkSet>,
    fetched_at: Option<u64>,
    tried_at: Option<u64>,
}

impl VerifyKey {
    pub(super) fn new(settings: &TriggerSettings) -> Result<Self, String> {
        let algorithm = match settings.algorithm {
            TriggerAlgorithm::HS256 => Algorithm::HS256,
            TriggerAlgorithm::RS256 => Algorithm::RS256,
            TriggerAlgorithm::ES256 => Algorithm::ES256,
            TriggerAlgorithm::EdDSA => Algorithm::EdDSA,
        };
        Ok(Self { algorithm, source: source(settings)? })
    }

    /// The claims of a token whose header and signature are good. Nothing is known about the claims themselves.
    pub(super) async fn verified(&self, token: &str, now: u64) -> Result<Claims, TriggerAuthError> {
        let header = jsonwebtoken::decode_header(token).map_err(|_error| TokenProblem::Malformed)?;
        self.check_header(token, &header)?;
        let mut validation = Validation::new(self.algorithm);
        validation.required_spec_claims.clear();
        validation.validate_exp = false;
        validation.validate_nbf = false;
        validation.validate_aud = false;
        let decoded = match &self.source {
            Source::Given(key) => jsonwebtoken::decode::<Claims>(token, key, &validation),
            Source::Published(published) => {
                let key = published.key(header.kid.as_deref(), now).await?;
                jsonwebtoken::decode::<Claims>(token, &key, &validation)
            }
        };
        Ok(decoded.map_err(|_error| TokenProblem::Signature)?.claims)
    }

    fn check_header(&self, token: &str, header: &Header) -> Result<(), TokenProblem> {
        if header.alg != self.algorithm {
            return Err(TokenProblem::Algorithm);
        }
        let typ = header.typ.as_deref().unwrap_or("JWT").to_ascii_lowercase();
        let typ = typ.strip_prefix("application/").unwrap_or(&typ);
        if !matches!(typ, "jwt" | "at+jwt") || header.cty.is_some() {
            return Err(TokenProblem::Header);
        }
        // What must be understood can't be, and an unencoded payload (`b64`) would be another text than the one signed.
        let extras = raw_header(token).ok_or(TokenProblem::Malformed)?;
        if ["crit", "b64", "zip", "enc"].iter().any(|name| extras.contains_key(*name)) {
            return Err(TokenProblem::Header);
        }
        Ok(())
    }
}

fn raw_header(token: &str) -> Option<serde_json::Map<String, serde_json::Value>> {
    use base64::Engine;
    let encoded = token.split('.').next()?;
    serde_json::from_slice(&base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(encoded).ok()?).ok()
}

fn source(settings: &TriggerSettings) -> Result<Source, String> {
    if let Some(url) = &settings.jwks_url {
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(Duration::from_secs(FETCH_TIMEOUT_S))
            .build()
            .map_err(|error| error.to_string())?;
        return Ok(Source::Published(Box::new(Published { url: url.to_string(), http, known: Mutex::default() })));
    }
    let pem = || settings.public_key.as_deref().map(str::as_bytes).ok_or("the public key is missing");
    let key = match settings.algorithm {
        TriggerAlgorithm::HS256 => {
            let secret = settings.secret.as_ref().ok_or("the shared secret is missing")?;
            DecodingKey::from_secret(secret.expose().as_bytes())
        }
        TriggerAlgorithm::RS256 => DecodingKey::from_rsa_pem(pem()?),
        TriggerAlgorithm::ES256 => DecodingKey::from_ec_pem(pem()?),
        TriggerAlgorithm::EdDSA => DecodingKey::from_ed_pem(pem()?),
    };
    key.map(Source::Given).map_err(|error| format!("the key is not one for {:?}, in PEM: {error}", settings.algorithm))
}

impl Published {
    /// The key of an id; without an id the only one there is.
    async fn key(&self, kid: Option<&str>, now: u64) -> Result<DecodingKey, TriggerAuthError> {
        let mut known = self.known.lock().await;
        let is_old = known.fetched_at.is_none_or(|at| now >= at.saturating_add(KEEP_S));
        let is_unknown = known.keys.as_ref().is_none_or(|keys| pick(keys, kid).is_none());
        let may_fetch = known.tried_at.is_none_or(|at| now >= at.saturating_add(REFETCH_S));
        if (is_old || is_unknown) && may_fetch {
            known.tried_at = Some(now);
            match self.fetch().await {
                Ok(keys) => {
                    known.keys = Some(keys);
                    known.fetched_at = Some(now);
                }
                Err(reason) => tracing::warn!(url = self.url, %reason, "a trigger issuer's keys can't be fetched"),
            }
        }
        let keys = known.keys.as_ref().ok_or(TriggerAuthError::KeysUnavailable)?;
        let jwk = pick(keys, kid).ok_or(TokenProblem::Signature)?;
        DecodingKey::from_jwk(jwk).map_err(|_error| TokenProblem::Signature.into())
    }

    async fn fetch(&self) -> Result<JwkSet, String> {
        let mut response = self.http.get(&self.url).send().await.map_err(|error| error.to_string())?;
        if !response.status().is_success() {
            return Err(format!("answered {}", response.status()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| error.to_string())? {
            if body.len() + chunk.len() > JWKS_BYTES_MAX {
                return Err(format!("more than {JWKS_BYTES_MAX} bytes"));
            }
            body.extend_from_slice(&chunk);
        }
        serde_json::from_slice(&body).map_err(|error| format!("not a key set: {error}"))
    }
}

fn pick<'k>(keys: &'k JwkSet, kid: Option<&str>) -> Option<&'k Jwk> {
    match kid {
        Some(kid) => keys.find(kid),
        None => keys.keys.first().filter(|_| keys.keys.len() == 1),
    }
}
