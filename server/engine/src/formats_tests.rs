//! Golden files: what any released program wrote is read by this one, and what this one writes is what its golden file
//! says. A file that is there is never changed; a new schema gets new ones (DESIGN §2 rule 8).
#![expect(clippy::unwrap_used, reason = "a test that can't go on must fail where it stands")]

use std::path::Path;

use super::*;
use crate::blueprints::Catalog;
use crate::journal::JournalDoc;
use crate::lock::LockDoc;
use crate::tenants::TenantDoc;

fn golden(name: &str, schema: u32) -> Vec<u8> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/formats/{name}.{schema}.json"));
    std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Every schema of this kind becomes the same document, which is written as the newest golden file says.
fn holds<T: Serialize + DeserializeOwned>(name: &str, key: &str) {
    let key = Key::new(key).unwrap();
    let newest = format_of(&key).schema;
    let written = golden(name, newest);
    for schema in 1..=newest {
        let bytes = golden(name, schema);
        let stated: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(stated["schema"], schema, "{name}");
        let document: T = decode(&key, &bytes).unwrap_or_else(|error| panic!("{name} of schema {schema}: {error}"));
        let again = to_bytes(&key, &document).unwrap();
        assert_eq!(String::from_utf8_lossy(&again), String::from_utf8_lossy(&written), "{name} of schema {schema}");
    }
    let mut newer: Value = serde_json::from_slice(&written).unwrap();
    newer["schema"] = (newest + 1).into();
    newer.as_object_mut().unwrap().remove("seal");
    match decode::<T>(&key, newer.to_string().as_bytes()) {
        Err(EngineError::NewerFormat { key: named, source }) => {
            assert_eq!(named, key.to_string());
            let text = source.to_string();
            assert!(text.contains(&format!("schema {}", newest + 1)), "{text}");
            assert!(text.contains(&format!("up to {newest}")), "{text}");
        }
        Err(error) => panic!("{name}: {error}"),
        Ok(_) => panic!("{name}: a newer schema was read"),
    }
}

#[test]
fn documents_of_every_schema_are_read_and_written_as_agreed() {
    holds::<Instance>("instance", "workflow/docs/m1/w/i.json");
    holds::<LockDoc>("lock", "workflow/locks/ER-1001.json");
    holds::<ActiveDoc>("active", "workflow/active/w/i");
    holds::<DoneSummary>("done", "workflow/done/2024-10/i.json");
    holds::<Catalog>("catalog", "workflow/blueprints/catalog.json");
    holds::<JournalDoc>("journal", "workflow/triggers/2024-10-04/x.json");
    holds::<TenantDoc>("tenant", "workflow/tenant.json");
}

#[test]
fn the_golden_instance_is_whole() {
    for schema in 1..=INSTANCE_FORMAT.schema {
        let instance = Instance::from_stored(&golden("instance", schema)).unwrap();
        instance.check_invariants().unwrap();
        assert_eq!(instance.schema, INSTANCE_FORMAT.schema);
    }
}

#[test]
fn every_format_knows_the_way_from_schema_1() {
    for (prefix, format) in FORMATS.iter().chain([&("", OTHER)]) {
        assert_eq!(u32::try_from(format.migrations.len()).unwrap(), format.schema - 1, "`{prefix}`");
    }
}

#[test]
fn damage_names_the_document_and_the_way_out() {
    let key = Key::new("workflow/tenant.json").unwrap();
    let mut bytes = golden("tenant", 2);
    bytes[20] ^= 1;
    let error = decode::<TenantDoc>(&key, &bytes).unwrap_err();
    assert!(matches!(error, EngineError::Damaged { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("workflow/tenant.json") && text.contains("put a good copy"), "{text}");
}
