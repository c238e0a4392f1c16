//! Room for deeply nested expressions.
//!
//! Purpose: parsing and evaluating recurse once per bracket; a caller's stack may be small.
//! Invariant: up to [`DEPTH_ON_CALLERS_STACK`] brackets the work runs where it is, above on a stack of its own.
//! Never: runs two things at once: the caller waits.

use super::error::{ErrorKind, ExprError, Fault};
use super::lexer::{Kind, Token};

/// Brackets in one another that any stack has room for.
const DEPTH_ON_CALLERS_STACK: usize = 16;
/// The stack for deeper ones, in bytes; enough for the deepest that the parser allows, unoptimized.
const STACK_BYTES: usize = 32 << 20;

/// How deep the brackets of the tokens nest.
pub(super) fn depth(tokens: &[Token]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for token in tokens {
        match token.kind {
            Kind::LParen | Kind::LBracket | Kind::LBrace | Kind::Project | Kind::Select => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            Kind::RParen | Kind::RBracket | Kind::RBrace => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Does the work where there is room for it.
#[expect(clippy::disallowed_methods, reason = "the caller waits for the only thread: no scheduler decides anything")]
pub(super) fn with_room<T: Send>(
    depth: usize,
    work: impl FnOnce() -> Result<T, ExprError> + Send,
) -> Result<T, ExprError> {
    if depth <= DEPTH_ON_CALLERS_STACK {
        return work();
    }
    let none = || Fault::new(ErrorKind::Limit, "there is no room for so many brackets; nest less").at(&(0..1));
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
        thread.map_or_else(|_| Err(none()), |thread| thread.join().unwrap_or_else(|_| Err(none())))
    })
}
