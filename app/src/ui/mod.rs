//! The screens.
//!
//! Invariant: one file per screen or part of one; the same markup on server and browser.
//! Never: compare states or roles to decide what a person may do.

#![expect(unreachable_pub, reason = "the component macro repeats each component's visibility on what it generates")]

mod help;
mod icons;
mod inbox;
mod landing;
mod layout;
mod log;
mod memory;
mod problem;
mod run;
mod task;

use leptos::prelude::*;
use leptos_meta::{Html, Title, provide_meta_context};
use leptos_router::{
    SsrMode,
    components::{Redirect, Route, Router, Routes},
    path,
};

use crate::{
    language,
    live::Live,
    texts::{say, use_locale},
};
use memory::Memory;

/// Where the inbox is.
pub(crate) const INBOX_PATH: &str = "/aufgaben";

/// The path of one task.
pub(crate) fn task_path(task_id: &str) -> String {
    format!("{INBOX_PATH}/{}", crate::browser::encode(task_id))
}

/// The path of one run's log.
pub(crate) fn run_path(instance_id: &str) -> String {
    format!("/vorgaenge/{}", crate::browser::encode(instance_id))
}

/// Everything inside `<body>`.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    let language = language::provide();
    view! {
        <Html attr:lang=language.code() />
        <Screens />
    }
    .into_any()
}

#[component]
fn Screens() -> impl IntoView {
    Live::provide();
    Memory::provide();
    let locale = use_locale();
    view! {
        <Title formatter=move |text: String| {
            let name = say!(locale, app.name);
            if text.is_empty() { name.to_owned() } else { format!("{text} · {name}") }
        } />
        <Router>
            <layout::Layout>
                <Routes fallback=|| view! { <problem::NoSuchPage /> }.into_any()>
                    <Route path=path!("/") view=|| view! { <Redirect path=INBOX_PATH /> } />
                    <Route path=path!("/aufgaben") view=inbox::Inbox ssr=SsrMode::Async />
                    <Route path=path!("/aufgaben/:id") view=task::TaskPage ssr=SsrMode::Async />
                    <Route path=path!("/anmeldung") view=landing::Landing ssr=SsrMode::Async />
                    <Route path=path!("/vorgaenge/:id") view=run::RunPage ssr=SsrMode::Async />
                </Routes>
            </layout::Layout>
        </Router>
    }
    .into_any()
}
