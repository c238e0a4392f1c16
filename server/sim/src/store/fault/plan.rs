//! Which call fails how: rates drawn from a seed, and named faults for named calls.
//!
//! Invariant: each call draws the same amount from the seed whatever comes out, so that a script added to a run doesn't
//! shift the faults of the rest.
//! Never: touches a store.

use std::time::Duration;

use crate::store::{Op, SplitMix64};

/// Later calls after which a late write lands at most, in random mode.
pub const LATE_CALLS_MAX: u32 = 8;

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The connection breaks before the store saw the call: it did not happen, the caller can't know.
    Before,
    /// The call happens, its answer gets lost.
    AnswerLost,
    /// 409: a PUT that did not happen.
    Conflict,
    /// 409 although the PUT happened: the answer "proves nothing" (DESIGN §4).
    ConflictAfter,
    /// 503: the store is too busy; it did not happen.
    Busy,
    /// A PUT or DELETE whose answer is a time-out, and which lands after so many later calls, under its own condition.
    Late {
        /// Later calls of this store.
        calls: u32,
    },
    /// The call takes this long before the store sees it: whoever gives up meanwhile has written nothing.
    SlowBefore(Duration),
    /// The call happens at once and answers after this long: whoever gives up meanwhile has written.
    SlowAfter(Duration),
    /// The call neither happens nor answers: the place where a test lets a node die.
    HangBefore,
    /// The call happens and never answers: the place behind it.
    HangAfter,
}

/// How often what happens, per thousand calls it can happen to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultRates {
    /// [`Fault::Before`], all calls.
    pub before: u16,
    /// [`Fault::AnswerLost`], all calls.
    pub answer_lost: u16,
    /// [`Fault::Conflict`], conditional and other PUTs.
    pub conflict: u16,
    /// [`Fault::ConflictAfter`], PUTs.
    pub conflict_after: u16,
    /// [`Fault::Busy`], all calls.
    pub busy: u16,
    /// [`Fault::Late`], PUTs and DELETEs.
    pub late: u16,
    /// [`Fault::SlowBefore`] or [`Fault::SlowAfter`], all calls.
    pub slow: u16,
    /// Longest delay of a slow call.
    pub slow_max: Duration,
}

impl FaultRates {
    /// A healthy store.
    pub const NONE: Self = Self {
        before: 0,
        answer_lost: 0,
        conflict: 0,
        conflict_after: 0,
        busy: 0,
        late: 0,
        slow: 0,
        slow_max: Duration::from_secs(1),
    };

    /// About `per_mille` of the PUTs fail, each kind of fault as often as the others; slow calls come on top of it at the
    /// rate of one kind.
    pub const fn even(per_mille: u16) -> Self {
        let each = per_mille / 6;
        Self {
            before: each,
            answer_lost: each,
            conflict: each,
            conflict_after: each,
            busy: each,
            late: each,
            slow: each,
            slow_max: Duration::from_secs(1),
        }
    }

    /// The fault of one call, if it has one.
    fn draw(&self, op: Op, numbers: &mut SplitMix64) -> Option<Fault> {
        let (mut at, size) = (numbers.below(1_000), numbers.next_u64());
        let late = Fault::Late { calls: 1 + u32::try_from(size % u64::from(LATE_CALLS_MAX)).unwrap_or(0) };
        let slow_ms = u64::try_from(self.slow_max.as_millis()).unwrap_or(u64::MAX);
        let pause = Duration::from_millis((size >> 1) % slow_ms.saturating_add(1));
        let slow = if size.is_multiple_of(2) { Fault::SlowBefore(pause) } else { Fault::SlowAfter(pause) };
        let table = [
            (self.before, true, Fault::Before),
            (self.answer_lost, true, Fault::AnswerLost),
            (self.busy, true, Fault::Busy),
            (self.slow, true, slow),
            (self.conflict, op == Op::Put, Fault::Conflict),
            (self.conflict_after, op == Op::Put, Fault::ConflictAfter),
            (self.late, op.is_write(), late),
        ];
        for (rate, fits, fault) in table {
            if at < u64::from(rate) {
                return fits.then_some(fault);
            }
            at -= u64::from(rate);
        }
        None
    }
}

/// Names a call: the n-th of a kind whose key has a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct When {
    op: Option<Op>,
    pattern: String,
    nth: u32,
}

impl When {
    /// The next call of this kind whose key (of a listing: prefix) has the pattern; `*` stands for any text, also none.
    pub fn op(op: Op, pattern: &str) -> Self {
        Self { op: Some(op), pattern: pattern.to_owned(), nth: 1 }
    }

    /// The next PUT.
    pub fn put(pattern: &str) -> Self {
        Self::op(Op::Put, pattern)
    }

    /// The next call of any kind.
    pub fn any(pattern: &str) -> Self {
        Self { op: None, pattern: pattern.to_owned(), nth: 1 }
    }

    /// Not the next such call but the n-th from now, counted from 1.
    #[must_use]
    pub fn nth(mut self, nth: u32) -> Self {
        self.nth = nth.max(1);
        self
    }

    /// Counts a call; true when it is the one meant.
    fn meets(&mut self, op: Op, key: &str) -> bool {
        if self.op.is_some_and(|wanted| wanted != op) || !matches_pattern(&self.pattern, key) {
            return false;
        }
        self.nth -= 1;
        self.nth == 0
    }
}

/// A fault that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fired {
    /// Number of the call, from 1.
    pub call: u64,
    /// Which call.
    pub op: Op,
    /// Its key, or prefix.
    pub key: String,
    /// What happened to it.
    pub fault: Fault,
}

/// Decides for one call after the other.
pub(crate) struct Plan {
    numbers: SplitMix64,
    pub(crate) rates: FaultRates,
    /// What is still to come, in the order it was added.
    pub(crate) script: Vec<(When, Fault)>,
    pub(crate) calls: u64,
    pub(crate) fired: Vec<Fired>,
}

impl Plan {
    pub(crate) fn new(seed: u64, rates: FaultRates) -> Self {
        Self { numbers: SplitMix64::new(seed), rates, script: Vec::new(), calls: 0, fired: Vec::new() }
    }

    /// Ends all faults; what fired stays known.
    pub(crate) fn heal(&mut self) {
        self.rates = FaultRates::NONE;
        self.script.clear();
    }

    /// Counts the next call and decides what happens to it. The script goes before the rates.
    pub(crate) fn next(&mut self, op: Op, key: &str) -> Option<Fault> {
        self.calls += 1;
        let drawn = self.rates.draw(op, &mut self.numbers);
        let mut scripted = None;
        self.script.retain_mut(|(when, fault)| {
            let met = when.meets(op, key);
            if met && scripted.is_none() {
                scripted = Some(*fault);
            }
            !met
        });
        let fault = scripted.or(drawn);
        self.fired.extend(fault.map(|fault| Fired { call: self.calls, op, key: key.to_owned(), fault }));
        fault
    }
}

/// Whether a text has a pattern whose `*` stand for any text.
fn matches_pattern(pattern: &str, text: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == text };
    let Some(rest) = text.strip_prefix(head) else { return false };
    if tail.is_empty() {
        return true;
    }
    let starts = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    starts.into_iter().any(|at| matches_pattern(tail, &rest[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_have_stars() {
        assert!(matches_pattern("workflow/docs/*", "workflow/docs/m1/x.json"));
        assert!(matches_pattern("*/docs/*.json", "workflow/docs/m1/x.json"));
        assert!(matches_pattern("*", ""));
        assert!(matches_pattern("a", "a"));
        assert!(!matches_pattern("a", "ab"));
        assert!(!matches_pattern("*/docs/*.yaml", "workflow/docs/m1/x.json"));
        assert!(matches_pattern("*ü*", "Müller"));
    }

    #[test]
    fn the_nth_call_is_meant() {
        let mut when = When::put("a*").nth(2);
        let met: Vec<bool> = [(Op::Put, "a"), (Op::Get, "a"), (Op::Put, "b"), (Op::Put, "ab")]
            .map(|(op, key)| when.meets(op, key))
            .to_vec();
        assert_eq!(met, [false, false, false, true]);
    }

    #[test]
    fn rates_are_what_they_say() {
        let (mut numbers, rates) = (SplitMix64::new(1), FaultRates::even(300));
        let drawn: Vec<Fault> = (0..10_000).filter_map(|_| rates.draw(Op::Put, &mut numbers)).collect();
        let slow = drawn.iter().filter(|fault| matches!(fault, Fault::SlowBefore(_) | Fault::SlowAfter(_))).count();
        assert!((2_800..3_200).contains(&(drawn.len() - slow)), "{} of 10000", drawn.len() - slow);
        assert!((400..600).contains(&slow), "{slow} of 10000");
        assert!((0..10_000).all(|_| FaultRates::NONE.draw(Op::Put, &mut numbers).is_none()));
        let reads: Vec<Fault> = (0..10_000).filter_map(|_| rates.draw(Op::Get, &mut numbers)).collect();
        assert!(
            !reads.iter().any(|fault| matches!(fault, Fault::Conflict | Fault::ConflictAfter | Fault::Late { .. }))
        );
    }
}
