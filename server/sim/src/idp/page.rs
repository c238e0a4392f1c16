//! The provider's pages: choose a user, a problem, signed out.
//!
//! Invariant: every value that comes from a request is escaped; no script, no outside resource. The words live in
//! `page.html` and in [`Problem::text`]: this simulator is no part of the product, so its texts are not in the product's
//! message files.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use openidconnect::url::Url;
use sha2::{Digest, Sha256};

use super::DemoUser;
use super::authorize::Params;

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");

/// What can be wrong before the browser may be sent anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Problem {
    /// Repeated or overlong parameters.
    Parameters,
    /// Unknown client.
    Client,
    /// Unknown return address.
    ReturnAddress,
    /// The form came from elsewhere.
    Origin,
    /// No such user.
    User,
    /// Unknown address to return to after the logout.
    LogoutAddress,
}

impl Problem {
    fn text(self) -> &'static str {
        match self {
            Self::Parameters => "Die Anfrage hat doppelte oder zu lange Angaben.",
            Self::Client => "Diese Anwendung (client_id) ist hier nicht eingetragen.",
            Self::ReturnAddress => "Die Rücksprungadresse (redirect_uri) ist hier nicht eingetragen.",
            Self::Origin => "Das Formular kam von einer fremden Seite.",
            Self::User => "Diesen Benutzer gibt es hier nicht.",
            Self::LogoutAddress => "Die Adresse nach der Abmeldung ist hier nicht eingetragen.",
        }
    }
}

/// The users as buttons. A button's accessible name is exactly the user name; name and groups describe it.
pub(super) fn choose(users: &[DemoUser], params: &Params, return_to: &[String], action: Option<&str>) -> Response {
    let hidden: String = params
        .carried()
        .into_iter()
        .map(|(name, value)| format!("<input type=\"hidden\" name=\"{name}\" value=\"{}\">", escape(value)))
        .collect();
    let rows: String = users
        .iter()
        .map(|user| {
            let (name, full) = (escape(&user.name), escape(&user.full_name));
            let groups = escape(&user.groups.join(" · "));
            format!(
                "<li><button name=\"user\" value=\"{name}\" aria-describedby=\"about-{name}\">{name}</button>\
                 <span id=\"about-{name}\"><b>{full}</b><small>{groups}</small></span></li>"
            )
        })
        .collect();
    let action = escape(action.unwrap_or("authorize"));
    let body = format!(
        "<p>Wer möchte sich anmelden? Ein Kennwort gibt es in der Demo nicht.</p>\
         <form method=\"post\" action=\"{action}\">{hidden}<ul>{rows}</ul></form>"
    );
    respond(StatusCode::OK, "Anmelden", &body, return_to)
}

/// A problem, shown here because the browser must not be sent on.
pub(super) fn problem(problem: Problem) -> Response {
    let body = format!("<p role=\"alert\">{}</p>", escape(problem.text()));
    respond(StatusCode::BAD_REQUEST, "Das geht so nicht", &body, &[])
}

/// Signed out, with nowhere to go.
pub(super) fn signed_out() -> Response {
    respond(StatusCode::OK, "Abgemeldet", "<p>Sie sind abgemeldet.</p>", &[])
}

fn respond(status: StatusCode, title: &str, body: &str, return_to: &[String]) -> Response {
    let page = TEMPLATE.replace("{{title}}", &escape(title)).replace("{{style}}", STYLE).replace("{{body}}", body);
    let mut headers = HeaderMap::new();
    let fixed: [(HeaderName, &'static str); 4] = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Not `no-referrer`: browsers would then send `Origin: null` with the form.
        (REFERRER_POLICY, "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(policy) = HeaderValue::from_str(&policy(return_to)) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    (status, headers, page).into_response()
}

/// Browsers apply `form-action` to the redirect after a form as well, so the return addresses' origins are in it.
fn policy(return_to: &[String]) -> String {
    let mut origins: Vec<String> =
        return_to.iter().filter_map(|uri| Url::parse(uri).ok()).map(|uri| uri.origin().ascii_serialization()).collect();
    origins.sort_unstable();
    origins.dedup();
    let style = STANDARD.encode(Sha256::digest(STYLE));
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; frame-ancestors 'none'; form-action 'self' {}",
        origins.join(" ")
    )
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for found in text.chars() {
        match found {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}
