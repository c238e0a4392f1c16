//! The HTML document around the app.
//!
//! Invariant: no inline style, no script without the request's nonce; the server sends the policy that enforces it.
//! Never: hydrated; only what is inside `<body>` is.

use leptos::prelude::*;
use leptos_meta::{HashedStylesheet, MetaTags};

use crate::ui::App;

/// The document, for `leptos_routes_with_context`. `options` name the hashed files.
pub fn shell(options: LeptosOptions) -> impl IntoView {
    view! {
        <!DOCTYPE html>
        <html>
            <head>
                <meta charset="utf-8" />
                <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover" />
                <meta name="color-scheme" content="light dark" />
                <meta name="theme-color" media="(prefers-color-scheme: light)" content="#ffffff" />
                <meta name="theme-color" media="(prefers-color-scheme: dark)" content="#101215" />
                <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
                <HashedStylesheet id="leptos" options=options.clone() />
                <HydrationScripts options />
                <MetaTags />
            </head>
            <body>
                <App />
            </body>
        </html>
    }
}
