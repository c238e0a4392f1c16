//! The filter bar. Every control writes the URL; the URL is the filter.
//!
//! Invariant: typing in the search field never loses a character to a refresh.

use contract::{TaskFilter, vocab::TaskState};
use leptos::{ev, prelude::*};
use leptos_router::{NavigateOptions, hooks::use_navigate};

use super::{model::Model, query};
use crate::{
    texts::{say, use_locale},
    ui::INBOX_PATH,
};

fn url(filter: &TaskFilter) -> String {
    format!("{INBOX_PATH}{}", query::to_query(filter))
}

/// The filter bar.
#[component]
pub(crate) fn Filters(model: Model, filter: Memo<TaskFilter>) -> impl IntoView {
    let locale = use_locale();
    let navigate = StoredValue::new(use_navigate());
    let change = Callback::new(move |(filter, replace): (TaskFilter, bool)| {
        let options = NavigateOptions { replace, scroll: false, ..NavigateOptions::default() };
        navigate.with_value(|navigate| navigate(&url(&filter), options));
    });
    let done = Memo::new(move |_| filter.with(|filter| filter.done));
    let title = move || if done.get() { say!(locale, inbox.title_done) } else { say!(locale, inbox.title) };
    let narrowed = Memo::new(move |_| filter.with(query::narrows));
    let typed = move |event: ev::Event| {
        let text = event_target_value(&event);
        let q = (!text.is_empty()).then_some(text);
        change.run((TaskFilter { q, ..filter.get_untracked() }, true));
    };
    view! {
        <div class="inbox-head">
            <h1>{title}</h1>
            <Tabs model filter />
            <div class="filters" role="search" aria-label=say!(locale, inbox.filters)>
                <input
                    id="filter-q"
                    class="input filter-q"
                    type="search"
                    autocomplete="off"
                    maxlength="200"
                    data-testid="filter-q"
                    title="/"
                    aria-label=say!(locale, inbox.search)
                    placeholder=say!(locale, inbox.search_hint)
                    value=move || filter.with_untracked(|filter| filter.q.clone())
                    prop:value=move || filter.with(|filter| filter.q.clone().unwrap_or_default())
                    on:input=typed
                />
                {move || {
                    (!done.get())
                        .then(|| {
                            view! {
                                <Mine model filter change />
                                <Status filter change />
                            }
                        })
                }}
                <Tenant model filter change />
                <ObjectType model filter change />
                {move || {
                    let plain = TaskFilter { done: done.get(), ..TaskFilter::default() };
                    narrowed
                        .get()
                        .then(|| {
                            view! {
                                <a class="button button-quiet" href=url(&plain) data-testid="filter-clear">
                                    {say!(locale, inbox.clear)}
                                </a>
                            }
                        })
                }}
            </div>
        </div>
    }
}

#[component]
fn Tabs(model: Model, filter: Memo<TaskFilter>) -> impl IntoView {
    let locale = use_locale();
    let done = Memo::new(move |_| filter.with(|filter| filter.done));
    let current = move |is: bool| (done.get() == is).then_some("page");
    let open_url = move || url(&TaskFilter { done: false, ..filter.get() });
    let done_url = move || url(&TaskFilter { done: true, status: None, mine: false, ..filter.get() });
    let all = move || model.counts.with(|counts| counts.open + counts.claimed);
    view! {
        <nav class="tabs" aria-label=say!(locale, inbox.views)>
            <a class="tab" href=open_url aria-current=move || current(false) data-testid="tab-open">
                {say!(locale, inbox.tab_open)}
                <span class="count" data-testid="count-open">{all}</span>
            </a>
            <a class="tab" href=done_url aria-current=move || current(true) data-testid="tab-done">
                {say!(locale, inbox.tab_done)}
            </a>
        </nav>
    }
}

type Change = Callback<(TaskFilter, bool)>;

#[component]
fn Mine(model: Model, filter: Memo<TaskFilter>, change: Change) -> impl IntoView {
    let locale = use_locale();
    let on = Memo::new(move |_| filter.with(|filter| filter.mine));
    let toggle = move |_| {
        let filter = filter.get_untracked();
        change.run((TaskFilter { mine: !filter.mine, ..filter }, false));
    };
    view! {
        <button
            type="button"
            class="button toggle"
            data-testid="filter-mine"
            title=say!(locale, inbox.mine_hint)
            aria-pressed=move || if on.get() { "true" } else { "false" }
            on:click=toggle
        >
            {say!(locale, inbox.mine)}
            <span class="count" data-testid="count-mine">{move || model.counts.with(|counts| counts.mine)}</span>
        </button>
    }
}

#[component]
fn Status(filter: Memo<TaskFilter>, change: Change) -> impl IntoView {
    let locale = use_locale();
    let chosen = move || filter.with(|filter| filter.status);
    let pick = move |event: ev::Event| {
        let status = query::state(&event_target_value(&event));
        change.run((TaskFilter { status, ..filter.get_untracked() }, false));
    };
    let options = query::STATES.map(|(name, state)| {
        let text = match state {
            TaskState::Open => say!(locale, state.open),
            TaskState::Claimed => say!(locale, state.claimed),
            TaskState::Done => say!(locale, state.done),
        };
        view! { <option value=name selected=move || chosen() == Some(state)>{text}</option> }
    });
    view! {
        <select class="input" data-testid="filter-status" aria-label=say!(locale, inbox.status) on:change=pick>
            <option value="" selected=move || chosen().is_none()>
                {say!(locale, inbox.status_all)}
            </option>
            {options.collect_view()}
        </select>
    }
}

#[component]
fn Tenant(model: Model, filter: Memo<TaskFilter>, change: Change) -> impl IntoView {
    let locale = use_locale();
    let pick = move |value: Option<String>| {
        change.run((TaskFilter { tenant: value, ..filter.get_untracked() }, false));
    };
    view! {
        <Choice
            testid="filter-tenant"
            label=say!(locale, inbox.tenant)
            all=say!(locale, inbox.tenant_all)
            options=model.tenants
            chosen=Signal::derive(move || filter.with(|filter| filter.tenant.clone()))
            pick=pick
        />
    }
}

#[component]
fn ObjectType(model: Model, filter: Memo<TaskFilter>, change: Change) -> impl IntoView {
    let locale = use_locale();
    let pick = move |value: Option<String>| {
        change.run((TaskFilter { object_type: value, ..filter.get_untracked() }, false));
    };
    let options = Signal::derive(move || {
        model.object_types.with(|types| types.iter().map(|name| (name.clone(), name.clone())).collect::<Vec<_>>())
    });
    view! {
        <Choice
            testid="filter-type"
            label=say!(locale, inbox.object_type)
            all=say!(locale, inbox.object_type_all)
            options=options
            chosen=Signal::derive(move || filter.with(|filter| filter.object_type.clone()))
            pick=pick
        />
    }
}

/// A select whose options come from the server; a chosen value that isn't among them stays visible.
#[component]
fn Choice(
    testid: &'static str,
    label: &'static str,
    all: &'static str,
    #[prop(into)] options: Signal<Vec<(String, String)>>,
    chosen: Signal<Option<String>>,
    #[prop(into)] pick: Callback<Option<String>>,
) -> impl IntoView {
    let shown = Memo::new(move |_| {
        let mut options = options.get();
        if let Some(chosen) = chosen.get()
            && !options.iter().any(|(value, _)| *value == chosen)
        {
            options.push((chosen.clone(), crate::browser::decode(&chosen)));
        }
        options
    });
    let picked = move |event: ev::Event| {
        let value = event_target_value(&event);
        pick.run((!value.is_empty()).then_some(value));
    };
    view! {
        <select class="input" data-testid=testid aria-label=label on:change=picked>
            <option value="" selected=move || chosen.get().is_none()>
                {all}
            </option>
            <For each=move || shown.get() key=|(value, _)| value.clone() let:option>
                {
                    let (value, text) = option;
                    let is = value.clone();
                    view! {
                        <option value=value selected=move || chosen.get().as_ref() == Some(&is)>
                            {text}
                        </option>
                    }
                }
            </For>
        </select>
    }
}
