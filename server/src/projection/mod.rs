//! Stored → view: the only place where what the engine knows becomes what the screens show.
//!
//! Invariant: a view holds what its person may see at this step and nothing else.
//! Never: decides a right; it asks `workflow::rights`.

mod log;
mod row;
mod task;
mod values;

use chrono::{DateTime, SecondsFormat, Utc};
use chrono_tz::Tz;
use contract::Moment;

pub(crate) use log::log_view;
pub(crate) use row::{done_rows, open_row, seen_revision};
pub(crate) use task::task_detail;
pub(crate) use values::shown_text;

/// A moment in the tenant's time zone.
pub(crate) fn moment(at: DateTime<Utc>, zone: Tz) -> Moment {
    Moment {
        iso: at.to_rfc3339_opts(SecondsFormat::Secs, true),
        text: at.with_timezone(&zone).format("%d.%m.%Y %H:%M").to_string(),
    }
}
