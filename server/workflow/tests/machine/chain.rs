//! Canonical JSON and the hash chain.

use proptest::prelude::*;
use serde_json::{Value, json};
use workflow::log::{CanonicalError, ChainError, LogEntry, LogKind, canonical_json, entry_hash, verify};

use crate::fixture::{Run, person};

#[test]
fn canonical_json_follows_the_rfc() {
    let keys = json!({
        "\u{20ac}": 1, "\r": 2, "\u{fb33}": 3, "1": 4, "\u{1f600}": 5, "\u{80}": 6, "\u{f6}": 7
    });
    let want = "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}";
    assert_eq!(canonical_json(&keys).unwrap(), want, "keys are sorted by UTF-16 code units");

    let escapes = json!("\u{20ac}$\u{f}\nA'B\"\\\\\"/\u{8}\t\u{c}\r\u{1f}\u{7f}\u{2028}");
    let want = "\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\\b\\t\\f\\r\\u001f\u{7f}\u{2028}\"";
    assert_eq!(canonical_json(&escapes).unwrap(), want);

    let literals =
        json!({"numbers": [0, -1, 9_007_199_254_740_991_u64], "literals": [null, true, false], "e": [[], {}]});
    let want = r#"{"e":[[],{}],"literals":[null,true,false],"numbers":[0,-1,9007199254740991]}"#;
    assert_eq!(canonical_json(&literals).unwrap(), want);
}

#[test]
fn numbers_that_readers_would_round_are_refused() {
    for number in [json!(1.5), json!(9_007_199_254_740_992_u64), json!(-9_007_199_254_740_992_i64), json!(u64::MAX)] {
        assert!(matches!(canonical_json(&json!([number])), Err(CanonicalError::Number { .. })), "{number}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let text = proptest::collection::vec(any::<char>(), 0..6).prop_map(|chars| chars.into_iter().collect::<String>());
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((text.clone(), inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn canonical_json_reads_back_and_stays(value in any_json()) {
        let once = canonical_json(&value).unwrap();
        let read: Value = serde_json::from_str(&once).unwrap();
        prop_assert_eq!(&read, &value);
        prop_assert_eq!(canonical_json(&read).unwrap(), once);
    }
}

fn history() -> Vec<LogEntry> {
    let mut run = Run::new("1190.00");
    let failed = run.failed(run.first_key());
    run.send(workflow::Actor::System, failed);
    run.confirm();
    run.claim("anna");
    run.approve_with("anna", &[("fldKostenstelle", "2000")]);
    run.confirm();
    run.claim("bert");
    run.approve("bert");
    run.confirm();
    run.instance.history
}

#[test]
fn every_kind_of_entry_keeps_its_hash_through_storage() {
    for entry in history() {
        let read: LogEntry = serde_json::from_str(&serde_json::to_string(&entry).unwrap()).unwrap();
        assert_eq!(entry_hash(&read).unwrap(), entry.hash, "{:?}", entry.kind);
        assert_eq!(read, entry);
    }
}

#[test]
fn every_alteration_is_found() {
    let good = history();
    verify(&good).unwrap();
    verify(&[]).unwrap();
    for i in 0..good.len() {
        let mut missing = good.clone();
        missing.remove(i);
        if i + 1 < good.len() {
            assert!(matches!(verify(&missing), Err(ChainError::Sequence { .. })));
        }
        let mut altered = good.clone();
        altered[i].actor = Some(person("mallory"));
        assert!(matches!(verify(&altered), Err(ChainError::Hash { seq, .. }) if seq == good[i].seq));

        // With its own hash made right again, the next entry gives it away.
        let mut rehashed = altered;
        rehashed[i].hash = entry_hash(&rehashed[i]).unwrap();
        match verify(&rehashed) {
            Err(ChainError::Link { seq, .. }) => assert_eq!(seq, good[i].seq + 1),
            Ok(()) => assert_eq!(i + 1, good.len(), "only the last entry has nobody after it"),
            Err(other) => panic!("{other}"),
        }
    }
    let mut doubled = good.clone();
    doubled.insert(1, good[0].clone());
    assert!(matches!(verify(&doubled), Err(ChainError::Sequence { wanted: 2, found: 1 })));
}

#[test]
fn the_chain_covers_the_runs_head() {
    let mut run = Run::new("1190.00");
    run.instance.start.object_number = "ER-9999".into();
    assert!(run.instance.check_invariants().is_err());
    assert!(matches!(run.instance.history[0].kind, LogKind::Started { .. }));
}
