//! Who somebody is, as ID token and as userinfo.

use std::sync::atomic::Ordering;

use axum::Json;
use axum::extract::State;
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Duration, Utc};
use openidconnect::core::{CoreGenderClaim, CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm};
use openidconnect::{
    AccessToken, AdditionalClaims, Audience, EndUserEmail, EndUserName, EndUserUsername, IdToken, IdTokenClaims,
    JsonWebTokenError, LocalizedClaim, Nonce, StandardClaims, SubjectIdentifier, UserInfoClaims,
};
use serde::{Deserialize, Serialize};

use super::{DemoUser, ID_TOKEN_LIFETIME_S, IdpSim};

/// The one claim that is not a standard one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct GroupClaims {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    groups: Option<Vec<String>>,
}

impl AdditionalClaims for GroupClaims {}

/// The provider's ID token: `CoreIdToken` with groups.
pub(super) type DemoIdToken =
    IdToken<GroupClaims, CoreGenderClaim, CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm>;

/// A signed ID token for the one client.
pub(super) fn id_token(
    idp: &IdpSim,
    user: &DemoUser,
    nonce: Option<String>,
    access_token: &AccessToken,
    now: DateTime<Utc>,
) -> Result<DemoIdToken, JsonWebTokenError> {
    let claims = IdTokenClaims::new(
        idp.0.issuer.clone(),
        vec![Audience::new(idp.0.settings.client_id.clone())],
        now + Duration::seconds(ID_TOKEN_LIFETIME_S),
        now,
        standard(user),
        groups(user, idp.0.groups_in_id_token.load(Ordering::Relaxed)),
    )
    .set_auth_time(Some(now))
    .set_nonce(nonce.map(Nonce::new));
    DemoIdToken::new(claims, idp.0.key.private(), CoreJwsSigningAlgorithm::EdDsa, Some(access_token), None)
}

/// `GET|POST /userinfo`.
pub(super) async fn userinfo(State(idp): State<IdpSim>, headers: HeaderMap) -> Response {
    let token = headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim());
    let Some(token) = token else {
        return (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")]).into_response();
    };
    let name = idp.grants().access(token, idp.now()).map(|grant| grant.user.clone());
    match name.as_deref().and_then(|name| idp.user(name)) {
        Some(user) => {
            let claims: UserInfoClaims<GroupClaims, CoreGenderClaim> =
                UserInfoClaims::new(standard(user), groups(user, true));
            ([(CACHE_CONTROL, "no-store")], Json(claims)).into_response()
        }
        None => (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer error=\"invalid_token\"")]).into_response(),
    }
}

fn standard(user: &DemoUser) -> StandardClaims<CoreGenderClaim> {
    let mut name = LocalizedClaim::new();
    name.insert(None, EndUserName::new(user.full_name.clone()));
    StandardClaims::new(SubjectIdentifier::new(user.sub.clone()))
        .set_name(Some(name))
        .set_preferred_username(Some(EndUserUsername::new(user.name.clone())))
        .set_email(Some(EndUserEmail::new(user.email.clone())))
        .set_email_verified(Some(true))
}

fn groups(user: &DemoUser, included: bool) -> GroupClaims {
    GroupClaims { groups: included.then(|| user.groups.clone()) }
}
