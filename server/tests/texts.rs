//! Texts for people: both languages say the same things, nothing is said that no screen says, and no screen says
//! anything that is not in a message file (DESIGN §2 rules; §11 "German first, English complete").
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Attributes whose text people read or hear.
const READ_ATTRIBUTES: [&str; 6] = ["title", "aria-label", "aria-description", "placeholder", "alt", "label"];

fn app() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("app")
}

/// Key and text of a message file.
fn texts(language: &str) -> BTreeMap<String, String> {
    fn walk(prefix: &str, value: &Value, out: &mut BTreeMap<String, String>) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                    walk(&key, value, out);
                }
            }
            other => {
                out.insert(prefix.to_owned(), other.as_str().unwrap().to_owned());
            }
        }
    }
    let text = std::fs::read_to_string(app().join(format!("locales/{language}.json"))).unwrap();
    let mut out = BTreeMap::new();
    walk("", &serde_json::from_str(&text).unwrap(), &mut out);
    out
}

/// Names and contents of the app's sources.
fn sources() -> Vec<(String, String)> {
    fn walk(folder: &Path, out: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, out);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                out.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let mut out = Vec::new();
    walk(&app().join("src"), &mut out);
    assert!(out.len() > 20, "these are not the app's sources");
    out
}

fn places(text: &str) -> BTreeSet<&str> {
    text.split('{').skip(1).filter_map(|part| part.split_once('}')).map(|(name, _)| name).collect()
}

#[test]
fn both_languages_have_every_text() {
    let (de, en) = (texts("de"), texts("en"));
    let (german, english): (BTreeSet<_>, BTreeSet<_>) = (de.keys().collect(), en.keys().collect());
    assert_eq!(german.difference(&english).collect::<Vec<_>>(), Vec::<&&String>::new(), "not in English");
    assert_eq!(english.difference(&german).collect::<Vec<_>>(), Vec::<&&String>::new(), "not in German");
    for (key, text) in &de {
        let other = &en[key];
        assert!(!text.trim().is_empty() && !other.trim().is_empty(), "{key} is empty");
        assert_eq!(places(text), places(other), "{key} has other places");
    }
}

#[test]
fn every_text_is_used() {
    let code: String = sources().into_iter().map(|(_, text)| text).collect();
    // Only what stands behind a macro's locale is a use.
    let squeezed: String = code.split_whitespace().collect::<Vec<_>>().join("");
    let unused: Vec<String> = texts("de").into_keys().filter(|key| !squeezed.contains(&format!(",{key})"))).collect();
    assert!(unused.is_empty(), "take these out of the message files: {unused:#?}");
}

/// A text node or a read attribute of a `view!` that is written into the source.
fn literals(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = source;
    while let Some(at) = rest.find("view! {") {
        rest = &rest[at + "view! {".len()..];
        found.extend(View { text: rest, at: 0 }.literals());
    }
    found
}

/// Signs alone are the same in every language.
fn is_said(text: &str) -> bool {
    text.chars().any(char::is_alphabetic)
}

/// Walks one `view!`; what stands in braces is Rust and is passed over (views in it are walked on their own).
struct View<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> View<'a> {
    fn next(&mut self) -> Option<char> {
        let next = self.text[self.at..].chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn string(&mut self) -> &'a str {
        let start = self.at;
        while let Some(c) = self.next() {
            match c {
                '\\' => {
                    self.next();
                }
                '"' => return &self.text[start..self.at - 1],
                _ => {}
            }
        }
        &self.text[start..]
    }

    /// Passes over Rust up to the bracket that closes the open one.
    fn skip(&mut self) {
        let mut depth = 1;
        while let Some(c) = self.next() {
            match c {
                '"' => {
                    self.string();
                }
                // A character, not a lifetime.
                '\'' if self.text[self.at..].chars().nth(1) == Some('\'') => self.at += 2,
                '{' | '(' | '[' => depth += 1,
                '}' | ')' | ']' => {
                    depth -= 1;
                    if depth == 0 {
                        return;
                    }
                }
                _ => {}
            }
        }
    }

    fn literals(mut self) -> Vec<String> {
        let mut found = Vec::new();
        let mut in_tag = false;
        while let Some(c) = self.next() {
            match c {
                '}' => break,
                '{' | '(' | '[' => self.skip(),
                '<' => in_tag = true,
                '>' => in_tag = false,
                '"' if in_tag => {
                    let before = self.text[..self.at - 1].trim_end();
                    let name: String = before.trim_end_matches('=').chars().rev().collect::<String>();
                    let name: String = name.chars().take_while(|c| c.is_alphanumeric() || *c == '-').collect();
                    let name: String = name.chars().rev().collect();
                    let value = self.string();
                    if before.ends_with('=') && READ_ATTRIBUTES.contains(&name.as_str()) && is_said(value) {
                        found.push(format!("{name}={value}"));
                    }
                }
                '"' => {
                    let text = self.string();
                    if is_said(text) {
                        found.push(text.to_owned());
                    }
                }
                _ => {}
            }
        }
        found
    }
}

/// Keys of a keyboard are called the same in every language.
const KEY_NAMES: [&str; 1] = ["title=c"];

#[test]
fn no_screen_says_what_is_in_no_message_file() {
    let mut wrong = Vec::new();
    for (name, source) in sources() {
        let said = literals(&source);
        wrong.extend(
            said.into_iter().filter(|text| !KEY_NAMES.contains(&text.as_str())).map(|text| format!("{name}: {text}")),
        );
    }
    assert!(wrong.is_empty(), "put these into the message files: {wrong:#?}");
}

#[test]
fn the_search_for_texts_finds_them() {
    let source = r##"
        view! {
            <p class="box" title="Hinweis" on:click=move |_| go("nirgends")>
                "Ein Text" " " {say!(locale, app.name)} {(a > b).then(|| view! { <b>"innen"</b> })} "*"
                <input placeholder="Suche" aria-label={format!("nicht {}", '"')} />
            </p>
        }
    "##;
    assert_eq!(literals(source), ["title=Hinweis", "Ein Text", "placeholder=Suche", "innen"]);
}
