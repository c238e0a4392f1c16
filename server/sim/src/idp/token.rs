//! `/token`: a code for an ID token.
//!
//! Invariant: the client is proven first; then the code is taken (used up), and only then compared with what it was made
//! for: client, return address, PKCE verifier.

use axum::extract::State;
use axum::extract::rejection::FormRejection;
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, PRAGMA, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Form, Json};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use openidconnect::core::{CoreGenderClaim, CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm, CoreTokenType};
use openidconnect::url::form_urlencoded;
use openidconnect::{AccessToken, EmptyExtraTokenFields, IdTokenFields, Scope, StandardTokenResponse};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::grants::{AccessGrant, CodeGrant};
use super::{ACCESS_TOKEN_LIFETIME_S, IdpSim, claims};

type DemoTokenResponse = StandardTokenResponse<
    IdTokenFields<
        claims::GroupClaims,
        EmptyExtraTokenFields,
        CoreGenderClaim,
        CoreJweContentEncryptionAlgorithm,
        CoreJwsSigningAlgorithm,
    >,
    CoreTokenType,
>;

/// The form of RFC 6749 §4.1.3 with RFC 7636 §4.5.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct TokenForm {
    grant_type: Option<String>,
    code: Option<String>,
    redirect_uri: Option<String>,
    code_verifier: Option<String>,
    client_id: Option<String>,
    client_secret: Option<String>,
}

/// An error of RFC 6749 §5.2.
struct TokenError(&'static str, &'static str);

impl IntoResponse for TokenError {
    fn into_response(self) -> Response {
        let status = match self.0 {
            "invalid_client" => StatusCode::UNAUTHORIZED,
            "server_error" => StatusCode::INTERNAL_SERVER_ERROR,
            "temporarily_unavailable" => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::BAD_REQUEST,
        };
        let body = serde_json::json!({ "error": self.0, "error_description": self.1 });
        let mut response = (status, [(CACHE_CONTROL, "no-store")], Json(body)).into_response();
        if status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Basic realm=\"token\"");
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

/// `POST /token`.
pub(super) async fn exchange(
    State(idp): State<IdpSim>,
    headers: HeaderMap,
    form: Result<Form<TokenForm>, FormRejection>,
) -> Response {
    let Ok(Form(form)) = form else {
        return TokenError("invalid_request", "the body must be a form with each parameter once").into_response();
    };
    match answer(&idp, &headers, &form) {
        Ok(response) => ([(CACHE_CONTROL, "no-store"), (PRAGMA, "no-cache")], Json(response)).into_response(),
        Err(error) => error.into_response(),
    }
}

fn answer(idp: &IdpSim, headers: &HeaderMap, form: &TokenForm) -> Result<DemoTokenResponse, TokenError> {
    check_client(idp, headers, form)?;
    if form.grant_type.as_deref() != Some("authorization_code") {
        return Err(TokenError("unsupported_grant_type", "grant_type must be authorization_code"));
    }
    let code = form.code.as_deref().ok_or(TokenError("invalid_request", "code is missing"))?;
    let now = idp.now();
    let grant = idp
        .grants()
        .take_code(code, now)
        .ok_or(TokenError("invalid_grant", "the code is unknown, lapsed or was used before"))?;
    check_grant(&grant, form)?;
    let user = idp.user(&grant.user).ok_or(TokenError("server_error", "the code's user is gone"))?;
    let access = idp
        .grants()
        .issue_access(code, AccessGrant { user: user.name.clone() }, now)
        .map_err(|_full| TokenError("temporarily_unavailable", "too many access tokens at once"))?;
    let access = AccessToken::new(access);
    let id_token = claims::id_token(idp, user, grant.nonce, &access, now)
        .map_err(|_error| TokenError("server_error", "the ID token could not be signed"))?;
    let fields = IdTokenFields::new(Some(id_token), EmptyExtraTokenFields {});
    let mut response = DemoTokenResponse::new(access, CoreTokenType::Bearer, fields);
    response.set_expires_in(u64::try_from(ACCESS_TOKEN_LIFETIME_S).ok().map(std::time::Duration::from_secs).as_ref());
    response.set_scopes(Some(grant.scope.into_iter().map(Scope::new).collect()));
    Ok(response)
}

fn check_grant(grant: &CodeGrant, form: &TokenForm) -> Result<(), TokenError> {
    if form.redirect_uri.as_deref() != Some(grant.redirect_uri.as_str()) {
        return Err(TokenError("invalid_grant", "redirect_uri is not the one the code was made for"));
    }
    let verifier = form.code_verifier.as_deref().unwrap_or_default();
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier));
    if !same(&challenge, &grant.code_challenge) {
        return Err(TokenError("invalid_grant", "code_verifier does not fit the code's challenge"));
    }
    Ok(())
}

/// client_secret_basic or client_secret_post, not both (RFC 6749 §2.3).
fn check_client(idp: &IdpSim, headers: &HeaderMap, form: &TokenForm) -> Result<(), TokenError> {
    const BAD: TokenError = TokenError("invalid_client", "client id or secret is wrong");
    let (id, secret) = match headers.get(AUTHORIZATION) {
        Some(_) if form.client_secret.is_some() => {
            return Err(TokenError("invalid_request", "the client proves itself in two ways at once"));
        }
        Some(value) => basic(value.to_str().map_err(|_error| BAD)?).ok_or(BAD)?,
        None => (form.client_id.clone().ok_or(BAD)?, form.client_secret.clone().ok_or(BAD)?),
    };
    let known = &idp.0.settings;
    if same(&id, &known.client_id) & same(&secret, &known.client_secret) { Ok(()) } else { Err(BAD) }
}

fn basic(header: &str) -> Option<(String, String)> {
    let (scheme, encoded) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (id, secret) = pair.split_once(':')?;
    Some((form_decoded(id), form_decoded(secret)))
}

/// Both parts are form-encoded before they are joined (RFC 6749 §2.3.1).
fn form_decoded(part: &str) -> String {
    let escaped = part.replace('&', "%26").replace('=', "%3D");
    form_urlencoded::parse(escaped.as_bytes()).next().map(|(text, _)| text.into_owned()).unwrap_or_default()
}

/// Compares digests, so that the time taken says nothing about where the texts differ.
fn same(left: &str, right: &str) -> bool {
    Sha256::digest(left) == Sha256::digest(right)
}
