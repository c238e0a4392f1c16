//! Login, session and logout over real HTTP: this server's routes against the demo's identity provider, both on loopback.

#![expect(clippy::unwrap_used, reason = "a test that can't set up must fail loudly")]
#![cfg(feature = "demo")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use chrono::{DateTime, Utc};
use openidconnect::url::Url;
use ports::Clock;
use reqwest::header::{ACCEPT, COOKIE, HOST, LOCATION, ORIGIN, REFRESH, SET_COOKIE};
use reqwest::{Client, RequestBuilder, Response, StatusCode, redirect};
use server::auth::{
    Auth, CurrentSession, MaybeSession, ProviderStatus, Session, load_session, require_session, viewer,
};
use server::config::Settings;
use sim::idp::{IdpSettings, IdpSim, demo_users};
use tokio::net::TcpListener;

#[path = "support/mem_store.rs"]
mod mem_store;
use mem_store::MemStore;

const SECRET: &str = "geheim & süß=1+2%";

struct Shifted(AtomicI64);

impl Clock for Shifted {
    fn now(&self) -> DateTime<Utc> {
        Utc::now() + chrono::Duration::seconds(self.0.load(Ordering::SeqCst))
    }
}

/// This server and its provider.
struct World {
    base: String,
    idp: String,
    settings: Settings,
    store: Arc<MemStore>,
    clock: Arc<Shifted>,
}

/// A browser: keeps cookies, follows nothing by itself.
struct Browser {
    client: Client,
    cookies: Mutex<BTreeMap<String, String>>,
}

impl World {
    async fn new() -> Self {
        Self::with(|text| text).await
    }

    async fn with(change: impl FnOnce(String) -> String) -> Self {
        let idp_listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let world = Self::without_idp(&format!("http://{}", idp_listener.local_addr().unwrap()), change).await;
        world.start_idp(idp_listener);
        world
    }

    async fn session_of(&self, browser: &Browser) -> Arc<Session> {
        let (_, token) = browser.cookie("cw_session").unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, format!("cw_session={token}").parse().unwrap());
        self.auth().session(&headers).await.unwrap().unwrap()
    }

    async fn without_idp(idp: &str, change: impl FnOnce(String) -> String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let text = format!(
            r#"
[server]
external_url = "{base}"
[oidc]
issuer = "{idp}"
client_id = "connectworkflow"
client_secret = "{SECRET}"
[[tenant]]
customer = "muster"
tenant = "m1"
groups = {{ einkauf = ["/muster/einkauf"], buchhaltung = ["/muster/buchhaltung"] }}
roles = {{ auditor = ["/muster/auditor"] }}
[[tenant]]
customer = "nord"
tenant = "a"
groups = {{ einkauf = ["/nord/a/einkauf"] }}
"#
        );
        let settings = Settings::from_toml(&change(text), Path::new(""), &[]).unwrap();
        let (store, clock) = (Arc::new(MemStore::default()), Arc::new(Shifted(AtomicI64::new(0))));
        let world = Self { base, idp: idp.to_owned(), settings, store, clock };
        let router = world.app();
        tokio::spawn(async move { axum::serve(listener, router).await });
        world
    }

    fn start_idp(&self, listener: TcpListener) -> IdpSim {
        let settings = IdpSettings {
            issuer: self.idp.clone(),
            client_id: "connectworkflow".to_owned(),
            client_secret: SECRET.to_owned(),
            redirect_uris: vec![format!("{}/auth/callback", self.base)],
            post_logout_uris: vec![format!("{}/anmeldung", self.base)],
            data_dir: std::env::temp_dir().join(format!("login-test-{}", uuid::Uuid::new_v4())),
        };
        let idp = IdpSim::with_clock(settings, demo_users(), self.clock.clone()).unwrap();
        let router = idp.router();
        tokio::spawn(async move { axum::serve(listener, router).await });
        idp
    }

    /// A fresh node over the same store.
    fn auth(&self) -> Auth {
        Auth::new(&self.settings, self.store.clone(), self.clock.clone()).unwrap()
    }

    fn app(&self) -> Router {
        let auth = self.auth();
        let behind = Router::new()
            .route("/wer", get(|CurrentSession(session): CurrentSession| async move { session.person.name.clone() }))
            .route_layer(from_fn_with_state(auth.clone(), require_session));
        let open = Router::new()
            .route("/offen", get(|MaybeSession(session): MaybeSession| async move { session.is_some().to_string() }))
            .route("/streng", get(|_: CurrentSession| async { "ja" }))
            .layer(from_fn_with_state(auth.clone(), load_session));
        auth.router().merge(behind).merge(open)
    }

    /// From the login's start to the provider's answer, not yet delivered.
    async fn to_callback(&self, browser: &Browser, user: &str, next: &str) -> Url {
        let start = browser.get(&format!("{}/auth/login?next={next}", self.base)).await;
        let authorize = location(&start);
        assert!(authorize.as_str().starts_with(&self.idp), "{authorize}");
        self.choose(&authorize, user).await
    }

    /// What the provider's page would send for a user.
    async fn choose(&self, authorize: &Url, user: &str) -> Url {
        let mut form: Vec<(String, String)> = authorize.query_pairs().into_owned().collect();
        form.push(("user".to_owned(), user.to_owned()));
        let page = format!("{}/authorize", self.idp);
        location(&Browser::new().client.post(page).form(&form).send().await.unwrap())
    }

    async fn sign_in(&self, browser: &Browser, user: &str) {
        let callback = self.to_callback(browser, user, "/aufgaben").await;
        let done = browser.get(callback.as_str()).await;
        assert_eq!(done.headers()[LOCATION], "/aufgaben");
    }

    async fn fails_with(&self, browser: &Browser, callback: &Url, code: &str) {
        let answer = browser.get(callback.as_str()).await;
        assert_eq!(answer.status(), StatusCode::SEE_OTHER);
        assert_eq!(answer.headers()[LOCATION], format!("/anmeldung?fehler={code}"));
        assert!(browser.cookie("cw_session").is_none());
    }
}

impl Browser {
    fn new() -> Self {
        let client = Client::builder().redirect(redirect::Policy::none()).build().unwrap();
        Self { client, cookies: Mutex::default() }
    }

    fn cookie(&self, prefix: &str) -> Option<(String, String)> {
        let cookies = self.cookies.lock().unwrap();
        cookies.iter().find(|(name, _)| name.starts_with(prefix)).map(|(name, value)| (name.clone(), value.clone()))
    }

    async fn send(&self, request: RequestBuilder) -> Response {
        let line: Vec<String> =
            self.cookies.lock().unwrap().iter().map(|(name, value)| format!("{name}={value}")).collect();
        let response = request.header(COOKIE, line.join("; ")).send().await.unwrap();
        let mut cookies = self.cookies.lock().unwrap();
        for line in response.headers().get_all(SET_COOKIE) {
            let line = line.to_str().unwrap();
            let (name, value) = line.split(';').next().unwrap().split_once('=').unwrap();
            assert!(line.contains("HttpOnly") && line.contains("SameSite=Lax") && line.contains("Path=/"), "{line}");
            if line.contains("Max-Age=0") {
                cookies.remove(name);
            } else {
                cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        drop(cookies);
        response
    }

    async fn get(&self, address: &str) -> Response {
        self.send(self.client.get(address)).await
    }
}

fn location(response: &Response) -> Url {
    assert_eq!(response.status(), StatusCode::SEE_OTHER);
    Url::parse(response.headers()[LOCATION].to_str().unwrap()).unwrap()
}

fn with_param(address: &Url, name: &str, value: &str) -> Url {
    let mut changed = address.clone();
    let pairs: Vec<(String, String)> = address.query_pairs().into_owned().filter(|(known, _)| known != name).collect();
    changed.query_pairs_mut().clear().extend_pairs(pairs).append_pair(name, value);
    changed
}

#[tokio::test]
async fn somebody_signs_in_and_is_who_they_are() {
    let (world, browser) = (World::new().await, Browser::new());
    world.sign_in(&browser, "einkauf").await;
    assert!(browser.cookie("cw_login_").is_none(), "the login's cookie is gone");
    let answer = browser.get(&format!("{}/wer", world.base)).await;
    assert_eq!(answer.text().await.unwrap(), "Erika Einkauf");
    let (_, token) = browser.cookie("cw_session").unwrap();
    assert!(!world.store.dump().contains(&token), "the token is nowhere in the store");

    // A fresh node over the same store: what a restart after `kill -9` finds.
    let session = world.session_of(&browser).await;
    let viewer = viewer(&session, &world.settings);
    let tenants: Vec<String> = viewer.memberships.iter().map(|membership| membership.tenant.to_string()).collect();
    assert_eq!(tenants, ["muster / m1", "nord / a"]);
    assert_eq!(viewer.person.id.as_str(), "demo-einkauf");
}

#[tokio::test]
async fn two_people_in_two_browsers_stay_apart() {
    let world = World::new().await;
    let (one, two) = (Browser::new(), Browser::new());
    world.sign_in(&one, "einkauf").await;
    world.sign_in(&two, "buchhaltung").await;
    for (browser, name) in [(&one, "Erika Einkauf"), (&two, "Britta Buchhaltung")] {
        assert_eq!(browser.get(&format!("{}/wer", world.base)).await.text().await.unwrap(), name);
    }
}

#[tokio::test]
async fn a_state_this_browser_did_not_begin_is_refused() {
    let (world, browser) = (World::new().await, Browser::new());
    let callback = world.to_callback(&browser, "einkauf", "/").await;
    world.fails_with(&browser, &with_param(&callback, "state", "anders"), "state").await;
    world.fails_with(&Browser::new(), &callback, "expired").await;
    let attacker = Browser::new();
    let foreign = world.to_callback(&attacker, "leitung", "/").await;
    world.fails_with(&browser, &foreign, "state").await;
    assert_eq!(browser.get(callback.as_str()).await.headers()[LOCATION], "/", "its own login still works");
}

#[tokio::test]
async fn a_replayed_answer_signs_nobody_in() {
    let (world, browser) = (World::new().await, Browser::new());
    let callback = world.to_callback(&browser, "einkauf", "/").await;
    let (name, value) = browser.cookie("cw_login_").unwrap();
    browser.get(callback.as_str()).await;
    let thief = Browser::new();
    thief.cookies.lock().unwrap().insert(name, value);
    world.fails_with(&thief, &callback, "token").await;
    let again = browser.get(callback.as_str()).await;
    assert_eq!(again.headers()[LOCATION], "/", "who is signed in just goes on");
}

#[tokio::test]
async fn a_code_of_another_login_is_refused() {
    let world = World::new().await;
    let (victim, attacker) = (Browser::new(), Browser::new());
    let own = world.to_callback(&victim, "einkauf", "/").await;
    let foreign = world.to_callback(&attacker, "leitung", "/").await;
    let code = foreign.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned();
    // The victim's state with the attacker's code: PKCE verifier and nonce don't fit.
    world.fails_with(&victim, &with_param(&own, "code", &code), "token").await;
}

#[tokio::test]
async fn a_tampered_challenge_ends_at_the_provider() {
    let (world, browser) = (World::new().await, Browser::new());
    let start = browser.get(&format!("{}/auth/login", world.base)).await;
    let authorize = with_param(&location(&start), "code_challenge", &"A".repeat(43));
    let callback = world.choose(&authorize, "einkauf").await;
    world.fails_with(&browser, &callback, "token").await;
}

#[tokio::test]
async fn a_tampered_nonce_is_noticed_here() {
    let (world, browser) = (World::new().await, Browser::new());
    let start = browser.get(&format!("{}/auth/login", world.base)).await;
    let callback = world.choose(&with_param(&location(&start), "nonce", "anders"), "einkauf").await;
    world.fails_with(&browser, &callback, "token").await;
}

#[tokio::test]
async fn a_login_that_takes_too_long_lapses() {
    let (world, browser) = (World::new().await, Browser::new());
    let start = browser.get(&format!("{}/auth/login", world.base)).await;
    let authorize = location(&start);
    world.clock.0.store(700, Ordering::SeqCst);
    let callback = world.choose(&authorize, "einkauf").await;
    world.fails_with(&browser, &callback, "state").await;
}

#[tokio::test]
async fn refusals_of_the_provider_are_told_apart() {
    let (world, browser) = (World::new().await, Browser::new());
    for (error, code) in [("access_denied", "denied"), ("server_error", "provider-unavailable")] {
        let callback = world.to_callback(&browser, "einkauf", "/").await;
        let mut refused = callback.clone();
        let state = callback.query_pairs().find(|(name, _)| name == "state").unwrap().1.into_owned();
        refused.query_pairs_mut().clear().append_pair("error", error).append_pair("state", &state);
        world.fails_with(&browser, &refused, code).await;
    }
    let callback = world.to_callback(&browser, "einkauf", "/").await;
    world.fails_with(&browser, &with_param(&callback, "iss", "https://other.example"), "state").await;
}

#[tokio::test]
async fn several_tabs_may_sign_in_at_once() {
    let (world, browser) = (World::new().await, Browser::new());
    let first = world.to_callback(&browser, "einkauf", "/eins").await;
    let second = world.to_callback(&browser, "einkauf", "/zwei").await;
    assert_eq!(browser.get(first.as_str()).await.headers()[LOCATION], "/eins");
    assert_eq!(browser.get(second.as_str()).await.headers()[LOCATION], "/zwei");
    for _ in 0..20 {
        browser.get(&format!("{}/auth/login", world.base)).await;
    }
    let open = browser.cookies.lock().unwrap().keys().filter(|name| name.starts_with("cw_login_")).count();
    assert!(open <= 9, "{open}");
}

#[tokio::test]
async fn only_own_paths_are_returned_to() {
    let (world, browser) = (World::new().await, Browser::new());
    for bad in ["https://evil.example/", "//evil.example", "/%5Cevil.example", "/auth/logout"] {
        let callback = world.to_callback(&browser, "einkauf", bad).await;
        assert_eq!(browser.get(callback.as_str()).await.headers()[LOCATION], "/", "{bad}");
    }
}

#[tokio::test]
async fn the_server_works_before_and_after_its_provider() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let idp = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let (world, browser) = (World::without_idp(&idp, |text| text).await, Browser::new());
    let answer = browser.get(&format!("{}/auth/login", world.base)).await;
    assert_eq!(answer.headers()[LOCATION], "/anmeldung?fehler=provider-unavailable");
    assert!(matches!(world.auth().provider_status().await, ProviderStatus::Down(_)));
    world.start_idp(TcpListener::bind(idp.trim_start_matches("http://")).await.unwrap());
    world.clock.0.fetch_add(4, Ordering::SeqCst);
    world.sign_in(&browser, "einkauf").await;
    assert_eq!(world.auth().provider_status().await, ProviderStatus::Up);
}

#[tokio::test]
async fn new_keys_of_the_provider_are_learnt() {
    let router = Arc::new(Mutex::new(Router::new()));
    let current = router.clone();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let idp = format!("http://{}", listener.local_addr().unwrap());
    let front = Router::new().fallback(move |request: Request| {
        use tower::ServiceExt;
        let router = current.lock().unwrap().clone();
        async move { router.oneshot(request).await }
    });
    tokio::spawn(async move { axum::serve(listener, front).await });
    let (world, browser) = (World::without_idp(&idp, |text| text).await, Browser::new());
    let rotate = || {
        let settings = IdpSettings {
            issuer: idp.clone(),
            client_id: "connectworkflow".to_owned(),
            client_secret: SECRET.to_owned(),
            redirect_uris: vec![format!("{}/auth/callback", world.base)],
            post_logout_uris: Vec::new(),
            data_dir: std::env::temp_dir().join(format!("login-test-{}", uuid::Uuid::new_v4())),
        };
        *router.lock().unwrap() = IdpSim::new(settings, demo_users()).unwrap().router();
    };
    rotate();
    world.sign_in(&browser, "einkauf").await;
    rotate();
    world.sign_in(&browser, "leitung").await;
    rotate();
    let callback = world.to_callback(&browser, "einkauf", "/").await;
    let answer = browser.get(callback.as_str()).await;
    assert_eq!(answer.headers()[LOCATION], "/anmeldung?fehler=token", "not again within half a minute");
    world.clock.0.fetch_add(31, Ordering::SeqCst);
    let callback = world.to_callback(&browser, "einkauf", "/").await;
    assert_eq!(browser.get(callback.as_str()).await.headers()[LOCATION], "/");
}

#[tokio::test]
async fn logout_ends_the_session_everywhere() {
    let (world, browser) = (World::new().await, Browser::new());
    world.sign_in(&browser, "einkauf").await;
    let (name, token) = browser.cookie("cw_session").unwrap();
    let logout = format!("{}/auth/logout", world.base);
    for foreign in [None, Some("https://evil.example"), Some("null")] {
        let mut request = browser.client.post(&logout);
        if let Some(origin) = foreign {
            request = request.header(ORIGIN, origin);
        }
        assert_eq!(browser.send(request).await.status(), StatusCode::FORBIDDEN, "{foreign:?}");
    }
    assert!(browser.cookie("cw_session").is_some());

    let answer = browser.send(browser.client.post(&logout).header(ORIGIN, &world.base)).await;
    assert_eq!(answer.status(), StatusCode::OK, "no redirect: `form-action 'self'` would block it");
    let refresh = answer.headers()[REFRESH].to_str().unwrap();
    let end_session = Url::parse(refresh.strip_prefix("0; url=").unwrap()).unwrap();
    assert!(end_session.as_str().starts_with(&format!("{}/logout?id_token_hint=ey", world.idp)), "{end_session}");
    assert!(browser.cookie("cw_session").is_none());
    assert_eq!(browser.get(end_session.as_str()).await.headers()[LOCATION], format!("{}/anmeldung", world.base));

    browser.cookies.lock().unwrap().insert(name, token);
    assert_eq!(browser.get(&format!("{}/wer", world.base)).await.status(), StatusCode::UNAUTHORIZED);
    assert!(!world.store.dump().contains("sessions/"));
}

#[tokio::test]
async fn who_is_not_signed_in_is_sent_to_the_login_or_told_so() {
    let (world, browser) = (World::new().await, Browser::new());
    let page = format!("{}/wer?a=1&b=%C3%A4", world.base);
    let request = browser.client.get(&page).header(ACCEPT, "text/html,application/xhtml+xml;q=0.9");
    let answer = browser.send(request).await;
    assert_eq!(answer.headers()[LOCATION], "/auth/login?next=%2Fwer%3Fa%3D1%26b%3D%25C3%25A4");
    let answer = browser.get(&page).await;
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(answer.headers()["content-type"], "application/problem+json");
    assert!(answer.text().await.unwrap().contains("signed-out"));
    assert_eq!(browser.get(&format!("{}/offen", world.base)).await.text().await.unwrap(), "false");
    assert_eq!(browser.get(&format!("{}/streng", world.base)).await.status(), StatusCode::UNAUTHORIZED);
    world.sign_in(&browser, "auditor").await;
    assert_eq!(browser.get(&format!("{}/offen", world.base)).await.text().await.unwrap(), "true");
    assert_eq!(browser.get(&format!("{}/streng", world.base)).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_store_that_is_down_says_so() {
    let (world, browser) = (World::new().await, Browser::new());
    let callback = world.to_callback(&browser, "einkauf", "/").await;
    world.store.set_down(true);
    world.fails_with(&browser, &callback, "store").await;
    world.store.set_down(false);
    world.sign_in(&browser, "einkauf").await;
    world.clock.0.fetch_add(61, Ordering::SeqCst);
    world.store.set_down(true);
    let answer = browser.get(&format!("{}/wer", world.base)).await;
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(answer.headers().contains_key("retry-after"));
}

#[tokio::test]
async fn groups_come_from_userinfo_where_the_token_has_none() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let world = World::without_idp(&format!("http://{}", listener.local_addr().unwrap()), |text| text).await;
    world.start_idp(listener).set_groups_in_id_token(false);
    let browser = Browser::new();
    world.sign_in(&browser, "einkauf").await;
    assert_eq!(world.session_of(&browser).await.idp_groups, ["/muster/einkauf", "/nord/a/einkauf"]);
}

#[tokio::test]
async fn who_has_no_groups_is_signed_in_and_belongs_nowhere() {
    let world = World::with(|text| text.replace("client_id =", "groups_claim = \"gruppen\"\nclient_id =")).await;
    let browser = Browser::new();
    world.sign_in(&browser, "einkauf").await;
    assert!(viewer(&*world.session_of(&browser).await, &world.settings).memberships.is_empty());
}

#[tokio::test]
async fn a_browser_that_came_by_another_name_begins_at_the_right_one() {
    let (world, browser) = (World::new().await, Browser::new());
    let request = browser.client.get(format!("{}/auth/login?next=/a", world.base)).header(HOST, "localhost:3000");
    let home = location(&browser.send(request).await);
    assert_eq!(home.as_str(), format!("{}/auth/login?next=%2Fa&home=1", world.base));
    let request = browser.client.get(home).header(HOST, "behind-a-proxy");
    assert!(location(&browser.send(request).await).as_str().starts_with(&world.idp), "once only");
}
