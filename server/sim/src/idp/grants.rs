//! Codes and access tokens that were handed out, in memory.
//!
//! Invariant: a code is taken by the first exchange that names it, good or bad; a second use also ends the access token
//! that the first one got (RFC 6749 §4.1.2). Both lapse, and there are never more than the named numbers.

use std::collections::HashMap;

use chrono::{DateTime, Duration, Utc};
use openidconnect::CsrfToken;

use super::{ACCESS_TOKEN_LIFETIME_S, CODE_LIFETIME_S};

/// Codes that may be open at once.
pub(super) const CODES_MAX: usize = 1_000;
/// Access tokens that may be live at once.
pub(super) const ACCESS_TOKENS_MAX: usize = 10_000;
/// Random bytes of a code or token.
const RANDOM_BYTES: u32 = 32;

/// What a code stands for.
#[derive(Clone)]
pub(super) struct CodeGrant {
    pub(super) user: String,
    pub(super) redirect_uri: String,
    pub(super) code_challenge: String,
    pub(super) nonce: Option<String>,
    pub(super) scope: Vec<String>,
}

/// What an access token stands for.
#[derive(Clone)]
pub(super) struct AccessGrant {
    pub(super) user: String,
}

/// Too many at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Full;

struct Code {
    grant: Option<CodeGrant>,
    access_token: Option<String>,
    until: DateTime<Utc>,
}

struct Access {
    grant: AccessGrant,
    until: DateTime<Utc>,
}

/// Everything that is handed out.
#[derive(Default)]
pub(super) struct Grants {
    codes: HashMap<String, Code>,
    access: HashMap<String, Access>,
}

impl Grants {
    /// Hands out a code.
    pub(super) fn issue_code(&mut self, grant: CodeGrant, now: DateTime<Utc>) -> Result<String, Full> {
        self.codes.retain(|_, code| code.until > now);
        if self.codes.len() >= CODES_MAX {
            return Err(Full);
        }
        let code = random();
        let until = now + Duration::seconds(CODE_LIFETIME_S);
        self.codes.insert(code.clone(), Code { grant: Some(grant), access_token: None, until });
        Ok(code)
    }

    /// Takes a code; whatever comes of the exchange, it is used up.
    pub(super) fn take_code(&mut self, code: &str, now: DateTime<Utc>) -> Option<CodeGrant> {
        let entry = self.codes.get_mut(code)?;
        let lapsed = entry.until <= now;
        match entry.grant.take() {
            Some(grant) => (!lapsed).then_some(grant),
            None => {
                if let Some(token) = entry.access_token.take() {
                    self.access.remove(&token);
                }
                None
            }
        }
    }

    /// Hands out the access token of a code's exchange.
    pub(super) fn issue_access(&mut self, code: &str, grant: AccessGrant, now: DateTime<Utc>) -> Result<String, Full> {
        self.access.retain(|_, access| access.until > now);
        if self.access.len() >= ACCESS_TOKENS_MAX {
            return Err(Full);
        }
        let token = random();
        self.access.insert(token.clone(), Access { grant, until: now + Duration::seconds(ACCESS_TOKEN_LIFETIME_S) });
        if let Some(entry) = self.codes.get_mut(code) {
            entry.access_token = Some(token.clone());
        }
        Ok(token)
    }

    /// What an access token stands for.
    pub(super) fn access(&self, token: &str, now: DateTime<Utc>) -> Option<&AccessGrant> {
        self.access.get(token).filter(|access| access.until > now).map(|access| &access.grant)
    }
}

fn random() -> String {
    CsrfToken::new_random_len(RANDOM_BYTES).secret().clone()
}
