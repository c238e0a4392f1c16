//! What the provider says about itself: metadata and public keys.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use openidconnect::core::{
    CoreAuthDisplay, CoreClaimName, CoreClaimType, CoreClientAuthMethod, CoreGrantType, CoreJsonWebKey,
    CoreJsonWebKeySet, CoreJweContentEncryptionAlgorithm, CoreJweKeyManagementAlgorithm, CoreJwsSigningAlgorithm,
    CoreResponseMode, CoreResponseType, CoreSubjectIdentifierType,
};
use openidconnect::{
    AdditionalProviderMetadata, AuthUrl, EndSessionUrl, JsonWebKeySetUrl, LogoutProviderMetadata, ProviderMetadata,
    ResponseTypes, Scope, TokenUrl, UserInfoUrl, url,
};
use serde::{Deserialize, Serialize};

use super::IdpSim;

/// Names RFC 8414 adds to the metadata.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PkceMetadata {
    code_challenge_methods_supported: Vec<String>,
}

impl AdditionalProviderMetadata for PkceMetadata {}

/// `CoreProviderMetadata` with the logout endpoint and the PKCE methods.
type Metadata = ProviderMetadata<
    LogoutProviderMetadata<PkceMetadata>,
    CoreAuthDisplay,
    CoreClientAuthMethod,
    CoreClaimName,
    CoreClaimType,
    CoreGrantType,
    CoreJweContentEncryptionAlgorithm,
    CoreJweKeyManagementAlgorithm,
    CoreJsonWebKey,
    CoreResponseMode,
    CoreResponseType,
    CoreSubjectIdentifierType,
>;

/// `GET /.well-known/openid-configuration`.
pub(super) async fn configuration(State(idp): State<IdpSim>) -> Response {
    match metadata(&idp) {
        Ok(metadata) => Json(metadata).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("bad issuer: {error}\n")).into_response(),
    }
}

/// `GET /jwks`.
pub(super) async fn jwks(State(idp): State<IdpSim>) -> Json<CoreJsonWebKeySet> {
    Json(CoreJsonWebKeySet::new(vec![idp.0.key.public()]))
}

fn metadata(idp: &IdpSim) -> Result<Metadata, url::ParseError> {
    let own = LogoutProviderMetadata {
        end_session_endpoint: Some(EndSessionUrl::from_url(idp.endpoint("logout")?)),
        additional_metadata: PkceMetadata { code_challenge_methods_supported: vec!["S256".to_owned()] },
    };
    let claims = ["sub", "name", "preferred_username", "email", "groups", "nonce"];
    let scopes = ["openid", "profile", "email", "groups"];
    let metadata = Metadata::new(
        idp.0.issuer.clone(),
        AuthUrl::from_url(idp.endpoint("authorize")?),
        JsonWebKeySetUrl::from_url(idp.endpoint("jwks")?),
        vec![ResponseTypes::new(vec![CoreResponseType::Code])],
        vec![CoreSubjectIdentifierType::Public],
        vec![CoreJwsSigningAlgorithm::EdDsa],
        own,
    )
    .set_token_endpoint(Some(TokenUrl::from_url(idp.endpoint("token")?)))
    .set_userinfo_endpoint(Some(UserInfoUrl::from_url(idp.endpoint("userinfo")?)))
    .set_grant_types_supported(Some(vec![CoreGrantType::AuthorizationCode]))
    .set_response_modes_supported(Some(vec![CoreResponseMode::Query]))
    .set_scopes_supported(Some(scopes.into_iter().map(|scope| Scope::new(scope.to_owned())).collect()))
    .set_claims_supported(Some(claims.into_iter().map(|claim| CoreClaimName::new(claim.to_owned())).collect()))
    .set_token_endpoint_auth_methods_supported(Some(vec![
        CoreClientAuthMethod::ClientSecretBasic,
        CoreClientAuthMethod::ClientSecretPost,
    ]));
    Ok(metadata)
}
