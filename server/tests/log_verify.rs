//! `connectworkflow log verify` with the real binary: answers and exit codes.
#![expect(clippy::unwrap_used, reason = "a test that can't go on must fail where it stands")]

use std::path::{Path, PathBuf};
use std::process::Command;

use chrono::DateTime;
use serde_json::Value;
use tempfile::TempDir;
use vocab::TriggerSource;
use workflow::Instance;
use workflow::instance::{ObjectValues, StartFacts};

fn instance() -> Instance {
    let blueprint = workflow::blueprint::parse(include_str!("../../blueprints/rechnungsfreigabe.yaml")).unwrap();
    let facts = StartFacts {
        instance_id: "01900000-0000-7000-8000-000000000001".into(),
        workflow_id: blueprint.id.clone(),
        version: 1,
        customer_id: "muster".into(),
        tenant_id: "m1".into(),
        trigger_guid: blueprint.trigger.guid.clone(),
        object_table: "tblTransactions".to_owned(),
        object_number: "ER-1001".into(),
        source: TriggerSource::Push,
        first_note: Some("Bitte prüfen".to_owned()),
        accepted_at: DateTime::UNIX_EPOCH,
    };
    let at = DateTime::UNIX_EPOCH;
    workflow::start(&blueprint, facts, ObjectValues::new(), None, at, "c".to_owned()).unwrap().instance
}

fn write(folder: &TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let file = folder.path().join(name);
    std::fs::write(&file, bytes).unwrap();
    file
}

/// Exit code and standard output.
fn verify(file: &Path) -> (i32, String) {
    let run = Command::new(env!("CARGO_BIN_EXE_connectworkflow")).args(["log", "verify"]).arg(file).output().unwrap();
    (run.status.code().unwrap(), String::from_utf8(run.stdout).unwrap())
}

#[test]
fn whole_logs_are_good_and_told_with_their_hashes() {
    let folder = TempDir::new().unwrap();
    let instance = instance();
    let unsealed = serde_json::to_string(&instance).unwrap().replacen("\"schema\":2", "\"schema\":1", 1);
    let files = [
        ("export.json", workflow::log::export(&instance).unwrap(), "execution-log", "good"),
        ("document.json", instance.to_stored().unwrap(), "instance", "good"),
        ("schema1.json", unsealed.into_bytes(), "instance", "none"),
    ];
    for (name, bytes, document, seal) in files {
        let (code, text) = verify(&write(&folder, name, &bytes));
        assert_eq!(code, 0, "{text}");
        let entries = format!("entries   {}", instance.history.len());
        let (first, last) = (instance.history.first().unwrap(), instance.history.last().unwrap());
        for word in [document, &entries, &first.hash, &last.hash, &format!("seal      {seal}")] {
            assert!(text.contains(word), "{word} is missing in {text}");
        }
    }
}

#[test]
fn the_first_broken_entry_is_named() {
    let folder = TempDir::new().unwrap();
    let good = workflow::log::export(&instance()).unwrap();
    let changed = |change: fn(&mut Value)| {
        let mut value: Value = serde_json::from_slice(&good).unwrap();
        change(&mut value);
        serde_json::to_vec(&value).unwrap()
    };
    let cases: [(&str, Vec<u8>, &str); 6] = [
        (
            "altered",
            changed(|log| log["history"][1]["at"] = "2020-01-01T00:00:00Z".into()),
            "entry 2 is broken: its content",
        ),
        ("added", changed(|log| log["history"][0]["extra"] = 1.into()), "entry 1 is broken: its content"),
        (
            "removed",
            changed(|log| drop(log["history"].as_array_mut().unwrap().remove(0))),
            "entry 1 is broken: it carries 2",
        ),
        ("head", changed(|log| log["objectNumber"] = "ER-9".into()), "it was altered"),
        ("cut", good[..good.len() - 1].to_vec(), "it is not JSON"),
        ("foreign", b"{\"schema\":1}".to_vec(), "no log"),
    ];
    for (name, bytes, word) in cases {
        let (code, text) = verify(&write(&folder, name, &bytes));
        assert_eq!(code, 1, "{name}: {text}");
        assert!(text.contains("bad: ") && text.contains(word), "{name}: {text}");
    }
    let (code, text) = verify(&folder.path().join("nowhere.json"));
    assert_eq!(code, 1);
    assert!(text.contains("can't be read"), "{text}");
}

#[test]
fn wrong_usage_has_its_own_exit_code() {
    let run = Command::new(env!("CARGO_BIN_EXE_connectworkflow")).args(["log", "verify"]).output().unwrap();
    assert_eq!(run.status.code(), Some(2));
}
