//! `whyoom fit --json`.

use serde::Deserialize;
use serde_json::Value;

use super::nullable;

/// The document.
#[derive(Debug, Deserialize)]
pub struct Fit {
    pub schema: String,
    pub version: u32,
    pub command: String,
    pub gpus: Vec<FitGpu>,
    pub peaks: Value,
    #[serde(deserialize_with = "nullable")]
    pub vary: Option<FitVary>,
    #[serde(deserialize_with = "nullable")]
    pub frontier: Option<FitFrontier>,
    #[serde(deserialize_with = "nullable")]
    pub generation: Option<FitGeneration>,
    pub growth_bytes_per_step: u64,
    #[serde(deserialize_with = "nullable")]
    pub stopped_after_steps: Option<u64>,
    pub assertions: Vec<FitAssertion>,
    pub notes: Vec<FitNote>,
}

/// One GPU.
#[derive(Debug, Deserialize)]
pub struct FitGpu {
    pub name: String,
    pub total_bytes: u64,
    pub fits: bool,
    pub ran_on: String,
    #[serde(deserialize_with = "nullable")]
    pub failure: Option<String>,
    pub processes: Vec<FitProcess>,
}

/// One process on one GPU.
#[derive(Debug, PartialEq, Deserialize)]
pub struct FitProcess {
    pub rank: String,
    pub device: u16,
    #[serde(deserialize_with = "nullable")]
    pub peak_allocated_bytes: Option<u64>,
    #[serde(deserialize_with = "nullable")]
    pub peak_reserved_bytes: Option<u64>,
    pub outside_bytes: u64,
    pub peak_bytes: u64,
    pub headroom_bytes: i64,
    pub fits: bool,
    pub releases_cache: bool,
    pub fits_with: Value,
    pub obstacle: Value,
}

/// A generation that was not run to its end.
#[derive(Debug, Deserialize)]
pub struct FitGeneration {
    pub sequences: u64,
    pub prompt_tokens: u64,
    pub new_tokens: u64,
    pub run_tokens: u64,
    pub largest: Vec<FitTokens>,
    pub curve: Value,
}

/// How many new tokens fit on a GPU.
#[derive(Debug, Deserialize)]
pub struct FitTokens {
    pub gpu: String,
    pub room_bytes: u64,
    pub new_tokens: u64,
}

/// A varied value.
#[derive(Debug, Deserialize)]
pub struct FitVary {
    pub name: String,
    pub largest: Vec<FitLargest>,
    pub curve: Value,
    pub runs: Vec<u64>,
    pub predicts_runs: bool,
}

/// The largest value that fits on a GPU.
#[derive(Debug, Deserialize)]
pub struct FitLargest {
    pub gpu: String,
    pub room_bytes: u64,
    #[serde(deserialize_with = "nullable")]
    pub value: Option<u64>,
    #[serde(deserialize_with = "nullable")]
    pub peak_reserved_bytes: Option<u64>,
    pub releases_cache: bool,
    pub run: bool,
    pub confirmed: bool,
    pub implied: bool,
    pub is_last: bool,
}

/// Several varied values.
#[derive(Debug, Deserialize)]
pub struct FitFrontier {
    pub name: String,
    pub by: Vec<String>,
    pub rows: Vec<FitFrontierRow>,
    pub runs: u64,
    pub predicts_runs: bool,
}

/// The largest values for one combination of the others.
#[derive(Debug, Deserialize)]
pub struct FitFrontierRow {
    pub values: Vec<u64>,
    pub largest: Vec<FitLargest>,
    pub runs: Vec<u64>,
}

/// Something that must hold.
#[derive(Debug, Deserialize)]
pub struct FitAssertion {
    pub text: String,
    pub holds: bool,
    pub found: String,
}

/// How sure a figure is.
#[derive(Debug, Deserialize)]
pub struct FitNote {
    pub kind: String,
    pub text: String,
}

impl Fit {
    /// Whether a note says this.
    #[must_use]
    pub fn notes_say(&self, text: &str) -> bool {
        self.notes.iter().any(|note| note.text.contains(text))
    }
}
