//! `/auth/login` and `/auth/callback`: authorization code with PKCE, `state` and `nonce`.
//!
//! Invariant: a session is made only from an ID token whose signature, issuer, audience, times and nonce fit the login
//! that this very browser began. Every failure lands on [`LANDING_PATH`] with a code; its details go to the log.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::header::{CACHE_CONTROL, HOST, LOCATION};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use openidconnect::core::CoreResponseType;
use openidconnect::url::Url;
use openidconnect::{
    AuthenticationFlow, AuthorizationCode, ClaimsVerificationError, CsrfToken, Nonce, OAuth2TokenResponse,
    PkceCodeChallenge, PkceCodeVerifier, ProviderMetadataWithLogout, RequestTokenError, Scope,
    SignatureVerificationError, TokenResponse,
};
use serde::Deserialize;

use crate::config::Secret;

use super::claims::{self, CLOCK_LEEWAY_S, ClaimsError, ProviderClaims, ProviderUserInfo};
use super::pending::{LOGIN_LIFETIME_S, OPEN_LOGINS_MAX, PendingLogin, PendingLogins};
use super::provider::{ProviderClient, ProviderIdToken, ProviderTokens, signing_algorithms, with_sources};
use super::session::SESSION_LIFETIME_H;
use super::{Auth, LANDING_PATH, LOGIN_PATH, LoginFailure, cookies, next};

/// Bytes of an ID token that is kept for the logout.
const ID_TOKEN_BYTES_MAX: usize = 16 * 1024;

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct StartParams {
    next: Option<String>,
    /// Set once the browser was sent to the external address, so that it isn't sent there twice.
    home: Option<u8>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct CallbackParams {
    code: Option<String>,
    state: Option<String>,
    error: Option<String>,
    error_description: Option<String>,
    iss: Option<String>,
}

/// `GET /auth/login?next=/path`.
pub(super) async fn start(
    State(auth): State<Auth>,
    headers: HeaderMap,
    query: Result<Query<StartParams>, QueryRejection>,
) -> Response {
    let params = query.map(|Query(params)| params).unwrap_or_default();
    let next = next::safe(params.next.as_deref(), &auth.0.external_url);
    if params.home.is_none()
        && let Some(home) = home(&auth.0.external_url, &headers, &next)
    {
        return redirect(&home, &[]);
    }
    let metadata = match auth.0.provider.metadata().await {
        Ok(metadata) => metadata,
        Err(_reason) => return failed(LoginFailure::ProviderUnavailable),
    };
    let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
    let client = auth.0.provider.client(&metadata);
    let flow = AuthenticationFlow::<CoreResponseType>::AuthorizationCode;
    let scopes = auth.0.provider.scopes().iter().cloned().map(Scope::new);
    let (address, state, nonce) = client
        .authorize_url(flow, CsrfToken::new_random, Nonce::new_random)
        .add_scopes(scopes)
        .set_pkce_challenge(challenge)
        .url();
    let login = PendingLogin {
        state: state.secret().clone(),
        nonce: nonce.secret().clone(),
        verifier: verifier.secret().clone(),
        next,
        until: auth.0.clock.now().timestamp() + LOGIN_LIFETIME_S,
    };
    let sealed = match auth.0.pending.seal(&login) {
        Ok(sealed) => sealed,
        Err(error) => {
            tracing::error!(%error, "a login can't be started");
            return failed(LoginFailure::State);
        }
    };
    let mut set = too_many_logins(&auth, &headers);
    set.push(auth.0.cookies.set(&auth.0.cookies.login(&PendingLogins::id(state.secret())), &sealed, LOGIN_LIFETIME_S));
    redirect(address.as_str(), &set)
}

/// A browser that came by another name of this server (localhost for 127.0.0.1) would not send the login's cookie to the
/// external address the provider returns to; so it begins there. Once only: behind a proxy the names may never agree.
fn home(external_url: &Url, headers: &HeaderMap, next: &str) -> Option<String> {
    let host = headers.get(HOST)?.to_str().ok()?;
    let own = match (external_url.host_str()?, external_url.port()) {
        (name, Some(port)) => format!("{name}:{port}"),
        (name, None) => name.to_owned(),
    };
    if host.eq_ignore_ascii_case(&own) {
        return None;
    }
    let mut address = external_url.join(LOGIN_PATH).ok()?;
    address.query_pairs_mut().append_pair("next", next).append_pair("home", "1");
    Some(address.into())
}

fn too_many_logins(auth: &Auth, headers: &HeaderMap) -> Vec<String> {
    let open = auth.0.cookies.open_logins(headers);
    if open.len() < OPEN_LOGINS_MAX {
        Vec::new()
    } else {
        open.into_iter().map(|name| auth.0.cookies.clear(name)).collect()
    }
}

/// `GET /auth/callback`.
pub(super) async fn callback(
    State(auth): State<Auth>,
    headers: HeaderMap,
    query: Result<Query<CallbackParams>, QueryRejection>,
) -> Response {
    let params = query.map(|Query(params)| params).unwrap_or_default();
    let state = params.state.as_deref().unwrap_or_default();
    let cookie_name = auth.0.cookies.login(&PendingLogins::id(state));
    let now = auth.0.clock.now();
    let login = cookies::find(&headers, &cookie_name).and_then(|sealed| auth.0.pending.open(sealed, state, now));
    let Some(login) = login else {
        return no_such_login(&auth, &headers).await;
    };
    let mut set = vec![auth.0.cookies.clear(&cookie_name)];
    match sign_in(&auth, &params, &login).await {
        Ok(token) => {
            if let Some(old) = cookies::find(&headers, auth.0.cookies.session())
                && let Err(error) = auth.0.sessions.end(old).await
            {
                tracing::warn!(%error, "the session before this login could not be ended");
            }
            set.push(auth.0.cookies.set(auth.0.cookies.session(), &token, SESSION_LIFETIME_H * 3_600));
            redirect(&login.next, &set)
        }
        Err(failure) => {
            let mut response = failed(failure);
            cookies::append(response.headers_mut(), &set);
            response
        }
    }
}

/// The browser began no such login, or its cookie lapsed. Somebody who is signed in already (back button, double click)
/// just goes on.
async fn no_such_login(auth: &Auth, headers: &HeaderMap) -> Response {
    if let Ok(Some(_)) = auth.session(headers).await {
        return redirect("/", &[]);
    }
    let has_others = !auth.0.cookies.open_logins(headers).is_empty();
    tracing::info!(has_others, "a login came back that this browser didn't begin or that lapsed");
    failed(if has_others { LoginFailure::State } else { LoginFailure::Expired })
}

/// The session's token.
async fn sign_in(auth: &Auth, params: &CallbackParams, login: &PendingLogin) -> Result<String, LoginFailure> {
    if params.iss.as_deref().is_some_and(|iss| iss != auth.0.provider.issuer().as_str()) {
        tracing::warn!(iss = params.iss.as_deref(), "the answer comes from another issuer");
        return Err(LoginFailure::State);
    }
    if let Some(error) = &params.error {
        let description = params.error_description.as_deref().unwrap_or_default();
        tracing::info!(%error, description, "the identity provider refused the login");
        return Err(if error == "access_denied" { LoginFailure::Denied } else { LoginFailure::ProviderUnavailable });
    }
    let code = params.code.clone().ok_or(LoginFailure::State)?;
    let metadata = auth.0.provider.metadata().await.map_err(|_reason| LoginFailure::ProviderUnavailable)?;
    let client = auth.0.provider.client(&metadata);
    let tokens = exchange(auth, &client, code, login).await?;
    let id_token = tokens.id_token().ok_or_else(|| {
        tracing::warn!("the identity provider sent no ID token");
        LoginFailure::Token
    })?;
    let claims = verified(auth, &metadata, id_token, &tokens, &login.nonce).await?;
    let userinfo = userinfo(auth, &client, &claims, &tokens).await?;
    let person = claims::person(&claims, userinfo.as_ref()).map_err(log_claims)?;
    let groups = claims::groups(&auth.0.groups_claim, &claims, userinfo.as_ref()).map_err(log_claims)?;
    if groups.is_none() {
        let claim = auth.0.groups_claim.as_str();
        tracing::warn!(claim, user = person.id.as_str(), "neither ID token nor userinfo has the groups claim");
    }
    let hint = id_token.to_string();
    let hint = (hint.len() <= ID_TOKEN_BYTES_MAX).then(|| Secret::new(hint));
    auth.0.sessions.create(person, groups.unwrap_or_default(), hint).await.map_err(|error| {
        tracing::error!(%error, "a login could not be kept");
        LoginFailure::Store
    })
}

async fn exchange(
    auth: &Auth,
    client: &ProviderClient,
    code: String,
    login: &PendingLogin,
) -> Result<ProviderTokens, LoginFailure> {
    let request = client.exchange_code(AuthorizationCode::new(code)).map_err(|error| {
        tracing::warn!(%error, "the identity provider names no token endpoint");
        LoginFailure::ProviderUnavailable
    })?;
    let verifier = PkceCodeVerifier::new(login.verifier.clone());
    request.set_pkce_verifier(verifier).request_async(auth.0.provider.http()).await.map_err(|error| {
        tracing::warn!(error = with_sources(&error), "the code could not be exchanged");
        match error {
            RequestTokenError::ServerResponse(_) => LoginFailure::Token,
            RequestTokenError::Request(_) | RequestTokenError::Parse(..) | RequestTokenError::Other(_) => {
                LoginFailure::ProviderUnavailable
            }
        }
    })
}

/// The token's claims; keys are fetched once more where the token names one that isn't known yet.
async fn verified(
    auth: &Auth,
    metadata: &ProviderMetadataWithLogout,
    id_token: &ProviderIdToken,
    tokens: &ProviderTokens,
    nonce: &str,
) -> Result<ProviderClaims, LoginFailure> {
    let nonce = Nonce::new(nonce.to_owned());
    let result = match verify(auth, metadata, id_token, tokens, &nonce) {
        Err(VerifyError::Token(ClaimsVerificationError::SignatureVerification(
            SignatureVerificationError::NoMatchingKey,
        ))) => {
            let metadata = auth.0.provider.rediscover().await.map_err(|reason| {
                tracing::warn!(%reason, "the identity provider's keys can't be fetched again");
                LoginFailure::ProviderUnavailable
            })?;
            verify(auth, &metadata, id_token, tokens, &nonce)
        }
        result => result,
    };
    result.map_err(|error| {
        tracing::warn!(error = with_sources(&error), "the ID token was refused");
        LoginFailure::Token
    })
}

#[derive(Debug, thiserror::Error)]
enum VerifyError {
    #[error(transparent)]
    Token(#[from] ClaimsVerificationError),
    #[error(transparent)]
    Claims(#[from] ClaimsError),
}

fn verify(
    auth: &Auth,
    metadata: &ProviderMetadataWithLogout,
    id_token: &ProviderIdToken,
    tokens: &ProviderTokens,
    nonce: &Nonce,
) -> Result<ProviderClaims, VerifyError> {
    let now = auth.0.clock.now();
    let client = auth.0.provider.client(metadata);
    let verifier = client
        .id_token_verifier()
        .set_allowed_algs(signing_algorithms(metadata))
        .set_issue_time_verifier_fn(move |issued| claims::check_issue_time(issued, now))
        .set_time_fn(move || now - chrono::Duration::seconds(CLOCK_LEEWAY_S));
    let claims = id_token.claims(&verifier, nonce)?;
    claims::check(id_token, claims, &verifier, tokens.access_token(), auth.0.provider.client_id(), now)?;
    Ok(claims.clone())
}

/// Userinfo, where the ID token lacks the groups and the provider has the endpoint.
async fn userinfo(
    auth: &Auth,
    client: &ProviderClient,
    claims: &ProviderClaims,
    tokens: &ProviderTokens,
) -> Result<Option<ProviderUserInfo>, LoginFailure> {
    if claims::groups(&auth.0.groups_claim, claims, None).is_ok_and(|groups| groups.is_some()) {
        return Ok(None);
    }
    let subject = claims.subject().clone();
    let Ok(request) = client.user_info(tokens.access_token().clone(), Some(subject)) else {
        return Ok(None);
    };
    request.request_async(auth.0.provider.http()).await.map(Some).map_err(|error| {
        tracing::warn!(error = with_sources(&error), "userinfo could not be read");
        LoginFailure::ProviderUnavailable
    })
}

#[expect(clippy::needless_pass_by_value, reason = "handed to map_err")]
fn log_claims(error: ClaimsError) -> LoginFailure {
    tracing::warn!(%error, "the identity provider's claims can't be used");
    if error == ClaimsError::GroupsTruncated { LoginFailure::GroupsTruncated } else { LoginFailure::Token }
}

/// To the page that explains the failure.
fn failed(failure: LoginFailure) -> Response {
    redirect(&format!("{LANDING_PATH}?fehler={}", failure.code()), &[])
}

/// 303, never kept by a cache.
pub(super) fn redirect(location: &str, set_cookies: &[String]) -> Response {
    let Ok(location) = HeaderValue::from_str(location) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let mut response = StatusCode::SEE_OTHER.into_response();
    response.headers_mut().insert(LOCATION, location);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    cookies::append(response.headers_mut(), set_cookies);
    response
}
