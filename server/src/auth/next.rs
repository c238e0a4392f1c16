//! Where to go after the login: a path of this server and nothing else.

use openidconnect::url::Url;

/// Characters a path to return to may have.
const NEXT_CHARS_MAX: usize = 2_048;

/// The path if it is one of ours, else `/`. Browsers read `\` as `/` and drop tabs and line ends, so none of them passes;
/// what is left is resolved as a browser would, and must still be on this server.
pub(super) fn safe(next: Option<&str>, external_url: &Url) -> String {
    next.and_then(|next| checked(next, external_url)).unwrap_or_else(|| "/".to_owned())
}

fn checked(next: &str, external_url: &Url) -> Option<String> {
    let is_plain = next.starts_with('/')
        && !next.starts_with("//")
        && next.chars().count() <= NEXT_CHARS_MAX
        && !next.chars().any(|c| c == '\\' || c.is_control() || c.is_whitespace());
    if !is_plain {
        return None;
    }
    let resolved = external_url.join(next).ok()?;
    if resolved.origin() != external_url.origin()
        || resolved.path().starts_with("/auth/")
        || resolved.path().starts_with("//")
    {
        return None;
    }
    let mut path = resolved.path().to_owned();
    for (mark, part) in [('?', resolved.query()), ('#', resolved.fragment())] {
        if let Some(part) = part {
            path.push(mark);
            path.push_str(part);
        }
    }
    Some(path)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that can't parse its own data must fail loudly")]
mod tests {
    use super::*;

    fn next(text: &str) -> String {
        safe(Some(text), &Url::parse("https://workflow.example").unwrap())
    }

    #[test]
    fn own_paths_are_kept() {
        for good in ["/", "/aufgaben", "/aufgaben?status=offen&q=M%C3%BCller", "/a/b#c", "/@evil.example"] {
            assert_eq!(next(good), good);
        }
        assert_eq!(next("/q?x=ä"), "/q?x=%C3%A4");
        assert_eq!(next("/a/../b"), "/b");
    }

    #[test]
    fn everything_else_becomes_the_start_page() {
        for bad in [
            "",
            "aufgaben",
            "//evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "/\t/evil.example",
            "/\n/evil.example",
            "https://evil.example/",
            "https:evil.example",
            "javascript:alert(1)",
            "/auth/login",
            "/x/../auth/logout",
            "/.//evil.example",
            " /aufgaben",
        ] {
            assert_eq!(next(bad), "/", "{bad:?}");
        }
        assert_eq!(next(&format!("/{}", "a".repeat(NEXT_CHARS_MAX))), "/");
    }
}
