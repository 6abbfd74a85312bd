//! Ring mode: the oldest full segments go when the part has grown to its limit.

use std::{collections::VecDeque, sync::atomic::Ordering};

use rustix::fs;

use super::{path::Stem, segment::Segment};
use crate::{format::Kind, live::State};

/// More segments than this are never kept at a time: segments are made larger instead.
const MOST_SEGMENTS: u64 = 4096;
/// A part at its limit consists of at least this many.
const FEWEST_SEGMENTS: u64 = 16;

/// Definitions are never dropped: events to come may name them. They may take this part of the limit,
const PART_OF_LIMIT: u64 = 4;
/// or as much as this.
const FEWEST_DEFINITIONS: u64 = 1 << 20;

/// What definitions may take beside a ring of that limit.
pub(super) fn most_definitions(limit: u64) -> u64 {
    (limit / PART_OF_LIMIT).max(FEWEST_DEFINITIONS)
}

/// The full segments of a part, oldest first.
#[derive(Debug)]
pub(super) struct Ring {
    limit: u64,
    /// The length of all segments that exist, full or not.
    bytes: u64,
    full: VecDeque<Full>,
}

#[derive(Clone, Copy, Debug)]
struct Full {
    number: u32,
    bytes: u64,
    events: u64,
    last_time: u64,
}

/// The length of a segment that suits a limit.
pub(super) fn segment_bytes(wanted: u64, limit: Option<u64>, block: u64) -> u64 {
    let bytes = limit.map_or(wanted, |limit| {
        wanted.min(limit / FEWEST_SEGMENTS).max(limit.div_ceil(MOST_SEGMENTS))
    });
    bytes.clamp(block, 1 << 30).next_multiple_of(block)
}

impl Ring {
    pub(super) fn new(limit: u64) -> Self {
        // All that is ever needed: full segments are noted in the middle of somebody's allocation.
        let full = VecDeque::with_capacity(MOST_SEGMENTS as usize + 1);
        Self { limit, bytes: 0, full }
    }

    /// Drops what must go before another segment of that length is made.
    pub(super) fn make_room(&mut self, bytes: u64, stem: &Stem, state: &State) {
        while self.bytes + bytes > self.limit || self.full.len() >= MOST_SEGMENTS as usize {
            let Some(oldest) = self.full.pop_front() else { break };
            // Counted before it goes, so that a reader never misses a file that was not dropped.
            state.dropped_segments.fetch_add(1, Ordering::Relaxed);
            state.dropped_events.fetch_add(oldest.events, Ordering::Relaxed);
            state.dropped_until.fetch_max(oldest.last_time, Ordering::Release);
            let _ = stem.with(Kind::Events, Some(oldest.number), |path| fs::unlink(path));
            self.bytes = self.bytes.saturating_sub(oldest.bytes);
        }
        self.bytes += bytes;
    }

    /// Another segment could not be made after all.
    pub(super) fn not_made(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// A segment is full.
    pub(super) fn full(&mut self, segment: &Segment) {
        self.full.push_back(Full {
            number: segment.number(),
            bytes: segment.length(),
            events: segment.records(),
            last_time: segment.last_time,
        });
    }
}
