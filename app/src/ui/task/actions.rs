//! The action bar: always in view, only what is allowed, each with what it leads to.
//!
//! Invariant: a rejection opens its reason in place and needs it; approving waits for the receipt.

use contract::{
    FieldProblemKind,
    vocab::{Action, FieldName},
};
use leptos::{ev, prelude::*};

use super::{
    model::{Busy, COMMENT, Model, Panel},
    values::TEXT_CHARS_MAX,
};
use crate::{
    browser,
    texts::{self, fill, say},
};

/// The action bar.
#[component]
pub(crate) fn ActionBar(model: Model) -> impl IntoView {
    let any = Memo::new(move |_| model.detail.with(|detail| !detail.allowed_actions.is_empty()));
    move || {
        any.get().then(|| {
            view! {
                <footer class="actions" data-testid="actions">
                    <Panels model />
                    <Buttons model />
                </footer>
            }
        })
    }
}

#[component]
fn Panels(model: Model) -> impl IntoView {
    move || match model.panel.get() {
        Panel::None => ().into_any(),
        Panel::Comment => view! { <CommentPanel model /> }.into_any(),
        Panel::Reject => view! { <RejectPanel model /> }.into_any(),
        Panel::Feedback => view! { <FeedbackPanel model /> }.into_any(),
    }
}

#[component]
fn Buttons(model: Model) -> impl IntoView {
    view! {
        <div class="action-row">
            <Offer model action=Action::Approve button=move || view! { <Approve model /> }.into_any() />
            <Offer model action=Action::Reject button=move || view! { <Reject model /> }.into_any() />
            <Offer model action=Action::Claim button=move || view! { <Claim model /> }.into_any() />
        </div>
        <div class="action-row action-row-quiet">
            <Offer model action=Action::Approve button=move || view! { <AddComment model /> }.into_any() />
            <Offer model action=Action::Feedback button=move || view! { <Feedback model /> }.into_any() />
            <Offer model action=Action::Unclaim button=move || view! { <Unclaim model /> }.into_any() />
        </div>
    }
}

/// A button, while the server allows what it does.
#[component]
fn Offer(model: Model, action: Action, #[prop(into)] button: ViewFn) -> impl IntoView {
    let offered = Memo::new(move |_| model.may(action));
    move || offered.get().then(|| button.run())
}

fn toggle(model: Model, panel: Panel, focus: &'static str) {
    let open = model.panel.get_untracked() == panel;
    model.panel.set(if open { Panel::None } else { panel });
    if !open {
        browser::focus_soon(focus);
    }
}

#[component]
fn Reject(model: Model) -> impl IntoView {
    view! {
        <button
            type="button"
            class="button button-danger"
            data-testid="task-reject"
            aria-expanded=move || expanded(model, Panel::Reject)
            aria-disabled=move || disabled(model)
            on:click=move |_| toggle(model, Panel::Reject, "#comment")
        >
            {say!(model.locale, act.reject)}
            <LeadsTo target=Signal::derive(move || model.detail.with(|detail| detail.reject_leads_to.clone())) />
        </button>
    }
}

#[component]
fn Claim(model: Model) -> impl IntoView {
    view! {
        <button
            type="button"
            class="button button-primary button-wide"
            data-testid="task-claim"
            title="c"
            aria-disabled=move || disabled(model)
            aria-busy=move || busy(model, Busy::Claim)
            on:click=move |_| model.claim()
        >
            {say!(model.locale, act.claim)}
        </button>
    }
}

#[component]
fn AddComment(model: Model) -> impl IntoView {
    view! {
        <button
            type="button"
            class="button button-quiet"
            data-testid="task-add-comment"
            aria-expanded=move || expanded(model, Panel::Comment)
            on:click=move |_| toggle(model, Panel::Comment, "#comment")
        >
            {say!(model.locale, act.comment)}
        </button>
    }
}

#[component]
fn Feedback(model: Model) -> impl IntoView {
    view! {
        <button
            type="button"
            class="button button-quiet"
            data-testid="task-feedback"
            aria-expanded=move || expanded(model, Panel::Feedback)
            on:click=move |_| toggle(model, Panel::Feedback, "#feedback")
        >
            {say!(model.locale, act.feedback)}
        </button>
    }
}

#[component]
fn Unclaim(model: Model) -> impl IntoView {
    view! {
        <button
            type="button"
            class="button button-quiet push"
            data-testid="task-unclaim"
            aria-disabled=move || disabled(model)
            aria-busy=move || busy(model, Busy::Unclaim)
            on:click=move |_| model.unclaim()
        >
            {say!(model.locale, act.unclaim)}
        </button>
    }
}

fn expanded(model: Model, panel: Panel) -> &'static str {
    if model.panel.get() == panel { "true" } else { "false" }
}

fn disabled(model: Model) -> Option<&'static str> {
    model.busy.get().map(|_| "true")
}

fn busy(model: Model, what: Busy) -> Option<&'static str> {
    (model.busy.get() == Some(what)).then_some("true")
}

#[component]
fn LeadsTo(target: Signal<String>) -> impl IntoView {
    let locale = texts::use_locale();
    move || {
        let target = texts::target(locale, &target.get());
        (!target.is_empty()).then(|| {
            view! { <span class="leads-to">{fill(say!(locale, act.leads_to), &[("target", &target)])}</span> }
        })
    }
}

#[component]
fn Approve(model: Model) -> impl IntoView {
    let locale = model.locale;
    let waits = Memo::new(move |_| model.waits_for_receipt());
    view! {
        <button
            type="button"
            class="button button-primary button-wide"
            data-testid="task-approve"
            title=move || {
                if waits.get() { say!(locale, act.wait_receipt) } else { say!(locale, help.ctrl_enter) }
            }
            aria-disabled=move || (waits.get() || model.busy.get().is_some()).then_some("true")
            aria-busy=move || busy(model, Busy::Approve)
            aria-describedby=move || waits.get().then_some("approve-waits")
            on:click=move |_| model.approve()
        >
            {say!(locale, act.approve)}
            <LeadsTo target=Signal::derive(move || {
                model.detail.with(|detail| detail.approve_leads_to.clone())
            }) />
        </button>
        {move || {
            waits
                .get()
                .then(|| {
                    view! {
                        <span id="approve-waits" class="sr">
                            {say!(locale, act.wait_receipt)}
                        </span>
                    }
                })
        }}
    }
}

#[component]
fn Comment(model: Model, label: &'static str, #[prop(optional)] hint: Option<&'static str>) -> impl IntoView {
    let locale = model.locale;
    let problem = Memo::new(move |_| model.problems.with(|problems| problems.get(&FieldName::new(COMMENT)).copied()));
    let problem_text = move |kind| match kind {
        FieldProblemKind::Required => say!(locale, problem.comment_required),
        other => texts::problem(locale, other),
    };
    view! {
        <label class="label" for="comment">
            {label}
        </label>
        <textarea
            id="comment"
            class="input"
            rows="3"
            maxlength=TEXT_CHARS_MAX
            data-testid="task-comment"
            aria-describedby="comment-notes"
            aria-invalid=move || problem.get().map(|_| "true")
            prop:value=move || model.comment.get()
            on:input=move |event| model.type_comment(event_target_value(&event))
        ></textarea>
        <div class="field-notes" id="comment-notes">
            {hint.map(|hint| view! { <span class="field-note">{hint}</span> })}
            {move || {
                problem
                    .get()
                    .map(|kind| {
                        view! {
                            <span class="field-note field-problem" role="alert" data-testid="comment-problem">
                                {problem_text(kind)}
                            </span>
                        }
                    })
            }}
        </div>
    }
}

fn escape_closes(model: Model) -> impl Fn(ev::KeyboardEvent) + Copy {
    move |event| {
        if event.key() == "Escape" {
            event.stop_propagation();
            model.panel.set(Panel::None);
        }
    }
}

#[component]
fn CommentPanel(model: Model) -> impl IntoView {
    let locale = model.locale;
    view! {
        <div class="panel" on:keydown=escape_closes(model)>
            <Comment model label=say!(locale, act.comment_optional) />
        </div>
    }
}

#[component]
fn RejectPanel(model: Model) -> impl IntoView {
    let locale = model.locale;
    view! {
        <div class="panel panel-danger" on:keydown=escape_closes(model)>
            <Comment
                model
                label=say!(locale, act.comment_reject)
                hint=say!(locale, act.comment_reject_hint)
            />
            <p class="button-row">
                <button
                    type="button"
                    class="button button-danger-filled"
                    data-testid="task-confirm-reject"
                    aria-disabled=move || disabled(model)
                    aria-busy=move || busy(model, Busy::Reject)
                    on:click=move |_| model.reject()
                >
                    {say!(locale, act.confirm_reject)}
                </button>
                <button type="button" class="button button-quiet" on:click=move |_| model.panel.set(Panel::None)>
                    {say!(locale, act.cancel)}
                </button>
            </p>
        </div>
    }
}

#[component]
fn FeedbackPanel(model: Model) -> impl IntoView {
    let locale = model.locale;
    let invalid = move || model.problems.with(|problems| problems.contains_key(&FieldName::new("feedback")));
    view! {
        <div class="panel" on:keydown=escape_closes(model)>
            <label class="label" for="feedback">
                {say!(locale, act.feedback_text)}
            </label>
            <textarea
                id="feedback"
                class="input"
                rows="3"
                maxlength=TEXT_CHARS_MAX
                data-testid="feedback-text"
                aria-invalid=move || invalid().then_some("true")
                prop:value=move || model.feedback.get()
                on:input=move |event| model.feedback.set(event_target_value(&event))
            ></textarea>
            <p class="button-row">
                <button
                    type="button"
                    class="button"
                    data-testid="feedback-send"
                    aria-disabled=move || disabled(model)
                    aria-busy=move || busy(model, Busy::Feedback)
                    on:click=move |_| model.send_feedback()
                >
                    {say!(locale, act.send_feedback)}
                </button>
                <button type="button" class="button button-quiet" on:click=move |_| model.panel.set(Panel::None)>
                    {say!(locale, act.cancel)}
                </button>
            </p>
        </div>
    }
}
