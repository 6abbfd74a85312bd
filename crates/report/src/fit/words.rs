//! Words and figures that the tables, the headline and the page share.

use whyoom_trace::Bytes;

use super::answer::{FitGpu, FitProcess};

/// What is said of a value that fits with no room to spare.
pub(super) const BARELY: &str = "barely: cached memory is released during the run";

/// The process that has the least room.
pub(super) fn worst(gpu: &FitGpu) -> Option<&FitProcess> {
    // One that does not fit counts before one that is only close.
    gpu.processes.iter().min_by_key(|process| (process.fits, process.headroom_bytes))
}

/// A device's name without what all share.
pub(super) fn short_name(name: &str) -> &str {
    let name = name.strip_prefix("NVIDIA ").unwrap_or(name);
    name.strip_suffix(" Workstation Edition").unwrap_or(name)
}

pub(super) fn amount(bytes: Option<u64>) -> String {
    bytes.map_or("-".to_owned(), |bytes| Bytes(bytes).to_string())
}

pub(super) fn signed(bytes: i64) -> String {
    let sign = if bytes < 0 { "-" } else { "" };
    format!("{sign}{}", Bytes(bytes.unsigned_abs()))
}
