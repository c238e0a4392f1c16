//! Cookies: their names and their attributes.
//!
//! Invariant: HttpOnly, SameSite=Lax, Path=/; over https also Secure and `__Host-`, so that no other host can set them.

use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue};

/// Name of the session's cookie, before the prefix.
const SESSION: &str = "cw_session";
/// First part of the name of a login's cookie, before the prefix.
const LOGIN: &str = "cw_login_";

/// The cookies' names under this server's address.
pub(super) struct CookieNames {
    secure: bool,
    session: String,
    login: String,
}

impl CookieNames {
    pub(super) fn new(secure: bool) -> Self {
        let prefix = if secure { "__Host-" } else { "" };
        Self { secure, session: format!("{prefix}{SESSION}"), login: format!("{prefix}{LOGIN}") }
    }

    pub(super) fn session(&self) -> &str {
        &self.session
    }

    /// The cookie of one login; each has its own, so that several tabs may sign in at once.
    pub(super) fn login(&self, id: &str) -> String {
        format!("{}{id}", self.login)
    }

    /// The names of all logins the browser has open.
    pub(super) fn open_logins<'h>(&self, headers: &'h HeaderMap) -> Vec<&'h str> {
        pairs(headers).map(|(name, _)| name).filter(|name| name.starts_with(&self.login)).collect()
    }

    /// A cookie for `max_age_s` seconds.
    pub(super) fn set(&self, name: &str, value: &str, max_age_s: i64) -> String {
        let secure = if self.secure { "; Secure" } else { "" };
        format!("{name}={value}; Path=/; Max-Age={max_age_s}; HttpOnly; SameSite=Lax{secure}")
    }

    /// Takes a cookie away.
    pub(super) fn clear(&self, name: &str) -> String {
        self.set(name, "", 0)
    }
}

/// A cookie's value.
pub(super) fn find<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    pairs(headers).find(|(known, _)| *known == name).map(|(_, value)| value)
}

/// Adds `Set-Cookie` lines. A value of ours is always a legal header; one that weren't is left out rather than sent wrong.
pub(super) fn append(headers: &mut HeaderMap, cookies: &[String]) {
    for cookie in cookies {
        if let Ok(value) = HeaderValue::from_str(cookie) {
            headers.append(SET_COOKIE, value);
        }
    }
}

fn pairs(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn https_gets_the_host_prefix_and_secure() {
        let names = CookieNames::new(true);
        assert_eq!(
            names.set(names.session(), "t", 60),
            "__Host-cw_session=t; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure"
        );
        let names = CookieNames::new(false);
        assert_eq!(names.clear(names.session()), "cw_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax");
    }

    #[test]
    fn cookies_are_found_by_their_exact_name() {
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, HeaderValue::from_static("a=1; xcw_session=2;cw_session=3; cw_login_ab=4"));
        headers.append(COOKIE, HeaderValue::from_static("cw_login_cd=5"));
        let names = CookieNames::new(false);
        assert_eq!(find(&headers, names.session()), Some("3"));
        assert_eq!(find(&headers, "missing"), None);
        assert_eq!(names.open_logins(&headers), ["cw_login_ab", "cw_login_cd"]);
    }
}
