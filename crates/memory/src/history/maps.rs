//! Where everything lay, at chosen instants.

use super::{
    peak_segments::{PeakSegments, SegmentChange},
    runs::{Coarsened, MapLimits, SegmentRuns, coarsen},
};
use crate::{address_map::MappedSegment, instant::Instant, segments::Segments, series::Series};
use whyoom_trace::Bytes;

/// Evenly chosen instants.
const MOST_INSTANTS: usize = 192;
/// What is told at such an instant, and at one that matters.
const CHOSEN: MapLimits = MapLimits { segments: 4096, runs: 1024 };
const MATTERS: MapLimits = MapLimits { segments: 16_384, runs: 2048 };
/// A map takes time and room in proportion to its blocks and segments: one is made only after so large a part of
/// these in events.
const PART_OF_MAP: u64 = 4;

/// Where everything lay at one instant.
#[derive(Debug, Clone)]
pub struct AddressMapAt {
    /// When.
    pub at: Instant,
    /// Why this instant.
    pub moment: MapMoment,
    /// The segments, in order of address.
    pub segments: Vec<SegmentRuns>,
    /// Gaps below this are not told: what lies on both sides is one run.
    pub smallest_gap: Bytes,
    /// Segments that are not told of, the smallest of very many.
    pub left_out: u64,
}

/// Why an instant was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapMoment {
    /// Evenly.
    Chosen,
    /// Most was in use.
    Peak,
    /// Memory ran out.
    OutOfMemory,
    /// What was seen ended.
    End,
}

impl AddressMapAt {
    pub(crate) fn of(
        at: Instant,
        moment: MapMoment,
        map: impl Iterator<Item = MappedSegment>,
    ) -> Self {
        let limits = if moment == MapMoment::Chosen { CHOSEN } else { MATTERS };
        let Coarsened { segments, smallest_gap, left_out } = coarsen(map, limits);
        Self { at, moment, segments, smallest_gap, left_out }
    }
}

/// Maps that are kept while a run passes by.
#[derive(Debug)]
pub(crate) struct Maps {
    chosen: Series<AddressMapAt>,
    last: u64,
    events: u64,
    out_of_memory: Vec<AddressMapAt>,
    peak: PeakSegments,
}

impl Default for Maps {
    fn default() -> Self {
        Self {
            chosen: Series::of_less_than(MOST_INSTANTS),
            last: 0,
            events: 0,
            out_of_memory: Vec::new(),
            peak: PeakSegments::default(),
        }
    }
}

impl Maps {
    /// Forgets the instants so far: history starts now, or something that tells more came up.
    pub(crate) fn restart(&mut self) {
        *self = Self { peak: std::mem::take(&mut self.peak), ..Self::default() };
    }

    /// Counts an event; whether a map is due, of so many blocks and segments.
    pub(crate) fn count(&mut self, parts: u64) -> bool {
        self.events += 1;
        self.chosen.count() && (self.events - self.last) * PART_OF_MAP >= parts
    }

    /// Takes the map that is due.
    pub(crate) fn choose(&mut self, map: AddressMapAt) {
        self.last = self.events;
        self.chosen.end_point(map, |_, _| ());
    }

    /// Takes a map of a moment at which memory ran out.
    pub(crate) fn ran_out(&mut self, map: AddressMapAt) {
        self.out_of_memory.push(map);
    }

    pub(crate) fn segments_change(&mut self, change: SegmentChange) {
        self.peak.note(change);
    }

    pub(crate) fn peak_rises(&mut self, segments: &Segments) {
        self.peak.rise(segments);
    }

    pub(crate) fn segments_at_peak(&self) -> &Segments {
        self.peak.segments()
    }

    /// The maps so far, in no order.
    pub(crate) fn taken(&self) -> impl Iterator<Item = &AddressMapAt> {
        self.chosen.points().iter().chain(&self.out_of_memory)
    }
}
