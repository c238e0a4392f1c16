//! `/ws`: hints to browsers (DESIGN §2 rule 6, §8).
//!
//! Invariant: a hint goes only to who may see the run it is about; after lost hints comes `Resync`.
//! Never: data.

use std::sync::Arc;
use std::time::Duration;

use app::backend::Viewer;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use contract::PushMessage;
use engine::InstanceRef;
use futures_util::{SinkExt, StreamExt};
use ports::{Hint, Hints};
use tokio::sync::broadcast;
use workflow::rights::{may_see_log, may_see_task};

use crate::auth::CurrentSession;
use crate::backend::actor;
use crate::projection::seen_revision;
use crate::state::AppState;

/// Hints a slow connection may be behind before it is told to refetch everything.
const QUEUE_LEN: usize = 1_024;
/// Between two heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(20);
/// Bytes a browser may send in one message; it has nothing to say.
const MESSAGE_BYTES_MAX: usize = 4 * 1024;

/// Spreads this node's hints over its connections.
#[derive(Debug, Clone)]
pub(crate) struct PushHub(broadcast::Sender<Hint>);

impl Default for PushHub {
    fn default() -> Self {
        Self(broadcast::channel(QUEUE_LEN).0)
    }
}

impl Hints for PushHub {
    fn publish(&self, hint: Hint) {
        // No connection, nobody to tell: that is fine.
        let _receivers = self.0.send(hint);
    }
}

/// `GET /ws`. Signed-in people only, from our own pages only.
pub(crate) async fn ws(
    State(state): State<AppState>,
    session: CurrentSession,
    Extension(viewer): Extension<Viewer>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    if !state.auth.is_same_origin(&headers) {
        return StatusCode::FORBIDDEN.into_response();
    }
    let hints = state.push.0.subscribe();
    upgrade
        .max_message_size(MESSAGE_BYTES_MAX)
        .on_upgrade(move |socket| serve(socket, state, headers, session, viewer, hints))
}

async fn serve(
    socket: WebSocket,
    state: AppState,
    headers: HeaderMap,
    session: CurrentSession,
    viewer: Viewer,
    mut hints: broadcast::Receiver<Hint>,
) {
    let (mut out, mut inbox) = socket.split();
    let mut beat = tokio::time::interval(HEARTBEAT);
    let hello = PushMessage::Hello { build: state.build.to_string() };
    let mut queue = vec![hello];
    loop {
        for message in queue.drain(..) {
            let Ok(text) = serde_json::to_string(&message) else { return };
            if out.send(Message::Text(text.into())).await.is_err() {
                return;
            }
        }
        tokio::select! {
            _ = beat.tick() => {
                if !still_signed_in(&state, &headers, &session).await {
                    return;
                }
                queue.push(PushMessage::Ping);
            }
            hint = hints.recv() => match hint {
                Ok(hint) => queue.extend(messages(&state, &viewer, &hint).await),
                Err(broadcast::error::RecvError::Lagged(_)) => queue.push(PushMessage::Resync),
                Err(broadcast::error::RecvError::Closed) => return,
            },
            received = inbox.next() => match received {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {}
            },
        }
    }
}

/// Whether the cookie still names the session the connection was opened with.
async fn still_signed_in(state: &AppState, headers: &HeaderMap, session: &CurrentSession) -> bool {
    match state.auth.session(headers).await {
        Ok(Some(now)) => now.person == session.0.person,
        Ok(None) => false,
        // The store can't say; ask again at the next beat.
        Err(_) => true,
    }
}

/// What one viewer is told about one commit.
async fn messages(state: &AppState, viewer: &Viewer, hint: &Hint) -> Vec<PushMessage> {
    let at = InstanceRef {
        tenant: hint.tenant.clone(),
        workflow_id: hint.workflow_id.clone(),
        instance_id: hint.instance_id.clone(),
    };
    let Some(actor) = actor(viewer, &hint.tenant) else { return Vec::new() };
    let engine = state.backend.engine();
    let (version, tasks) = match engine.row(&at) {
        Some(row) => (row.version, seen_revision(&at, row.task.as_ref().map(|task| task.visit), &row.decisions)),
        None => match engine.done_row(&at) {
            Some(row) => (row.done.start.version, seen_revision(&at, None, &row.done.decisions)),
            None => return vec![PushMessage::Resync],
        },
    };
    let Ok(blueprint) = engine.blueprint(&at.tenant, &at.workflow_id, version).await else {
        return vec![PushMessage::Resync];
    };
    if !may_see_task(&blueprint, &actor) && !may_see_log(&blueprint, &actor) {
        return Vec::new();
    }
    tasks.into_iter().map(|task_id| PushMessage::Changed { task_id, revision: hint.revision }).collect()
}

/// The hub as the engine's port.
pub(crate) fn as_hints(hub: &PushHub) -> Arc<dyn Hints> {
    Arc::new(hub.clone())
}
