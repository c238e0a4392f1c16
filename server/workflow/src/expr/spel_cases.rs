//! The evaluator against answers of the real SpEL, where the table of cases is there (it is not part of the repository).
//!
//! A row whose constructs are not available must be refused as such; every other row must come out as the table says.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;
use std::path::Path;

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

#[test]
#[expect(clippy::disallowed_methods, reason = "the table lies in a file that may be missing")]
fn what_is_available_has_the_value_of_the_real_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases/spel.jsonl");
    let Ok(table) = std::fs::read_to_string(path) else { return };
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
    let core = counts["core"];
    assert!(
        wrong.is_empty() && core[1] == 0,
        "{} rows are wrong; right, refused, wrong: {counts:?}\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
