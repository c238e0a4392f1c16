//! The keyboard: what is pressed where, and the dialog that says so.
//!
//! Invariant: a single-character shortcut never fires inside an input and can be switched off (WCAG 2.1.4).
//! Never: acts itself; screens register what a key does.

use leptos::{ev, html, prelude::*};

use super::memory::use_memory;
use crate::{
    browser,
    texts::{say, use_locale},
};

const SWITCH_KEY: &str = "shortcuts";

/// The help dialog's handle, a context.
#[derive(Clone, Copy)]
pub(crate) struct Help {
    dialog: NodeRef<html::Dialog>,
    enabled: RwSignal<bool>,
}

impl Help {
    /// Provides the context and listens for `?`.
    pub(crate) fn provide() -> Self {
        let help = Self { dialog: NodeRef::new(), enabled: RwSignal::new(true) };
        provide_context(help);
        Effect::new(move |_| {
            if browser::local_get(SWITCH_KEY).as_deref() == Some("off") {
                help.enabled.set(false);
            }
        });
        on_keys(move |key| {
            if key == "?" {
                help.open();
                return true;
            }
            false
        });
        help
    }

    /// Shows the dialog.
    pub(crate) fn open(self) {
        if let Some(dialog) = self.dialog.get_untracked()
            && !dialog.open()
        {
            // It fails only for a dialog that is not in the page.
            let _ = dialog.show_modal();
        }
    }

    fn close(self) {
        if let Some(dialog) = self.dialog.get_untracked() {
            dialog.close();
        }
    }
}

/// Calls `act` with each plain key pressed outside inputs while the caller's component lives. Where `act` says it used
/// the key, the browser doesn't.
pub(crate) fn on_keys(act: impl Fn(&str) -> bool + Send + Sync + 'static) {
    let act = StoredValue::new(act);
    let help = use_context::<Help>();
    Effect::new(move |_| {
        let handle = window_event_listener(ev::keydown, move |event| {
            let off = help.is_some_and(|help| !help.enabled.get_untracked());
            let modified = event.ctrl_key() || event.meta_key() || event.alt_key();
            if off || modified || event.is_composing() || event.default_prevented() || browser::types_text(&event) {
                return;
            }
            if act.try_with_value(|act| act(&event.key())).unwrap_or(false) {
                event.prevent_default();
            }
        });
        on_cleanup(move || handle.remove());
    });
}

/// The dialog.
#[component]
pub(crate) fn HelpDialog(help: Help) -> impl IntoView {
    let locale = use_locale();
    let memory = use_memory();
    let rows = [
        ("j", say!(locale, help.next)),
        ("k", say!(locale, help.previous)),
        (say!(locale, help.enter_key), say!(locale, help.open)),
        ("c", say!(locale, help.claim)),
        ("/", say!(locale, help.search)),
        (say!(locale, help.ctrl_enter), say!(locale, help.approve)),
        ("Esc", say!(locale, help.escape)),
        ("?", say!(locale, help.help)),
    ];
    let rows = rows.map(|(key, text)| view! { <div><dt><kbd>{key}</kbd></dt><dd>{text}</dd></div> }).collect_view();
    let switch = move |event: ev::Event| {
        let on = event_target_checked(&event);
        help.enabled.set(on);
        browser::local_set(SWITCH_KEY, if on { "on" } else { "off" });
    };
    view! {
        <dialog class="help" node_ref=help.dialog aria-labelledby="help-title" data-testid="help-dialog">
            <h2 id="help-title">{say!(locale, help.title)}</h2>
            <dl class="keys">{rows}</dl>
            <label class="check">
                <input type="checkbox" prop:checked=move || help.enabled.get() on:change=switch />
                <span>{say!(locale, help.switch)}</span>
            </label>
            <label class="check">
                <input
                    type="checkbox"
                    data-testid="auto-next"
                    prop:checked=move || memory.auto_next.get()
                    on:change=move |event| memory.switch_auto_next(event_target_checked(&event))
                />
                <span>{say!(locale, help.auto_next)}</span>
            </label>
            <p class="button-row">
                <button type="button" class="button button-primary" on:click=move |_| help.close()>
                    {say!(locale, app.close)}
                </button>
            </p>
        </dialog>
    }
}
