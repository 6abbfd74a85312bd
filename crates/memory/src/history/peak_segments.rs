//! The segments at the peak, in one pass: kept as [`crate::peak`] keeps the blocks.

use whyoom_trace::{Address, Bytes};

use crate::segments::{Segment, Segments};

/// A journal of this length is always kept.
const JOURNAL_AT_LEAST: usize = 1024;

/// Something that happened to segments.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SegmentChange {
    Add(Address, Segment),
    Remove(Address),
    RemoveRange(Address, Bytes),
}

impl SegmentChange {
    /// Does it.
    pub(crate) fn apply(self, segments: &mut Segments) {
        match self {
            Self::Add(address, segment) => segments.add(address, segment),
            Self::Remove(address) => segments.remove(address),
            Self::RemoveRange(address, size) => segments.remove_range(address, size),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct PeakSegments {
    segments: Segments,
    journal: Vec<SegmentChange>,
    journal_dropped: bool,
}

impl PeakSegments {
    pub(super) fn segments(&self) -> &Segments {
        &self.segments
    }

    pub(super) fn note(&mut self, change: SegmentChange) {
        if self.journal_dropped {
            return;
        }
        self.journal.push(change);
        if self.journal.len() > JOURNAL_AT_LEAST + 2 * self.segments.len() {
            self.journal = Vec::new();
            self.journal_dropped = true;
        }
    }

    /// The present is the peak.
    pub(super) fn rise(&mut self, now: &Segments) {
        if std::mem::take(&mut self.journal_dropped) {
            self.segments.clone_from(now);
            return;
        }
        for change in self.journal.drain(..) {
            change.apply(&mut self.segments);
        }
    }
}
