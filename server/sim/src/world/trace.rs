//! What happened, in order: a hash over all of it, and the last lines for whoever looks for a mistake.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};
use tokio::time::Instant;

/// Lines that are kept.
const LINES_MAX: usize = 3_000;

/// The trace.
#[derive(Debug)]
pub struct Trace {
    origin: Instant,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    hash: Sha256,
    lines: VecDeque<String>,
}

impl Trace {
    /// Begins now.
    pub fn new(origin: Instant) -> Self {
        Self { origin, inner: Mutex::default() }
    }

    /// Notes a line with the world's time.
    pub fn note(&self, line: &str) {
        let line = format!("{:>10} {line}", self.origin.elapsed().as_millis());
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.hash.update(line.as_bytes());
        inner.hash.update(b"\n");
        if inner.lines.len() == LINES_MAX {
            inner.lines.pop_front();
        }
        inner.lines.push_back(line);
    }

    /// The hash of everything so far, hex.
    pub fn hash(&self) -> String {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.hash.clone().finalize().iter().fold(String::new(), |mut out, byte| {
            // Writing to a String can't fail.
            let _ = write!(out, "{byte:02x}");
            out
        })
    }

    /// The lines that are kept.
    pub fn lines(&self) -> Vec<String> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).lines.iter().cloned().collect()
    }
}
