//! `GET /api/instances/{id}/log` (= getExecutionLog, DESIGN §8): the whole execution log as JSON, for auditors.
//!
//! Invariant: the same rights as the log's screen; to everybody else the run does not exist. What is sent is exactly what
//! `connectworkflow log verify` takes.

use app::backend::Viewer;
use axum::extract::{Extension, Path, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::{EngineError, InstanceRef};
use ports::StoreError;
use workflow::event::Actor;
use workflow::rights::may_see_log;
use workflow::{Blueprint, Instance};

use crate::backend::actor;
use crate::failure::internal;
use crate::problem::Problem;
use crate::state::AppState;

/// Sends a run's log to who may read it.
pub(crate) async fn execution_log(
    State(state): State<AppState>,
    Extension(viewer): Extension<Viewer>,
    Path(id): Path<String>,
) -> Response {
    let Some(at) = InstanceRef::decode(&id) else { return missing() };
    let Some(actor) = actor(&viewer, &at.tenant) else { return missing() };
    match state.backend.engine().read_run(&at).await {
        Ok((instance, blueprint)) => answer(&instance, &blueprint, &actor),
        Err(EngineError::NotFound { .. } | EngineError::UnknownTenant { .. }) => missing(),
        Err(EngineError::Store(StoreError::Unavailable { .. })) => {
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "store-unavailable", "the log can't be read right now")
                .retry_after(5)
                .into_response()
        }
        Err(error) => failed(&error),
    }
}

fn answer(instance: &Instance, blueprint: &Blueprint, actor: &Actor) -> Response {
    if !may_see_log(blueprint, actor) {
        return missing();
    }
    let bytes = match workflow::log::export(instance) {
        Ok(bytes) => bytes,
        Err(error) => return failed(&error),
    };
    let mut response = bytes.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"execution-log.json\""));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    response
}

fn missing() -> Response {
    Problem::new(StatusCode::NOT_FOUND, "not-found", "there is no such run").into_response()
}

fn failed(error: &dyn std::fmt::Display) -> Response {
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", internal(error).to_string()).into_response()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that can't go on must fail where it stands")]

    use std::collections::BTreeSet;

    use chrono::DateTime;
    use vocab::{GroupName, Person, Role, TriggerSource, UserId};
    use workflow::instance::{ObjectValues, StartFacts};
    use workflow::log::{LOG_EXPORT, audit};

    use super::*;

    fn person(groups: &[&str], roles: &[Role]) -> Actor {
        Actor::Person {
            person: Person { id: UserId::new("p"), name: "P".to_owned() },
            groups: groups.iter().map(|group| GroupName::new(*group)).collect(),
            roles: roles.iter().copied().collect::<BTreeSet<_>>(),
        }
    }

    fn run() -> (Blueprint, Instance) {
        let blueprint = workflow::blueprint::parse(include_str!("../../../blueprints/rechnungsfreigabe.yaml")).unwrap();
        let facts = StartFacts {
            instance_id: "01900000-0000-7000-8000-000000000001".into(),
            workflow_id: blueprint.id.clone(),
            version: 1,
            customer_id: "muster".into(),
            tenant_id: "m1".into(),
            trigger_guid: blueprint.trigger.guid.clone(),
            object_table: "tblTransactions".to_owned(),
            object_number: "ER-1001".into(),
            source: TriggerSource::Push,
            first_note: None,
            accepted_at: DateTime::UNIX_EPOCH,
        };
        let at = DateTime::UNIX_EPOCH;
        let step = workflow::start(&blueprint, facts, ObjectValues::new(), None, at, "c".to_owned()).unwrap();
        (blueprint, step.instance)
    }

    #[tokio::test]
    async fn who_may_read_the_log_gets_what_the_auditors_tool_takes() {
        let (blueprint, instance) = run();
        for reader in [person(&["einkauf"], &[]), person(&[], &[Role::Operator]), person(&[], &[Role::Auditor])] {
            let response = answer(&instance, &blueprint, &reader);
            assert_eq!(response.status(), StatusCode::OK);
            assert_eq!(response.headers()[CONTENT_TYPE], "application/json");
            let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
            let found = audit(&body).unwrap();
            assert_eq!(found.document, LOG_EXPORT);
            assert_eq!(found.entries, instance.history.len());
            assert_eq!(found.last, instance.history.last().unwrap().hash);
        }
        for stranger in [person(&["lager"], &[]), person(&[], &[Role::Admin])] {
            assert_eq!(answer(&instance, &blueprint, &stranger).status(), StatusCode::NOT_FOUND);
        }
    }
}
