//! The inbox: what there is to do, and what I decided.
//!
//! Invariant: the filter lives in the URL; a push never moves scroll, focus or typed input.
//! Never: open or claim a task by itself.

mod filters;
mod merge;
mod model;
mod query;
mod row;
mod touch;

use std::time::Duration;

use contract::{AppError, TaskFilter, TaskList};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

use super::{
    help::on_keys,
    memory::{Memory, use_memory},
    problem::{Loading, Problem},
};
use crate::{
    browser,
    live::Live,
    serverfns,
    texts::{fill, say, use_locale},
};
use filters::Filters;
use model::Model;
use row::Row;

/// How often waiting rows look whether they may come in.
const IDLE_CHECK: Duration = Duration::from_millis(700);

/// `/aufgaben`
#[component]
pub(crate) fn Inbox() -> impl IntoView {
    let locale = use_locale();
    let memory = use_memory();
    let location = use_location();
    let filter = Memo::new(move |_| query::from_query(&location.search.get()));
    let first = Resource::new(|| (), move |()| first_list(filter.get_untracked(), memory));
    let title = move || {
        if filter.with(|filter| filter.done) { say!(locale, inbox.title_done) } else { say!(locale, inbox.title) }
    };
    view! {
        <Title text=title />
        <Transition fallback=|| view! { <Loading /> }>
            {move || Suspend::new(async move {
                let first = first.await.map_err(AppError::from);
                view! { <Loaded filter memory first /> }
            })}
        </Transition>
    }
    .into_any()
}

async fn first_list(filter: TaskFilter, memory: Memory) -> Result<TaskList, crate::Failure> {
    match memory.list(&filter) {
        Some(list) => Ok(list),
        None => serverfns::list_tasks(filter).await,
    }
}

#[component]
fn Loaded(filter: Memo<TaskFilter>, memory: Memory, first: Result<TaskList, AppError>) -> impl IntoView {
    let locale = use_locale();
    let model = Model::new(filter, memory, first);
    keep_fresh(model, filter, memory);
    keyboard();
    let done = Memo::new(move |_| filter.with(|filter| filter.done));
    let empty = Memo::new(move |_| model.entries.with(Vec::is_empty) && model.error.with(Option::is_none));
    let heads = [
        ("c-object", say!(locale, inbox.col_object)),
        ("c-step", say!(locale, inbox.col_step)),
        ("c-summary", say!(locale, inbox.col_summary)),
        ("c-amount", say!(locale, inbox.col_amount)),
        ("c-tenant", say!(locale, inbox.col_tenant)),
        ("c-since", say!(locale, inbox.col_since)),
        ("c-state", say!(locale, inbox.col_state)),
        ("c-action", say!(locale, inbox.col_action)),
    ];
    let heads = heads.map(|(class, text)| view! { <th role="columnheader" scope="col" class=class>{text}</th> });
    view! {
        <section class="inbox">
            <Filters model filter />
            {move || model.error.get().map(|error| view! { <Problem error /> })}
            <div role="status" class="waiting-place">
                <Waiting model />
            </div>
            <div
                id="task-list"
                class="task-list"
                on:pointermove=move |_| touch::pointer_moved()
                on:scroll=move |_| remember_scroll(memory)
            >
                <table class="tasks" class:tasks-empty=move || empty.get() role="table" aria-label=say!(locale, inbox.list)>
                    <thead role="rowgroup">
                        <tr role="row">{heads.collect_view()}</tr>
                    </thead>
                    <tbody role="rowgroup">
                        <For each=move || model.entries.get() key=|(id, _)| id.clone() let:item>
                            <Row model id=item.0 entry=item.1 />
                        </For>
                    </tbody>
                </table>
                {move || empty.get().then(|| view! { <Empty filter memory done=done.get() /> })}
                {move || {
                    model.truncated.get().then(|| view! { <p class="hint">{say!(locale, inbox.truncated)}</p> })
                }}
            </div>
        </section>
    }
    .into_any()
}

fn keep_fresh(model: Model, filter: Memo<TaskFilter>, memory: Memory) {
    let live = expect_context::<Live>();
    Effect::new(move |before: Option<(TaskFilter, u64)>| {
        let now = (filter.get(), live.any_version());
        memory.keep_query(query::to_query(&now.0));
        // The first list may come from memory; while the connection is still coming up, its opening asks again.
        let first = before.is_none();
        if before.as_ref() != Some(&now) && (!first || live.is_open_untracked()) {
            model.refresh();
        }
        now
    });
    Effect::new(move |_| {
        if let Some(list) = browser::query(touch::LIST) {
            list.set_scroll_top(memory.scroll());
        }
        if let Ok(handle) = set_interval_with_handle(move || model.show_waiting_if_idle(), IDLE_CHECK) {
            on_cleanup(move || handle.clear());
        }
    });
}

fn remember_scroll(memory: Memory) {
    if let Some(list) = browser::query(touch::LIST) {
        memory.keep_scroll(list.scroll_top());
    }
}

fn keyboard() {
    let memory = use_memory();
    on_keys(move |key| match key {
        "j" => step(memory, 1),
        "k" => step(memory, -1),
        "c" => press_claim(),
        "/" => {
            browser::focus("#filter-q");
            true
        }
        "Escape" => {
            if let Some(active) = document().active_element().and_then(as_html) {
                // What can't lose the focus keeps it.
                let _ = active.blur();
            }
            false
        }
        _ => false,
    });
}

fn as_html(element: web_sys::Element) -> Option<web_sys::HtmlElement> {
    use wasm_bindgen::JsCast;
    element.dyn_into().ok()
}

/// Moves the focus to the next or previous row; the first time to the row after the task that was open last.
fn step(memory: Memory, by: i32) -> bool {
    let Ok(links) = document().query_selector_all("[data-row-link]") else { return false };
    let count = i32::try_from(links.length()).unwrap_or(i32::MAX);
    let link = |index: i32| {
        let node = u32::try_from(index).ok().and_then(|index| links.item(index))?;
        as_html(wasm_bindgen::JsCast::dyn_into::<web_sys::Element>(node).ok()?)
    };
    let focused = touch::focused_task().or_else(|| memory.last_task());
    let at = focused.and_then(|task| {
        (0..count).find(|index| link(*index).and_then(|link| link.get_attribute("data-row-link")) == Some(task.clone()))
    });
    let next = at.map_or(0, |at| (at + by).clamp(0, count - 1));
    match link(next) {
        Some(link) => link.focus().is_ok(),
        None => false,
    }
}

fn press_claim() -> bool {
    let row = document().active_element().and_then(|active| active.closest("[data-task]").ok().flatten());
    let button = row.and_then(|row| row.query_selector("[data-testid=row-claim]").ok().flatten()).and_then(as_html);
    let found = button.is_some();
    if let Some(button) = button {
        button.click();
    }
    found
}

#[component]
fn Waiting(model: Model) -> impl IntoView {
    let locale = use_locale();
    let text = move |count: usize| match count {
        1 => say!(locale, inbox.show_new_one).to_owned(),
        _ => fill(say!(locale, inbox.show_new_many), &[("count", &count.to_string())]),
    };
    move || {
        let count = model.waiting.get();
        (count > 0).then(|| {
            view! {
                <button type="button" class="pill" data-testid="show-new" on:click=move |_| model.show_waiting()>
                    {text(count)}
                </button>
            }
        })
    }
}

#[component]
fn Empty(filter: Memo<TaskFilter>, memory: Memory, done: bool) -> impl IntoView {
    let locale = use_locale();
    let narrowed = filter.with(query::narrows);
    let mine_only = filter.with(|filter| *filter == TaskFilter { mine: true, ..TaskFilter::default() });
    let no_rights = memory.me.with(|me| me.as_ref().is_some_and(|me| me.tenants.is_empty()));
    let (cause, title, text) = if no_rights {
        ("rights", say!(locale, inbox.empty_rights_title), say!(locale, inbox.empty_rights_text))
    } else if mine_only {
        ("mine", say!(locale, inbox.empty_mine_title), say!(locale, inbox.empty_mine_text))
    } else if narrowed {
        ("filter", say!(locale, inbox.empty_filter_title), say!(locale, inbox.empty_filter_text))
    } else if done {
        ("done", say!(locale, inbox.empty_done_title), say!(locale, inbox.empty_done_text))
    } else {
        ("open", say!(locale, inbox.empty_open_title), say!(locale, inbox.empty_open_text))
    };
    let plain = query::to_query(&TaskFilter { done, ..TaskFilter::default() });
    view! {
        <div class="empty" data-testid="empty-state" data-cause=cause>
            <h2>{title}</h2>
            <p>{text}</p>
            {narrowed
                .then(|| {
                    view! {
                        <p>
                            <a class="button" href=format!("{}{plain}", super::INBOX_PATH)>
                                {say!(locale, inbox.clear)}
                            </a>
                        </p>
                    }
                })}
        </div>
    }
}
