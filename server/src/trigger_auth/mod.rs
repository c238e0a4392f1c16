//! Whether a trigger comes from the ERP it says it comes from (DESIGN §8).
//!
//! Purpose: `POST /api/workflow/trigger` is let through or refused before anything is read or written.
//! Invariant: the algorithm is the configured one, never the token's choice; issuer, audience and expiry are required;
//! nothing is told to callers without a valid token, not even which tenants exist.
//! Never: the request's body beyond customer and tenant; a token, key or secret in a message or log.
//!
//! Which answer when:
//! 1. No token that verifies → 401. It is verified with the settings of the tenant that its own claims name; where they
//!    name none, with those of the tenant in the payload.
//! 2. It verifies, but its claims are missing or not the payload's → 403, whether the payload's tenant exists or not.
//! 3. Claims and payload agree on a tenant that isn't configured → 404 if the token verifies with the trigger settings of
//!    any configured tenant (so its sender holds one of our keys), else 401.
//! 4. The tenant's `X-API-Key` is missing or wrong → 401; the address isn't allowed → 403.

mod claims;
mod error;
mod keys;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use ports::Clock;
use sha2::{Digest, Sha256};
use vocab::TenantKey;

use crate::config::{TenantSettings, TriggerSettings};

use claims::Claims;
pub use error::{TokenProblem, TriggerAuthError, TriggerSetupError};
use keys::VerifyKey;

/// Bytes a token may have.
pub const TOKEN_BYTES_MAX: usize = 8 * 1024;
/// Seconds two clocks may differ.
pub const CLOCK_LEEWAY_S: u64 = 60;
/// Tenants whose settings a token for an unknown tenant is tried with.
const TRIES_MAX: usize = 64;
/// The optional second proof.
const API_KEY_HEADER: &str = "x-api-key";

/// Checks triggers.
pub struct TriggerAuth {
    tenants: BTreeMap<TenantKey, Option<Verifier>>,
    clock: Arc<dyn Clock>,
}

/// One tenant's trigger settings with its key.
struct Verifier {
    settings: TriggerSettings,
    key: VerifyKey,
    api_key_hashes: Vec<[u8; 32]>,
}

impl TriggerAuth {
    /// Reads the keys.
    ///
    /// # Errors
    /// [`TriggerSetupError`] names the tenant whose key can't be used.
    pub fn new(tenants: &[TenantSettings], clock: Arc<dyn Clock>) -> Result<Self, TriggerSetupError> {
        let tenants = tenants
            .iter()
            .map(|tenant| {
                let verifier = tenant.trigger.as_ref().map(Verifier::new).transpose();
                let tenant = tenant.key();
                match verifier {
                    Ok(verifier) => Ok((tenant, verifier)),
                    Err(reason) => Err(TriggerSetupError { tenant: tenant.to_string(), reason }),
                }
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { tenants, clock })
    }

    /// The tenant, if this request may trigger for it.
    ///
    /// `peer` is the caller's address as the server believes it (behind a proxy not the proxy's).
    ///
    /// # Errors
    /// [`TriggerAuthError`]; its status is the answer's.
    pub async fn verify(
        &self,
        headers: &HeaderMap,
        peer: IpAddr,
        customer: &str,
        tenant: &str,
    ) -> Result<TenantKey, TriggerAuthError> {
        let token = bearer(headers)?;
        let payload = TenantKey::new(customer, tenant);
        let named = claims::unverified(token)?.tenant();
        let deciding = named.clone().unwrap_or_else(|| payload.clone());
        let now = self.now_s();
        let Some(Some(verifier)) = self.tenants.get(&deciding) else {
            return Err(self.unknown(token, named, payload, now).await);
        };
        let claims = verifier.check(token, now).await?;
        if claims.tenant().is_none_or(|claimed| claimed != payload) {
            return Err(TriggerAuthError::TenantMismatch { customer: customer.to_owned(), tenant: tenant.to_owned() });
        }
        verifier.check_api_key(headers)?;
        if !verifier.settings.allowed_ips.is_empty()
            && !verifier.settings.allowed_ips.iter().any(|range| range.contains(peer))
        {
            return Err(TriggerAuthError::Address { peer: peer.to_canonical() });
        }
        Ok(payload)
    }

    /// The token names a tenant without trigger settings: see the module's rules 1 to 3.
    async fn unknown(&self, token: &str, named: Option<TenantKey>, payload: TenantKey, now: u64) -> TriggerAuthError {
        let Ok(unverified) = claims::unverified(token) else {
            return TokenProblem::Malformed.into();
        };
        let candidates =
            self.tenants.values().flatten().filter(|verifier| unverified.fits(&verifier.settings)).take(TRIES_MAX);
        for verifier in candidates {
            if verifier.check(token, now).await.is_ok() {
                let TenantKey { customer, tenant } = &payload;
                let (customer, tenant) = (customer.to_string(), tenant.to_string());
                return if named.as_ref() == Some(&payload) {
                    TriggerAuthError::UnknownTenant { customer, tenant }
                } else {
                    TriggerAuthError::TenantMismatch { customer, tenant }
                };
            }
        }
        TokenProblem::Signature.into()
    }

    fn now_s(&self) -> u64 {
        u64::try_from(self.clock.now().timestamp()).unwrap_or(0)
    }
}

impl Verifier {
    fn new(settings: &TriggerSettings) -> Result<Self, String> {
        let api_key_hashes = settings
            .api_key_hashes
            .iter()
            .map(|hex| unhex(hex).ok_or("api_key_hashes holds something that is not a SHA-256 in hex"))
            .collect::<Result<_, _>>()?;
        Ok(Self { key: VerifyKey::new(settings)?, settings: settings.clone(), api_key_hashes })
    }

    async fn check(&self, token: &str, now: u64) -> Result<Claims, TriggerAuthError> {
        let claims = self.key.verified(token, now).await?;
        claims.check(&self.settings, now)?;
        Ok(claims)
    }

    /// Every hash is compared, each in the same time, so that the time taken names neither key nor place.
    fn check_api_key(&self, headers: &HeaderMap) -> Result<(), TriggerAuthError> {
        if self.api_key_hashes.is_empty() {
            return Ok(());
        }
        let given = headers.get(API_KEY_HEADER).ok_or(TriggerAuthError::ApiKey)?;
        let digest: [u8; 32] = Sha256::digest(given.as_bytes()).into();
        let known = self.api_key_hashes.iter().fold(false, |known, hash| known | same_bytes(hash, &digest));
        if known { Ok(()) } else { Err(TriggerAuthError::ApiKey) }
    }
}

fn same_bytes(left: &[u8; 32], right: &[u8; 32]) -> bool {
    left.iter().zip(right).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

/// The one bearer token (RFC 6750 §2.1).
fn bearer(headers: &HeaderMap) -> Result<&str, TriggerAuthError> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next().ok_or(TriggerAuthError::MissingToken)?;
    if values.next().is_some() {
        return Err(TokenProblem::Malformed.into());
    }
    if value.len() > TOKEN_BYTES_MAX {
        return Err(TokenProblem::TooLong.into());
    }
    let text = value.to_str().map_err(|_error| TokenProblem::Malformed)?;
    match text.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(token.trim()),
        Some(_) | None => Err(TriggerAuthError::MissingToken),
    }
}

#[cfg(test)]
mod tests;
