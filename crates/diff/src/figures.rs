//! The sums of one run, to be shown beside those of another.

use serde::Serialize;

use crate::profile::RankProfile;

/// Differences below this share of the peak are noise: one in so many.
const NOISE_SHARE: u64 = 1000;
/// The same for small runs.
const LEAST_NOISE: u64 = 64 << 10;

/// The sums of one process on one device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// The most that was allocated.
    #[serde(rename = "peak_bytes")]
    pub peak: u64,
    /// What of it was asked for.
    #[serde(rename = "requested_bytes")]
    pub requested: u64,
    /// The most that the allocator held.
    #[serde(rename = "reserved_bytes")]
    pub reserved: u64,
    /// What was taken from the driver beside the allocator's segments.
    #[serde(rename = "outside_bytes")]
    pub outside: Option<u64>,
    /// What stays from iteration to iteration.
    #[serde(rename = "steady_bytes")]
    pub steady: Option<u64>,
    /// Iterations that were seen.
    pub iterations: u64,
    /// What the program was doing at the peak.
    pub peak_phase: &'static str,
    /// The GPU's model.
    pub gpu: Option<String>,
    /// What the GPU has in all.
    #[serde(rename = "capacity_bytes")]
    pub capacity: Option<u64>,
}

impl Figures {
    pub(crate) fn of(rank: &RankProfile) -> Self {
        Self {
            peak: rank.peak.allocated,
            requested: rank.peak.requested,
            reserved: rank.peak_reserved,
            outside: rank.outside,
            steady: rank.steady.as_ref().map(|steady| steady.allocated),
            iterations: rank.iterations,
            peak_phase: rank.peak_phase.name(),
            gpu: rank.gpu.clone(),
            capacity: rank.capacity,
        }
    }

    /// What the allocator held beyond what was allocated, when each was highest.
    #[must_use]
    pub fn unallocated(&self) -> u64 {
        self.reserved.saturating_sub(self.peak)
    }
}

/// What two sums may differ by and still count as equal: a thousandth, and 64 KiB at least.
#[must_use]
pub fn noise(a: u64, b: u64) -> u64 {
    (a.max(b) / NOISE_SHARE).max(LEAST_NOISE)
}
