//! `POST /auth/logout`: ends the session here, then at the provider.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
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
        Some(session) => redirect(&provider_logout(&auth, &session).await, &clear),
        None => redirect(LANDING_PATH, &clear),
    }
}

/// The provider's end-session address; our own page where it has none or is down.
async fn provider_logout(auth: &Auth, session: &Session) -> String {
    let own = LANDING_PATH.to_owned();
    let Ok(metadata) = auth.0.provider.metadata().await else {
        return own;
    };
    let (Some(end_session), Ok(back)) =
        (metadata.additional_metadata().end_session_endpoint.clone(), auth.0.external_url.join(LANDING_PATH))
    else {
        return own;
    };
    let mut request = LogoutRequest::from(end_session)
        .set_client_id(auth.0.provider.client_id().clone())
        .set_post_logout_redirect_uri(PostLogoutRedirectUrl::from_url(back));
    let hint = session.id_token.as_ref().and_then(|token| token.expose().parse::<ProviderIdToken>().ok());
    if let Some(hint) = &hint {
        request = request.set_id_token_hint(hint);
    }
    request.http_get_url().into()
}
