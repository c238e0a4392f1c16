//! `cargo xtask demo`: set up, build, then become the server.
//!
//! Invariant: on Unix the server *replaces* this process, so that Ctrl-C and signals reach it and nothing else.

use std::process::ExitCode;

use crate::error::Result;
use crate::layout::{Layout, OUTPUT_NAME, PKG_DIR};
use crate::{build, run, setup};

/// Starts the demo with these arguments of `connectworkflow demo`.
pub(crate) fn start(layout: &Layout, arguments: &[&str]) -> Result<ExitCode> {
    let toolchain = setup::all(layout, false)?;
    build::site(layout, &toolchain)?;
    build::binary(layout, &toolchain)?;
    let mut server = run::command(layout.binary());
    server.arg("demo").args(arguments.iter().filter(|argument| **argument != "--")).current_dir(&layout.root);
    for (name, value) in environment(layout) {
        server.env(name, value);
    }
    run::say(&format!("==> {OUTPUT_NAME} demo {}", arguments.join(" ")));
    become_server(&mut server)
}

/// Where the server finds its static files.
pub(crate) fn environment(layout: &Layout) -> [(&'static str, std::ffi::OsString); 4] {
    [
        ("LEPTOS_OUTPUT_NAME", OUTPUT_NAME.into()),
        ("LEPTOS_SITE_ROOT", layout.site().into()),
        ("LEPTOS_SITE_PKG_DIR", PKG_DIR.into()),
        ("LEPTOS_HASH_FILES", "true".into()),
    ]
}

#[cfg(unix)]
fn become_server(server: &mut std::process::Command) -> Result<ExitCode> {
    use std::os::unix::process::CommandExt;
    let error = server.exec();
    Err(crate::error::Error::new(format!("cannot start {}: {error}", server.get_program().to_string_lossy())))
}

#[cfg(not(unix))]
fn become_server(server: &mut std::process::Command) -> Result<ExitCode> {
    use crate::error::Context;
    let status = server.status().context(|| format!("cannot start {}", server.get_program().to_string_lossy()))?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
