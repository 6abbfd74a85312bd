//! What the programs of a lab did that its user should know when trusting a figure from it.

use std::sync::atomic::Ordering::Relaxed;

use super::{MAX_DEVICES, Machine, limits::MAX_BYTES};

/// What was seen so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observations {
    /// Copies of a device's memory to the host: what the program read there was never computed.
    pub read_backs: u64,
    /// Questions how much memory is free: the answer depends on the device's size.
    pub free_queries: u64,
    /// Launches of kernels in PTX that were computed.
    pub launches_computed: u64,
    /// Launches of kernels in PTX that were not: too much work, not implemented, or ended early.
    pub launches_skipped: u64,
    /// The most that was in use on each device at a time, by all programs together.
    pub peak_used: [u64; MAX_DEVICES],
}

impl Machine {
    /// What was seen so far.
    #[must_use]
    pub fn observations(&self) -> Observations {
        let seen = &self.file.observations;
        Observations {
            read_backs: seen.read_backs.load(Relaxed),
            free_queries: seen.free_queries.load(Relaxed),
            launches_computed: seen.launches_computed.load(Relaxed),
            launches_skipped: seen.launches_skipped.load(Relaxed),
            peak_used: std::array::from_fn(|device| {
                seen.peak_used[device].load(Relaxed).min(MAX_BYTES)
            }),
        }
    }

    /// Whether a copy of this length to a device is carried out.
    pub(crate) fn keeps_copy(&self, bytes: u64) -> bool {
        self.spec.largest_kept_copy.is_none_or(|largest| bytes <= largest)
    }

    pub(crate) fn note_read_back(&self) {
        self.file.observations.read_backs.fetch_add(1, Relaxed);
    }

    pub(crate) fn note_launch(&self, computed: bool) {
        let seen = &self.file.observations;
        let count = if computed { &seen.launches_computed } else { &seen.launches_skipped };
        count.fetch_add(1, Relaxed);
    }

    pub(crate) fn note_free_query(&self) {
        self.file.observations.free_queries.fetch_add(1, Relaxed);
    }
}
