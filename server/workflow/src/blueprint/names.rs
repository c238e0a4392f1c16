//! Names: their form, and the nearest known one.
//!
//! Purpose: field and table names become part of a GraphQL query, ids part of storage keys; their form is checked once,
//! here.
//! Invariant: what passes [`is_erp_name`] is a GraphQL name.
//! Never: changes a name.

/// Longest id, in characters.
pub(super) const ID_CHARS_MAX: usize = 64;
/// Longest ERP name, in characters.
pub(super) const ERP_NAME_CHARS_MAX: usize = 100;

/// `workflowId` (DESIGN §7): a-z, 0-9 and -, beginning with a letter or digit.
pub(super) fn is_workflow_id(text: &str) -> bool {
    text.len() <= ID_CHARS_MAX
        && text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// A step's id: letters, digits, - and _, beginning with a letter.
pub(super) fn is_step_id(text: &str) -> bool {
    text.len() <= ID_CHARS_MAX
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

/// A field or table of the ERP.
pub(super) fn is_erp_name(text: &str) -> bool {
    text.len() <= ERP_NAME_CHARS_MAX
        && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// `6f1b1c1e-6a0c-4a53-9d6e-0b8f6d1f7a10`
pub(super) fn is_guid(text: &str) -> bool {
    let lengths = [8, 4, 4, 4, 12];
    let parts: Vec<&str> = text.split('-').collect();
    parts.len() == lengths.len()
        && parts
            .iter()
            .zip(lengths)
            .all(|(part, length)| part.len() == length && part.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// The candidate that was probably meant.
pub(super) fn nearest<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    let lower = name.to_lowercase();
    let allowed = (lower.chars().count() / 3).clamp(1, 4);
    candidates
        .map(|candidate| (distance(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements, and swaps of neighbours.
fn distance(left: &str, right: &str) -> usize {
    const COMPARED_CHARS_MAX: usize = 100;
    let left: Vec<char> = left.chars().take(COMPARED_CHARS_MAX).collect();
    let right: Vec<char> = right.chars().take(COMPARED_CHARS_MAX).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, r) in right.iter().enumerate() {
            let at = |row: &[usize], index: usize| row.get(index).copied().unwrap_or(usize::MAX / 2);
            let mut best = (at(&row, j) + usize::from(l != r)).min(at(&row, j + 1) + 1).min(at(&next, j) + 1);
            let swapped = i > 0 && j > 0 && left.get(i - 1) == Some(r) && right.get(j - 1) == Some(l);
            if swapped {
                best = best.min(at(&before, j - 1) + 1);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or(0)
}
