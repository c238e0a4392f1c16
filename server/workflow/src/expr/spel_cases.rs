//! The evaluator against answers of the real SpEL: a small table of our own that always runs, and the full one where
//! [`TABLE_VARIABLE`] says where it lies (it is not part of the repository).
//!
//! No row of level `core` may be wrong or refused; mutators (`policy`) are refused on purpose.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::collections::BTreeMap;

use super::json::{Json, read};
use super::rows::answer;

#[derive(Debug, PartialEq)]
enum Verdict {
    Right,
    /// Said to be unavailable.
    Refused,
    Wrong(String),
}

/// Numbers by their digits, as far as `text` doesn't compare them.
fn same(got: &Json, want: &Json) -> bool {
    match (got, want) {
        (Json::Number(got), Json::Number(want)) => {
            got == want || got.parse::<f64>().is_ok_and(|got| want.parse() == Ok(got))
        }
        (Json::List(got), Json::List(want)) => {
            got.len() == want.len() && got.iter().zip(want).all(|(got, want)| same(got, want))
        }
        (Json::Object(got), Json::Object(entries)) => {
            got.len() == entries.len()
                && entries.iter().all(|(key, value)| {
                    got.iter().find(|(known, _)| known == key).is_some_and(|(_, got)| same(got, value))
                })
        }
        _ => got == want,
    }
}

fn judge(line: &str, row: &Json) -> Verdict {
    let expect = row.get("expect").unwrap();
    let written = answer(line).line;
    let got = read(&written).unwrap();
    let wrong = || Verdict::Wrong(written.clone());
    match (got.text("err"), expect.text("err")) {
        (Some("unsupported"), _) => Verdict::Refused,
        (Some(got), Some(want)) => {
            let class = |kind: &str| {
                match kind {
                    "syntax" => "syntax",
                    "limit" => "limit",
                    _ => "other",
                }
                .to_owned()
            };
            if class(got) == class(want) { Verdict::Right } else { wrong() }
        }
        (None, None) => {
            let right = same(got.get("ok").unwrap(), expect.get("ok").unwrap())
                && got.text("type") == expect.text("type")
                && (expect.text("text").is_none() || got.text("text") == expect.text("text"));
            if right { Verdict::Right } else { wrong() }
        }
        _ => wrong(),
    }
}

/// Names the file with the full table.
const TABLE_VARIABLE: &str = "CONNECTWORKFLOW_SPEL_CASES";

#[test]
fn our_own_cases_have_the_value_of_the_real_one() {
    check(include_str!("spel_cases.jsonl"));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the full table lies outside the repository")]
fn the_full_table_has_the_values_of_the_real_one() {
    let Some(path) = std::env::var_os(TABLE_VARIABLE) else {
        use std::io::Write as _;
        // Not by `eprintln!`, which a passing test swallows.
        writeln!(std::io::stderr(), "skipped: the full SpEL table; {TABLE_VARIABLE} names its file").unwrap();
        return;
    };
    check(&std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{TABLE_VARIABLE}={path:?}: {error}")));
}

fn check(table: &str) {
    let mut counts: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    let mut wrong = Vec::new();
    for line in table.lines() {
        let row = read(line).unwrap();
        let level = row.text("level").unwrap().to_owned();
        let verdict = judge(line, &row);
        let count = counts.entry(level.clone()).or_default();
        match verdict {
            Verdict::Right => count[0] += 1,
            Verdict::Refused => count[1] += 1,
            Verdict::Wrong(got) => {
                count[2] += 1;
                let id = row.text("id").unwrap();
                if level != "policy" {
                    wrong.push(format!("{id}: {:?} got {got}, want {:?}", row.text("expr"), row.get("expect")));
                }
            }
        }
    }
    let core = counts.get("core").copied().unwrap_or_default();
    assert!(core[0] > 0, "a table without core rows proves nothing");
    assert!(
        wrong.is_empty() && core[1] == 0,
        "{} rows are wrong; right, refused, wrong: {counts:?}\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
