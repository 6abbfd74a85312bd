//! The answer: which devices a program fits on, and why or why not.

use serde::Serialize;
use whyoom_memory::SourceLine;

/// What a run on a device without a limit showed.
#[derive(Debug, Serialize)]
pub struct FitAnswer {
    /// What was run.
    pub command: String,
    /// The devices, in the order they were asked for.
    pub gpus: Vec<FitGpu>,
    /// What the peak of the largest process is made of, once for each run.
    pub peaks: Vec<FitPeak>,
    /// Where a value was varied: the largest one that fits.
    pub vary: Option<FitVary>,
    /// Where several values were varied: the largest of the first for values of the others.
    pub frontier: Option<FitFrontier>,
    /// Where the program was ended in a generation: how the rest was computed.
    pub generation: Option<FitGeneration>,
    /// What each step leaves allocated, in the process that keeps the most: a longer run needs more.
    pub growth_bytes_per_step: u64,
    /// After how many steps the program was stopped; nothing where it ran to its end.
    pub stopped_after_steps: Option<u64>,
    /// What was asserted.
    pub assertions: Vec<FitAssertion>,
    /// What people should know before they rely on the figures.
    pub notes: Vec<FitNote>,
}

/// One device.
#[derive(Debug, Serialize)]
pub struct FitGpu {
    /// Its name.
    pub name: &'static str,
    /// Its memory, as the driver counts it.
    pub total_bytes: u64,
    /// Whether every process fits.
    pub fits: bool,
    /// Where the program ran: on this model, or on one that computes alike.
    pub ran_on: &'static str,
    /// How the program itself failed there, in which case nothing is known of its memory.
    pub failure: Option<String>,
    /// The processes, each on its device.
    pub processes: Vec<FitProcess>,
}

/// One process on one device.
#[derive(Debug, Serialize)]
pub struct FitProcess {
    /// Its rank, where a launcher gave it one; else its number.
    pub rank: String,
    /// Which of the devices.
    pub device: u16,
    /// The most that was in tensors, each rounded up to 512 bytes; nothing where PyTorch was not used.
    pub peak_allocated_bytes: Option<u64>,
    /// The most that PyTorch's allocator held.
    pub peak_reserved_bytes: Option<u64>,
    /// What was taken outside it: the context, libraries.
    pub outside_bytes: u64,
    /// All of it together.
    pub peak_bytes: u64,
    /// What is left; below zero, what is missing.
    pub headroom_bytes: i64,
    /// Whether it fits.
    pub fits: bool,
    /// Whether the allocator has to give cached memory back on the way.
    pub releases_cache: bool,
    /// The setting with which it fits, proved by replay.
    pub fits_with: Option<FitSetting>,
    /// Why it does not fit.
    pub obstacle: Option<FitObstacle>,
}

/// Why a process does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FitObstacle {
    /// What is live at the peak alone is too much: no allocator can help.
    TooLarge,
    /// What is live would fit, but neither as it is nor with a setting that was tried.
    Fragmented,
    /// What was seen fits, but the program was ended on the way to a known end, and memory still grows.
    Unfinished,
}

/// A generation of which some tokens were run, and the rest was computed.
#[derive(Debug, Serialize)]
pub struct FitGeneration {
    /// Sequences that are generated at a time.
    pub sequences: u64,
    /// Tokens of the prompt of each.
    pub prompt_tokens: u64,
    /// New tokens of each, as the program asked for them.
    pub new_tokens: u64,
    /// How many of those were run.
    pub run_tokens: u64,
    /// For each device, up to how many new tokens fit.
    pub largest: Vec<FitTokens>,
    /// The most that is in tensors up to so many new tokens, in the process that has the most.
    pub curve: Vec<FitTokensPoint>,
}

/// What is in tensors after some tokens.
#[derive(Debug, Serialize)]
pub struct FitTokensPoint {
    /// New tokens.
    pub new_tokens: u64,
    /// The most that was in tensors until then, each rounded up to 512 bytes.
    pub peak_allocated_bytes: u64,
}

/// How many new tokens fit on a device.
#[derive(Debug, Serialize)]
pub struct FitTokens {
    /// The device.
    pub gpu: &'static str,
    /// What PyTorch's allocator can have there.
    pub room_bytes: u64,
    /// New tokens; all that were asked for, where it fits.
    pub new_tokens: u64,
}

/// A setting that makes a run fit.
#[derive(Debug, Serialize)]
pub struct FitSetting {
    /// As in `PYTORCH_CUDA_ALLOC_CONF`.
    pub setting: &'static str,
    /// The line to paste: what is set already is kept.
    pub paste: String,
    /// Options that were set and that the line leaves out, each with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// What the allocator then holds at most.
    pub peak_reserved_bytes: u64,
}

/// What a peak is made of.
#[derive(Debug, Serialize)]
pub struct FitPeak {
    /// Where the program ran.
    pub ran_on: &'static str,
    /// Whose peak.
    pub rank: String,
    /// The line that made it.
    pub place: String,
    /// By kind, the most first.
    pub kinds: Vec<FitAmount>,
    /// By module of the model, the most first; those of a list are one.
    pub modules: Vec<FitAmount>,
    /// By line, the most first.
    pub places: Vec<FitAmount>,
    /// The person's own lines among these, that of `place` first, with whole paths: for code hosts, not for JSON.
    #[serde(skip)]
    pub lines: Vec<SourceLine>,
}

/// A part of a peak.
#[derive(Debug, Serialize)]
pub struct FitAmount {
    /// What it is, or where it was made.
    pub name: String,
    /// How much.
    pub bytes: u64,
}

/// A varied value.
#[derive(Debug, Serialize)]
pub struct FitVary {
    /// Its name.
    pub name: String,
    /// For each device the largest value.
    pub largest: Vec<FitLargest>,
    /// The peak over the values, for a chart.
    pub curve: Vec<FitPoint>,
    /// The values at which the program was run.
    pub runs: Vec<u64>,
    /// Whether whole runs were predicted between those, and not only their peaks.
    pub predicts_runs: bool,
}

/// What is reserved at a value.
#[derive(Debug, Serialize)]
pub struct FitPoint {
    /// The value.
    pub value: u64,
    /// The most that PyTorch's allocator holds where nothing limits it.
    pub peak_reserved_bytes: u64,
}

/// The largest value that fits on a device.
#[derive(Debug, Serialize)]
pub struct FitLargest {
    /// The device.
    pub gpu: &'static str,
    /// What PyTorch's allocator can have there.
    pub room_bytes: u64,
    /// The value; nothing where none fits.
    pub value: Option<u64>,
    /// What PyTorch's allocator holds there at most.
    pub peak_reserved_bytes: Option<u64>,
    /// Whether it has to give cached memory back on the way.
    pub releases_cache: bool,
    /// Whether the program was run there.
    pub run: bool,
    /// Whether it was also run at the next value, which did not fit.
    pub confirmed: bool,
    /// Whether one of those runs was left out, because one with other values of the other parameters shows the same.
    pub implied: bool,
    /// Whether it is the last value of the range: a larger one may fit too.
    pub is_last: bool,
}

/// Several varied values.
#[derive(Debug, Serialize)]
pub struct FitFrontier {
    /// The name of the first, whose largest value was searched.
    pub name: String,
    /// The names of the others.
    pub by: Vec<String>,
    /// What was found for each combination of their values.
    pub rows: Vec<FitFrontierRow>,
    /// How many runs were made, on all models.
    pub runs: u64,
    /// Whether whole runs were predicted, and not only their peaks.
    pub predicts_runs: bool,
}

/// The largest value for one combination of the others.
#[derive(Debug, Serialize)]
pub struct FitFrontierRow {
    /// The values of the others, in the order of their names.
    pub values: Vec<u64>,
    /// For each device the largest value of the first.
    pub largest: Vec<FitLargest>,
    /// The values of the first at which the program was run.
    pub runs: Vec<u64>,
}

/// Something that must hold.
#[derive(Debug, Serialize)]
pub struct FitAssertion {
    /// As it was written.
    pub text: String,
    /// Whether it holds on every device.
    pub holds: bool,
    /// The figures.
    pub found: String,
}

/// How sure a figure is.
#[derive(Debug, Serialize)]
pub struct FitNote {
    /// `measured`, `assumed` or `care`.
    pub kind: &'static str,
    /// What there is to know.
    pub text: String,
}
