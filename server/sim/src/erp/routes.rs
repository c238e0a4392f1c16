//! The simulator's HTTP side: one GraphQL endpoint per tenant, as the real ERP has it, and beside it what only a
//! simulator has: a page, switches and toggles.
//!
//! Invariant: GraphQL wants the tenant's token; the rest wants none and so belongs on a loopback address only, and
//! refuses requests that another site's page makes the browser send.

use async_graphql_axum::{GraphQLRequest, GraphQLResponse};
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::model::{FIELDS, SimObject, SimValue, coerce};
use super::schema::Call;
use super::{ErpSim, SimError};

/// Bytes a request may have.
const BODY_BYTES_MAX: usize = 256 * 1024;

/// All routes.
pub(super) fn router(sim: ErpSim) -> Router {
    let simulator_only = Router::new()
        .route("/", get(page))
        .route("/sim/tenants", get(tenants))
        .route("/sim/objects/{customer}/{tenant}", get(objects))
        .route("/sim/objects/{customer}/{tenant}/{number}", get(object))
        .route("/sim/objects/{customer}/{tenant}/{number}/set", post(set))
        .route("/sim/trigger/{customer}/{tenant}/{number}", post(trigger))
        .route("/sim/down/{customer}/{tenant}", post(down))
        .route("/sim/lock/{customer}/{tenant}/{number}", post(lock))
        .layer(from_fn(same_site_only));
    Router::new()
        .route("/{customer}/{tenant}/graphql", post(graphql))
        .merge(simulator_only)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(sim)
}

async fn same_site_only(request: Request, next: Next) -> Response {
    let site = request.headers().get("sec-fetch-site").and_then(|site| site.to_str().ok());
    if matches!(site, Some("cross-site")) {
        return (StatusCode::FORBIDDEN, "the simulator takes no requests from other sites' pages").into_response();
    }
    next.run(request).await
}

async fn page() -> Html<&'static str> {
    Html(include_str!("page.html"))
}

impl IntoResponse for SimError {
    fn into_response(self) -> Response {
        let status = match &self {
            Self::NoTenant | Self::NoObject { .. } => StatusCode::NOT_FOUND,
            Self::Field { .. } | Self::NoGuid { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Unreachable { .. } => StatusCode::BAD_GATEWAY,
            Self::Disk { .. }
            | Self::StateFile { .. }
            | Self::Schema { .. }
            | Self::Client { .. }
            | Self::Token { .. }
            | Self::Unchanged
            | Self::Stopped => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (status, Json(json!({ "error": self.to_string() }))).into_response()
    }
}

async fn graphql(
    State(sim): State<ErpSim>,
    Path((customer, tenant)): Path<(String, String)>,
    headers: HeaderMap,
    request: GraphQLRequest,
) -> Result<Response, SimError> {
    let tenant_index = sim.tenant(&customer, &tenant)?;
    let expected = format!("Bearer {}", sim.settings(tenant_index)?.erp_token);
    if headers.get(header::AUTHORIZATION).map(|value| value.as_bytes()) != Some(expected.as_bytes()) {
        let body = json!({ "error": "a valid bearer token of this tenant is needed" });
        return Ok((StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], Json(body)).into_response());
    }
    if sim.look(tenant_index, |state| state.down)? {
        return Ok((StatusCode::SERVICE_UNAVAILABLE, "ERP switched off in the simulator").into_response());
    }
    // The real ERP knows no such header either: a repeated write is fenced by its LSN alone.
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok()).unwrap_or("-");
    tracing::debug!(customer, tenant, idempotency_key = key, "graphql request");
    let request = request.into_inner().data(Call { sim: sim.clone(), tenant: tenant_index });
    let response = sim.schema().execute(request).await;
    Ok(GraphQLResponse::from(response).into_response())
}

fn object_json(object: &SimObject) -> Value {
    let fields: Map<String, Value> = FIELDS
        .iter()
        .map(|(name, _)| {
            let value = match object.value(name) {
                SimValue::Null => Value::Null,
                SimValue::Bool(yes) => Value::Bool(yes),
                SimValue::Text(text) => Value::String(text),
            };
            ((*name).to_owned(), value)
        })
        .collect();
    json!({
        "number": object.number,
        "fields": fields,
        "state": object.state(),
        "external": object.external(),
        "locked": object.locked,
        "lsn": object.lsn.to_string(),
    })
}

async fn tenants(State(sim): State<ErpSim>) -> Result<Json<Value>, SimError> {
    let all = (0..sim.tenant_count())
        .map(|index| {
            sim.look(index, |state| {
                json!({
                    "customer": state.customer,
                    "tenant": state.tenant,
                    "down": state.down,
                    "objects": state.objects.values().map(object_json).collect::<Vec<_>>(),
                })
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Json(Value::Array(all)))
}

async fn objects(
    State(sim): State<ErpSim>,
    Path((customer, tenant)): Path<(String, String)>,
) -> Result<Json<Value>, SimError> {
    let index = sim.tenant(&customer, &tenant)?;
    sim.look(index, |state| Json(state.objects.values().map(object_json).collect()))
}

async fn object(
    State(sim): State<ErpSim>,
    Path((customer, tenant, number)): Path<(String, String, String)>,
) -> Result<Json<Value>, SimError> {
    let index = sim.tenant(&customer, &tenant)?;
    let object = sim.object(index, &number)?.ok_or(SimError::NoObject { number })?;
    Ok(Json(object_json(&object)))
}

/// A user's edit. The simulator lets it through even where the real ERP would refuse it because of the external flag,
/// so that a change behind the workflow's back can be tried.
async fn set(
    State(sim): State<ErpSim>,
    Path((customer, tenant, number)): Path<(String, String, String)>,
    Json(body): Json<Map<String, Value>>,
) -> Result<Json<Value>, SimError> {
    let index = sim.tenant(&customer, &tenant)?;
    let fields = body
        .iter()
        .map(|(field, json)| match coerce(field, json) {
            Ok(value) => Ok((field.clone(), value)),
            Err(reason) => Err(SimError::Field { field: field.clone(), reason }),
        })
        .collect::<Result<Vec<_>, _>>()?;
    let saved =
        sim.change(index, move |state| state.save(&number, fields).ok_or(SimError::NoObject { number })).await?;
    Ok(Json(object_json(&saved)))
}

#[derive(Deserialize)]
struct TriggerQuery {
    guid: Option<String>,
}

async fn trigger(
    State(sim): State<ErpSim>,
    Path((customer, tenant, number)): Path<(String, String, String)>,
    Query(query): Query<TriggerQuery>,
) -> Result<Json<Value>, SimError> {
    let answer = sim.start_release(&customer, &tenant, &number, query.guid.as_deref()).await?;
    Ok(Json(json!({ "status": answer.status, "body": answer.body })))
}

#[derive(Deserialize)]
struct Switch {
    on: bool,
}

async fn down(
    State(sim): State<ErpSim>,
    Path((customer, tenant)): Path<(String, String)>,
    Query(switch): Query<Switch>,
) -> Result<Json<Value>, SimError> {
    let index = sim.tenant(&customer, &tenant)?;
    sim.set_down(index, switch.on).await?;
    Ok(Json(json!({ "down": switch.on })))
}

async fn lock(
    State(sim): State<ErpSim>,
    Path((customer, tenant, number)): Path<(String, String, String)>,
    Query(switch): Query<Switch>,
) -> Result<Json<Value>, SimError> {
    let index = sim.tenant(&customer, &tenant)?;
    let object = sim.set_locked(index, &number, switch.on).await?;
    Ok(Json(object_json(&object)))
}
