//! The task: what the step shows, beside its receipt, and what the person decides.
//!
//! Invariant: opening a task never claims it; the action bar is always in view; the page itself doesn't scroll on a
//! desk.

mod actions;
mod autosave;
mod draft;
mod field;
mod form;
mod intent;
mod model;
mod notices;
mod receipt;
mod values;

use contract::{AppError, TaskDetail, vocab::Action};
use leptos::{ev, prelude::*};
use leptos_meta::Title;
use leptos_router::{
    NavigateOptions,
    hooks::{use_navigate, use_params_map},
};

use super::{
    help::on_keys,
    icons::{self, Icon},
    log::{Chain, LogList},
    memory::use_memory,
    problem::{LoadProblem, Loading},
    run_path, task_path,
};
use crate::{
    live::Live,
    serverfns,
    texts::{self, say, use_locale},
};
use model::Model;

/// `/aufgaben/:id`
#[component]
pub(crate) fn TaskPage() -> impl IntoView {
    let params = use_params_map();
    let id = Memo::new(move |_| params.with(|params| params.get("id").unwrap_or_default()));
    let detail = Resource::new(move || id.get(), serverfns::get_task_metadata);
    view! {
        <Transition fallback=|| view! { <Loading /> }>
            {move || Suspend::new(async move {
                match detail.await.map_err(AppError::from) {
                    Ok(detail) => view! { <TaskScreen detail /> }.into_any(),
                    Err(error) => view! { <LoadProblem error retry=move |()| detail.refetch() /> }.into_any(),
                }
            })}
        </Transition>
    }
    .into_any()
}

#[component]
fn TaskScreen(detail: TaskDetail) -> impl IntoView {
    let locale = use_locale();
    let memory = use_memory();
    let navigate = StoredValue::new(use_navigate());
    let leave = Callback::new(move |next: Option<String>| {
        let url = next.map_or_else(|| memory.inbox_url_untracked(), |task| task_path(&task));
        navigate.with_value(|navigate| navigate(&url, NavigateOptions::default()));
    });
    let title = format!("{} · {}", detail.row.object_number, detail.row.step_title);
    let model = Model::new(locale, memory, detail, leave);
    listen(model);
    view! {
        <article class="task" data-testid="task">
            <Title text=title />
            <div class="task-left">
                <Head model />
                <div class="task-scroll">
                    <notices::Notices model />
                    <form::Form model />
                    <History model />
                </div>
                <actions::ActionBar model />
            </div>
            <receipt::ReceiptPane model />
        </article>
    }
    .into_any()
}

fn listen(model: Model) {
    let live = expect_context::<Live>();
    let task_id = model.detail.with_untracked(|detail| detail.row.task_id.clone());
    let memory = model.memory;
    memory.keep_task(task_id.clone());
    Effect::new(move |before: Option<u64>| {
        let now = live.task_version(&task_id);
        if before.is_some_and(|before| before != now) {
            model.refresh();
        }
        now
    });
    Effect::new(move |_| {
        memory.clear_flash();
        model.restore();
        let handle = window_event_listener(ev::beforeunload, move |event| {
            if model.detail.try_with_untracked(|_| ()).is_some() && model.unsaved() && !memory.reloads_on_purpose() {
                event.prevent_default();
            }
        });
        on_cleanup(move || handle.remove());
    });
    on_keys(move |key| {
        let claims =
            key == "c" && model.detail.with_untracked(|detail| detail.allowed_actions.contains(&Action::Claim));
        if claims {
            model.claim();
        }
        claims
    });
    Effect::new(move |_| {
        let handle = window_event_listener(ev::keydown, move |event| {
            let approves = event.key() == "Enter" && (event.ctrl_key() || event.meta_key()) && !event.is_composing();
            let allowed = model
                .detail
                .try_with_untracked(|detail| detail.allowed_actions.contains(&Action::Approve))
                .unwrap_or(false);
            if approves && allowed {
                event.prevent_default();
                model.approve();
            }
        });
        on_cleanup(move || handle.remove());
    });
}

#[component]
fn Head(model: Model) -> impl IntoView {
    let locale = use_locale();
    let row = Memo::new(move |_| model.detail.with(|detail| detail.row.clone()));
    let back = move || model.memory.inbox_url();
    let tone = move || row.with(texts::state_tone);
    view! {
        <header class="task-head">
            <a class="back" href=back title=say!(locale, app.back_to_tasks)>
                <Icon path=icons::BACK />
                <span class="sr">{say!(locale, app.back_to_tasks)}</span>
            </a>
            <div class="task-name">
                <h1 data-testid="task-object">{move || row.with(|row| row.object_number.clone())}</h1>
                <p>
                    <strong data-testid="task-step">{move || row.with(|row| row.step_title.clone())}</strong>
                    <span class="sub">
                        {move || row.with(|row| format!("{} · {} / {}", row.object_type, row.customer, row.tenant))}
                    </span>
                </p>
            </div>
            <span class=move || format!("state state-{}", tone()) role="status" data-testid="task-state">
                {move || view! { <Icon path=icons::of_state(tone()) /> }}
                <span>{move || row.with(|row| texts::state(locale, row))}</span>
            </span>
        </header>
    }
}

#[component]
fn History(model: Model) -> impl IntoView {
    let locale = use_locale();
    let log = Memo::new(move |_| model.detail.with(|detail| detail.log.clone()));
    move || {
        log.get().map(|log| {
            let full = run_path(&log.instance_id);
            view! {
                <section class="history" aria-labelledby="history-title">
                    <header class="history-head">
                        <h2 id="history-title">{say!(locale, task.history)}</h2>
                        <Chain intact=log.chain_intact />
                        <a href=full data-testid="full-log">{say!(locale, task.full_log)}</a>
                    </header>
                    <LogList log />
                </section>
            }
        })
    }
}
