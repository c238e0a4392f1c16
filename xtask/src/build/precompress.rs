//! Brotli and gzip beside every file that gains by it, made once here instead of at every request.
//!
//! The work is done by Node's zlib (`end2end/scripts/precompress.mjs`), which is there anyway.

use crate::error::Result;
use crate::layout::Layout;
use crate::run;

/// Compresses what is new or has changed in the site.
pub(super) fn site(layout: &Layout) -> Result<()> {
    let script = layout.end2end().join("scripts").join("precompress.mjs");
    run::run("compress static files", run::command("node").arg(script).arg(layout.site()))
}
