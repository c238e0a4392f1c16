//! `/authorize`: asks who it is, and sends the browser back with a code.
//!
//! Invariant: the browser is sent only to a configured return address; as long as that isn't proven, problems are shown
//! here. The choice (POST) is checked from scratch: the form's hidden fields count for nothing more than a query.

use axum::Form;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::http::header::{LOCATION, ORIGIN};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use openidconnect::url::Url;
use serde::Deserialize;

use super::IdpSim;
use super::grants::CodeGrant;
use super::page::{self, Problem};

/// Characters any one parameter may have.
const PARAM_CHARS_MAX: usize = 2_048;
/// Characters of a base64url SHA-256 (RFC 7636 §4.2).
const CHALLENGE_CHARS: usize = 43;

/// The request's parameters (OpenID Connect Core §3.1.2.1) and, in the form, the choice.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Params {
    pub(super) response_type: Option<String>,
    pub(super) response_mode: Option<String>,
    pub(super) client_id: Option<String>,
    pub(super) redirect_uri: Option<String>,
    pub(super) scope: Option<String>,
    pub(super) state: Option<String>,
    pub(super) nonce: Option<String>,
    pub(super) code_challenge: Option<String>,
    pub(super) code_challenge_method: Option<String>,
    pub(super) prompt: Option<String>,
    pub(super) user: Option<String>,
}

impl Params {
    /// What the form carries along, by name.
    pub(super) fn carried(&self) -> Vec<(&'static str, &str)> {
        [
            ("response_type", &self.response_type),
            ("response_mode", &self.response_mode),
            ("client_id", &self.client_id),
            ("redirect_uri", &self.redirect_uri),
            ("scope", &self.scope),
            ("state", &self.state),
            ("nonce", &self.nonce),
            ("code_challenge", &self.code_challenge),
            ("code_challenge_method", &self.code_challenge_method),
        ]
        .into_iter()
        .filter_map(|(name, value)| value.as_deref().map(|value| (name, value)))
        .collect()
    }
}

/// A request that may be granted.
struct Checked {
    redirect_uri: Url,
    state: Option<String>,
    grant: CodeGrant,
}

enum Refused {
    /// Shown here: the return address is not proven.
    Here(Problem),
    /// Sent back as an error of the protocol.
    Back(Box<Back>),
}

struct Back {
    redirect_uri: Url,
    state: Option<String>,
    error: &'static str,
    description: &'static str,
}

impl Refused {
    fn back(redirect_uri: Url, state: Option<String>, error: &'static str, description: &'static str) -> Self {
        Self::Back(Box::new(Back { redirect_uri, state, error, description }))
    }
}

/// `GET /authorize`.
pub(super) async fn ask(State(idp): State<IdpSim>, query: Result<Query<Params>, QueryRejection>) -> Response {
    let Ok(Query(params)) = query else {
        return page::problem(Problem::Parameters);
    };
    match check(&idp, &params) {
        Ok(checked) if params.prompt.as_deref() == Some("none") => {
            let Checked { redirect_uri, state, .. } = checked;
            let description = "nobody is signed in here without being asked";
            refuse(Refused::back(redirect_uri, state, "login_required", description))
        }
        Ok(_) => page::choose(&idp.0.users, &params, &idp.0.settings.redirect_uris, authorize_path(&idp).as_deref()),
        Err(refused) => refuse(refused),
    }
}

/// `POST /authorize`.
pub(super) async fn choose(
    State(idp): State<IdpSim>,
    headers: HeaderMap,
    form: Result<Form<Params>, FormRejection>,
) -> Response {
    let own_origin = idp.0.issuer.url().origin().ascii_serialization();
    if headers.get(ORIGIN).is_some_and(|origin| origin.as_bytes() != own_origin.as_bytes()) {
        return page::problem(Problem::Origin);
    }
    let Ok(Form(params)) = form else {
        return page::problem(Problem::Parameters);
    };
    let checked = match check(&idp, &params) {
        Ok(checked) => checked,
        Err(refused) => return refuse(refused),
    };
    let Some(user) = params.user.as_deref().and_then(|name| idp.user(name)) else {
        return page::problem(Problem::User);
    };
    let Checked { redirect_uri, state, grant } = checked;
    let issued = idp.grants().issue_code(CodeGrant { user: user.name.clone(), ..grant }, idp.now());
    match issued {
        Ok(code) => back(redirect_uri, state.as_deref(), &[("code", &code)]),
        Err(super::grants::Full) => {
            let description = "too many logins at once";
            refuse(Refused::back(redirect_uri, state, "temporarily_unavailable", description))
        }
    }
}

fn authorize_path(idp: &IdpSim) -> Option<String> {
    idp.endpoint("authorize").ok().map(|address| address.path().to_owned())
}

fn check(idp: &IdpSim, params: &Params) -> Result<Checked, Refused> {
    let carried = params.carried();
    if carried.iter().any(|(_, value)| value.chars().count() > PARAM_CHARS_MAX) {
        return Err(Refused::Here(Problem::Parameters));
    }
    if params.client_id.as_deref() != Some(idp.0.settings.client_id.as_str()) {
        return Err(Refused::Here(Problem::Client));
    }
    let asked = params.redirect_uri.as_deref().unwrap_or_default();
    let redirect_uri = idp
        .0
        .settings
        .redirect_uris
        .iter()
        .find(|known| *known == asked)
        .and_then(|known| Url::parse(known).ok())
        .ok_or(Refused::Here(Problem::ReturnAddress))?;
    let refuse =
        |error, description| Err(Refused::back(redirect_uri.clone(), params.state.clone(), error, description));
    if params.response_type.as_deref() != Some("code") {
        return refuse("unsupported_response_type", "response_type must be code");
    }
    if params.response_mode.as_deref().is_some_and(|mode| mode != "query") {
        return refuse("invalid_request", "response_mode must be query");
    }
    let scope: Vec<String> = params.scope.as_deref().unwrap_or_default().split(' ').map(str::to_owned).collect();
    if !scope.iter().any(|scope| scope == "openid") {
        return refuse("invalid_scope", "scope must include openid");
    }
    let challenge = params.code_challenge.as_deref().unwrap_or_default();
    let is_base64url = challenge.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    if params.code_challenge_method.as_deref() != Some("S256") || challenge.len() != CHALLENGE_CHARS || !is_base64url {
        return refuse("invalid_request", "PKCE with code_challenge_method S256 is required");
    }
    Ok(Checked {
        grant: CodeGrant {
            user: String::new(),
            redirect_uri: asked.to_owned(),
            code_challenge: challenge.to_owned(),
            nonce: params.nonce.clone(),
            scope,
        },
        redirect_uri,
        state: params.state.clone(),
    })
}

fn refuse(refused: Refused) -> Response {
    match refused {
        Refused::Here(problem) => page::problem(problem),
        Refused::Back(answer) => {
            let Back { redirect_uri, state, error, description } = *answer;
            back(redirect_uri, state.as_deref(), &[("error", error), ("error_description", description)])
        }
    }
}

/// 303, so that the browser asks for the return address with GET after a POST as well.
fn back(mut redirect_uri: Url, state: Option<&str>, pairs: &[(&str, &str)]) -> Response {
    {
        let mut query = redirect_uri.query_pairs_mut();
        query.extend_pairs(pairs);
        if let Some(state) = state {
            query.append_pair("state", state);
        }
    }
    (StatusCode::SEE_OTHER, [(LOCATION, String::from(redirect_uri))]).into_response()
}
