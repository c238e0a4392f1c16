//! `POST /auth/logout`: ends the session here, then at the provider.
//!
//! Invariant: the way to the provider is a `Refresh`, not a redirect. Browsers hold the redirect after a form against the
//! page's `form-action 'self'` (tried in Chromium: the logout is blocked), and the provider's logout may live anywhere.

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, REFRESH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use openidconnect::url::Url;
use openidconnect::{LogoutRequest, PostLogoutRedirectUrl};

use super::login::redirect;
use super::provider::ProviderIdToken;
use super::{Auth, LANDING_PATH, LoginFailure, Session, cookies};

/// Only from our own pages; so that no foreign page signs somebody out.
pub(super) async fn logout(State(auth): State<Auth>, headers: HeaderMap) -> Response {
    if !auth.is_same_origin(&headers) {
        return (StatusCode::FORBIDDEN, "logout is possible from this application's own pages only\n").into_response();
    }
    let clear = [auth.0.cookies.clear(auth.0.cookies.session())];
    let Some(token) = cookies::find(&headers, auth.0.cookies.session()) else {
        return redirect(LANDING_PATH, &clear);
    };
    let session = auth.0.sessions.find(token).await.ok().flatten();
    if let Err(error) = auth.0.sessions.end(token).await {
        tracing::error!(%error, "a session could not be ended in the store");
        return redirect(&format!("{LANDING_PATH}?fehler={}", LoginFailure::Store.code()), &clear);
    }
    match session {
        Some(session) => match provider_logout(&auth, &session).await {
            Some(address) => go_on(&address, &clear),
            None => redirect(LANDING_PATH, &clear),
        },
        None => redirect(LANDING_PATH, &clear),
    }
}

/// An empty page that goes on to an address outside.
fn go_on(address: &Url, set_cookies: &[String]) -> Response {
    let Ok(refresh) = HeaderValue::from_str(&format!("0; url={address}")) else {
        return redirect(LANDING_PATH, set_cookies);
    };
    let mut response = StatusCode::OK.into_response();
    response.headers_mut().insert(REFRESH, refresh);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    cookies::append(response.headers_mut(), set_cookies);
    response
}

/// The provider's end-session address, where it has one and is up.
async fn provider_logout(auth: &Auth, session: &Session) -> Option<Url> {
    let metadata = auth.0.provider.metadata().await.ok()?;
    let end_session = metadata.additional_metadata().end_session_endpoint.clone()?;
    let back = auth.0.external_url.join(LANDING_PATH).ok()?;
    let mut request = LogoutRequest::from(end_session)
        .set_client_id(auth.0.provider.client_id().clone())
        .set_post_logout_redirect_uri(PostLogoutRedirectUrl::from_url(back));
    let hint = session.id_token.as_ref().and_then(|token| token.expose().parse::<ProviderIdToken>().ok());
    if let Some(hint) = &hint {
        request = request.set_id_token_hint(hint);
    }
    Some(request.http_get_url())
}
