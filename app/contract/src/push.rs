//! What the server says over the WebSocket: hints, never data (DESIGN §2 rule 6).

use serde::{Deserialize, Serialize};

/// A hint. The browser refetches what it shows; it never trusts a hint's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum PushMessage {
    /// First message of a connection: the build the server runs, so that an old page can offer a reload.
    Hello {
        /// Build id.
        build: String,
    },
    /// A task that this person may see changed, appeared or is done.
    Changed {
        /// Opaque task id.
        task_id: String,
        /// The instance's new revision.
        revision: u64,
    },
    /// Hints may have been lost: refetch everything shown.
    Resync,
    /// Heartbeat, every 20 s.
    Ping,
}
