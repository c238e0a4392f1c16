//! What a build needs and a clone doesn't bring: the wasm target, the Node packages, a browser and an S3 server for the
//! tests.
//!
//! Invariant: running it again is cheap and changes nothing. Never: installs anything into the repository but
//! `end2end/node_modules`.

mod chromium;
mod ministack;
mod node;
mod std_build;
mod toolchain;

use crate::error::Result;
use crate::layout::Layout;

pub(crate) use ministack::ensure as ministack;
pub(crate) use toolchain::{Toolchain, WASM as WASM_TARGET};

/// Makes sure that everything is there; `browser` is only needed by the tests.
pub(crate) fn all(layout: &Layout, browser: bool) -> Result<Toolchain> {
    let toolchain = toolchain::ensure(layout)?;
    node::ensure(layout)?;
    if browser {
        chromium::ensure()?;
    }
    Ok(toolchain)
}
