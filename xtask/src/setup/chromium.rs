//! The browser of the tests: the system's Chromium.

use std::path::Path;

use super::std_build::apt_install;
use crate::error::{Error, Result};

/// Where Debian puts it; `CHROMIUM` names another one (`end2end/support/browser.mjs` reads the same variable).
const DEFAULT: &str = "/usr/bin/chromium";

/// Makes sure that there is a Chromium for Playwright.
pub(super) fn ensure() -> Result<()> {
    if let Some(given) = std::env::var_os("CHROMIUM").filter(|given| !given.is_empty()) {
        let given = Path::new(&given);
        return if given.exists() {
            Ok(())
        } else {
            Err(Error::new(format!("CHROMIUM names {}, which doesn't exist", given.display())))
        };
    }
    if Path::new(DEFAULT).exists() {
        return Ok(());
    }
    apt_install("Chromium for the browser tests", &["chromium", "fonts-liberation"])
        .map_err(|error| Error::new(format!("{error}\nor set CHROMIUM to the path of a Chromium or Chrome")))
}
