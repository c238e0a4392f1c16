//! The language of this page.
//!
//! Invariant: chosen once per page, by the server from the person's cookie (German without one, whatever the browser
//! prefers), and taken by the browser from `<html lang>`, so that both halves say the same from the first paint. A
//! change reloads the page; so nothing here is a signal, and nothing can outlive its page.
//! Never: texts.

use contract::vocab::Language;
use leptos::prelude::*;

use crate::texts::Locale;

/// Cookie that remembers the choice, for a year.
pub const LANGUAGE_COOKIE: &str = "lang";

/// The page's language as a context.
#[derive(Debug, Clone, Copy)]
struct PageLanguage(Language);

/// Finds out the page's language and provides it. The server's half gives it as a context of the request.
pub(crate) fn provide() -> Language {
    #[cfg(feature = "ssr")]
    let language = use_context::<Language>().unwrap_or_default();
    #[cfg(not(feature = "ssr"))]
    let language = crate::browser::html_language();
    provide_context(PageLanguage(language));
    language
}

/// The page's language.
pub(crate) fn use_language() -> Language {
    use_context::<PageLanguage>().map(|page| page.0).unwrap_or_default()
}

/// Its message file.
pub(crate) fn locale_of(language: Language) -> Locale {
    match language {
        Language::De => Locale::de,
        Language::En => Locale::en,
    }
}

/// The one that the switch leads to.
pub(crate) fn other(language: Language) -> Language {
    match language {
        Language::De => Language::En,
        Language::En => Language::De,
    }
}
