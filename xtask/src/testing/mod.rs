//! `cargo xtask test`: every check of the repository, in stages.
//!
//! Invariant: the exit code is zero only if every stage passed and no test failed, and the very last line is
//! `N passed, N failed`. A stage that fails doesn't hide the ones after it. Never: retries, and never a stage
//! that is skipped without a line saying so.

mod count;
mod ministack;

use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::demo;
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::setup::{self, Toolchain};
use crate::{build, run};
use count::Count;

/// A stage's name and work.
type Stage = (&'static str, fn(&Layout, &Toolchain) -> Result<Count>);

/// In the order in which a mistake shows soonest.
const STAGES: [Stage; 6] =
    [("fmt", fmt), ("clippy", clippy), ("test", test), ("site", site), ("xtask", own_tests), ("e2e", end2end)];

/// Which stages run.
pub(crate) struct Selection {
    skip: Vec<String>,
    only: Vec<String>,
}

impl Selection {
    /// Reads `--skip STAGE` and `--only STAGE`, each as often as wanted.
    pub(crate) fn parse(arguments: &[&str]) -> Result<Self> {
        let mut selection = Self { skip: Vec::new(), only: Vec::new() };
        let mut rest = arguments.iter();
        while let Some(option) = rest.next() {
            let list = match *option {
                "--skip" => &mut selection.skip,
                "--only" => &mut selection.only,
                other => return Err(Error::new(format!("unknown argument `{other}`; known here: --skip, --only"))),
            };
            let known: Vec<&str> = STAGES.iter().map(|(name, _)| *name).collect();
            match rest.next() {
                Some(name) if known.contains(name) => list.push((*name).to_owned()),
                Some(name) => return Err(Error::new(format!("unknown stage `{name}`; stages: {}", known.join(" ")))),
                None => return Err(Error::new(format!("{option} needs a stage: {}", known.join(" ")))),
            }
        }
        Ok(selection)
    }

    fn wants(&self, stage: &str) -> bool {
        let named = |list: &[String]| list.iter().any(|name| name == stage);
        !named(&self.skip) && (self.only.is_empty() || named(&self.only))
    }
}

/// Runs the stages and reports.
pub(crate) fn all(layout: &Layout, selection: &Selection) -> Result<ExitCode> {
    let start = Instant::now();
    let toolchain = setup::all(layout, selection.wants("e2e"))?;
    let mut lines = vec![format!("  set-up       ok       {:>6.0} s", start.elapsed().as_secs_f64())];
    let mut total = Count::default();
    let mut good = true;
    for (name, work) in STAGES {
        if !selection.wants(name) {
            lines.push(format!("  {name:<12} skipped"));
            continue;
        }
        run::say(&format!("\n######## {name}"));
        let begin = Instant::now();
        let (verdict, count) = match work(layout, &toolchain) {
            Ok(count) => (count.failed == 0, count),
            Err(error) => {
                run::say(&format!("xtask: {error}"));
                // A stage that ends without counting its failures still is one.
                (false, Count { passed: 0, failed: 1 })
            }
        };
        good &= verdict;
        total.add(count);
        let word = if verdict { "ok" } else { "FAILED" };
        let mut line = format!("  {name:<12} {word:<8} {:>6.0} s", begin.elapsed().as_secs_f64());
        if count.passed + count.failed > 0 {
            line.push_str(&format!("   {} passed, {} failed", count.passed, count.failed));
        }
        lines.push(line);
    }
    run::say(&format!("\n######## result after {:.0} s", start.elapsed().as_secs_f64()));
    for line in lines {
        run::say(&line);
    }
    run::say(&format!("{} passed, {} failed", total.passed, total.failed));
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn fmt(layout: &Layout, toolchain: &Toolchain) -> Result<Count> {
    run::run("cargo fmt --check", toolchain.cargo(layout).args(["fmt", "--all", "--check"]))?;
    Ok(Count::default())
}

/// The default members with all targets; `app` is linted with them, as the server's dependency.
fn clippy(layout: &Layout, toolchain: &Toolchain) -> Result<Count> {
    let mut cargo = toolchain.cargo(layout);
    run::run("cargo clippy", cargo.args(["clippy", "--all-targets", "--", "-D", "warnings"]))?;
    Ok(Count::default())
}

fn test(layout: &Layout, toolchain: &Toolchain) -> Result<Count> {
    let s3 = ministack::Server::start(layout)?;
    cargo_test("cargo test", toolchain.cargo(layout).args(["test", "--no-fail-fast"]).envs(s3.test_variables()))
}

fn site(layout: &Layout, toolchain: &Toolchain) -> Result<Count> {
    build::site(layout, toolchain)?;
    Ok(Count::default())
}

/// This tool's own tests, under the toolchain that built it.
fn own_tests(layout: &Layout, _: &Toolchain) -> Result<Count> {
    let outer = Toolchain::default();
    cargo_test("cargo test (xtask)", outer.cargo(layout).args(["test", "--package", "xtask"]))
}

fn cargo_test(label: &str, command: &mut Command) -> Result<Count> {
    run::say(&format!("==> {label}"));
    let (status, output) = run::tee(label, command)?;
    count::settle(label, status.success(), count::cargo(&output))
}

/// Everything on the embedded store, and the whole way of one invoice on S3 as well.
fn end2end(layout: &Layout, toolchain: &Toolchain) -> Result<Count> {
    build::binary(layout, toolchain)?;
    let mut count = playwright("Playwright", &mut playwright_command(layout))?;
    let s3 = ministack::Server::start(layout)?;
    let mut journey = playwright_command(layout);
    journey.arg("journey.spec.mjs").envs(s3.store_variables());
    count.add(playwright("Playwright on S3", &mut journey)?);
    Ok(count)
}

fn playwright_command(layout: &Layout) -> Command {
    let mut node = run::command("node");
    node.current_dir(layout.end2end()).arg(layout.node_tool("playwright")).arg("test");
    node.env("CONNECTWORKFLOW_BIN", layout.binary());
    for (name, value) in demo::environment(layout) {
        node.env(name, value);
    }
    node
}

fn playwright(label: &str, command: &mut Command) -> Result<Count> {
    run::say(&format!("==> {label}"));
    let (status, output) = run::tee(label, command)?;
    count::settle(label, status.success(), count::playwright(&output))
}
