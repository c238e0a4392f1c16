//! A token's claims, read strictly: `jsonwebtoken` is trusted with signature and algorithm only, everything else is
//! checked here (it would accept a missing `iss` or `aud`, a list as `iss`, a future `iat`, an `exp` in the year 9999).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::Value;
use vocab::TenantKey;

use crate::config::TriggerSettings;

use super::{CLOCK_LEEWAY_S, TokenProblem};

/// The claims that count; each at most once.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Claims {
    iss: Option<Value>,
    aud: Option<Value>,
    exp: Option<Value>,
    nbf: Option<Value>,
    iat: Option<Value>,
    #[serde(rename = "customerID")]
    customer: Option<Value>,
    #[serde(rename = "tenantID")]
    tenant: Option<Value>,
}

/// The claims of a token nobody has verified: good for finding the key and nothing else.
pub(super) fn unverified(token: &str) -> Result<Claims, TokenProblem> {
    let mut parts = token.split('.');
    let (Some(_), Some(payload), Some(_), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return Err(TokenProblem::Malformed);
    };
    let bytes = URL_SAFE_NO_PAD.decode(payload).map_err(|_error| TokenProblem::Malformed)?;
    serde_json::from_slice(&bytes).map_err(|_error| TokenProblem::Malformed)
}

impl Claims {
    /// The tenant the token was made for, if it names one: two texts.
    pub(super) fn tenant(&self) -> Option<TenantKey> {
        let text = |claim: &Option<Value>| claim.as_ref().and_then(Value::as_str).map(str::to_owned);
        Some(TenantKey::new(text(&self.customer)?, text(&self.tenant)?))
    }

    /// Whether the token could be one of these settings' at all.
    pub(super) fn fits(&self, settings: &TriggerSettings) -> bool {
        self.is_from(&settings.issuer) && self.is_for(&settings.audience)
    }

    /// Issuer, audience and times.
    pub(super) fn check(&self, settings: &TriggerSettings, now: u64) -> Result<(), TokenProblem> {
        if !self.is_from(&settings.issuer) {
            return Err(TokenProblem::Issuer);
        }
        if !self.is_for(&settings.audience) {
            return Err(TokenProblem::Audience);
        }
        let late = now.saturating_add(CLOCK_LEEWAY_S);
        let expires = seconds(self.exp.as_ref()).ok_or(TokenProblem::NoExpiry)?.ok_or(TokenProblem::NoExpiry)?;
        if expires.saturating_add(CLOCK_LEEWAY_S) <= now {
            return Err(TokenProblem::Expired);
        }
        if let Some(begins) = seconds(self.nbf.as_ref())
            && begins.is_none_or(|begins| begins > late)
        {
            return Err(TokenProblem::NotYetValid);
        }
        let issued = match seconds(self.iat.as_ref()) {
            Some(issued) => issued.filter(|issued| *issued <= late).ok_or(TokenProblem::IssuedInFuture)?,
            None => now,
        };
        // Counted from now where that is later: an old `iat` doesn't shorten what is left, a missing one lengthens nothing.
        if expires.saturating_sub(issued.min(now)) > settings.max_lifetime_s.saturating_add(CLOCK_LEEWAY_S) {
            return Err(TokenProblem::Lifetime);
        }
        Ok(())
    }

    /// `iss` is one text; a list is no issuer (RFC 7519 §4.1.1).
    fn is_from(&self, issuer: &str) -> bool {
        self.iss.as_ref().and_then(Value::as_str) == Some(issuer)
    }

    /// `aud` is a text or a list of texts that has ours in it (RFC 7519 §4.1.3).
    fn is_for(&self, audience: &str) -> bool {
        match &self.aud {
            Some(Value::String(one)) => one == audience,
            Some(Value::Array(items)) => {
                items.iter().all(Value::is_string) && items.iter().any(|item| item.as_str() == Some(audience))
            }
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => false,
        }
    }
}

/// A NumericDate: outside `None` where the claim is missing, inside `None` where it is no date. A fraction is cut off.
fn seconds(claim: Option<&Value>) -> Option<Option<u64>> {
    let claim = claim?;
    let whole = claim.as_u64();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to lie inside")]
    let cut = claim.as_f64().filter(|seconds| (0.0..9e15).contains(seconds)).map(|seconds| seconds as u64);
    Some(whole.or(cut))
}
