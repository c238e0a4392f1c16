//! Where a logout ends and a failed login explains itself. The only screen without a session.
//!
//! Invariant: shows nothing but fixed texts; the code in the URL only chooses among them.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;

use crate::texts::{say, use_locale};

/// `/anmeldung`, with `?fehler=CODE` after a failed login.
#[component]
pub(crate) fn Landing() -> impl IntoView {
    let locale = use_locale();
    let query = use_query_map();
    let problem = move || {
        let code = query.read().get("fehler")?;
        Some(match code.as_str() {
            "provider-unavailable" => say!(locale, landing.provider_unavailable),
            "denied" => say!(locale, landing.denied),
            "expired" => say!(locale, landing.expired),
            "state" => say!(locale, landing.state),
            "token" => say!(locale, landing.token),
            "groups-truncated" => say!(locale, landing.groups_truncated),
            "store" => say!(locale, landing.store),
            _ => say!(locale, landing.unknown),
        })
    };
    view! {
        <section class="page-problem" data-testid="landing">
            <Title text=say!(locale, landing.title) />
            <h1>{say!(locale, landing.title)}</h1>
            <p role=move || if problem().is_some() { "alert" } else { "status" }>
                {move || problem().unwrap_or_else(|| say!(locale, landing.signed_out))}
            </p>
            <p>
                <a class="button button-primary" href="/auth/login?next=/" rel="external" data-testid="sign-in">
                    {say!(locale, error.sign_in)}
                </a>
            </p>
        </section>
    }
    .into_any()
}
