//! An address map in a bounded number of parts.

use whyoom_trace::{Address, Bytes, StackId};

use crate::{address_map::MappedSegment, segments::Segment};

/// The smallest gap that an allocator leaves.
const FIRST_GAP: u64 = 512;

/// A segment, and the runs of blocks in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentRuns {
    /// Where it starts.
    pub address: Address,
    /// What it is.
    pub segment: Segment,
    /// Runs of blocks, in order of address.
    pub runs: Vec<BlockRun>,
}

/// Neighbouring blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockRun {
    /// How far from the segment's start it begins.
    pub offset: Bytes,
    /// From the start of its first block to the end of its last.
    pub bytes: Bytes,
    /// How many blocks they are.
    pub blocks: u64,
    /// Who made the largest of them.
    pub stack: StackId,
    largest: Bytes,
}

impl BlockRun {
    fn end(&self) -> Bytes {
        self.offset.plus(self.bytes)
    }

    fn join(&mut self, next: &Self) {
        self.bytes = self.end().max(next.end()).minus(self.offset);
        self.blocks += next.blocks;
        if next.largest > self.largest {
            (self.largest, self.stack) = (next.largest, next.stack);
        }
    }
}

/// How coarsely a map is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coarseness {
    /// Blocks of one stack without a gap are one run.
    SameStack,
    /// Blocks with a gap below this are one run.
    Below(u64),
}

impl Coarseness {
    fn joins(self, run: &BlockRun, next: &BlockRun) -> bool {
        let gap = next.offset.minus(run.end());
        match self {
            Self::SameStack => gap == Bytes::ZERO && run.stack == next.stack,
            Self::Below(smallest) => gap.0 < smallest,
        }
    }
}

/// How much a map may tell.
#[derive(Debug, Clone, Copy)]
pub(super) struct MapLimits {
    pub(super) segments: usize,
    /// Each segment with something in it has a run, whatever this says.
    pub(super) runs: usize,
}

/// A map within limits.
pub(super) struct Coarsened {
    pub(super) segments: Vec<SegmentRuns>,
    /// Gaps below this are not told.
    pub(super) smallest_gap: Bytes,
    /// Segments that are not told of.
    pub(super) left_out: u64,
}

pub(super) fn coarsen(map: impl Iterator<Item = MappedSegment>, limits: MapLimits) -> Coarsened {
    let mut segments: Vec<SegmentRuns> = map.map(|mapped| runs_of(&mapped)).collect();
    let left_out = segments.len().saturating_sub(limits.segments);
    if left_out > 0 {
        segments.sort_by_key(|mapped| std::cmp::Reverse(mapped.segment.size));
        segments.truncate(limits.segments);
        segments.sort_by_key(|mapped| mapped.address);
    }
    let count = |segments: &[SegmentRuns]| segments.iter().map(|one| one.runs.len()).sum::<usize>();
    let most = limits.runs.max(segments.len());
    let mut smallest_gap = 0;
    if count(&segments) > most {
        join(&mut segments, Coarseness::SameStack);
    }
    if count(&segments) > most {
        join(&mut segments, Coarseness::Below(1));
    }
    let mut gap = FIRST_GAP;
    while count(&segments) > most && smallest_gap < u64::MAX / 2 {
        smallest_gap = gap.saturating_mul(2);
        join(&mut segments, Coarseness::Below(smallest_gap));
        gap = smallest_gap;
    }
    Coarsened { segments, smallest_gap: Bytes(smallest_gap), left_out: left_out as u64 }
}

fn runs_of(mapped: &MappedSegment) -> SegmentRuns {
    let run = |(address, block): &(Address, crate::LiveBlock)| BlockRun {
        offset: address.since(mapped.address),
        bytes: block.size,
        blocks: 1,
        stack: block.stack,
        largest: block.size,
    };
    let runs = mapped.blocks.iter().map(run).collect();
    SegmentRuns { address: mapped.address, segment: mapped.segment, runs }
}

fn join(segments: &mut [SegmentRuns], coarseness: Coarseness) {
    for segment in segments {
        segment.runs.dedup_by(|next, run| {
            let joins = coarseness.joins(run, next);
            if joins {
                run.join(next);
            }
            joins
        });
        segment.runs.shrink_to_fit();
    }
}
