//! `connectworkflow log verify FILE`: the auditor's check, without a store or a server (DESIGN §8).
//!
//! Invariant: says "good" only when every entry, the head and the seal hold; otherwise names the first that does not.

use std::path::Path;

use workflow::log::{Audit, audit};

/// Bytes a file may have; the largest document the store takes has half of it.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The answer for people, and whether the log is whole.
pub(crate) fn verify(file: &Path) -> (String, bool) {
    let name = file.display();
    let bytes = match read(file) {
        Ok(bytes) => bytes,
        Err(reason) => return (format!("{name}: can't be read: {reason}"), false),
    };
    match audit(&bytes) {
        Ok(good) => (format!("{name}: good\n{}", described(&good)), true),
        Err(error) => (format!("{name}: bad: {error}"), false),
    }
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    let size = std::fs::metadata(file).map_err(|error| error.to_string())?.len();
    if size > FILE_BYTES_MAX {
        return Err(format!("it has {size} bytes, at most {FILE_BYTES_MAX} are read"));
    }
    std::fs::read(file).map_err(|error| error.to_string())
}

fn described(audit: &Audit) -> String {
    let Audit { document, instance_id, entries, first, last, sealed } = audit;
    let seal = if *sealed { "good" } else { "none: written before documents were sealed" };
    format!(
        "  document  {document}\n  run       {instance_id}\n  entries   {entries}\n  first     {first}\n  last      {last}\n  seal      {seal}"
    )
}
