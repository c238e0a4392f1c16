//! Every way a trigger's token can be wrong, and the few it can be right.

#![expect(clippy::unwrap_used, reason = "a test that can't build its own data must fail loudly")]

use std::path::Path;

use axum::http::{HeaderValue, StatusCode};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};

use crate::config::Settings;

use super::*;

const NOW: i64 = 1_800_000_000;
const SECRET: &str = "0123456789abcdef0123456789abcdef";
const OTHER_SECRET: &str = "fedcba9876543210fedcba9876543210";

struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> DateTime<Utc> {
        DateTime::from_timestamp(NOW, 0).unwrap()
    }
}

/// m1 and m2 share an issuer and have their own secrets; nord/a takes no triggers.
fn settings(m1: &str) -> Settings {
    let text = format!(
        r#"
[oidc]
issuer = "https://idp.example"
client_id = "us"
[[tenant]]
customer = "muster"
tenant = "m1"
[tenant.trigger]
issuer = "erp-muster"
audience = "connectworkflow"
{m1}
[[tenant]]
customer = "muster"
tenant = "m2"
[tenant.trigger]
issuer = "erp-muster"
audience = "connectworkflow"
algorithm = "HS256"
secret = "{OTHER_SECRET}"
[[tenant]]
customer = "nord"
tenant = "a"
"#
    );
    Settings::from_toml(&text, Path::new(""), &[]).unwrap()
}

fn hs256(extra: &str) -> String {
    format!("algorithm = \"HS256\"\nsecret = \"{SECRET}\"\n{extra}")
}

#[expect(clippy::needless_pass_by_value, reason = "written as json!({…}) at every call")]
fn claims(changes: Value) -> Value {
    let mut claims = json!({
        "iss": "erp-muster", "aud": "connectworkflow", "exp": NOW + 300, "iat": NOW,
        "customerID": "muster", "tenantID": "m1",
    });
    for (name, value) in changes.as_object().unwrap() {
        if *value == json!("-remove-") {
            claims.as_object_mut().unwrap().remove(name);
        } else {
            claims[name] = value.clone();
        }
    }
    claims
}

fn sign(claims: &Value, secret: &str) -> String {
    encode(&Header::default(), claims, &EncodingKey::from_secret(secret.as_bytes()).unwrap()).unwrap()
}

/// A token with a header of our own making, signed as HS256 whatever it says.
fn sign_raw(header: &str, payload: &str, secret: &str) -> String {
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let message = format!("{}.{}", part(header), part(payload));
    let key = EncodingKey::from_secret(secret.as_bytes()).unwrap();
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key, Algorithm::HS256).unwrap();
    format!("{message}.{signature}")
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
}

async fn verify(config: &str, token: &str, customer: &str, tenant: &str) -> Result<TenantKey, TriggerAuthError> {
    let auth = TriggerAuth::new(&settings(config).tenant, Arc::new(Stopped)).unwrap();
    let bearer = format!("Bearer {token}");
    auth.verify(&headers(&[("authorization", &bearer)]), [10, 1, 2, 3].into(), customer, tenant).await
}

async fn with_claims(changes: Value) -> Result<TenantKey, TriggerAuthError> {
    verify(&hs256(""), &sign(&claims(changes), SECRET), "muster", "m1").await
}

fn problem(problem: TokenProblem) -> Result<TenantKey, TriggerAuthError> {
    Err(TriggerAuthError::Token(problem))
}

#[tokio::test]
async fn a_good_token_passes() {
    assert_eq!(with_claims(json!({})).await, Ok(TenantKey::new("muster", "m1")));
    assert!(with_claims(json!({"iat": "-remove-"})).await.is_ok(), "iat is optional");
    assert!(with_claims(json!({"aud": ["other", "connectworkflow"]})).await.is_ok());
    assert!(with_claims(json!({"nbf": NOW + 60, "iat": NOW + 60})).await.is_ok(), "clocks differ a little");
    assert!(with_claims(json!({"exp": NOW - 59})).await.is_ok());
    assert!(with_claims(json!({"exp": (NOW + 300) as f64 + 0.5})).await.is_ok(), "fractions are allowed");
}

#[tokio::test]
async fn issuer_and_audience_are_required_and_exact() {
    for bad in [json!("-remove-"), json!("erp-nord"), json!(["erp-muster"]), json!(null), json!("ERP-MUSTER"), json!(1)]
    {
        assert_eq!(with_claims(json!({ "iss": bad })).await, problem(TokenProblem::Issuer), "{bad}");
    }
    for bad in
        [json!("-remove-"), json!("other"), json!([]), json!(["other"]), json!(null), json!([1, "connectworkflow"])]
    {
        assert_eq!(with_claims(json!({ "aud": bad })).await, problem(TokenProblem::Audience), "{bad}");
    }
}

#[tokio::test]
async fn times_are_checked() {
    for bad in [json!("-remove-"), json!(null), json!("2030-01-01"), json!(-1), json!({}), json!(1e300)] {
        assert_eq!(with_claims(json!({ "exp": bad })).await, problem(TokenProblem::NoExpiry), "{bad}");
    }
    assert_eq!(with_claims(json!({"exp": NOW - 60})).await, problem(TokenProblem::Expired));
    assert_eq!(with_claims(json!({"nbf": NOW + 61})).await, problem(TokenProblem::NotYetValid));
    assert_eq!(with_claims(json!({"nbf": "soon"})).await, problem(TokenProblem::NotYetValid));
    assert_eq!(with_claims(json!({"iat": NOW + 61})).await, problem(TokenProblem::IssuedInFuture));
    assert_eq!(with_claims(json!({"iat": "now"})).await, problem(TokenProblem::IssuedInFuture));
    assert_eq!(with_claims(json!({"exp": 253_370_764_800_u64})).await, problem(TokenProblem::Lifetime), "year 9999");
    assert_eq!(with_claims(json!({"exp": u64::MAX})).await, problem(TokenProblem::Lifetime));
    let old = json!({"iat": NOW - 90_000, "exp": NOW + 60});
    assert_eq!(with_claims(old).await, problem(TokenProblem::Lifetime), "good for longer than a day");
    let no_iat = json!({"iat": "-remove-", "exp": NOW + 86_461});
    assert_eq!(with_claims(no_iat).await, problem(TokenProblem::Lifetime));
}

#[tokio::test]
async fn the_algorithm_is_ours_to_choose() {
    let payload = claims(json!({})).to_string();
    for header in [r#"{"alg":"none"}"#, r#"{"alg":"HS512"}"#, r#"{"alg":"RS256"}"#, r#"{"typ":"JWT"}"#, "{}", "[]", "x"]
    {
        let token = sign_raw(header, &payload, SECRET);
        assert_eq!(verify(&hs256(""), &token, "muster", "m1").await.unwrap_err().status(), 401, "{header}");
    }
    let unsigned = sign_raw(r#"{"alg":"HS256"}"#, &payload, SECRET);
    let unsigned = format!("{}.", unsigned.rsplit_once('.').unwrap().0);
    assert_eq!(verify(&hs256(""), &unsigned, "muster", "m1").await, problem(TokenProblem::Signature));
    for header in [
        r#"{"alg":"HS256","typ":"secevent+jwt"}"#,
        r#"{"alg":"HS256","crit":["exp"]}"#,
        r#"{"alg":"HS256","b64":false}"#,
        r#"{"alg":"HS256","cty":"JWT"}"#,
    ] {
        let token = sign_raw(header, &payload, SECRET);
        assert_eq!(verify(&hs256(""), &token, "muster", "m1").await.unwrap_err().status(), 401, "{header}");
    }
    for header in
        [r#"{"alg":"HS256"}"#, r#"{"alg":"HS256","typ":"at+JWT"}"#, r#"{"alg":"HS256","typ":"application/jwt"}"#]
    {
        let token = sign_raw(header, &payload, SECRET);
        assert!(verify(&hs256(""), &token, "muster", "m1").await.is_ok(), "{header}");
    }
}

#[tokio::test]
async fn a_public_key_is_no_shared_secret() {
    let public = include_str!("../../tests/support/keys/rs256.pub.pem");
    let config = format!("algorithm = \"RS256\"\npublic_key = '''{public}'''");
    let token = sign(&claims(json!({})), public);
    assert_eq!(verify(&config, &token, "muster", "m1").await, problem(TokenProblem::Algorithm));
}

#[tokio::test]
async fn every_algorithm_verifies_its_own_and_refuses_another_key() {
    let key = |pem: &[u8], algorithm| match algorithm {
        Algorithm::RS256 => EncodingKey::from_rsa_pem(pem).unwrap(),
        Algorithm::ES256 => EncodingKey::from_ec_pem(pem).unwrap(),
        _ => EncodingKey::from_ed_pem(pem).unwrap(),
    };
    let cases = [
        (
            "RS256",
            Algorithm::RS256,
            include_str!("../../tests/support/keys/rs256.pem"),
            include_str!("../../tests/support/keys/rs256.pub.pem"),
        ),
        (
            "ES256",
            Algorithm::ES256,
            include_str!("../../tests/support/keys/es256.pem"),
            include_str!("../../tests/support/keys/es256.pub.pem"),
        ),
        (
            "EdDSA",
            Algorithm::EdDSA,
            include_str!("../../tests/support/keys/eddsa.pem"),
            include_str!("../../tests/support/keys/eddsa.pub.pem"),
        ),
    ];
    for (name, algorithm, private, public) in cases {
        let config = format!("algorithm = \"{name}\"\npublic_key = '''{public}'''");
        let token = encode(&Header::new(algorithm), &claims(json!({})), &key(private.as_bytes(), algorithm)).unwrap();
        assert!(verify(&config, &token, "muster", "m1").await.is_ok(), "{name}");
        let mut forged = token.clone();
        let last = if forged.pop() == Some('A') { 'B' } else { 'A' };
        // The last character may carry unused bits only, so one in the middle is changed as well.
        forged.push(last);
        let middle = token.rfind('.').unwrap() + 5;
        let swapped = if &forged[middle..=middle] == "A" { "B" } else { "A" };
        forged.replace_range(middle..=middle, swapped);
        assert_eq!(verify(&config, &forged, "muster", "m1").await, problem(TokenProblem::Signature), "{name}");
        assert!(verify(&hs256(""), &token, "muster", "m1").await.is_err(), "{name}");
        let foreign = settings(&format!("algorithm = \"{name}\"\npublic_key = 'nonsense'"));
        let error = TriggerAuth::new(&foreign.tenant, Arc::new(Stopped)).err().unwrap().to_string();
        assert!(error.contains("muster / m1") && error.contains(name), "{error}");
    }
}

#[tokio::test]
async fn claims_and_payload_must_agree() {
    let status = |result: Result<TenantKey, TriggerAuthError>| result.unwrap_err().status();
    for change in [
        json!({"customerID": "-remove-"}),
        json!({"tenantID": "-remove-"}),
        json!({"customerID": 1}),
        json!({"tenantID": ["m1"]}),
        json!({"customerID": null}),
        json!({"customerID": "Muster"}),
        json!({"tenantID": "m1 "}),
    ] {
        assert_eq!(status(with_claims(change.clone()).await), StatusCode::FORBIDDEN, "{change}");
    }
    let token = sign(&claims(json!({})), SECRET);
    for (customer, tenant) in [("muster", "m2"), ("muster", "m9"), ("nord", "a"), ("", "")] {
        let answer = status(verify(&hs256(""), &token, customer, tenant).await);
        assert_eq!(answer, StatusCode::FORBIDDEN, "{customer}/{tenant}: the same whether it exists or not");
    }
    let other = sign(&claims(json!({"tenantID": "m2"})), SECRET);
    let answer = status(verify(&hs256(""), &other, "muster", "m2").await);
    assert_eq!(answer, StatusCode::UNAUTHORIZED, "m1's key says nothing for m2");
}

#[tokio::test]
async fn an_unknown_tenant_is_told_to_holders_of_a_key_only() {
    let unknown = claims(json!({"customerID": "süd", "tenantID": "x"}));
    for secret in [SECRET, OTHER_SECRET] {
        let answer = verify(&hs256(""), &sign(&unknown, secret), "süd", "x").await;
        assert!(matches!(answer, Err(TriggerAuthError::UnknownTenant { .. })), "{answer:?}");
    }
    assert_eq!(verify(&hs256(""), &sign(&unknown, "x"), "süd", "x").await, problem(TokenProblem::Signature));
    let no_triggers = claims(json!({"customerID": "nord", "tenantID": "a"}));
    let answer = verify(&hs256(""), &sign(&no_triggers, SECRET), "nord", "a").await;
    assert_eq!(answer.unwrap_err().status(), StatusCode::NOT_FOUND);
    let lapsed = claims(json!({"customerID": "süd", "tenantID": "x", "exp": NOW - 100}));
    assert_eq!(verify(&hs256(""), &sign(&lapsed, SECRET), "süd", "x").await, problem(TokenProblem::Signature));
}

#[tokio::test]
async fn what_is_no_token_is_refused() {
    let auth = TriggerAuth::new(&settings(&hs256("")).tenant, Arc::new(Stopped)).unwrap();
    let ask = |headers: HeaderMap| {
        let auth = &auth;
        async move { auth.verify(&headers, [10, 1, 2, 3].into(), "muster", "m1").await }
    };
    let good = format!("Bearer {}", sign(&claims(json!({})), SECRET));
    assert!(ask(headers(&[("authorization", &good.replace("Bearer", "bearer"))])).await.is_ok());
    assert_eq!(ask(HeaderMap::new()).await, Err(TriggerAuthError::MissingToken));
    assert_eq!(ask(headers(&[("authorization", "Basic eDp5")])).await, Err(TriggerAuthError::MissingToken));
    for bad in ["Bearer ", "Bearer x", "Bearer a.b", "Bearer a.b.c", "Bearer a.b.c.d", "Bearer ..", "Bearer ä.ö.ü"] {
        let mut map = HeaderMap::new();
        map.insert(AUTHORIZATION, HeaderValue::from_bytes(bad.as_bytes()).unwrap());
        assert_eq!(ask(map).await, problem(TokenProblem::Malformed), "{bad}");
    }
    let mut twice = headers(&[("authorization", &good)]);
    twice.append(AUTHORIZATION, good.parse().unwrap());
    assert_eq!(ask(twice).await, problem(TokenProblem::Malformed));
    let long = format!("Bearer {}", sign(&claims(json!({"fill": "x".repeat(TOKEN_BYTES_MAX)})), SECRET));
    assert_eq!(ask(headers(&[("authorization", &long)])).await, problem(TokenProblem::TooLong));
    let payload = claims(json!({})).to_string().replacen('{', r#"{"tenantID":"m2","#, 1);
    let doubled = format!("Bearer {}", sign_raw(r#"{"alg":"HS256"}"#, &payload, SECRET));
    assert_eq!(ask(headers(&[("authorization", &doubled)])).await, problem(TokenProblem::Malformed), "a claim twice");
}

#[tokio::test]
async fn the_second_proof_and_the_address_count_too() {
    let hash: String = Sha256::digest("schlüssel").iter().map(|byte| format!("{byte:02X}")).collect();
    let config =
        hs256(&format!("api_key_hashes = [\"{}\", \"{hash}\"]\nallowed_ips = [\"10.0.0.0/8\"]", "0".repeat(64)));
    let auth = TriggerAuth::new(&settings(&config).tenant, Arc::new(Stopped)).unwrap();
    let bearer = format!("Bearer {}", sign(&claims(json!({})), SECRET));
    let ask = |key: Option<&str>, peer: IpAddr| {
        let mut map = headers(&[("authorization", &bearer)]);
        if let Some(key) = key {
            map.insert(API_KEY_HEADER, HeaderValue::from_bytes(key.as_bytes()).unwrap());
        }
        let auth = &auth;
        async move { auth.verify(&map, peer, "muster", "m1").await }
    };
    let inside: IpAddr = [10, 9, 9, 9].into();
    assert!(ask(Some("schlüssel"), inside).await.is_ok());
    assert!(ask(Some("schlüssel"), "::ffff:10.9.9.9".parse().unwrap()).await.is_ok());
    assert_eq!(ask(None, inside).await, Err(TriggerAuthError::ApiKey));
    assert_eq!(ask(Some("falsch"), inside).await, Err(TriggerAuthError::ApiKey));
    let outside: IpAddr = [192, 0, 2, 1].into();
    assert_eq!(ask(Some("schlüssel"), outside).await, Err(TriggerAuthError::Address { peer: outside }));
}

#[tokio::test]
async fn published_keys_are_fetched_when_needed_and_survive_an_outage() {
    use openidconnect::core::{CoreEdDsaPrivateSigningKey, CoreJsonWebKeySet};
    use openidconnect::{JsonWebKeyId, PrivateSigningKey};
    use std::sync::atomic::{AtomicUsize, Ordering};

    let pem = include_str!("../../tests/support/keys/eddsa.pem");
    let signing = CoreEdDsaPrivateSigningKey::from_ed25519_pem(pem, Some(JsonWebKeyId::new("k1".to_owned()))).unwrap();
    let set = serde_json::to_string(&CoreJsonWebKeySet::new(vec![signing.as_verification_key()])).unwrap();
    let fetches = Arc::new(AtomicUsize::new(0));
    let counted = fetches.clone();
    let router = axum::Router::new().route(
        "/jwks",
        axum::routing::get(move || {
            let first = counted.fetch_add(1, Ordering::SeqCst) == 0;
            let set = set.clone();
            async move { if first { Ok(set) } else { Err(StatusCode::BAD_GATEWAY) } }
        }),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });

    let token = |kid: Option<&str>| {
        let header = Header { kid: kid.map(str::to_owned), ..Header::new(Algorithm::EdDSA) };
        encode(&header, &claims(json!({})), &EncodingKey::from_ed_pem(pem.as_bytes()).unwrap()).unwrap()
    };
    let config = settings(&format!("algorithm = \"EdDSA\"\njwks_url = \"http://{address}/jwks\""));
    let auth = TriggerAuth::new(&config.tenant, Arc::new(Stopped)).unwrap();
    let ask = |kid| {
        let map = headers(&[("authorization", &format!("Bearer {}", token(kid)))]);
        let auth = &auth;
        async move { auth.verify(&map, [10, 1, 2, 3].into(), "muster", "m1").await }
    };
    assert!(ask(Some("k1")).await.is_ok());
    assert!(ask(None).await.is_ok(), "the only key needs no id");
    assert_eq!(ask(Some("k2")).await, problem(TokenProblem::Signature), "an unknown id");
    assert_eq!(fetches.load(Ordering::SeqCst), 1, "and no storm of fetches");

    let gone = settings("algorithm = \"EdDSA\"\njwks_url = \"http://127.0.0.1:9/jwks\"");
    let auth = TriggerAuth::new(&gone.tenant, Arc::new(Stopped)).unwrap();
    let map = headers(&[("authorization", &format!("Bearer {}", token(Some("k1"))))]);
    let answer = auth.verify(&map, [10, 1, 2, 3].into(), "muster", "m1").await;
    assert_eq!(answer, Err(TriggerAuthError::KeysUnavailable));
}
