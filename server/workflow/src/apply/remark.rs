//! What people write in their own words: comments and feedback.
//!
//! Invariant: a remark that counts can be seen. Text of nothing but blanks and invisible characters is no remark, so it
//! can't stand for the reason that a rejection needs (spec 001 §3.3 B); control characters and marks that turn the
//! reading direction never reach the log, where they would make it say something else than it holds.
//! Never: judges the words.

use super::IssueKind;
use crate::instance::COMMENT_CHARS_MAX;

/// The remark without blanks around it; none where there is nothing to see.
///
/// # Errors
/// [`IssueKind::TooLong`], and [`IssueKind::WrongType`] for characters that no remark may hold.
pub(super) fn read(text: &str) -> Result<Option<String>, IssueKind> {
    let text = text.trim();
    if !text.chars().any(is_visible) {
        return Ok(None);
    }
    if text.chars().count() > COMMENT_CHARS_MAX {
        return Err(IssueKind::TooLong);
    }
    if text.chars().any(is_forbidden) {
        return Err(IssueKind::WrongType);
    }
    Ok(Some(text.to_owned()))
}

/// Whether a character leaves something to see.
fn is_visible(c: char) -> bool {
    !c.is_whitespace() && !c.is_control() && !is_ignorable(c)
}

/// Unicode's default-ignorable characters, and the blanks that are no white space by its tables.
fn is_ignorable(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Control characters but line breaks and tabs, and the marks that embed, override or isolate a reading direction.
fn is_forbidden(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_no_remark() {
        for nothing in
            ["", " \n\t", "\u{a0}", "\u{200b}", " \n\t\u{a0}\u{200b}", "\u{feff}\u{2060}", "\u{3164}", "\0", "\u{ad}"]
        {
            assert_eq!(read(nothing), Ok(None), "{nothing:?}");
        }
    }

    #[test]
    fn what_can_be_seen_is_kept_as_it_is() {
        let family = "ok \u{1f468}\u{200d}\u{1f469}";
        for kept in ["Falsche Kostenstelle", "Zeile 1\nZeile 2\tx", "क्\u{200d}ष", family, "-"] {
            assert_eq!(read(&format!("  {kept}\n")), Ok(Some(kept.to_owned())));
        }
    }

    #[test]
    fn what_would_falsify_the_log_is_refused() {
        for bad in ["a\0b", "a\u{202e}b", "a\u{2066}b", "a\u{1b}[2Jb"] {
            assert_eq!(read(bad), Err(IssueKind::WrongType), "{bad:?}");
        }
        assert_eq!(read(&"x".repeat(COMMENT_CHARS_MAX + 1)), Err(IssueKind::TooLong));
        assert!(matches!(read(&"x".repeat(COMMENT_CHARS_MAX)), Ok(Some(_))));
    }
}
