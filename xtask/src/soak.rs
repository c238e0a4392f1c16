//! `cargo xtask soak`: the deterministic simulation over many seeds, for a night or a doubt.
//!
//! Invariant: fails when a seed fails; the test itself prints the one command that replays it.

use std::process::ExitCode;

use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::{run, setup};

/// Runs the simulation's test over the seeds asked for.
pub(crate) fn run(layout: &Layout, arguments: &[&str]) -> Result<ExitCode> {
    let Seeds { count, from } = Seeds::parse(arguments)?;
    let toolchain = setup::all(layout, false)?;
    let mut cargo = toolchain.cargo(layout);
    cargo.args(["test", "--test", "simulation", "seeds_keep_every_invariant", "--", "--nocapture"]);
    cargo.env("CONNECTWORKFLOW_SEEDS", count.to_string()).env("CONNECTWORKFLOW_SEED", from.to_string());
    run::run(&format!("{count} seeds from {from}"), &mut cargo)?;
    Ok(ExitCode::SUCCESS)
}

/// Which seeds.
#[derive(Debug, PartialEq, Eq)]
struct Seeds {
    count: u64,
    from: u64,
}

impl Seeds {
    fn parse(arguments: &[&str]) -> Result<Self> {
        let number = |text: &str| {
            text.parse::<u64>()
                .map_err(|_| Error::new(format!("`{text}` is not a number: cargo xtask soak N [--from SEED]")))
        };
        match arguments {
            [count] => Ok(Self { count: number(count)?, from: 1 }),
            [count, "--from", from] => Ok(Self { count: number(count)?, from: number(from)? }),
            _ => Err(Error::new("how many seeds? cargo xtask soak N [--from SEED]".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_read_or_refused() {
        assert_eq!(Seeds::parse(&["500"]).ok(), Some(Seeds { count: 500, from: 1 }));
        assert_eq!(Seeds::parse(&["5", "--from", "77"]).ok(), Some(Seeds { count: 5, from: 77 }));
        for bad in [&[][..], &["x"], &["5", "--from"], &["5", "77"]] {
            assert!(Seeds::parse(bad).is_err(), "{bad:?}");
        }
    }
}
