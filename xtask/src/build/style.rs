//! The style sheet: `style/main.css` with its `@import`s inlined, without comments and needless white space.
//!
//! Invariant: strings stay as they are, and no rule changes its order. Never: a CSS tool chain; what the
//! browsers understand is what stands in `style/`.

use std::path::Path;

use crate::error::{Error, Result};
use crate::layout;

/// How deep imports may nest; more is a circle.
const DEPTH_MAX: usize = 8;

/// Reads a style sheet and everything that it imports.
pub(super) fn bundle(main: &Path) -> Result<String> {
    Ok(minify(&inlined(main, 0)?))
}

fn inlined(file: &Path, depth: usize) -> Result<String> {
    if depth > DEPTH_MAX {
        return Err(Error::new(format!(
            "{}: imports nest deeper than {DEPTH_MAX}; is there a circle?",
            file.display()
        )));
    }
    let text = strip_comments(&layout::read_text(file)?);
    let folder = file.parent().unwrap_or(Path::new("."));
    let mut bundled = String::with_capacity(text.len());
    for line in text.lines() {
        let Some(import) = line.trim().strip_prefix("@import") else {
            bundled.push_str(line);
            bundled.push('\n');
            continue;
        };
        let (path, layer) = parse_import(import).ok_or_else(|| {
            Error::new(format!(
                "{}: `{}` isn't understood; write @import \"./file.css\"; or @import \"./file.css\" layer(name);",
                file.display(),
                line.trim()
            ))
        })?;
        let content = inlined(&folder.join(path), depth + 1)?;
        match layer {
            Some(layer) => bundled.push_str(&format!("@layer {layer} {{\n{content}}}\n")),
            None => bundled.push_str(&content),
        }
    }
    Ok(bundled)
}

/// Reads what follows `@import`: a quoted path and possibly `layer(name)`.
fn parse_import(text: &str) -> Option<(&str, Option<&str>)> {
    let text = text.trim().strip_suffix(';')?.trim();
    let text = text.strip_prefix("url(").and_then(|inner| inner.strip_suffix(')')).unwrap_or(text);
    let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    let (path, rest) = text.strip_prefix(quote)?.split_once(quote)?;
    let rest = rest.trim();
    if rest.is_empty() {
        return Some((path, None));
    }
    Some((path, Some(rest.strip_prefix("layer(")?.strip_suffix(')')?)))
}

fn strip_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    let mut quote = None;
    while let Some(next) = rest.chars().next() {
        if quote.is_none() && rest.starts_with("/*") {
            rest = rest.split_once("*/").map_or("", |(_, after)| after);
            kept.push(' ');
            continue;
        }
        let mut length = next.len_utf8();
        match quote {
            // An escaped character never ends a string.
            Some(_) if next == '\\' => length += rest.chars().nth(1).map_or(0, char::len_utf8),
            Some(open) if next == open => quote = None,
            None if matches!(next, '"' | '\'') => quote = Some(next),
            _ => {}
        }
        kept.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    kept
}

/// Collapses white space, and drops it beside `{ } ; ,` where it never means anything.
fn minify(text: &str) -> String {
    let mut short = String::with_capacity(text.len());
    let mut quote = None;
    let mut escaped = false;
    let mut space = false;
    for next in text.chars() {
        if let Some(open) = quote {
            short.push(next);
            if !escaped && next == open {
                quote = None;
            }
            escaped = !escaped && next == '\\';
            continue;
        }
        if next.is_whitespace() {
            space = true;
            continue;
        }
        let tight = |character: char| matches!(character, '{' | '}' | ';' | ',');
        if space && !tight(next) && !short.is_empty() && !short.ends_with(tight) {
            short.push(' ');
        }
        space = false;
        if next == '}' && short.ends_with(';') && !short.ends_with(":;") {
            short.pop();
        }
        if matches!(next, '"' | '\'') {
            quote = Some(next);
            escaped = false;
        }
        short.push(next);
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(css: &str, expected: &str) {
        assert_eq!(minify(&strip_comments(css)), expected);
    }

    #[test]
    fn white_space_and_comments_go() {
        check("/* a */\na , b {\n  color: red;\n}\n", "a,b{color: red}");
        check("a{width:calc(1px  +  2px)}", "a{width:calc(1px + 2px)}");
        check("@media (width > 1px)  and (print) { a { b: c } }", "@media (width > 1px) and (print){a{b: c}}");
        check(".a .b > .c::before{}", ".a .b > .c::before{}");
    }

    #[test]
    fn strings_stay() {
        check("a{content:\"/* no */  ; }\"}", "a{content:\"/* no */  ; }\"}");
        check("a{content:'it\\'s  {'; b:c}", "a{content:'it\\'s  {';b:c}");
    }

    #[test]
    fn an_empty_custom_property_keeps_its_semicolon() {
        check("a{--x:;}", "a{--x:;}");
    }

    #[test]
    fn imports_are_read() {
        assert_eq!(parse_import(" \"./a.css\";"), Some(("./a.css", None)));
        assert_eq!(parse_import(" url('./a.css') ;"), Some(("./a.css", None)));
        assert_eq!(parse_import(" './a.css' layer(base);"), Some(("./a.css", Some("base"))));
        assert_eq!(parse_import(" \"./a.css\" print;"), None);
        assert_eq!(parse_import(" \"./a.css\""), None);
    }
}
