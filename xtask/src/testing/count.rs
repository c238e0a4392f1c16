//! How many tests passed and failed, read from what the test runners print.
//!
//! Invariant: a runner that ends badly never counts as good, even if its output has no number.

use crate::error::{Error, Result};

/// Tests that passed and failed; ignored ones are neither.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) passed: u64,
    pub(super) failed: u64,
}

impl Count {
    pub(super) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

/// Brings count and exit code together.
pub(super) fn settle(label: &str, success: bool, mut count: Count) -> Result<Count> {
    if success && count == Count::default() {
        return Err(Error::new(format!("{label} ran no test")));
    }
    if !success && count.failed == 0 {
        // E.g. a test file that doesn't compile.
        count.failed = 1;
    }
    Ok(count)
}

/// Sums the `test result:` lines of cargo's test harness.
pub(super) fn cargo(output: &str) -> Count {
    let mut count = Count::default();
    for line in output.lines().map(plain) {
        let Some(result) = line.trim().strip_prefix("test result:") else { continue };
        for part in result.split([';', '.']) {
            let mut words = part.split_whitespace();
            let number = words.next().and_then(|word| word.parse::<u64>().ok());
            match (number, words.next()) {
                (Some(number), Some("passed")) => count.passed += number,
                (Some(number), Some("failed")) => count.failed += number,
                _ => {}
            }
        }
    }
    count
}

/// Reads the summary at the end of Playwright's list reporter. What was interrupted, didn't run after a failure
/// or only passed at a second try counts as failed.
pub(super) fn playwright(output: &str) -> Count {
    let mut count = Count::default();
    for line in output.lines().map(plain) {
        // Summary lines are indented by two and consist of a number and a word.
        let Some((number, rest)) = line.trim().split_once(' ') else { continue };
        let Ok(number) = number.parse::<u64>() else { continue };
        let word = rest.split(" (").next().unwrap_or_default();
        match word {
            "passed" => count.passed = number,
            "failed" | "flaky" | "interrupted" | "did not run" => count.failed += number,
            _ => {}
        }
    }
    count
}

/// The line without colour codes.
fn plain(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut rest = line.chars();
    while let Some(next) = rest.next() {
        if next == '\u{1b}' {
            rest.by_ref().find(char::is_ascii_alphabetic);
        } else {
            kept.push(next);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_results_are_summed() {
        let output = "running 2 tests\n\
            test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\
            test result: \u{1b}[31mFAILED\u{1b}[0m. 3 passed; 1 failed; 0 ignored; 0 measured; 7 filtered out; finished in 1.20s\n";
        assert_eq!(cargo(output), Count { passed: 5, failed: 1 });
    }

    #[test]
    fn playwright_summary_is_read() {
        let output = "  ✓  1 a.spec.ts:3:1 › 5 passed tasks (1s)\n\n  1 failed\n    a.spec.ts:9:1 › b\n  2 did not run\n  1 skipped\n  4 passed (1.1m)\n";
        assert_eq!(playwright(output), Count { passed: 4, failed: 3 });
    }

    #[test]
    fn a_bad_end_without_numbers_is_a_failure() {
        assert!(settle("x", true, Count::default()).is_err());
        assert_eq!(settle("x", false, Count { passed: 3, failed: 0 }).ok(), Some(Count { passed: 3, failed: 1 }));
        assert_eq!(settle("x", true, Count { passed: 3, failed: 0 }).ok(), Some(Count { passed: 3, failed: 0 }));
    }
}
