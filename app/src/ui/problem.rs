//! Errors that take a screen's place or stand in a sentence's place.
//!
//! Invariant: says what happened and offers the way out; never navigates by itself.

use contract::AppError;
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

use super::icons::{self, Icon};
use crate::{
    browser::encode,
    texts::{self, say, use_locale},
};

/// An error in place, with a link to sign in where that is what helps.
#[component]
pub(crate) fn Problem(error: AppError) -> impl IntoView {
    let locale = use_locale();
    let text = texts::error(locale, &error);
    let sign_in = matches!(error, AppError::SignedOut);
    view! {
        <div class="box box-problem" role="alert" data-testid="problem">
            <Icon path=icons::WARN />
            <div class="box-text">
                <p>{text}</p>
                {sign_in.then(|| view! { <SignIn /> })}
            </div>
        </div>
    }
}

#[component]
fn SignIn() -> impl IntoView {
    let locale = use_locale();
    let location = use_location();
    let href = move || {
        let search = location.search.get();
        let search = search.trim_start_matches('?');
        let mark = if search.is_empty() { "" } else { "?" };
        format!("/auth/login?next={}", encode(&format!("{}{mark}{search}", location.pathname.get())))
    };
    view! {
        <p>
            <a class="button button-primary" href=href rel="external" data-testid="sign-in">
                {say!(locale, error.sign_in)}
            </a>
        </p>
    }
}

/// An error in a whole screen's place.
#[component]
pub(crate) fn LoadProblem(error: AppError, #[prop(into)] retry: Callback<()>) -> impl IntoView {
    let locale = use_locale();
    view! {
        <section class="page-problem">
            <Title text=say!(locale, error.load_title) />
            <h1>{say!(locale, error.load_title)}</h1>
            <Problem error />
            <p class="button-row">
                <button type="button" class="button" on:click=move |_| retry.run(())>
                    {say!(locale, app.retry)}
                </button>
                <a class="button button-quiet" href=super::INBOX_PATH>
                    {say!(locale, app.back_to_tasks)}
                </a>
            </p>
        </section>
    }
}

/// No route matches.
#[component]
pub(crate) fn NoSuchPage() -> impl IntoView {
    let locale = use_locale();
    view! {
        <section class="page-problem">
            <Title text=say!(locale, app.not_found_title) />
            <h1>{say!(locale, app.not_found_title)}</h1>
            <p>{say!(locale, app.not_found_text)}</p>
            <p>
                <a class="button" href=super::INBOX_PATH>
                    {say!(locale, app.back_to_tasks)}
                </a>
            </p>
        </section>
    }
}

/// Something is on its way.
#[component]
pub(crate) fn Loading() -> impl IntoView {
    let locale = use_locale();
    view! { <p class="loading" role="status">{say!(locale, app.loading)}</p> }
}
