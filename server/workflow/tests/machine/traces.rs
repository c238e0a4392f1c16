//! Protocol traces that once went wrong, by name.

use workflow::Actor;
use workflow::EventKind;
use workflow::apply::Refusal;
use workflow::vocab::{Decision, TaskAct};

use crate::fixture::{Run, actor, name, person, text};

/// Reload-and-apply must not put a decision on the next step, an old expiry must not free a new claim, and a delayed
/// copy of a refused decision must not execute after a re-claim.
#[test]
fn stale_meaning() {
    // A decision on the first step, applied again after somebody else's took the run to the next.
    let mut run = Run::new("1190.00");
    run.claim("carl");
    let late = run.facts(Decision::Approve);
    run.approve("carl");
    let decided_at = run.instance.taken_decisions()[0].at;
    let mut copy = late.clone();
    copy.operation = run.operation();
    let stale =
        Refusal::Stale { who: Some(person("carl")), at: Some(decided_at), what: Some(TaskAct::Approved), done: true };
    assert_eq!(run.refusal(actor("anna"), EventKind::Decide(Box::new(copy))), stale);
    assert_eq!(run.instance.taken_decisions().len(), 1);

    // An expiry of the first claim after the second was taken.
    let mut run = Run::new("1190.00");
    let first = run.claim("anna");
    let operation = run.operation();
    run.send(actor("anna"), EventKind::Unclaim { claim_id: first.clone(), operation });
    run.claim("anna");
    run.minutes += 24 * 60;
    assert!(matches!(
        run.refusal(Actor::System, EventKind::ClaimLapsed { claim_id: first.clone() }),
        Refusal::Stale { done: false, .. }
    ));
    let operation = run.operation();
    assert!(matches!(
        run.refusal(actor("anna"), EventKind::Unclaim { claim_id: first, operation }),
        Refusal::Stale { done: false, .. }
    ));

    // A decision that was refused, and its copy after the same person claimed again.
    let mut run = Run::new("1190.00");
    let claim_id = run.claim("anna");
    let mut refused = run.facts(Decision::Approve);
    refused.current.insert(name("fldGesamtBrutto"), text("1191.00"));
    let mut copy = refused.clone();
    copy.current = run.object.clone();
    assert!(matches!(run.refusal(actor("anna"), EventKind::Decide(Box::new(refused))), Refusal::ValuesChanged { .. }));
    let operation = run.operation();
    run.send(actor("anna"), EventKind::Unclaim { claim_id, operation });
    run.claim("anna");
    assert!(matches!(
        run.refusal(actor("anna"), EventKind::Decide(Box::new(copy))),
        Refusal::Stale { done: false, .. }
    ));
}
