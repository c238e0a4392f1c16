//! The screens, and the server functions behind them.
//!
//! Purpose: everything a person sees. Built twice: with `ssr` into the server, with `hydrate` into the browser.
//! Invariant: both builds produce the same markup; what a person may do comes from the server as `allowed_actions`,
//! and no component compares states or roles.
//! Never: rules, stored records, talk to the ERP; text for people outside `locales/`.

#![recursion_limit = "512"]

mod browser;
mod failure;
mod language;
mod live;
pub mod serverfns;
mod shell;
mod texts;
mod ui;
pub mod wire;

#[cfg(feature = "ssr")]
pub mod backend;

#[expect(deprecated, reason = "its successor, a build script, costs 53 more packages")]
mod messages {
    leptos_i18n::load_locales!();
}
use messages::i18n;

pub use failure::Failure;
pub use language::LANGUAGE_COOKIE;
pub use shell::shell;
pub use ui::App;
