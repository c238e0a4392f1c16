//! The frame around every screen: rail, name, banners, the line that tells what just happened.
//!
//! Invariant: the frame never scrolls; screens scroll inside it.

use leptos::prelude::*;
use leptos_router::hooks::use_location;

use super::{
    help::{Help, HelpDialog},
    icons::{self, Icon},
    memory::{Memory, use_memory},
};
use crate::{
    browser,
    language::{self, LANGUAGE_COOKIE},
    live::{Link, Live},
    serverfns,
    texts::{fill, say, use_locale},
};

/// Seconds that a chosen language is remembered: a year.
const LANGUAGE_REMEMBERED_S: u32 = 31_536_000;

/// The frame.
#[component]
pub(crate) fn Layout(children: Children) -> impl IntoView {
    let locale = use_locale();
    let memory = use_memory();
    let help = Help::provide();
    view! {
        <a class="skip" href="#main">{say!(locale, app.skip)}</a>
        <div class="frame">
            <Rail memory help />
            <div class="column">
                <ConnectionBanner />
                <FlashLine memory />
                <main id="main" class="main" tabindex="-1">{children()}</main>
            </div>
        </div>
        <HelpDialog help />
    }
    .into_any()
}

#[component]
fn Rail(memory: Memory, help: Help) -> impl IntoView {
    let locale = use_locale();
    let location = use_location();
    let done = Memo::new(move |_| location.search.with(|search| search.contains("ansicht=erledigt")));
    let tasks = Memo::new(move |_| location.pathname.with(|path| path.starts_with(super::INBOX_PATH)));
    let current = move |here: bool| here.then_some("page");
    let count = move || memory.open_count.get().filter(|count| *count > 0);
    let count_label = move |count: u32| fill(say!(locale, inbox.count_label), &[("count", &count.to_string())]);
    view! {
        <header class="rail">
            <span class="brand" title=say!(locale, app.name)>
                <svg viewBox="0 0 32 32" width="28" height="28" aria-hidden="true" focusable="false">
                    <rect width="32" height="32" rx="7" class="brand-ground"></rect>
                    <path d="M8.5 16.5l5 5 10-11" class="brand-mark"></path>
                </svg>
            </span>
            <nav class="rail-nav" aria-label=say!(locale, app.nav)>
                <a
                    class="rail-link"
                    href=super::INBOX_PATH
                    aria-current=move || current(tasks.get() && !done.get())
                >
                    <Icon path=icons::INBOX />
                    <span>{say!(locale, app.tasks)}</span>
                    {move || {
                        count()
                            .map(|count| {
                                view! {
                                    <span class="badge" title=count_label(count)>
                                        {count}
                                    </span>
                                }
                            })
                    }}
                </a>
                <a
                    class="rail-link"
                    href=format!("{}?ansicht=erledigt", super::INBOX_PATH)
                    aria-current=move || current(tasks.get() && done.get())
                >
                    <Icon path=icons::DONE />
                    <span>{say!(locale, app.done)}</span>
                </a>
            </nav>
            <div class="rail-foot">
                <button type="button" class="rail-link rail-help" title="?" on:click=move |_| help.open()>
                    <Icon path=icons::HELP />
                    <span>{say!(locale, app.help)}</span>
                </button>
                <LanguageSwitch memory />
                <Who memory />
            </div>
        </header>
    }
}

/// The other language, by its own name.
#[component]
fn LanguageSwitch(memory: Memory) -> impl IntoView {
    let locale = use_locale();
    let other = language::other(language::use_language());
    let switch = move |_| {
        browser::set_cookie(LANGUAGE_COOKIE, other.code(), LANGUAGE_REMEMBERED_S);
        // What was typed is kept as a draft and comes back with the page.
        memory.reload_on_purpose();
    };
    view! {
        <button
            type="button"
            class="rail-link"
            lang=other.code()
            data-testid="language-switch"
            on:click=switch
        >
            <Icon path=icons::GLOBE />
            <span>{say!(locale, app.other_language)}</span>
        </button>
    }
}

#[component]
fn Who(memory: Memory) -> impl IntoView {
    let locale = use_locale();
    let me = Resource::new(|| (), |()| serverfns::me());
    // What other parts of the page show must not change while the server renders or the page wakes up.
    Effect::new(move |_| {
        if let Some(Ok(me)) = me.get() {
            memory.me.set(Some(me));
        }
    });
    let shown = move || {
        Suspend::new(async move {
            // Why it is not known is said by the screen, whose own request fails for the same reason.
            let name = me.await.map(|me| me.person.name).unwrap_or_default();
            let initials: String = name.split_whitespace().filter_map(|word| word.chars().next()).take(2).collect();
            view! {
                <span class="avatar" aria-hidden="true">{initials}</span>
                <span class="who-name">
                    <span class="sr">{say!(locale, app.signed_in_as)}" "</span>
                    <span data-testid="user-name">{name}</span>
                </span>
            }
        })
    };
    view! {
        <div class="who">
            <Suspense fallback=|| ()>{shown}</Suspense>
        </div>
        <form method="post" action="/auth/logout">
            <button type="submit" class="rail-link" data-testid="logout">
                <Icon path=icons::EXIT />
                <span>{say!(locale, app.sign_out)}</span>
            </button>
        </form>
    }
}

#[component]
fn ConnectionBanner() -> impl IntoView {
    let locale = use_locale();
    let live = expect_context::<Live>();
    let lost = Memo::new(move |_| live.link() == Link::Lost);
    view! {
        <div role="status">
            {move || {
                lost.get()
                    .then(|| {
                        view! {
                            <p class="banner banner-warn" data-testid="conn-banner">
                                <Icon path=icons::WARN />
                                {say!(locale, live.lost)}
                            </p>
                        }
                    })
            }}
            {move || {
                live.outdated()
                    .then(|| {
                        view! {
                            <p class="banner" data-testid="outdated-banner">
                                <Icon path=icons::INFO />
                                {say!(locale, live.outdated)}
                                <a href="" rel="external" on:click=reload>{say!(locale, app.reload)}</a>
                            </p>
                        }
                    })
            }}
        </div>
    }
}

fn reload(event: leptos::ev::MouseEvent) {
    event.prevent_default();
    browser::reload();
}

#[component]
fn FlashLine(memory: Memory) -> impl IntoView {
    let locale = use_locale();
    view! {
        <div role="status" class="flash-place">
            {move || {
                memory.flash.get()
                    .map(|flash| {
                        view! {
                            <p class="banner banner-good" data-testid="notice">
                                <Icon path=icons::DONE />
                                <strong>{flash.text}</strong>
                                {flash.detail}
                                <button
                                    type="button"
                                    class="icon-button"
                                    title=say!(locale, app.dismiss)
                                    on:click=move |_| memory.flash.set(None)
                                >
                                    <Icon path=icons::CROSS />
                                    <span class="sr">{say!(locale, app.dismiss)}</span>
                                </button>
                            </p>
                        }
                    })
            }}
        </div>
    }
}
