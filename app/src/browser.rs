//! The few things that only a browser has: ids, storage, focus, the clock.
//!
//! Invariant: called from effects and event handlers only, which never run on the server.
//! Never: markup, state.

#[cfg(not(feature = "ssr"))]
use contract::vocab::Language;
use contract::vocab::OperationId;
use leptos::prelude::{document, window};
use wasm_bindgen::JsCast;

/// A fresh id for one intent of a person: a random (version 4) UUID. `crypto.getRandomValues` also works where the
/// page came over plain HTTP in a company's network, unlike `randomUUID`.
pub(crate) fn operation_id() -> OperationId {
    let mut bytes = [0_u8; 16];
    let filled = window().crypto().and_then(|crypto| crypto.get_random_values_with_u8_array(&mut bytes));
    if filled.is_err() {
        for byte in &mut bytes {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 ≤ value < 256")]
            let random = (js_sys::Math::random() * 256.0) as u8;
            *byte = random;
        }
    }
    OperationId::new(uuid_text(bytes))
}

fn uuid_text(mut bytes: [u8; 16]) -> String {
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let mut text = String::with_capacity(36);
    for (i, byte) in bytes.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        for nibble in [byte >> 4, byte & 0x0f] {
            text.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
        }
    }
    text
}

/// A value of this tab's storage. Absent when storage is switched off.
pub(crate) fn session_get(key: &str) -> Option<String> {
    window().session_storage().ok().flatten()?.get_item(key).ok().flatten()
}

/// Stores for this tab. False when the browser refuses.
pub(crate) fn session_set(key: &str, value: &str) -> bool {
    window().session_storage().ok().flatten().is_some_and(|storage| storage.set_item(key, value).is_ok())
}

/// Forgets in this tab.
pub(crate) fn session_remove(key: &str) {
    if let Ok(Some(storage)) = window().session_storage() {
        // Nothing depends on it: a draft that stays is overwritten or ignored later.
        let _ = storage.remove_item(key);
    }
}

/// A value of this browser's storage.
pub(crate) fn local_get(key: &str) -> Option<String> {
    window().local_storage().ok().flatten()?.get_item(key).ok().flatten()
}

/// Stores for this browser; a refusal only costs the comfort of remembering.
pub(crate) fn local_set(key: &str, value: &str) {
    if let Ok(Some(storage)) = window().local_storage() {
        let _ = storage.set_item(key, value);
    }
}

#[cfg(not(feature = "ssr"))]
/// The language that the server rendered this page in.
pub(crate) fn html_language() -> Language {
    let code = document().document_element().and_then(|html| html.get_attribute("lang")).unwrap_or_default();
    Language::from_code(&code)
}

/// Remembers something for the server, for `seconds`. Not for secrets: scripts can read it.
pub(crate) fn set_cookie(name: &str, value: &str, seconds: u32) {
    let secure =
        if window().location().protocol().is_ok_and(|protocol| protocol == "https:") { "; Secure" } else { "" };
    let line = format!("{name}={value}; Path=/; Max-Age={seconds}; SameSite=Lax{secure}");
    // A browser that takes no cookies shows the default; nothing depends on it.
    let _ = js_sys::Reflect::set(&document(), &"cookie".into(), &line.into());
}

/// Loads the page again.
pub(crate) fn reload() {
    // A reload that the browser refuses leaves the page as it is.
    let _ = window().location().reload();
}

/// Focuses the first element that matches, after the current changes are in the page.
pub(crate) fn focus_soon(selector: &'static str) {
    leptos::prelude::request_animation_frame(move || focus(selector));
}

/// Focuses the first element that matches.
pub(crate) fn focus(selector: &str) {
    if let Some(element) = query(selector) {
        // An element that can't take the focus leaves it where it is.
        let _ = element.focus();
    }
}

/// The first element that matches.
pub(crate) fn query(selector: &str) -> Option<web_sys::HtmlElement> {
    document().query_selector(selector).ok().flatten()?.dyn_into().ok()
}

/// Whether a key press belongs to an input, and so isn't a shortcut.
pub(crate) fn types_text(event: &web_sys::KeyboardEvent) -> bool {
    let Some(target) = event.target().and_then(|target| target.dyn_into::<web_sys::Element>().ok()) else {
        return false;
    };
    target.closest("input, textarea, select, [contenteditable], dialog[open]").ok().flatten().is_some()
}

/// Milliseconds since 1970 by the browser's clock; for intervals only.
pub(crate) fn now_ms() -> f64 {
    js_sys::Date::now()
}

/// Milliseconds since 1970 of an RFC 3339 moment; NaN where it is none.
pub(crate) fn parse_ms(iso: &str) -> f64 {
    js_sys::Date::parse(iso)
}

/// Percent-encodes all but unreserved characters (RFC 3986), the same on both sides.
pub(crate) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push('%');
            for nibble in [byte >> 4, byte & 0x0f] {
                out.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0').to_ascii_uppercase());
            }
        }
    }
    out
}

/// The reverse of [`encode`], also taking `+` for a space. A broken escape stays as it is.
pub(crate) fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let escaped = (bytes[i] == b'%')
            .then(|| text.get(i + 1..i + 3))
            .flatten()
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match escaped {
            Some(byte) => {
                out.push(byte);
                i += 3;
            }
            None => {
                out.push(if bytes[i] == b'+' { b' ' } else { bytes[i] });
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_have_version_and_variant() {
        assert_eq!(uuid_text([0xff; 16]), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }

    #[test]
    fn encoding_goes_both_ways() {
        for text in ["muster/m1", "a b+c", "Müller & Söhne", "100%", "%2F"] {
            assert_eq!(decode(&encode(text)), text);
        }
        assert_eq!(decode("a+b%zz%2"), "a b%zz%2");
    }
}
