//! The hook that lets outside calls fail, come late, or take their node along.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use sim::world::{Call, Hook, Moment, Rng, Trace, Verdict};

/// What is likely, in a thousand calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rates {
    pub(crate) fail: u64,
    pub(crate) late: u64,
    pub(crate) crash: u64,
}

pub(crate) struct Chaos {
    rng: Mutex<Rng>,
    trace: Arc<Trace>,
    rates: Rates,
    on: AtomicBool,
    doomed: Mutex<BTreeSet<String>>,
    pub(crate) faults: AtomicU64,
}

impl Chaos {
    pub(crate) fn new(rng: Rng, trace: Arc<Trace>, rates: Rates) -> Self {
        Self {
            rng: Mutex::new(rng),
            trace,
            rates,
            on: AtomicBool::new(false),
            doomed: Mutex::default(),
            faults: AtomicU64::new(0),
        }
    }

    pub(crate) fn set(&self, on: bool) {
        self.on.store(on, Ordering::SeqCst);
    }

    /// Nodes that a call took along since the last question.
    pub(crate) fn doomed(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.doomed.lock().unwrap())
    }

    fn choose(&self, moment: Moment) -> (Duration, Option<Verdict>) {
        let mut rng = self.rng.lock().unwrap();
        // Mostly quick, now and then slow enough for others to come in between.
        let slow = rng.permille(40);
        let takes = match moment {
            Moment::Before => Duration::from_millis(rng.below(if slow { 3_000 } else { 15 })),
            Moment::After => Duration::from_millis(rng.below(if slow { 1_500 } else { 10 })),
        };
        if !self.on.load(Ordering::SeqCst) {
            return (takes, Some(Verdict::Go));
        }
        let Rates { fail, late, crash } = self.rates;
        let draw = rng.below(1_000);
        let verdict = if draw < fail {
            Some(Verdict::Fail)
        } else if draw < fail + late {
            Some(Verdict::Late(Duration::from_millis(rng.below(20_000))))
        } else if draw < fail + late + crash {
            None
        } else {
            Some(Verdict::Go)
        };
        (takes, verdict)
    }
}

#[async_trait]
impl Hook for Chaos {
    async fn at(&self, call: &Call, moment: Moment) -> Verdict {
        let (takes, verdict) = self.choose(moment);
        tokio::time::sleep(takes).await;
        self.trace.note(&format!("{} {moment:?} {} {verdict:?}", call.node, call.what));
        match verdict {
            Some(Verdict::Go) => Verdict::Go,
            Some(fault) => {
                self.faults.fetch_add(1, Ordering::SeqCst);
                fault
            }
            None => {
                self.doomed.lock().unwrap().insert(call.node.to_string());
                std::future::pending().await
            }
        }
    }
}
