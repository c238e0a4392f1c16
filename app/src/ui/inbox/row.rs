//! One row of the inbox.
//!
//! Invariant: its own spinner and error, whatever other rows do; its button keeps the focus when its meaning changes.

use contract::{
    SummaryCell, TaskRow,
    vocab::{Action, FieldType},
};
use leptos::prelude::*;

use super::model::{Entry, Model, Pending};
use crate::{
    texts::{self, fill, say, use_locale},
    ui::{
        icons::{self, Icon},
        task_path,
    },
};

/// One row.
#[component]
pub(crate) fn Row(model: Model, id: String, entry: Entry) -> impl IntoView {
    let row = entry.row;
    let object = row.with_untracked(|row| row.object_number.clone());
    let href = task_path(&id);
    let tenant = move || row.with(|row| format!("{} / {}", row.customer, row.tenant));
    let step = move || row.with(|row| row.step_title.clone());
    let workflow = move || row.with(|row| row.object_type.clone());
    let since = move || row.with(|row| row.opened_at.text.clone());
    let since_exact = move || row.with(|row| row.opened_at.iso.clone());
    let finished = Memo::new(move |_| row.with(|row| row.allowed_actions.is_empty()));
    view! {
        <tr
            role="row"
            class="task-row"
            class:quiet=move || finished.get()
            data-testid="task-row"
            data-object=object
            data-task=id
        >
            <td role="cell" class="c-object">
                <a class="row-link" href=href data-row-link=id.clone()>
                    {object.clone()}
                </a>
            </td>
            <td role="cell" class="c-step">
                <span class="step">{step}</span>
                <span class="sub">{workflow}</span>
            </td>
            <td role="cell" class="c-summary">{move || row.with(summary)}</td>
            <td role="cell" class="c-amount">{move || row.with(amount)}</td>
            <td role="cell" class="c-tenant">{tenant}</td>
            <td role="cell" class="c-since">
                <time datetime=since_exact title=since_exact>
                    {since}
                </time>
            </td>
            <td role="cell" class="c-state">
                <RowState entry />
            </td>
            <td role="cell" class="c-action">
                <RowAction model entry />
            </td>
        </tr>
    }
    .into_any()
}

fn cell(cell: &SummaryCell) -> impl IntoView + use<> {
    view! {
        <span class="cell" title=cell.label.clone()>
            <span class="sr">{cell.label.clone()}": "</span>
            {cell.text.clone()}
        </span>
    }
}

fn is_amount(cell: &SummaryCell) -> bool {
    cell.kind == FieldType::Money
}

fn summary(row: &TaskRow) -> impl IntoView + use<> {
    let main = row.summary.iter().position(is_amount);
    let others = row.summary.iter().enumerate().filter(|(index, cell)| Some(*index) != main && !cell.text.is_empty());
    others.map(|(_, summary)| cell(summary)).collect_view()
}

fn amount(row: &TaskRow) -> impl IntoView + use<> {
    row.summary.iter().find(|cell| is_amount(cell)).map(cell)
}

#[component]
fn RowState(entry: Entry) -> impl IntoView {
    let locale = use_locale();
    let shown = Memo::new(move |_| {
        entry.row.with(|row| match entry.pending.get() {
            Some(Pending::Claim) => ("mine", fill(say!(locale, state.claimed_by), &[("name", say!(locale, app.me))])),
            Some(Pending::Unclaim) => ("open", say!(locale, state.open).to_owned()),
            None => (texts::state_tone(row), texts::state(locale, row)),
        })
    });
    view! {
        <span class=move || shown.with(|(tone, _)| format!("state state-{tone}")) data-testid="row-state">
            {move || shown.with(|(tone, _)| view! { <Icon path=icons::of_state(tone) /> })}
            <span>{move || shown.with(|(_, text)| text.clone())}</span>
        </span>
        {move || {
            entry
                .error
                .get()
                .map(|error| {
                    view! {
                        <span class="row-error" role="alert" data-testid="row-error">
                            {texts::error(locale, &error)}
                        </span>
                    }
                })
        }}
    }
}

#[component]
fn RowAction(model: Model, entry: Entry) -> impl IntoView {
    let locale = use_locale();
    let offer = Memo::new(move |_| {
        entry.row.with(|row| {
            let may = |action| row.allowed_actions.contains(&action);
            let offer = if may(Action::Claim) {
                Some(Pending::Claim)
            } else if may(Action::Unclaim) {
                Some(Pending::Unclaim)
            } else {
                None
            };
            // While an answer is on its way, the button already shows what comes after it.
            match entry.pending.get() {
                Some(Pending::Claim) => Some(Pending::Unclaim),
                Some(Pending::Unclaim) => Some(Pending::Claim),
                None => offer,
            }
        })
    });
    let busy = move || entry.pending.get().is_some();
    let offered = Memo::new(move |_| offer.get().is_some());
    let testid = move || if offer.get() == Some(Pending::Unclaim) { "row-unclaim" } else { "row-claim" };
    let text = move || {
        if offer.get() == Some(Pending::Unclaim) { say!(locale, act.unclaim) } else { say!(locale, act.claim) }
    };
    let object = entry.row.with_untracked(|row| row.object_number.clone());
    move || {
        let object = object.clone();
        offered.get().then(move || {
            view! {
                <button
                    type="button"
                    class="button button-small"
                    data-testid=testid
                    title=move || (offer.get() == Some(Pending::Claim)).then_some("c")
                    aria-label=move || format!("{} · {object}", text())
                    aria-busy=move || busy().then_some("true")
                    aria-disabled=move || busy().then_some("true")
                    on:click=move |_| {
                        if let Some(what) = offer.get_untracked() {
                            model.act(entry, what);
                        }
                    }
                >
                    {text}
                </button>
            }
        })
    }
}
