//! `whyoom replay --json`.

use serde::Deserialize;
use serde_json::Value;

use super::nullable;

/// The document.
#[derive(Debug, Deserialize)]
pub struct Replay {
    pub schema: String,
    pub version: u32,
    pub runs: Vec<ReplayRun>,
}

/// A device of the recording.
#[derive(Debug, Deserialize)]
pub struct ReplayRun {
    pub process: String,
    pub device: Value,
    pub allocations: u64,
    pub peak_live_bytes: u64,
    pub recorded_peak_reserved_bytes: Value,
    pub capacity_bytes: Value,
    pub capacity_from: Value,
    pub model: Value,
    pub rows: Vec<ReplayRow>,
    pub fits_up_to_here: bool,
    #[serde(deserialize_with = "nullable")]
    pub caveat: Option<String>,
}

/// An allocator.
#[derive(Debug, Deserialize)]
pub struct ReplayRow {
    pub allocator: String,
    pub about: String,
    #[serde(deserialize_with = "nullable")]
    pub switch: Option<String>,
    /// Left out where there is none.
    #[serde(default)]
    pub example: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub fits: Option<bool>,
    pub peak_reserved_bytes: u64,
    pub utilization: f64,
    pub driver_calls: u64,
    pub driver_nanoseconds: u64,
}
