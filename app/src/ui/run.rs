//! One run: its head and its whole execution log.
//!
//! Invariant: read only.

use contract::{AppError, LogView};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_params_map;

use super::{
    log::{Chain, LogList},
    problem::{LoadProblem, Loading},
};
use crate::{
    serverfns,
    texts::{self, fill, say, use_locale},
};

/// `/vorgaenge/:id`
#[component]
pub(crate) fn RunPage() -> impl IntoView {
    let params = use_params_map();
    let id = Memo::new(move |_| params.with(|params| params.get("id").unwrap_or_default()));
    let log = Resource::new(move || id.get(), serverfns::get_execution_log);
    let live = expect_context::<crate::live::Live>();
    Effect::new(move |before: Option<u64>| {
        let now = live.any_version();
        if before.is_some_and(|before| before != now) {
            log.refetch();
        }
        now
    });
    view! {
        <Transition fallback=|| view! { <Loading /> }>
            {move || Suspend::new(async move {
                match log.await.map_err(AppError::from) {
                    Ok(log) => view! { <Run log /> }.into_any(),
                    Err(error) => view! { <LoadProblem error retry=move |()| log.refetch() /> }.into_any(),
                }
            })}
        </Transition>
    }
    .into_any()
}

#[component]
fn Run(log: LogView) -> impl IntoView {
    let locale = use_locale();
    let workflow = format!(
        "{} ({}) · {}",
        log.workflow_name,
        log.workflow_id,
        fill(say!(locale, log.version), &[("version", &log.version.to_string())])
    );
    let ended = log.ended_at.as_ref().map_or(say!(locale, log.running).to_owned(), |at| at.text.clone());
    let head = [
        (say!(locale, log.workflow), workflow),
        (say!(locale, log.tenant), format!("{} / {}", log.customer, log.tenant)),
        (say!(locale, log.source), texts::source(locale, log.source).to_owned()),
        (say!(locale, log.trigger), log.trigger_guid.clone()),
        (say!(locale, log.started), log.started_at.text.clone()),
        (say!(locale, log.ended), ended),
        (say!(locale, log.instance), log.instance.clone()),
        (say!(locale, log.entries), log.entries.len().to_string()),
    ];
    let head = head.map(|(label, value)| view! { <div><dt>{label}</dt><dd>{value}</dd></div> }).collect_view();
    let status = texts::instance_status(locale, log.status);
    let title = format!("{} {}", say!(locale, log.run), log.object_number);
    view! {
        <article class="run" data-testid="run">
            <Title text=title.clone() />
            <header class="run-head">
                <h1>{title}</h1>
                <span class="state" data-testid="run-status">
                    {status}
                </span>
                <Chain intact=log.chain_intact />
            </header>
            <dl class="run-facts">{head}</dl>
            <h2>{say!(locale, log.title)}</h2>
            <LogList log />
        </article>
    }
    .into_any()
}
