//! Documents besides the instance: lock, catalog, summary, blueprint version.

use engine::{EngineError, InstanceRef, TriggerAnswer, TriggerError};
use ports::Key;

use crate::world::{World, anna, bucket, key, tenant};

fn the_only(world: &World, prefix: &str) -> Key {
    let keys = world.store.keys(prefix);
    assert_eq!(keys.len(), 1, "{keys:?}");
    key(&keys[0])
}

fn flipped(world: &World, key: &Key) -> Vec<u8> {
    let mut bytes = world.store.bytes(&bucket(), key).unwrap().to_vec();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    bytes
}

fn same(answer: TriggerAnswer, at: &InstanceRef) {
    assert_eq!(answer, TriggerAnswer::AlreadyRunning(at.clone()));
}

/// The damaged bytes lie under the damaged document's own key.
fn kept(world: &World, key: &Key, bytes: &[u8]) {
    let keys = world.store.keys(&format!("workflow/damaged/{key}/"));
    let found = keys.iter().any(|key| world.store.bytes(&bucket(), &crate::world::key(key)).unwrap() == bytes);
    assert!(found, "{keys:?}");
}

#[tokio::test]
async fn a_damaged_lock_starts_no_second_run() {
    let world = World::new().await;
    let at = world.started().await;
    let lock = the_only(&world, "workflow/locks/");
    for round in 0..3 {
        let bad = if round == 0 { flipped(&world, &lock) } else { b"{".repeat(round) };
        let before = world.store.bytes(&bucket(), &lock).unwrap();
        world.store.by_hand(&bucket(), &lock, bad.clone());
        same(world.trigger().await.unwrap(), &at);
        kept(&world, &lock, &bad);
        assert_ne!(world.store.bytes(&bucket(), &lock).unwrap(), before, "old bytes are never put back");
    }
}

#[tokio::test]
async fn an_old_pointer_never_hides_an_unfinished_run() {
    let world = World::new().await;
    world.finished().await;
    let lock = the_only(&world, "workflow/locks/");
    let old = world.store.bytes(&bucket(), &lock).unwrap();
    world.ask_again();
    let at = world.started().await;
    // Of the second run's locks nothing is left; the newest good version points to the first run.
    world.store.by_hand(&bucket(), &lock, old);
    world.store.by_hand(&bucket(), &lock, "?");
    world.store.expire(&bucket(), &lock, 2);
    world.ask_again();
    same(world.trigger().await.unwrap(), &at);
}

#[tokio::test]
async fn a_lock_without_good_version_and_without_run_is_named() {
    let world = World::new().await;
    world.finished().await;
    let lock = the_only(&world, "workflow/locks/");
    world.store.expire(&bucket(), &lock, 1);
    world.store.rot(&bucket(), &lock, "?");
    world.ask_again();
    match world.trigger().await.unwrap_err() {
        TriggerError::Engine(EngineError::Damaged { key, reason }) => {
            assert_eq!(key, lock.to_string());
            assert!(reason.contains("no good version"), "{reason}");
        }
        other => panic!("{other}"),
    }
    kept(&world, &lock, b"?");
}

#[tokio::test]
async fn a_damaged_catalog_is_restored() {
    let world = World::new().await;
    let catalog = key("workflow/blueprints/catalog.json");
    let good = world.store.bytes(&bucket(), &catalog).unwrap();
    let bad = flipped(&world, &catalog);
    world.store.by_hand(&bucket(), &catalog, bad.clone());
    world.started().await;
    kept(&world, &catalog, &bad);
    assert_ne!(world.store.bytes(&bucket(), &catalog).unwrap(), good);
    world.store.expire(&bucket(), &catalog, 1);
    world.store.rot(&bucket(), &catalog, "[]");
    let error = world.node.publish(&tenant(), "x", "admin", None).await.unwrap_err();
    assert!(matches!(error, EngineError::Blueprint { .. }), "the text is looked at first: {error}");
    let error = world.trigger().await.unwrap_err();
    assert!(error.to_string().contains("catalog.json") && error.to_string().contains("put a good copy"), "{error}");
}

#[tokio::test]
async fn a_damaged_blueprint_version_is_restored_as_it_was() {
    let mut world = World::new().await;
    let at = world.started().await;
    let version = key("workflow/blueprints/rechnungsfreigabe/1.yaml");
    let good = world.store.bytes(&bucket(), &version).unwrap();
    world.store.by_hand(&bucket(), &version, good.slice(..good.len() / 2));
    world.restart();
    world.claim(&at, &anna()).await;
    assert_eq!(world.store.bytes(&bucket(), &version).unwrap(), good);
}

#[tokio::test]
async fn a_damaged_summary_is_restored_or_rebuilt_from_its_run() {
    let mut world = World::new().await;
    let at = world.finished().await;
    let done = the_only(&world, "workflow/done/");
    let good = world.store.bytes(&bucket(), &done).unwrap();
    let bad = flipped(&world, &done);
    // A version of it is left, then none.
    world.store.by_hand(&bucket(), &done, bad.clone());
    for _ in 0..2 {
        world.restart();
        assert!(world.node.recover().await.is_empty());
        assert!(world.node.done_row(&at).is_some());
        assert_eq!(world.store.bytes(&bucket(), &done).unwrap(), good);
        kept(&world, &done, &bad);
        world.store.expire(&bucket(), &done, 1);
        world.store.rot(&bucket(), &done, bad.clone());
    }
}
