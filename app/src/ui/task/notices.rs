//! What a person should know before deciding, and what went wrong, in the sentence's place.
//!
//! Invariant: nothing here moves the focus or takes typed input away.

use contract::{AppError, TaskNotice, vocab::Action};
use leptos::prelude::*;

use super::{autosave::Kept, model::Model};
use crate::{
    texts::{self, fill, say},
    ui::{
        icons::{self, Icon},
        problem::Problem,
    },
};

/// Notices and the last error.
#[component]
pub(crate) fn Notices(model: Model) -> impl IntoView {
    let locale = model.locale;
    let notices = Memo::new(move |_| model.detail.with(|detail| detail.notices.clone()));
    let erp_problem = Memo::new(move |_| model.detail.with(|detail| detail.erp_problem.clone()));
    let updated = Memo::new(move |_| model.updated.with(|updated| !updated.is_empty()));
    let read_only = Memo::new(move |_| {
        let nothing = model.detail.with(|detail| detail.allowed_actions.iter().all(|act| *act == Action::Feedback));
        let claimed_by = model.detail.with(|detail| detail.row.claimed_by.as_ref().map(|person| person.name.clone()));
        nothing.then_some(claimed_by)
    });
    view! {
        <div class="notices">
            <Conflict model />
            {move || {
                erp_problem
                    .get()
                    .map(|problem| {
                        view! {
                            <div class="box box-problem" role="alert" data-testid="erp-problem">
                                <Icon path=icons::WARN />
                                <div class="box-text">
                                    <p>{say!(locale, task.erp_problem)}</p>
                                    <p class="sub">{problem}</p>
                                    <button type="button" class="button" on:click=move |_| model.refresh()>
                                        {say!(locale, app.retry)}
                                    </button>
                                </div>
                            </div>
                        }
                    })
            }}
            {move || notices.get().into_iter().map(|notice| view! { <Notice model notice /> }).collect_view()}
            <div role="status">
                {move || updated.get().then(|| plain("values-updated", say!(locale, task.values_updated).to_owned()))}
                {move || {
                    read_only
                        .get()
                        .map(|who| {
                            let text = match who {
                                Some(name) => fill(say!(locale, task.claimed_since), &[("name", &name)]),
                                None => say!(locale, act.read_only).to_owned(),
                            };
                            plain("read-only", text)
                        })
                }}
            </div>
            <DraftNote model />
        </div>
    }
}

fn plain(testid: &'static str, text: String) -> impl IntoView {
    view! {
        <p class="box" data-testid=testid>
            <Icon path=icons::INFO />
            <span>{text}</span>
        </p>
    }
}

#[component]
fn Notice(model: Model, notice: TaskNotice) -> impl IntoView {
    let locale = model.locale;
    let (class, icon, text, detail) = match notice {
        TaskNotice::ErpWritePending { error, attempts } => {
            let text = fill(say!(locale, task.erp_pending), &[("attempts", &attempts.to_string())]);
            ("box box-warn", icons::WARN, text, error)
        }
        TaskNotice::WaitingForErp => ("box", icons::INFO, say!(locale, task.waiting_for_erp).to_owned(), None),
        TaskNotice::FourEyes => ("box box-warn", icons::LOCK, say!(locale, task.four_eyes).to_owned(), None),
        TaskNotice::FirstNote { text } => ("box", icons::TALK, say!(locale, task.first_note).to_owned(), Some(text)),
    };
    view! {
        <div class=class data-testid="task-notice">
            <Icon path=icon />
            <div class="box-text">
                <p>{text}</p>
                {detail.map(|detail| view! { <p class="sub">{detail}</p> })}
            </div>
        </div>
    }
}

/// Why the last act didn't work.
#[component]
fn Conflict(model: Model) -> impl IntoView {
    let locale = model.locale;
    move || {
        model.error.get().map(|error| match error {
            AppError::ValuesChanged { changed } => {
                let rows = changed.into_iter().map(|value| {
                    let parts = [("label", value.label.as_str()), ("shown", &value.shown), ("now", &value.now)];
                    view! { <li>{fill(say!(locale, task.value_change), &parts)}</li> }
                });
                view! {
                    <div class="box box-warn" role="alert" data-testid="conflict">
                        <Icon path=icons::WARN />
                        <div class="box-text">
                            <p>{say!(locale, task.values_changed)}</p>
                            <ul class="changes">{rows.collect_view()}</ul>
                        </div>
                    </div>
                }
                .into_any()
            }
            AppError::Stale { .. } => view! {
                <div class="box box-warn" role="alert" data-testid="conflict">
                    <Icon path=icons::WARN />
                    <div class="box-text">
                        <p>{texts::error(locale, &error)}</p>
                        {model.dirty().then(|| view! { <p class="sub">{say!(locale, task.input_kept)}</p> })}
                        <p>
                            <a href=move || model.memory.inbox_url()>{say!(locale, app.back_to_tasks)}</a>
                        </p>
                    </div>
                </div>
            }
            .into_any(),
            error => view! { <Problem error /> }.into_any(),
        })
    }
}

#[component]
fn DraftNote(model: Model) -> impl IntoView {
    let locale = model.locale;
    let shown = Memo::new(move |_| {
        let saved = model.kept.get().map(|kept| match kept {
            Kept::Server(time) => fill(say!(locale, task.draft_saved), &[("time", &time)]),
            Kept::Tab => say!(locale, task.draft_here).to_owned(),
        });
        let restored = model.restored.get().then(|| say!(locale, task.draft_restored).to_owned());
        saved.or(restored)
    });
    move || {
        shown.get().map(|text| {
            view! {
                <p class="draft-note" data-testid="draft-note">
                    {text}
                    <button type="button" class="link" on:click=move |_| model.discard()>
                        {say!(locale, task.draft_discard)}
                    </button>
                </p>
            }
        })
    }
}
