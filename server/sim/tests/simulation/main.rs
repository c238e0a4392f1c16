//! Deterministic simulation (DESIGN §12): two or three nodes on one store, everything that can go wrong outside goes
//! wrong, chosen by a seed. Afterwards nothing may be lost, doubled, or untrue.
//!
//! `CONNECTWORKFLOW_SEEDS=N` runs so many seeds, `CONNECTWORKFLOW_SEED=S` begins with this one, and
//! `CONNECTWORKFLOW_LINES=L` shows so many of the last calls of a seed that fails.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod chaos;
mod check;
mod driver;
mod sabotage;
#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "each test target uses its part of it")]
mod support;

use driver::Report;
use sabotage::Sabotage;

/// Seeds that a normal test run tries.
const SEEDS: u64 = 300;
/// Seeds in which a planted bug must show.
const SEEDS_FOR_A_BUG: u64 = 60;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

fn run(seed: u64, sabotage: Option<Sabotage>) -> Report {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let report = runtime.block_on(driver::run(seed, sabotage));
    drop(runtime);
    report
}

fn replay(seed: u64, report: &Report) -> String {
    let shown = usize::try_from(number("CONNECTWORKFLOW_LINES").unwrap_or(120)).unwrap();
    let last = report.lines.len().saturating_sub(shown);
    format!(
        "seed {seed} breaks {} rule(s):\n  {}\nthe last calls:\n{}\nreplay it with:\n  CONNECTWORKFLOW_SEED={seed} CONNECTWORKFLOW_SEEDS=1 cargo test --test simulation seeds_keep_every_invariant",
        report.violations.len(),
        report.violations.join("\n  "),
        report.lines[last..].join("\n"),
    )
}

#[test]
fn seeds_keep_every_invariant() {
    let first = number("CONNECTWORKFLOW_SEED").unwrap_or(1);
    let seeds = number("CONNECTWORKFLOW_SEEDS").unwrap_or(SEEDS);
    let (mut runs, mut finals, mut crashes, mut faults) = (0, 0, 0, 0);
    for seed in first..first + seeds {
        let report = run(seed, None);
        assert!(report.violations.is_empty(), "{}", replay(seed, &report));
        runs += report.runs;
        finals += report.finals;
        crashes += report.crashes;
        faults += report.faults;
    }
    // A simulation in which nothing happens would keep every invariant, too.
    if seeds >= 50 {
        let busy = runs >= seeds && finals * 4 >= runs && crashes >= seeds && faults >= seeds * 5;
        assert!(busy, "{seeds} seeds: {runs} runs, {finals} ended, {crashes} crashes, {faults} faults");
    }
    eprintln!("{seeds} seeds: {runs} runs, {finals} ended, {crashes} crashes, {faults} faults");
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let mut hashes = std::collections::BTreeSet::new();
    for seed in [1, 2, 3, 4, 5] {
        let (first, second) = (run(seed, None), run(seed, None));
        if first.hash != second.hash {
            let differ = first.lines.iter().zip(&second.lines).find(|(a, b)| a != b);
            panic!("seed {seed} gave two traces; they part at {differ:?}");
        }
        hashes.insert(first.hash);
    }
    assert_eq!(hashes.len(), 5, "different seeds do different things");
}

#[test]
fn every_planted_bug_is_caught() {
    let mut missed = Vec::new();
    for bug in Sabotage::ALL {
        let caught = (1..=SEEDS_FOR_A_BUG).find_map(|seed| {
            let report = run(seed, Some(bug));
            report.violations.first().map(|violation| (seed, violation.clone()))
        });
        match caught {
            Some((seed, violation)) => eprintln!("{bug:?}: seed {seed}: {violation}"),
            None => missed.push(bug),
        }
    }
    assert!(missed.is_empty(), "{SEEDS_FOR_A_BUG} seeds did not notice {missed:?}");
}
