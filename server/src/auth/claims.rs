//! Who the provider says it is.
//!
//! Invariant: what `openidconnect` leaves unchecked is checked here: `azp`, `nbf`, `iat`, `at_hash`; a claim of groups is
//! read as text or list of texts and nothing else; both have limits.

use std::collections::BTreeMap;

use chrono::{DateTime, Duration, Utc};
use openidconnect::core::{CoreGenderClaim, CoreJsonWebKey};
use openidconnect::{
    AccessToken, AccessTokenHash, AdditionalClaims, ClientId, IdTokenClaims, IdTokenVerifier, UserInfoClaims,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use vocab::{Person, UserId};

use super::provider::ProviderIdToken;

/// Seconds two clocks may differ.
pub(super) const CLOCK_LEEWAY_S: i64 = 60;
/// Seconds an ID token may be old when it reaches us; it comes straight from the token endpoint.
const ID_TOKEN_AGE_S_MAX: i64 = 600;
/// Groups one person may have.
const GROUPS_MAX: usize = 2_000;
/// Characters a group, id or name may have.
const TEXT_CHARS_MAX: usize = 255;

/// Every claim that is not a standard one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ExtraClaims {
    #[serde(flatten)]
    claims: BTreeMap<String, Value>,
}

impl AdditionalClaims for ExtraClaims {}

/// The claims of a verified ID token.
pub(super) type ProviderClaims = IdTokenClaims<ExtraClaims, CoreGenderClaim>;
/// The claims of userinfo.
pub(super) type ProviderUserInfo = UserInfoClaims<ExtraClaims, CoreGenderClaim>;

/// What a token may lack.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ClaimsError {
    #[error("azp is `{azp}`, the token was made for another client")]
    AuthorizedParty { azp: String },
    #[error("nbf {nbf} lies in the future")]
    NotYetValid { nbf: String },
    #[error("at_hash does not fit the access token")]
    AccessTokenHash,
    #[error("sub is empty or longer than {TEXT_CHARS_MAX} characters")]
    Subject,
    #[error("claim `{claim}` is neither a text nor a list of texts")]
    GroupsForm { claim: String },
    #[error("claim `{claim}` has {count} groups, at most {GROUPS_MAX} are read")]
    TooManyGroups { claim: String, count: usize },
    #[error("the provider left the groups out because there are too many")]
    GroupsTruncated,
}

/// `iat`, as the verifier wants it told: not in the future, not old.
pub(super) fn check_issue_time(issued: DateTime<Utc>, now: DateTime<Utc>) -> Result<(), String> {
    if issued > now + Duration::seconds(CLOCK_LEEWAY_S) {
        return Err(format!("iat {issued} lies in the future (now {now})"));
    }
    if issued < now - Duration::seconds(ID_TOKEN_AGE_S_MAX) {
        return Err(format!("iat {issued} is more than {ID_TOKEN_AGE_S_MAX} s ago (now {now})"));
    }
    Ok(())
}

/// The checks `openidconnect` leaves out.
pub(super) fn check(
    token: &ProviderIdToken,
    claims: &ProviderClaims,
    verifier: &IdTokenVerifier<'_, CoreJsonWebKey>,
    access_token: &AccessToken,
    client_id: &ClientId,
    now: DateTime<Utc>,
) -> Result<(), ClaimsError> {
    if let Some(azp) = claims.authorized_party()
        && azp != client_id
    {
        return Err(ClaimsError::AuthorizedParty { azp: azp.as_str().to_owned() });
    }
    if let Some(nbf) = claims.additional_claims().claims.get("nbf") {
        let latest = now.timestamp() + CLOCK_LEEWAY_S;
        #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are exact in a double for ages")]
        let begun = nbf.as_f64().is_some_and(|nbf| nbf <= latest as f64);
        if !begun {
            return Err(ClaimsError::NotYetValid { nbf: nbf.to_string() });
        }
    }
    if let Some(expected) = claims.access_token_hash() {
        let algorithm = token.signing_alg().map_err(|_error| ClaimsError::AccessTokenHash)?;
        let key = token.signing_key(verifier).map_err(|_error| ClaimsError::AccessTokenHash)?;
        let actual = AccessTokenHash::from_token(access_token, algorithm, key);
        if actual.is_err() || actual.is_ok_and(|actual| actual != *expected) {
            return Err(ClaimsError::AccessTokenHash);
        }
    }
    Ok(())
}

/// The person: `sub`, and the best name there is.
pub(super) fn person(claims: &ProviderClaims, userinfo: Option<&ProviderUserInfo>) -> Result<Person, ClaimsError> {
    let sub = claims.subject().as_str();
    if sub.is_empty() || sub.chars().count() > TEXT_CHARS_MAX {
        return Err(ClaimsError::Subject);
    }
    let names = [
        claims.name().and_then(|name| name.get(None)).map(|name| name.as_str()),
        userinfo.and_then(|info| info.name()).and_then(|name| name.get(None)).map(|name| name.as_str()),
        claims.preferred_username().map(|name| name.as_str()),
        userinfo.and_then(|info| info.preferred_username()).map(|name| name.as_str()),
        claims.email().map(|mail| mail.as_str()),
        Some(sub),
    ];
    let name = names.into_iter().flatten().map(str::trim).find(|name| !name.is_empty()).unwrap_or(sub);
    Ok(Person { id: UserId::new(sub), name: name.chars().take(TEXT_CHARS_MAX).collect() })
}

/// The groups of the ID token, else of userinfo; `None` where neither has the claim.
pub(super) fn groups(
    claim: &str,
    claims: &ProviderClaims,
    userinfo: Option<&ProviderUserInfo>,
) -> Result<Option<Vec<String>>, ClaimsError> {
    let sources = [Some(claims.additional_claims()), userinfo.map(ProviderUserInfo::additional_claims)];
    for source in sources.into_iter().flatten() {
        if let Some(value) = find(&source.claims, claim) {
            return read(claim, value).map(Some);
        }
    }
    // Entra's way of saying that there are more than fit: the claim's name without its value.
    let left_out = claims.additional_claims().claims.get("_claim_names").and_then(|names| names.get(claim));
    if left_out.is_some() { Err(ClaimsError::GroupsTruncated) } else { Ok(None) }
}

/// The claim of exactly this name, else the path its dots describe.
fn find<'c>(claims: &'c BTreeMap<String, Value>, claim: &str) -> Option<&'c Value> {
    if let Some(value) = claims.get(claim) {
        return Some(value);
    }
    let mut parts = claim.split('.');
    let first = claims.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.get(part))
}

fn read(claim: &str, value: &Value) -> Result<Vec<String>, ClaimsError> {
    let bad_form = || ClaimsError::GroupsForm { claim: claim.to_owned() };
    let groups = match value {
        Value::Null => Vec::new(),
        Value::String(one) => vec![one.clone()],
        Value::Array(items) => items
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect::<Option<Vec<_>>>()
            .ok_or_else(bad_form)?,
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => return Err(bad_form()),
    };
    if groups.len() > GROUPS_MAX {
        return Err(ClaimsError::TooManyGroups { claim: claim.to_owned(), count: groups.len() });
    }
    if groups.iter().any(|group| group.chars().count() > TEXT_CHARS_MAX) {
        return Err(bad_form());
    }
    Ok(groups)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that can't build its own data must fail loudly")]
mod tests {
    use openidconnect::core::{CoreEdDsaPrivateSigningKey, CoreJsonWebKeySet, CoreJwsSigningAlgorithm};
    use openidconnect::{IssuerUrl, Nonce, PrivateSigningKey};
    use serde_json::json;

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "written as json!({…}) at every call")]
    fn claims(extra: Value) -> ProviderClaims {
        let mut all = json!({"iss": "https://idp.example", "aud": "us", "exp": 2, "iat": 1, "sub": "u-1"});
        all.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        serde_json::from_value(all).unwrap()
    }

    fn groups_of(claim: &str, extra: Value) -> Result<Option<Vec<String>>, ClaimsError> {
        groups(claim, &claims(extra), None)
    }

    #[test]
    fn groups_come_as_text_or_list_and_from_inside_objects() {
        assert_eq!(groups_of("groups", json!({"groups": ["/a", "/b"]})).unwrap().unwrap(), ["/a", "/b"]);
        assert_eq!(groups_of("groups", json!({"groups": "/a"})).unwrap().unwrap(), ["/a"]);
        assert_eq!(groups_of("realm_access.roles", json!({"realm_access": {"roles": ["r"]}})).unwrap().unwrap(), ["r"]);
        assert_eq!(groups_of("https://a.example/g", json!({"https://a.example/g": ["g"]})).unwrap().unwrap(), ["g"]);
        assert_eq!(groups_of("groups", json!({})).unwrap(), None);
    }

    #[test]
    fn groups_of_another_form_are_no_groups() {
        for bad in
            [json!({"groups": 1}), json!({"groups": [1]}), json!({"groups": {"a": 1}}), json!({"groups": [["a"]]})]
        {
            assert!(matches!(groups_of("groups", bad), Err(ClaimsError::GroupsForm { .. })));
        }
        let many = json!({"groups": vec!["g"; GROUPS_MAX + 1]});
        assert!(matches!(groups_of("groups", many), Err(ClaimsError::TooManyGroups { .. })));
        let left_out = json!({"_claim_names": {"groups": "src1"}});
        assert_eq!(groups_of("groups", left_out), Err(ClaimsError::GroupsTruncated));
    }

    #[test]
    fn the_best_name_wins() {
        let name = |extra| person(&claims(extra), None).unwrap().name;
        assert_eq!(name(json!({"name": "Erika Einkauf", "preferred_username": "einkauf"})), "Erika Einkauf");
        assert_eq!(name(json!({"name": " ", "preferred_username": "einkauf"})), "einkauf");
        assert_eq!(name(json!({"email": "e@x.example"})), "e@x.example");
        assert_eq!(name(json!({})), "u-1");
        let long = claims(json!({"sub": "x".repeat(TEXT_CHARS_MAX + 1)}));
        assert_eq!(person(&long, None), Err(ClaimsError::Subject));
    }

    /// A token signed as a provider signs it, with one access token in mind, checked with perhaps another.
    fn checked(extra: &[(&str, Value)], azp: Option<&str>, access_token: &str) -> Result<(), ClaimsError> {
        let pem = include_str!("../../tests/support/keys/eddsa.pem");
        let key = CoreEdDsaPrivateSigningKey::from_ed25519_pem(pem, None).unwrap();
        let mut claims = claims(json!({})).set_authorized_party(azp.map(|azp| ClientId::new(azp.to_owned())));
        for (name, value) in extra {
            claims.additional_claims_mut().claims.insert((*name).to_owned(), value.clone());
        }
        let meant = AccessToken::new("access".to_owned());
        let token = ProviderIdToken::new(claims, &key, CoreJwsSigningAlgorithm::EdDsa, Some(&meant), None).unwrap();
        let us = ClientId::new("us".to_owned());
        let issuer = IssuerUrl::new("https://idp.example".to_owned()).unwrap();
        let keys = CoreJsonWebKeySet::new(vec![key.as_verification_key()]);
        let now = DateTime::from_timestamp(1, 0).unwrap();
        let verifier = IdTokenVerifier::new_public_client(us.clone(), issuer, keys)
            .set_allowed_algs([CoreJwsSigningAlgorithm::EdDsa])
            .set_time_fn(move || now);
        let claims = token.claims(&verifier, |_: Option<&Nonce>| Ok(())).unwrap();
        check(&token, claims, &verifier, &AccessToken::new(access_token.to_owned()), &us, now)
    }

    #[test]
    fn what_the_library_leaves_unchecked_is_checked() {
        assert_eq!(checked(&[], None, "access"), Ok(()));
        assert_eq!(checked(&[("nbf", json!(61))], Some("us"), "access"), Ok(()));
        let foreign = ClaimsError::AuthorizedParty { azp: "them".to_owned() };
        assert_eq!(checked(&[], Some("them"), "access"), Err(foreign));
        for bad in [json!(62), json!("soon"), json!(null)] {
            let refused = checked(&[("nbf", bad.clone())], None, "access");
            assert!(matches!(refused, Err(ClaimsError::NotYetValid { .. })), "{bad}");
        }
        assert_eq!(checked(&[], None, "another"), Err(ClaimsError::AccessTokenHash));
    }

    #[test]
    fn tokens_from_the_future_or_the_past_are_refused() {
        let now = DateTime::from_timestamp(10_000, 0).unwrap();
        let issued = |seconds| check_issue_time(DateTime::from_timestamp(seconds, 0).unwrap(), now);
        assert!(issued(10_000).is_ok() && issued(10_060).is_ok() && issued(9_400).is_ok());
        assert!(issued(10_061).is_err() && issued(9_399).is_err());
    }
}
