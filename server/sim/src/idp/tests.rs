//! The provider over real HTTP on a loopback port.

#![expect(clippy::unwrap_used, reason = "a test that can't set up must fail loudly")]

use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::header::{CONTENT_SECURITY_POLICY, HOST, LOCATION, ORIGIN};
use reqwest::{Client, Response, StatusCode, redirect};
use sha2::{Digest, Sha256};

use super::*;

const VERIFIER: &str = "verifier-verifier-verifier-verifier-verifier";
const BACK: &str = "http://127.0.0.1:9/auth/callback";

struct Shifted(AtomicI64);

impl Clock for Shifted {
    fn now(&self) -> DateTime<Utc> {
        Utc::now() + chrono::Duration::seconds(self.0.load(Ordering::SeqCst))
    }
}

struct Running {
    base: String,
    clock: Arc<Shifted>,
    client: Client,
}

fn folder() -> PathBuf {
    std::env::temp_dir().join(format!("idp-test-{}", uuid::Uuid::new_v4()))
}

fn settings(issuer: &str, data_dir: PathBuf) -> IdpSettings {
    IdpSettings {
        issuer: issuer.to_owned(),
        client_id: "connectworkflow".to_owned(),
        client_secret: "geheim & süß=1".to_owned(),
        redirect_uris: vec![BACK.to_owned()],
        post_logout_uris: vec!["http://127.0.0.1:9/anmeldung".to_owned()],
        data_dir,
    }
}

async fn run() -> Running {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let clock = Arc::new(Shifted(AtomicI64::new(0)));
    let idp = IdpSim::with_clock(settings(&base, folder()), demo_users(), clock.clone()).unwrap();
    tokio::spawn(async move { axum::serve(listener, idp.router()).await });
    Running { base, clock, client: Client::builder().redirect(redirect::Policy::none()).build().unwrap() }
}

fn request(changes: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER));
    let mut params = vec![
        ("response_type", "code".to_owned()),
        ("client_id", "connectworkflow".to_owned()),
        ("redirect_uri", BACK.to_owned()),
        ("scope", "openid profile".to_owned()),
        ("state", "zustand".to_owned()),
        ("nonce", "einmal".to_owned()),
        ("code_challenge", challenge),
        ("code_challenge_method", "S256".to_owned()),
    ];
    for (name, value) in changes {
        params.retain(|(known, _)| known != name);
        params.push((name, (*value).to_owned()));
    }
    params
}

impl Running {
    async fn ask(&self, changes: &[(&'static str, &str)]) -> Response {
        self.client.get(format!("{}/authorize", self.base)).query(&request(changes)).send().await.unwrap()
    }

    async fn choose(&self, changes: &[(&'static str, &str)]) -> Response {
        self.client.post(format!("{}/authorize", self.base)).form(&request(changes)).send().await.unwrap()
    }

    async fn code(&self) -> String {
        let response = self.choose(&[("user", "einkauf")]).await;
        assert_eq!(response.status(), StatusCode::SEE_OTHER);
        let target = Url::parse(response.headers()[LOCATION].to_str().unwrap()).unwrap();
        assert!(target.query_pairs().any(|(name, value)| name == "state" && value == "zustand"));
        target.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned()
    }

    async fn exchange(&self, code: &str, changes: &[(&'static str, &str)]) -> (StatusCode, serde_json::Value) {
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", BACK),
            ("code_verifier", VERIFIER),
            ("client_id", "connectworkflow"),
            ("client_secret", "geheim & süß=1"),
        ];
        for (name, value) in changes {
            form.retain(|(known, _)| known != name);
            form.push((name, value));
        }
        let response = self.client.post(format!("{}/token", self.base)).form(&form).send().await.unwrap();
        (response.status(), response.json().await.unwrap())
    }

    async fn userinfo(&self, token: &str) -> StatusCode {
        let request = self.client.get(format!("{}/userinfo", self.base)).bearer_auth(token);
        request.send().await.unwrap().status()
    }
}

#[tokio::test]
async fn the_page_offers_every_user_by_name() {
    let idp = run().await;
    let response = idp.ask(&[("state", "<script>")]).await;
    assert_eq!(response.status(), StatusCode::OK);
    let policy = response.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap().to_owned();
    assert!(policy.contains("form-action 'self' http://127.0.0.1:9"), "{policy}");
    let page = response.text().await.unwrap();
    for user in demo_users() {
        assert!(page.contains(&format!(">{}</button>", user.name)), "{}", user.name);
        assert!(page.contains(&user.full_name), "{}", user.full_name);
    }
    assert!(!page.contains("<script>"));
}

#[tokio::test]
async fn a_browser_is_only_sent_to_a_known_address() {
    let idp = run().await;
    for bad in ["https://evil.example/", "http://127.0.0.1:9/auth/callback/", ""] {
        let response = idp.choose(&[("redirect_uri", bad), ("user", "einkauf")]).await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{bad}");
        assert!(response.headers().get(LOCATION).is_none());
    }
    let logout = format!("{}/logout?post_logout_redirect_uri=https://evil.example/", idp.base);
    assert_eq!(idp.client.get(logout).send().await.unwrap().status(), StatusCode::BAD_REQUEST);
    let logout = format!("{}/logout?post_logout_redirect_uri=http://127.0.0.1:9/anmeldung&state=s", idp.base);
    let response = idp.client.get(logout).send().await.unwrap();
    assert_eq!(response.headers()[LOCATION], "http://127.0.0.1:9/anmeldung?state=s");
}

#[tokio::test]
async fn bad_requests_go_back_as_errors_of_the_protocol() {
    let idp = run().await;
    for (changes, error) in [
        (("code_challenge_method", "plain"), "invalid_request"),
        (("code_challenge", "short"), "invalid_request"),
        (("response_type", "token"), "unsupported_response_type"),
        (("scope", "profile"), "invalid_scope"),
        (("prompt", "none"), "login_required"),
    ] {
        let response = idp.ask(&[changes]).await;
        let target = response.headers()[LOCATION].to_str().unwrap().to_owned();
        assert!(target.starts_with(BACK) && target.contains(&format!("error={error}")), "{changes:?} {target}");
        assert!(target.contains("state=zustand"));
    }
}

#[tokio::test]
async fn a_code_is_good_once_and_a_second_use_ends_the_first_ones_token() {
    let idp = run().await;
    let code = idp.code().await;
    let (status, body) = idp.exchange(&code, &[]).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    let token = body["access_token"].as_str().unwrap().to_owned();
    assert_eq!(idp.userinfo(&token).await, StatusCode::OK);
    let (status, body) = idp.exchange(&code, &[]).await;
    assert_eq!((status, body["error"].as_str().unwrap()), (StatusCode::BAD_REQUEST, "invalid_grant"));
    assert_eq!(idp.userinfo(&token).await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_wrong_exchange_uses_the_code_up() {
    let idp = run().await;
    for wrong in [("code_verifier", "another-verifier-another-verifier-another-ver"), ("redirect_uri", "http://x/")] {
        let code = idp.code().await;
        assert_eq!(idp.exchange(&code, &[wrong]).await.1["error"], "invalid_grant", "{wrong:?}");
        assert_eq!(idp.exchange(&code, &[]).await.1["error"], "invalid_grant", "{wrong:?}");
    }
    let code = idp.code().await;
    assert_eq!(idp.exchange(&code, &[("client_secret", "falsch")]).await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(idp.exchange(&code, &[]).await.0, StatusCode::OK, "who isn't the client can't use a code up");
}

#[tokio::test]
async fn a_code_lapses() {
    let idp = run().await;
    let code = idp.code().await;
    idp.clock.0.store(CODE_LIFETIME_S, Ordering::SeqCst);
    assert_eq!(idp.exchange(&code, &[]).await.1["error"], "invalid_grant");
    let code = idp.code().await;
    idp.clock.0.store(2 * CODE_LIFETIME_S - 2, Ordering::SeqCst);
    assert_eq!(idp.exchange(&code, &[]).await.0, StatusCode::OK);
}

#[tokio::test]
async fn other_hosts_and_other_pages_are_refused() {
    let idp = run().await;
    let request = idp.client.get(format!("{}/jwks", idp.base)).header(HOST, "evil.example");
    assert_eq!(request.send().await.unwrap().status(), StatusCode::MISDIRECTED_REQUEST);
    let form = request_with_user();
    let request = idp.client.post(format!("{}/authorize", idp.base)).header(ORIGIN, "https://evil.example").form(&form);
    assert_eq!(request.send().await.unwrap().status(), StatusCode::BAD_REQUEST);
}

fn request_with_user() -> Vec<(&'static str, String)> {
    request(&[("user", "einkauf")])
}

#[test]
fn the_key_survives_a_restart() {
    let data_dir = folder();
    let key_of = |folder: &PathBuf| {
        let idp = IdpSim::new(settings("http://127.0.0.1:1", folder.clone()), demo_users()).unwrap();
        serde_json::to_string(&idp.0.key.public()).unwrap()
    };
    assert_eq!(key_of(&data_dir), key_of(&data_dir));
    assert_ne!(key_of(&data_dir), key_of(&folder()));
}

#[test]
fn only_loopback_and_distinct_users() {
    let issuer = |text: &str| IdpSim::new(settings(text, folder()), demo_users()).map(|_| ());
    assert!(matches!(issuer("http://192.168.0.1:3002"), Err(IdpError::NotLoopback { .. })));
    assert!(matches!(issuer("https://idp.example"), Err(IdpError::NotLoopback { .. })));
    assert!(matches!(issuer("ftp://127.0.0.1"), Err(IdpError::Issuer { .. })));
    assert!(matches!(issuer("nonsense"), Err(IdpError::Issuer { .. })));
    let mut users = demo_users();
    users.push(users[0].clone());
    assert!(matches!(IdpSim::new(settings("http://127.0.0.1:1", folder()), users), Err(IdpError::Users { .. })));
}

#[test]
fn nobody_of_einkauf2_belongs_to_nord() {
    let users = demo_users();
    let groups = |name: &str| users.iter().find(|user| user.name == name).unwrap().groups.clone();
    assert!(groups("einkauf").contains(&demo_group("nord", "a", "einkauf")));
    assert!(groups("einkauf").contains(&demo_group("muster", "m2", "einkauf")));
    assert!(groups("einkauf2").iter().all(|group| !group.starts_with("/nord")));
}
