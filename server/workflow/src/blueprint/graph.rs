//! Where steps lead.
//!
//! Purpose: every named step exists, every step is reached, every run can end, no condition runs in circles.
//! Invariant: works on ids and places only. Where a step's ways are not known, it stays silent about what depends on
//! them.
//! Never: recurses; the number of steps is bounded but the stack need not know.

use std::collections::{BTreeMap, BTreeSet};

use vocab::StepId;

use super::names::nearest;
use super::problem::ProblemCode;
use super::reader::Reader;
use super::steps::{Draft, Sort, Target};

/// Checks all ways; `complete` says whether every step is there.
pub(super) fn check(reader: &mut Reader, drafts: &[Draft], complete: bool) {
    let index: BTreeMap<&StepId, usize> = drafts.iter().enumerate().map(|(i, draft)| (&draft.id, i)).collect();
    let mut known = complete;
    let mut ways: Vec<Vec<usize>> = Vec::new();
    for draft in drafts {
        let mut next = Vec::new();
        for target in &draft.targets {
            match index.get(&target.id) {
                Some(i) => next.push(*i),
                None => {
                    known = false;
                    unknown_step(reader, drafts, target, "the step");
                }
            }
        }
        known &= draft.sort != Sort::Unknown && !draft.incomplete;
        ways.push(next);
        for target in &draft.not_by {
            not_by(reader, drafts, draft, index.get(&target.id).and_then(|i| drafts.get(*i)), target);
        }
    }
    circles(reader, drafts, &ways);
    if known && !drafts.is_empty() {
        reachable(reader, drafts, &ways);
        ends(reader, drafts, &ways);
    }
}

fn unknown_step(reader: &mut Reader, drafts: &[Draft], target: &Target, what: &str) {
    let help = match nearest(target.id.as_str(), drafts.iter().map(|draft| draft.id.as_str())) {
        Some(near) => format!("write `{near}`, or add the step"),
        None => "add the step, or name one that exists".to_owned(),
    };
    reader.problem(target.at, ProblemCode::UnknownStep, format!("{what} `{}` does not exist", target.id), &help);
}

fn not_by(reader: &mut Reader, drafts: &[Draft], draft: &Draft, named: Option<&Draft>, target: &Target) {
    let Some(named) = named else {
        return unknown_step(reader, drafts, target, "the step of notBy");
    };
    let wrong = if named.id == draft.id {
        "is this step itself"
    } else if matches!(named.sort, Sort::System | Sort::End) {
        "is not decided by a person"
    } else {
        return;
    };
    let message = format!("notBy: the step `{}` {wrong}", target.id);
    reader.problem(target.at, ProblemCode::BadValue, message, "name a user step that comes before");
}

/// All steps that can be reached from `starts`.
fn reach(starts: impl IntoIterator<Item = usize>, ways: &[Vec<usize>]) -> BTreeSet<usize> {
    let mut open: Vec<usize> = starts.into_iter().collect();
    let mut reached: BTreeSet<usize> = open.iter().copied().collect();
    while let Some(step) = open.pop() {
        for next in ways.get(step).into_iter().flatten() {
            if reached.insert(*next) {
                open.push(*next);
            }
        }
    }
    reached
}

fn reachable(reader: &mut Reader, drafts: &[Draft], ways: &[Vec<usize>]) {
    let reached = reach([0], ways);
    for (i, draft) in drafts.iter().enumerate() {
        if !reached.contains(&i) {
            let message = format!("no way leads to the step `{}`", draft.id);
            reader.problem(
                draft.at,
                ProblemCode::Unreachable,
                message,
                "lead a step there, or remove it; a run begins at the first step",
            );
        }
    }
}

fn ends(reader: &mut Reader, drafts: &[Draft], ways: &[Vec<usize>]) {
    let mut back = vec![Vec::new(); drafts.len()];
    for (from, targets) in ways.iter().enumerate() {
        for to in targets {
            if let Some(list) = back.get_mut(*to) {
                list.push(from);
            }
        }
    }
    let final_steps = drafts.iter().enumerate().filter(|(_, draft)| draft.sort == Sort::End).map(|(i, _)| i);
    let ending = reach(final_steps, &back);
    for (i, draft) in drafts.iter().enumerate() {
        if !ending.contains(&i) {
            let message = format!("from the step `{}` no end can be reached", draft.id);
            reader.problem(draft.at, ProblemCode::NeverEnds, message, "lead one of its ways to a step of type end");
        }
    }
}

/// Circles of system steps: a run would never come to a person or an end.
fn circles(reader: &mut Reader, drafts: &[Draft], ways: &[Vec<usize>]) {
    let is_system = |i: &usize| drafts.get(*i).is_some_and(|draft| draft.sort == Sort::System);
    let system_ways: Vec<Vec<usize>> = ways
        .iter()
        .enumerate()
        .map(|(i, next)| if is_system(&i) { next.iter().copied().filter(is_system).collect() } else { Vec::new() })
        .collect();
    let mut told = BTreeSet::new();
    for (i, draft) in drafts.iter().enumerate() {
        if told.contains(&i) {
            continue;
        }
        let ahead = reach(system_ways.get(i).into_iter().flatten().copied(), &system_ways);
        if !ahead.contains(&i) {
            continue;
        }
        // Everything ahead from which this step is ahead is on a circle with it.
        let members: Vec<usize> =
            ahead.into_iter().filter(|member| reach([*member], &system_ways).contains(&i)).collect();
        let names: Vec<&str> =
            members.iter().filter_map(|member| drafts.get(*member)).map(|draft| draft.id.as_str()).collect();
        let message = format!("the conditions {} lead to each other in a circle", names.join(", "));
        reader.problem(draft.at, ProblemCode::EndlessLoop, message, "break it with a user step or an end");
        told.extend(members);
    }
}
