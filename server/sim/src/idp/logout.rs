//! `/logout`: OpenID Connect RP-Initiated Logout 1.0.
//!
//! The provider keeps no session of its own (every login asks), so there is nothing to end here; what matters is that the
//! browser is sent only to a configured address.

use axum::Form;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use openidconnect::url::Url;
use serde::Deserialize;

use super::IdpSim;
use super::page::{self, Problem};

/// What a logout may carry; the ID token hint is accepted and not needed.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct LogoutParams {
    client_id: Option<String>,
    post_logout_redirect_uri: Option<String>,
    state: Option<String>,
}

/// `GET /logout`.
pub(super) async fn end(State(idp): State<IdpSim>, query: Result<Query<LogoutParams>, QueryRejection>) -> Response {
    query.map_or_else(|_error| page::problem(Problem::Parameters), |Query(params)| leave(&idp, &params))
}

/// `POST /logout`.
pub(super) async fn end_by_form(
    State(idp): State<IdpSim>,
    form: Result<Form<LogoutParams>, FormRejection>,
) -> Response {
    form.map_or_else(|_error| page::problem(Problem::Parameters), |Form(params)| leave(&idp, &params))
}

fn leave(idp: &IdpSim, params: &LogoutParams) -> Response {
    if params.client_id.as_deref().is_some_and(|id| id != idp.0.settings.client_id) {
        return page::problem(Problem::Client);
    }
    let Some(asked) = params.post_logout_redirect_uri.as_deref() else {
        return page::signed_out();
    };
    let known =
        idp.0.settings.post_logout_uris.iter().find(|known| *known == asked).and_then(|uri| Url::parse(uri).ok());
    let Some(mut address) = known else {
        return page::problem(Problem::LogoutAddress);
    };
    if let Some(state) = &params.state {
        address.query_pairs_mut().append_pair("state", state);
    }
    (StatusCode::SEE_OTHER, [(LOCATION, String::from(address))]).into_response()
}
