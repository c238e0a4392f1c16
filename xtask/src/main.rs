//! `cargo xtask`: from a fresh clone to a running demo or a full test run, with nothing installed by hand.
//!
//! Invariant: every command is idempotent. What is there and still fits is kept, what is missing is made, and a
//! step that takes longer than ten seconds says so. Never: a part of the product, or a dependency of it.

mod build;
mod demo;
mod error;
mod layout;
mod run;
mod setup;
mod soak;
mod testing;

use std::process::ExitCode;

use error::{Error, Result};
use layout::Layout;

const USAGE: &str = "\
cargo xtask <command>

  setup [--no-browser]   install or build what is missing: wasm target, Node packages, Chromium and an S3
                         server for the tests
  build [--site-only]    build server and browser parts into the target folder
  demo [--fresh] [--data DIR] [-- …]
                         set up, build and start the demo; what is given is passed on to `connectworkflow demo`
  test [--skip STAGE]… [--only STAGE]…
                         every check; the last line says how many tests passed and failed
                         stages: fmt clippy test site xtask e2e
  soak N [--from SEED]   the simulation over N seeds; a failing one prints the command that replays it
  help                   this text
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(code) => code,
        Err(error) => {
            run::say(&format!("xtask: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<ExitCode> {
    let Some((command, rest)) = arguments.split_first() else {
        run::say(USAGE);
        return Ok(ExitCode::from(2));
    };
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    match command.as_str() {
        "setup" => {
            let browser = !flag(&rest, "--no-browser", &["--no-browser"])?;
            setup::all(&Layout::find()?, browser)?;
            setup::ministack()?;
            Ok(ExitCode::SUCCESS)
        }
        "build" => {
            let site_only = flag(&rest, "--site-only", &["--site-only"])?;
            let layout = Layout::find()?;
            let toolchain = setup::all(&layout, false)?;
            build::site(&layout, &toolchain)?;
            if !site_only {
                build::binary(&layout, &toolchain)?;
            }
            Ok(ExitCode::SUCCESS)
        }
        "demo" => demo::start(&Layout::find()?, &rest),
        "soak" => soak::run(&Layout::find()?, &rest),
        "test" => testing::all(&Layout::find()?, &testing::Selection::parse(&rest)?),
        "help" | "-h" | "--help" => {
            run::say(USAGE);
            Ok(ExitCode::SUCCESS)
        }
        other => {
            run::say(USAGE);
            run::say(&format!("xtask: unknown command `{other}`"));
            Ok(ExitCode::from(2))
        }
    }
}

/// Whether `wanted` stands in `arguments`, refusing everything that isn't `known`.
fn flag(arguments: &[&str], wanted: &str, known: &[&str]) -> Result<bool> {
    if let Some(unknown) = arguments.iter().find(|given| !known.contains(given)) {
        return Err(Error::new(format!("unknown argument `{unknown}`; known here: {}", known.join(", "))));
    }
    Ok(arguments.contains(&wanted))
}
