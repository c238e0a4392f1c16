//! Whole logs, hashes included: a change of format or of the hash shows here.

use workflow::vocab::Decision;
use workflow::{EventKind, log};

use crate::fixture::{Run, actor, values};

#[test]
fn happy_path() {
    let mut run = Run::new("1190.00");
    run.confirm();
    run.claim("anna");
    run.approve_with("anna", &[("fldKostenstelle", "2000")]);
    run.confirm();
    run.claim("bert");
    run.approve("bert");
    run.confirm();
    log::verify(&run.instance.history).unwrap();
    insta::assert_json_snapshot!("happy_path", run.instance.history);
}

#[test]
fn rejection_after_a_failed_write() {
    let mut run = Run::new("1190.00");
    let failed = run.failed(run.first_key());
    run.send(workflow::Actor::System, failed);
    run.confirm();
    run.claim("carl");
    let mut facts = run.facts(Decision::Reject);
    facts.changes = values(&[("fldKostenstelle", "2000")]);
    run.send(actor("carl"), EventKind::Decide(Box::new(facts)));
    run.confirm();
    log::verify(&run.instance.history).unwrap();
    insta::assert_json_snapshot!("rejection", run.instance.history);
}
