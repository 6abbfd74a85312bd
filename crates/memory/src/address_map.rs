//! Where everything lies at one instant: segments, the blocks in them, the gaps between.

use whyoom_trace::{Address, Bytes, SegmentGrowth, SizeClass};

use crate::{
    block::{ByAddress, LiveBlock},
    segments::{Segment, Segments},
};

/// A segment with what lies in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedSegment {
    /// Where it starts.
    pub address: Address,
    /// What it is.
    pub segment: Segment,
    /// The blocks in it, in order of address: these pin it.
    pub blocks: Vec<(Address, LiveBlock)>,
}

impl MappedSegment {
    /// The free pieces, in order of address.
    pub fn gaps(&self) -> impl Iterator<Item = (Address, Bytes)> {
        let end = self.address.offset(self.segment.size);
        let taken = self.blocks.iter().map(|(start, block)| (*start, start.offset(block.size)));
        let mut cursor = self.address;
        taken.chain(std::iter::once((end, end))).filter_map(move |(from, to)| {
            let gap = (cursor, from.since(cursor));
            cursor = cursor.max(to);
            (gap.1 > Bytes::ZERO).then_some(gap)
        })
    }
}

/// Pieces that lie closer together than this are shown as one stretch.
const STRETCH: Bytes = Bytes(2 << 20);

/// Stretches of memory that was taken from the driver itself, as if they were segments of an allocator.
pub(crate) fn stretches(blocks: impl Iterator<Item = (Address, LiveBlock)>) -> Vec<MappedSegment> {
    let mut sorted: Vec<(Address, LiveBlock)> = blocks.collect();
    sorted.sort_unstable_by_key(|(address, _)| *address);
    let mut stretches: Vec<MappedSegment> = Vec::new();
    for (address, block) in sorted {
        let end = address.offset(block.size);
        match stretches.last_mut() {
            Some(last) if address.since(last.address.offset(last.segment.size)) < STRETCH => {
                last.segment.size = last.segment.size.max(end.since(last.address));
                last.blocks.push((address, block));
            }
            _ => stretches.push(MappedSegment {
                address,
                segment: Segment {
                    size: block.size,
                    stream: block.stream,
                    pool: block.pool,
                    class: SizeClass::Large,
                    growth: SegmentGrowth::Fixed,
                    stack: block.stack,
                },
                blocks: vec![(address, block)],
            }),
        }
    }
    stretches
}

/// Every segment with its blocks, in order of address.
pub(crate) fn address_map(
    segments: &Segments,
    blocks: &ByAddress<LiveBlock>,
) -> impl Iterator<Item = MappedSegment> {
    let mut sorted: Vec<(Address, LiveBlock)> =
        blocks.iter().map(|(&address, &block)| (address, block)).collect();
    sorted.sort_unstable_by_key(|(address, _)| *address);
    let mut next = 0;
    segments.iter().map(move |(address, &segment)| {
        let end = address.offset(segment.size);
        next += sorted[next..].partition_point(|(start, _)| *start < address);
        let inside = sorted[next..].partition_point(|(start, _)| *start < end);
        let blocks = sorted[next..next + inside].to_vec();
        next += inside;
        MappedSegment { address, segment, blocks }
    })
}
