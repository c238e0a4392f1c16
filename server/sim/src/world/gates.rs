//! A scripted hook: gates that hold one call, faults that hit one call.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use tokio::sync::oneshot;

use super::{Call, Hook, Moment, Verdict};

/// The script. What is not named in it passes.
#[derive(Debug, Default)]
pub struct Gates {
    rules: Mutex<Vec<Rule>>,
    log: Mutex<Vec<String>>,
}

#[derive(Debug)]
struct Rule {
    node: String,
    moment: Moment,
    part: String,
    then: Then,
}

#[derive(Debug)]
enum Then {
    Hold { reached: oneshot::Sender<()>, opened: oneshot::Receiver<Verdict> },
    Answer(Verdict),
}

/// A gate that holds one call. Dropped unopened, the call stands still for good.
#[derive(Debug)]
pub struct Gate {
    reached: Option<oneshot::Receiver<()>>,
    open: oneshot::Sender<Verdict>,
}

impl Gate {
    /// Waits until a call stands at the gate.
    pub async fn reached(&mut self) {
        if let Some(reached) = self.reached.take() {
            // An error means that the script was dropped; whoever waits then sees it in what follows.
            let _ = reached.await;
        }
    }

    /// Lets it pass with this verdict.
    pub fn open(self, verdict: Verdict) {
        // Nobody there any more: the node crashed.
        let _ = self.open.send(verdict);
    }
}

impl Gates {
    /// Holds the next call of `node` whose text contains `part`.
    pub fn hold(&self, node: &str, moment: Moment, part: &str) -> Gate {
        let (reached, reached_there) = oneshot::channel();
        let (open, opened) = oneshot::channel();
        self.push(node, moment, part, Then::Hold { reached, opened });
        Gate { reached: Some(reached_there), open }
    }

    /// Gives this verdict to the next call of `node` whose text contains `part`. Several wait in their order.
    pub fn answer(&self, node: &str, moment: Moment, part: &str, verdict: Verdict) {
        self.push(node, moment, part, Then::Answer(verdict));
    }

    /// All calls that began, in order: `node what`.
    pub fn calls(&self) -> Vec<String> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Forgets the calls so far.
    pub fn clear_calls(&self) {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn push(&self, node: &str, moment: Moment, part: &str, then: Then) {
        let rule = Rule { node: node.to_owned(), moment, part: part.to_owned(), then };
        self.rules.lock().unwrap_or_else(PoisonError::into_inner).push(rule);
    }

    fn take(&self, call: &Call, moment: Moment) -> Option<Then> {
        let mut rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let fits =
            |rule: &Rule| rule.moment == moment && *rule.node == *call.node && call.what.contains(rule.part.as_str());
        let at = rules.iter().position(fits)?;
        Some(rules.remove(at).then)
    }
}

#[async_trait]
impl Hook for Gates {
    async fn at(&self, call: &Call, moment: Moment) -> Verdict {
        if moment == Moment::Before {
            let line = format!("{} {}", call.node, call.what);
            self.log.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
        match self.take(call, moment) {
            None => Verdict::Go,
            Some(Then::Answer(verdict)) => verdict,
            Some(Then::Hold { reached, opened }) => {
                // Nobody waits for it to be reached: it holds all the same.
                let _ = reached.send(());
                match opened.await {
                    Ok(verdict) => verdict,
                    Err(_) => std::future::pending().await,
                }
            }
        }
    }
}
