//! One test per refusal.

use workflow::apply::{IssueKind, Refusal};
use workflow::event::DecideFacts;
use workflow::vocab::{ClaimId, Decision, FieldName, InstanceStatus, OperationId, TaskAct};
use workflow::{Actor, EventKind};

use crate::fixture::{Run, actor, actor_in, at, name, person, text};

fn decide(facts: DecideFacts) -> EventKind {
    EventKind::Decide(Box::new(facts))
}

fn claim(visit: u64, operation: &str) -> EventKind {
    EventKind::Claim { visit, claim_id: ClaimId::new("claim-x"), operation: OperationId::new(operation) }
}

/// A run whose second step is open after carl, who is in both groups, approved the first.
fn second_step() -> Run {
    let mut run = Run::new("1190.00");
    run.confirm();
    run.claim("carl");
    run.approve("carl");
    run
}

#[test]
fn repeats_get_the_first_answer() {
    let mut run = Run::new("1190.00");
    run.send(actor("anna"), claim(1, "op"));
    let revision = run.instance.revision;
    assert_eq!(run.refusal(actor("anna"), claim(1, "op")), Refusal::Repeat { revision });
    assert_eq!(run.refusal(actor("anna"), claim(1, "other")), Refusal::Repeat { revision }, "already mine");

    let facts = run.facts(Decision::Approve);
    run.send(actor("anna"), decide(facts.clone()));
    let revision = run.instance.revision;
    run.confirm();
    assert_eq!(run.refusal(actor("anna"), decide(facts)), Refusal::Repeat { revision }, "whatever came after");
}

#[test]
fn an_operation_id_means_one_thing_by_one_person() {
    let mut run = Run::new("1190.00");
    run.send(actor("anna"), claim(1, "op"));
    assert!(matches!(run.refusal(actor("carl"), claim(1, "op")), Refusal::NotAllowedHere { .. }));
    let feedback = EventKind::Feedback { visit: 1, operation: OperationId::new("op"), text: "x".to_owned() };
    assert!(matches!(run.refusal(actor("anna"), feedback), Refusal::NotAllowedHere { .. }));
}

#[test]
fn strangers_learn_nothing() {
    let mut run = Run::new("1190.00");
    assert_eq!(run.refusal(actor("fremd"), claim(1, "op")), Refusal::NotFound);
    run.send(actor("anna"), claim(1, "op"));
    assert_eq!(run.refusal(actor("fremd"), claim(1, "op")), Refusal::NotFound, "not even that the operation is known");
}

#[test]
fn others_may_see_but_not_act() {
    let mut run = Run::new("1190.00");
    for other in ["bert", "udo"] {
        assert_eq!(run.refusal(actor(other), claim(1, "op")), Refusal::NotInGroup, "{other}");
    }
    run.claim("anna");
    let facts = run.facts(Decision::Approve);
    assert_eq!(run.refusal(actor_in("anna", &["buchhaltung"]), decide(facts)), Refusal::NotInGroup, "left the group");
}

#[test]
fn to_who_reads_the_log_only_the_task_does_not_exist() {
    let mut run = Run::new("1190.00");
    let feedback = || EventKind::Feedback { visit: 1, operation: OperationId::new("op"), text: "x".to_owned() };
    assert_eq!(run.refusal(actor("olga"), claim(1, "op")), Refusal::NotFound);
    let claim_id = run.claim("anna");
    let facts = run.facts(Decision::Approve);
    let unclaim = EventKind::Unclaim { claim_id, operation: OperationId::new("op") };
    for event in [claim(1, "op"), feedback(), unclaim, decide(facts)] {
        assert_eq!(run.refusal(actor("olga"), event), Refusal::NotFound);
    }
}

#[test]
fn a_remark_that_was_not_on_the_screen_stops_the_decision_once() {
    let mut run = Run::new("1190.00");
    run.claim("anna");
    let before = run.facts(Decision::Approve);
    let operation = run.operation();
    run.send(actor("anna"), EventKind::Feedback { visit: 1, operation, text: "own remark".to_owned() });
    run.clone().send(actor("anna"), decide(before.clone()));

    let operation = run.operation();
    run.send(actor("carl"), EventKind::Feedback { visit: 1, operation, text: "Bitte nicht bezahlen".to_owned() });
    let who = Some(person("carl"));
    let unread = Refusal::Stale { who, at: Some(at(run.minutes)), what: Some(TaskAct::Remarked), done: false };
    assert_eq!(run.refusal(actor("anna"), decide(before)), unread);
    run.approve("anna");
}

#[test]
fn a_claim_that_ended_says_how() {
    let mut run = Run::new("1190.00");
    let claim_id = run.claim("anna");
    let facts = run.facts(Decision::Approve);
    let operation = run.operation();
    run.send(actor("anna"), EventKind::Unclaim { claim_id: claim_id.clone(), operation });
    let operation = OperationId::new("late");
    let again = EventKind::Unclaim { claim_id, operation };
    let ended = Refusal::Stale {
        who: Some(person("anna")),
        at: Some(at(run.minutes)),
        what: Some(TaskAct::Unclaimed),
        done: false,
    };
    assert_eq!(run.refusal(actor("anna"), again), ended);
    assert_eq!(run.refusal(actor("anna"), decide(facts)), Refusal::NotClaimedByYou, "nobody has the task");

    let claim_id = run.claim("anna");
    let facts = run.facts(Decision::Approve);
    run.minutes += 24 * 60;
    run.send(Actor::System, EventKind::ClaimLapsed { claim_id: claim_id.clone() });
    let lapsed_at = run.minutes;
    let late = EventKind::Unclaim { claim_id, operation: OperationId::new("later") };
    let lapsed = Refusal::Stale { who: None, at: Some(at(lapsed_at)), what: Some(TaskAct::Lapsed), done: false };
    assert_eq!(run.refusal(actor("anna"), late), lapsed);
    run.claim("carl");
    let taken = Refusal::Stale {
        who: Some(person("carl")),
        at: Some(at(run.minutes)),
        what: Some(TaskAct::Claimed),
        done: false,
    };
    assert_eq!(run.refusal(actor("anna"), decide(facts)), taken);
}

#[test]
fn only_the_holder_decides() {
    let mut run = Run::new("1190.00");
    let facts = run.facts(Decision::Approve);
    assert_eq!(run.refusal(actor("anna"), decide(facts)), Refusal::NotClaimedByYou);
    let claim_id = run.claim("anna");
    let stale = Refusal::Stale {
        who: Some(person("anna")),
        at: Some(at(run.minutes)),
        what: Some(TaskAct::Claimed),
        done: false,
    };
    let facts = run.facts(Decision::Approve);
    assert_eq!(run.refusal(actor("carl"), decide(facts)), stale);
    assert_eq!(run.refusal(actor("carl"), claim(1, "op")), stale, "already claimed");
    let operation = OperationId::new("op");
    assert_eq!(run.refusal(actor("carl"), EventKind::Unclaim { claim_id, operation }), stale);
}

#[test]
fn four_eyes_hold_for_claim_and_decision() {
    let mut run = second_step();
    assert_eq!(run.refusal(actor("carl"), claim(2, "op")), Refusal::FourEyes);
    run.claim("bert");
    let facts = run.facts(Decision::Approve);
    assert_eq!(run.refusal(actor("carl"), decide(facts)), Refusal::FourEyes);
}

#[test]
fn a_visit_that_moved_on_names_who_did_it() {
    let run = second_step();
    let taken = run.instance.taken_decisions().remove(0);
    let stale = Refusal::Stale { who: Some(taken.by), at: Some(taken.at), what: Some(TaskAct::Approved), done: true };
    assert_eq!(run.refusal(actor("anna"), claim(1, "op")), stale);
    assert!(matches!(run.refusal(actor("bert"), claim(3, "op")), Refusal::NotAllowedHere { .. }), "a visit to come");
    let operation = OperationId::new("op");
    let unknown = EventKind::Unclaim { claim_id: ClaimId::new("never"), operation };
    assert!(matches!(run.refusal(actor("bert"), unknown), Refusal::NotAllowedHere { .. }));
}

#[test]
fn values_that_changed_are_named_and_nothing_is_decided() {
    let mut run = Run::new("1190.00");
    run.claim("anna");
    let mut facts = run.facts(Decision::Approve);
    facts.current.insert(name("fldGesamtBrutto"), text("2380.00"));
    facts.current.insert(name("fldLieferant"), text("not shown, so nobody decided on it"));
    let fields = vec![(name("fldGesamtBrutto"), text("1190.00"), text("2380.00"))];
    assert_eq!(run.refusal(actor("anna"), decide(facts)), Refusal::ValuesChanged { fields });

    let mut same = run.facts(Decision::Approve);
    same.current.insert(name("fldGesamtBrutto"), text("1190.0"));
    run.send(actor("anna"), decide(same));
}

#[test]
fn what_was_shown_must_be_complete_and_nothing_else() {
    let mut run = Run::new("1190.00");
    run.claim("anna");
    let mut incomplete = run.facts(Decision::Approve);
    incomplete.shown.remove(&name("fldGesamtBrutto"));
    assert!(matches!(run.refusal(actor("anna"), decide(incomplete)), Refusal::NotAllowedHere { .. }));
    let mut extra = run.facts(Decision::Approve);
    extra.shown.insert(name("fldLieferant"), text("Müller GmbH"));
    assert!(matches!(run.refusal(actor("anna"), decide(extra)), Refusal::NotAllowedHere { .. }));
    let mut gone = run.facts(Decision::Approve);
    gone.current.remove(&name("fldGesamtBrutto"));
    assert!(matches!(run.refusal(actor("anna"), decide(gone)), Refusal::ValuesChanged { .. }), "the ERP lost a field");
}

#[test]
fn a_rejection_needs_a_comment() {
    let mut run = Run::new("1190.00");
    run.claim("anna");
    for blank in [None, Some(String::new()), Some(" \n\t".to_owned())] {
        let mut facts = run.facts(Decision::Reject);
        facts.comment = blank;
        let Refusal::Invalid { problems } = run.refusal(actor("anna"), decide(facts)) else { panic!() };
        assert_eq!((problems[0].name.clone(), problems[0].kind), (FieldName::new("comment"), IssueKind::Required));
    }
    let mut facts = run.facts(Decision::Approve);
    facts.comment = Some("x".repeat(4_001));
    let Refusal::Invalid { problems } = run.refusal(actor("anna"), decide(facts)) else { panic!() };
    assert_eq!(problems[0].kind, IssueKind::TooLong);
}

#[test]
fn a_remark_needs_a_text() {
    let mut run = Run::new("1190.00");
    for (content, kind) in [(" ".to_owned(), IssueKind::Required), ("x".repeat(4_001), IssueKind::TooLong)] {
        let operation = run.operation();
        let event = EventKind::Feedback { visit: 1, operation, text: content };
        let Refusal::Invalid { problems } = run.refusal(actor("anna"), event) else { panic!() };
        assert_eq!(problems[0].kind, kind);
    }
}

#[test]
fn engine_and_people_keep_to_their_own_events() {
    let mut run = Run::new("1190.00");
    let done = run.done(run.first_key());
    assert!(matches!(run.refusal(actor("anna"), done), Refusal::NotAllowedHere { .. }));
    let failed = run.failed(run.first_key());
    assert!(matches!(run.refusal(actor("olga"), failed), Refusal::NotAllowedHere { .. }));
    assert!(matches!(run.refusal(Actor::System, claim(1, "op")), Refusal::NotAllowedHere { .. }));
    let claim_id = run.claim("anna");
    run.minutes += 24 * 60;
    assert!(matches!(run.refusal(actor("carl"), EventKind::ClaimLapsed { claim_id }), Refusal::NotAllowedHere { .. }));
}

#[test]
fn a_claim_does_not_lapse_early() {
    let mut run = Run::new("1190.00");
    let claim_id = run.claim("anna");
    run.minutes += 24 * 60 - 2;
    let lapse = EventKind::ClaimLapsed { claim_id };
    assert!(matches!(run.refusal(Actor::System, lapse.clone()), Refusal::NotAllowedHere { .. }));
    run.minutes += 1;
    run.send(Actor::System, lapse);
}

#[test]
fn a_finished_run_accepts_nothing() {
    let mut run = Run::new("499.99");
    run.confirm();
    let last = run.first_key();
    run.confirm();
    assert!(run.instance.is_final());
    assert!(matches!(run.refusal(actor("anna"), claim(1, "op")), Refusal::NotAllowedHere { .. }), "it had no visit");
    assert!(matches!(run.refusal(Actor::System, run.done(last)), Refusal::Repeat { .. }));

    // A run that was finished with an undecided visit: nobody's decision can be named.
    let mut run = Run::new("1190.00");
    run.instance.history.clear();
    run.instance.state = workflow::instance::State::Final { status: InstanceStatus::Canceled };
    assert_eq!(run.refusal(actor("anna"), claim(1, "op")), Refusal::Final);
}

#[test]
fn another_blueprint_is_refused() {
    let mut run = Run::new("1190.00");
    run.blueprint.id = "andere".into();
    assert!(matches!(run.refusal(actor("anna"), claim(1, "op")), Refusal::Corrupt { .. }));
}

#[test]
fn refusals_say_what_to_do() {
    let said =
        Refusal::Invalid { problems: vec![workflow::apply::FieldIssue::new(&name("fldSkonto"), IssueKind::Ambiguous)] };
    assert_eq!(said.to_string(), "invalid input: fldSkonto is ambiguous, write 1234,00 or 1,23");
}
