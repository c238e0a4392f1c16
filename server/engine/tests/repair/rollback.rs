//! Older versions put back by hand: they parse well and their chain is good (trace `rollback_bytes`).

use engine::TriggerAnswer;
use ports::Store as _;
use workflow::vocab::InstanceStatus;

use crate::world::{World, anna, bert, bucket, key, repairs, tenant};

#[tokio::test]
async fn a_running_node_notices_at_once_and_loses_no_decision() {
    let world = World::new().await;
    let at = world.started().await;
    world.claim(&at, &anna()).await;
    world.approve(&at, &anna(), &[("fldKostenstelle", "2000")]).await;
    let newest = world.read(&at).await.unwrap();
    let old = world.revisions(&at)[1].clone();
    world.damage(&at, old.clone());
    // The next one who acts stands on the newest revision, not on the old one.
    world.claim(&at, &bert()).await;
    let after = world.read(&at).await.unwrap();
    assert_eq!(after.taken_decisions(), newest.taken_decisions());
    assert_eq!(after.claimed_by.as_ref().unwrap().id.as_str(), "bert");
    let (reason, set_aside, restored) = repairs(&after).pop().unwrap();
    assert!(reason.contains("was put back"), "{reason}");
    assert_eq!(restored, newest.revision);
    assert!(after.revision > newest.revision + 1, "revisions never fall, numbers are never used twice");
    assert_eq!(world.store.bytes(&bucket(), &key(&set_aside.unwrap())).unwrap(), old);
}

#[tokio::test]
async fn a_node_that_starts_notices_it_by_the_versions() {
    let mut world = World::new().await;
    let at = world.started().await;
    world.claim(&at, &anna()).await;
    world.approve(&at, &anna(), &[("fldKostenstelle", "2000")]).await;
    let newest = world.read(&at).await.unwrap();
    for old in 0..3 {
        let bytes = world.revisions(&at)[old].clone();
        world.damage(&at, bytes);
        world.restart();
        assert!(world.node.recover().await.is_empty());
        let after = world.read(&at).await.unwrap();
        assert_eq!(after.taken_decisions(), newest.taken_decisions());
        assert_eq!(after.state, newest.state);
        assert_eq!(repairs(&after).len(), old + 1);
    }
    let writes = world.erp.written.lock().unwrap().len();
    assert_eq!(writes, 2, "nothing is written to the ERP twice: start and the edit");
}

#[tokio::test]
async fn a_finished_run_put_back_to_an_open_state_never_runs_again() {
    for restart in [false, true] {
        let mut world = World::new().await;
        let at = world.finished().await;
        let newest = world.read(&at).await.unwrap();
        let writes = world.erp.written.lock().unwrap().clone();
        for old in world.revisions(&at).into_iter().rev().skip(1) {
            world.damage(&at, old);
            if restart {
                world.restart();
            }
            let after = world.read(&at).await.unwrap();
            assert!(after.is_final());
            assert_eq!(after.status, InstanceStatus::Approved);
            assert_eq!(after.ended_at, newest.ended_at);
            assert_eq!(after.taken_decisions(), newest.taken_decisions());
        }
        world.restart();
        assert!(world.node.recover().await.is_empty());
        world.node.tick().await;
        assert!(world.node.open_rows(&[tenant()]).is_empty());
        assert_eq!(*world.erp.written.lock().unwrap(), writes, "the ERP hears nothing of it");
        // And the object can have its next run.
        world.ask_again();
        assert!(matches!(world.trigger().await.unwrap(), TriggerAnswer::Started(next) if next != at));
    }
}

#[tokio::test]
async fn its_summary_alone_proves_that_a_run_ended() {
    let mut world = World::new().await;
    let at = world.finished().await;
    let newest = world.read(&at).await.unwrap();
    let writes = world.erp.written.lock().unwrap().clone();
    // All versions but one from the middle are gone: a decision is lost, the end is not.
    let revisions = world.revisions(&at);
    let old = revisions[revisions.len() - 2].clone();
    world.damage(&at, old);
    world.store.expire(&bucket(), &world.document(&at), 1);
    world.restart();
    let after = world.read(&at).await.unwrap();
    assert_eq!(after.status, newest.status);
    assert_eq!(after.ended_at, newest.ended_at);
    assert!(after.effects.is_empty());
    after.check_invariants().unwrap();
    let (reason, _, _) = repairs(&after).pop().unwrap();
    assert!(reason.contains("its summary says that it ended"), "{reason}");
    world.node.tick().await;
    assert_eq!(*world.erp.written.lock().unwrap(), writes);
}

#[tokio::test]
async fn the_hourly_look_finds_what_nobody_reads() {
    let mut world = World::new().await;
    let at = world.started().await;
    world.claim(&at, &anna()).await;
    let newest = world.read(&at).await.unwrap();
    // A node that knows the run only by its older revision, as after another node's commits.
    world.restart();
    let old = world.revisions(&at)[0].clone();
    world.damage(&at, old);
    world.node.inspect().await;
    let document = workflow::Instance::from_stored(&world.bytes(&at)).unwrap();
    assert_eq!(document.state, newest.state);
    assert_eq!(repairs(&document).len(), 1);
    // Nothing to find: nothing is written.
    let revisions = world.revisions(&at).len();
    world.node.inspect().await;
    assert_eq!(world.revisions(&at).len(), revisions);
}

#[tokio::test]
async fn damage_on_top_of_an_older_version_is_repaired_too() {
    let mut world = World::new().await;
    let at = world.started().await;
    world.claim(&at, &anna()).await;
    let newest = world.read(&at).await.unwrap();
    let revisions = world.revisions(&at);
    world.damage(&at, revisions[0].clone());
    world.damage(&at, revisions[1].slice(..100));
    world.restart();
    assert!(world.node.recover().await.is_empty());
    let after = world.read(&at).await.unwrap();
    assert_eq!(after.state, newest.state);
    assert_eq!(repairs(&after).pop().unwrap().2, newest.revision);
}

#[tokio::test]
async fn a_lost_active_key_is_written_anew() {
    let mut world = World::new().await;
    let at = world.started().await;
    let active = key(&world.store.keys("workflow/active/")[0]);
    let body = world.store.bytes(&bucket(), &active).unwrap();
    world.store.delete(&bucket(), &active).await.unwrap();
    world.restart();
    let instance = world.read(&at).await.unwrap();
    assert!(repairs(&instance).is_empty(), "the document itself is good");
    assert_eq!(world.store.bytes(&bucket(), &active).unwrap(), body);
}
