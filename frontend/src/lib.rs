//! The WASM entry point.
//!
//! Purpose: hydrate the HTML that the server rendered.
//! Never: anything else; screens live in `app`.

use wasm_bindgen::prelude::wasm_bindgen;

/// Called once by the page's hydration script.
#[wasm_bindgen]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    leptos::mount::hydrate_body(app::App);
}
