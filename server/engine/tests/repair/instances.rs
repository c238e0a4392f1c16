//! Instance documents that are no longer whole.

use engine::EngineError;
use ports::Store as _;
use workflow::Instance;
use workflow::format::{self, Format, to_sealed};
use workflow::instance::INSTANCE_FORMAT;

use crate::world::{World, anna, bert, bucket, key, repairs, tenant};

/// The instance without what every revision has of its own.
fn content(instance: &Instance) -> Instance {
    let mut content = instance.clone();
    content.revision = 0;
    content.commit_id = String::new();
    content.history.retain(|entry| !matches!(entry.kind, workflow::log::LogKind::Repaired { .. }));
    content
}

#[tokio::test]
async fn flipped_bytes_anywhere_are_noticed_set_aside_and_repaired() {
    let world = World::new().await;
    let at = world.started().await;
    world.claim(&at, &anna()).await;
    let mut good = world.read(&at).await.unwrap();
    let length = world.bytes(&at).len();
    for round in 0..24 {
        let mut bytes = world.bytes(&at).to_vec();
        let place = (length - 1) * round / 23;
        bytes[place] ^= 1 << (round % 7);
        let still_means_the_same = Instance::from_stored(&bytes).is_ok_and(|read| read == good);
        world.damage(&at, bytes.clone());
        let repaired = world.read(&at).await.unwrap();
        if still_means_the_same {
            assert_eq!(repaired, good);
            continue;
        }
        assert_eq!(content(&repaired), content(&good), "byte {place}");
        assert!(repaired.revision > good.revision && repaired.commit_id != good.commit_id);
        let told = repairs(&repaired);
        assert_eq!(told.len(), repairs(&good).len() + 1);
        let (reason, set_aside, restored) = told.last().unwrap().clone();
        assert!(!reason.is_empty());
        assert_eq!(restored, good.revision);
        let kept = world.store.bytes(&bucket(), &key(&set_aside.unwrap())).unwrap();
        assert_eq!(kept, bytes, "the damaged bytes are kept byte for byte");
        good = repaired;
    }
    // What was damaged and repaired so often goes on as if nothing had been.
    world.approve(&at, &anna(), &[]).await;
    world.claim(&at, &bert()).await;
    world.approve(&at, &bert(), &[]).await;
    assert!(world.settled(&at).await.is_final());
}

#[tokio::test]
async fn truncated_documents_are_repaired_whatever_is_left() {
    let world = World::new().await;
    let at = world.started().await;
    let good = world.read(&at).await.unwrap();
    let full = world.bytes(&at);
    for round in 0..12 {
        world.damage(&at, full.slice(..full.len() * round / 12));
        let repaired = world.read(&at).await.unwrap();
        assert_eq!(content(&repaired), content(&good), "{round} twelfths");
        assert_eq!(repairs(&repaired).len(), round + 1);
    }
}

/// Somebody who knows the seal changes the document and seals it again.
fn forged(bytes: &[u8], change: impl Fn(&mut format::Members)) -> Vec<u8> {
    let mut members = format::open(&INSTANCE_FORMAT, bytes).unwrap();
    change(&mut members);
    format::close(&INSTANCE_FORMAT, members).unwrap()
}

#[tokio::test]
async fn a_broken_chain_and_broken_invariants_are_noticed_behind_a_good_seal() {
    let world = World::new().await;
    let at = world.started().await;
    world.claim(&at, &anna()).await;
    let changes: [(&str, fn(&mut format::Members)); 4] = [
        ("altered", |members| members["history"][0]["workflowName"] = "Anderes".into()),
        ("entry", |members| {
            members["history"].as_array_mut().unwrap().remove(1);
        }),
        ("status", |members| members["status"] = "APPROVED".into()),
        ("claimed by", |members| members["claimedBy"] = serde_json::Value::Null),
    ];
    for (word, change) in changes {
        let good = world.read(&at).await.unwrap();
        world.damage(&at, forged(&world.bytes(&at), change));
        let repaired = world.read(&at).await.unwrap();
        assert_eq!(content(&repaired), content(&good));
        let (reason, _, _) = repairs(&repaired).pop().unwrap();
        assert!(reason.contains(word), "{reason}");
    }
}

#[tokio::test]
async fn another_runs_document_is_not_taken_for_this_one() {
    let world = World::new().await;
    let other = world.finished().await;
    world.ask_again();
    let at = world.started().await;
    assert_ne!(at, other);
    let good = world.read(&at).await.unwrap();
    world.damage(&at, world.bytes(&other));
    let repaired = world.read(&at).await.unwrap();
    assert_eq!(content(&repaired), content(&good));
    assert!(repairs(&repaired)[0].0.contains("another"), "{:?}", repairs(&repaired));
}

#[tokio::test]
async fn recovery_repairs_before_it_goes_on() {
    let mut world = World::new().await;
    let at = world.started().await;
    world.claim(&at, &anna()).await;
    let good = world.read(&at).await.unwrap();
    world.store.rot(&bucket(), &world.document(&at), "{\"schema\":");
    world.restart();
    assert!(world.node.recover().await.is_empty());
    let row = world.node.row(&at).unwrap();
    assert!(row.revision > good.revision - 1);
    let repaired = world.read(&at).await.unwrap();
    // The claim was only in the version that rotted: the newest good one is the revision before it.
    assert_eq!(repairs(&repaired)[0].2, good.revision - 1);
    assert!(repaired.revision > good.revision, "the lost revision's number is not used again");
    assert!(repaired.claimed_by.is_none());
    world.claim(&at, &anna()).await;
}

#[tokio::test]
async fn a_deleted_document_comes_back_and_the_run_is_not_begun_anew() {
    let mut world = World::new().await;
    let at = world.started().await;
    world.claim(&at, &anna()).await;
    let good = world.read(&at).await.unwrap();
    world.store.delete(&bucket(), &world.document(&at)).await.unwrap();
    world.restart();
    assert!(world.node.recover().await.is_empty());
    let repaired = world.read(&at).await.unwrap();
    assert_eq!(content(&repaired), content(&good));
    assert_eq!(repairs(&repaired)[0].1, None, "there was nothing to keep");
}

#[tokio::test]
async fn without_a_good_version_nothing_is_invented() {
    let mut world = World::new().await;
    let at = world.started().await;
    let good = world.bytes(&at);
    let document = world.document(&at);
    world.store.expire(&bucket(), &document, 1);
    world.store.rot(&bucket(), &document, good.slice(1..));
    for _ in 0..2 {
        let error = world.read(&at).await.unwrap_err();
        let EngineError::Damaged { key, reason } = &error else { panic!("{error}") };
        assert_eq!(*key, document.to_string());
        assert!(reason.contains("no good version"), "{reason}");
    }
    let damaged = world.node.damaged_runs(&[tenant()]);
    assert_eq!(damaged.len(), 1);
    let kept = damaged[0].set_aside.clone().unwrap();
    assert_eq!(world.store.bytes(&bucket(), &key(&kept)).unwrap(), good.slice(1..));
    assert_eq!(world.bytes(&at), good.slice(1..), "the document stays as it was found");
    world.restart();
    assert!(world.node.recover().await.is_empty(), "one damaged run stops nobody else");
    assert_eq!(world.node.damaged_runs(&[tenant()]).len(), 1);
    // A person puts a good copy back.
    world.damage(&at, good);
    world.claim(&at, &anna()).await;
    assert!(world.node.damaged_runs(&[tenant()]).is_empty());
}

#[tokio::test]
async fn a_newer_programs_document_is_left_alone() {
    let world = World::new().await;
    let at = world.started().await;
    let members = format::open(&INSTANCE_FORMAT, &world.bytes(&at)).unwrap();
    let later = Format { schema: 3, migrations: &[to_sealed, to_sealed], ..INSTANCE_FORMAT };
    let newer = format::close(&later, members).unwrap();
    world.damage(&at, newer.clone());
    let error = world.read(&at).await.unwrap_err();
    assert!(matches!(error, EngineError::NewerFormat { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("schema 3") && text.contains("up to 2") && text.contains("install"), "{text}");
    assert_eq!(world.bytes(&at), newer);
    assert!(world.store.keys("workflow/damaged/").is_empty());
}

#[tokio::test]
async fn old_documents_without_seal_are_read_and_written_sealed() {
    let world = World::new().await;
    let at = world.started().await;
    let mut members = format::open(&INSTANCE_FORMAT, &world.bytes(&at)).unwrap();
    members.insert("schema".to_owned(), 1.into());
    world.damage(&at, serde_json::to_vec(&members).unwrap());
    assert!(repairs(&world.read(&at).await.unwrap()).is_empty());
    world.claim(&at, &anna()).await;
    let members: serde_json::Value = serde_json::from_slice(&world.bytes(&at)).unwrap();
    assert_eq!(members["schema"], 2);
    assert_eq!(members["seal"].as_str().unwrap().len(), 64);
}
