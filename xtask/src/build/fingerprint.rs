//! Content hashes: for names that change with their content, and to see whether a step's inputs changed.
//!
//! Not for security: FNV-1a with 128 bits guards against accidents only.

use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::layout;

const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// A running hash.
pub(super) struct Fingerprint(u128);

impl Fingerprint {
    pub(super) fn new() -> Self {
        Self(OFFSET)
    }

    /// Adds one part; its length goes in too, so that parts can't flow into each other.
    pub(super) fn add(&mut self, part: &[u8]) {
        let length = (part.len() as u128).to_le_bytes();
        for byte in length.iter().chain(part) {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(PRIME);
        }
    }

    /// Adds every file below a folder (or one file), with its path relative to `root`.
    pub(super) fn add_path(&mut self, root: &Path, path: &Path) -> Result<()> {
        let files: Vec<PathBuf> = if path.is_dir() { layout::files_below(path)? } else { vec![path.to_path_buf()] };
        for file in files {
            self.add(file.strip_prefix(root).unwrap_or(&file).to_string_lossy().as_bytes());
            self.add(&layout::read(&file)?);
        }
        Ok(())
    }

    pub(super) fn hex(&self) -> String {
        format!("{:032x}", self.0)
    }
}

/// Sixteen hexadecimal digits for a file's name.
pub(super) fn short(parts: &[&[u8]]) -> String {
    let mut fingerprint = Fingerprint::new();
    for part in parts {
        fingerprint.add(part);
    }
    format!("{:016x}", (fingerprint.0 >> 64) as u64 ^ fingerprint.0 as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_and_borders_both_count() {
        assert_eq!(short(&[b"ab", b"c"]), short(&[b"ab", b"c"]));
        assert_ne!(short(&[b"ab", b"c"]), short(&[b"a", b"bc"]));
        assert_ne!(short(&[b"ab"]), short(&[b"ab", b""]));
        assert_eq!(short(&[b"x"]).len(), 16);
    }

    #[test]
    fn is_fnv_1a_over_length_and_content() {
        // Published FNV-1a-128 of the empty input is the offset basis; one zero byte multiplies it by the prime.
        assert_eq!(Fingerprint::new().hex(), "6c62272e07bb014262b821756295c58d");
        let mut one = Fingerprint::new();
        one.0 = (one.0 ^ u128::from(b'a')).wrapping_mul(PRIME);
        assert_eq!(one.hex(), "d228cb696f1a8caf78912b704e4a8964");
    }
}
