//! What all lanes of a device hold together, and whether they should take more.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Below this share above what was ever live, new pages are cheaper than moving idle ones.
const SLACK: f64 = 0.008;

/// A run has settled once it has made so many times the requests that led to its peak,
const SETTLED: u64 = 4;
/// or so many since: some tens of steps of a training loop.
const SETTLED_SINCE: u64 = 50_000;

/// It then gets pages to keep up to this share above what was ever live,
const KEPT_OF_LIVE: f64 = 0.02;
/// and at least so many bytes above what it had reserved when it settled: a small run needs a few.
const KEPT: u64 = 16 << 20;
/// A run that still moves pages gets one more to keep for so many that it has moved:
/// as a move costs time and a page only memory. Where there is none left, pages are moved after all.
const MOVES_FOR_ONE: u64 = 32;

/// Blocks are multiples of this, and live bytes are counted in it.
const UNIT: u64 = 512;
/// Live units are the lower bits of a word, requests the upper ones: both change at once.
const LIVE_BITS: u32 = 40;
const LIVE_MASK: u64 = (1 << LIVE_BITS) - 1;
const ONE_REQUEST: u64 = 1 << LIVE_BITS;

/// What all lanes of a device hold together. Lanes on different threads count here at the same time,
/// so that everything is on one cache line, and one addition counts a request.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Budget {
    /// Requests, as far as they have room, and live units.
    counted: AtomicU64,
    /// How often the count of requests began again at 0.
    rounds: AtomicU64,
    /// The most that was live since the peaks were last reset; never above `peak_live`.
    shown_peak: AtomicU64,
    /// The most that was ever live, and the count of requests then.
    peak_live: AtomicU64,
    peak_at: AtomicU64,
    reserved: AtomicU64,
    peak_reserved: AtomicU64,
    /// What was reserved when the run began to go in circles; 0 before.
    reserved_when_settled: AtomicU64,
    /// Bytes that were moved since then.
    moved: AtomicU64,
}

impl Budget {
    /// Nothing is held.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A block of that size was given.
    #[inline]
    pub fn allocated(&self, size: u64) {
        self.settle(size as i64, 1);
    }

    /// A block of that size was taken back.
    #[inline]
    pub fn freed(&self, size: u64) {
        self.counted.fetch_sub(size / UNIT, Relaxed);
    }

    /// So many requests were served, and so many bytes more are live now, or less: for a lane that keeps
    /// count by itself for a while.
    #[inline]
    pub fn settle(&self, more: i64, requests: u64) {
        let added = (requests * ONE_REQUEST).wrapping_add_signed(more / UNIT as i64);
        let before = self.counted.fetch_add(added, Relaxed);
        let after = before.wrapping_add(added);
        if after < before && requests > 0 {
            self.rounds.fetch_add(1, Relaxed);
        }
        let live = (after & LIVE_MASK) * UNIT;
        if live > self.shown_peak.load(Relaxed) {
            self.raise_peak(live);
        }
    }

    #[cold]
    fn raise_peak(&self, live: u64) {
        self.shown_peak.fetch_max(live, Relaxed);
        if live > self.peak_live.fetch_max(live, Relaxed) {
            self.peak_at.store(self.requests(), Relaxed);
        }
    }

    /// Memory was taken from the device.
    pub(crate) fn created(&self, size: u64) {
        let reserved = self.reserved.fetch_add(size, Relaxed) + size;
        self.peak_reserved.fetch_max(reserved, Relaxed);
    }

    /// Memory went back to the device.
    pub fn released(&self, size: u64) {
        self.reserved.fetch_sub(size, Relaxed);
    }

    /// Bytes in live blocks.
    #[must_use]
    pub fn live(&self) -> u64 {
        (self.counted.load(Relaxed) & LIVE_MASK) * UNIT
    }

    /// The most bytes in live blocks since the peaks were last reset.
    #[must_use]
    pub fn peak_live(&self) -> u64 {
        self.shown_peak.load(Relaxed)
    }

    /// Bytes taken from the device.
    #[must_use]
    pub fn reserved(&self) -> u64 {
        self.reserved.load(Relaxed)
    }

    /// The most bytes taken from the device since the peaks were last reset.
    #[must_use]
    pub fn peak_reserved(&self) -> u64 {
        self.peak_reserved.load(Relaxed)
    }

    /// Requests that were served.
    #[must_use]
    pub(crate) fn requests(&self) -> u64 {
        let in_round = self.counted.load(Relaxed) >> LIVE_BITS;
        (self.rounds.load(Relaxed) << (64 - LIVE_BITS)) + in_round
    }

    /// Starts the peaks that are shown again. What the budget itself knows of the past stays.
    pub fn reset_peaks(&self) {
        self.shown_peak.store(self.live(), Relaxed);
        self.peak_reserved.store(self.reserved(), Relaxed);
    }

    /// Whether new pages of so many bytes are better than idle ones that have to be moved.
    pub(super) fn prefers_new(&self, bytes: u64) -> bool {
        let wanted = self.reserved() + bytes;
        wanted <= share_above(self.peak_live.load(Relaxed), SLACK) || self.may_keep(wanted)
    }

    /// Whether the run goes in circles: it has gone on for several times as long without a new peak.
    /// What has to be stitched then would have to be stitched in every round, so it gets pages to keep.
    fn may_keep(&self, wanted: u64) -> bool {
        let peak_at = self.peak_at.load(Relaxed);
        if self.requests() <= (SETTLED * peak_at).min(peak_at + SETTLED_SINCE) {
            self.reserved_when_settled.store(0, Relaxed);
            self.moved.store(0, Relaxed);
            return false;
        }
        let reserved = self.reserved();
        let first = self.reserved_when_settled.compare_exchange(0, reserved, Relaxed, Relaxed);
        let when_settled = first.err().unwrap_or(reserved);
        let peak_live = self.peak_live.load(Relaxed);
        let for_moves = self.moved.load(Relaxed) / MOVES_FOR_ONE;
        let of_live = share_above(peak_live, KEPT_OF_LIVE);
        wanted <= of_live.max(when_settled + KEPT) + for_moves
    }

    /// Idle pages of so many bytes were moved.
    pub(super) fn moved(&self, bytes: u64) {
        self.moved.fetch_add(bytes, Relaxed);
    }
}

fn share_above(bytes: u64, share: f64) -> u64 {
    (bytes as f64 * (1.0 + share)) as u64
}
