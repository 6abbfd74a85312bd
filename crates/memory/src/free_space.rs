//! Free memory inside segments: how much, in how large pieces, and what pins it there.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use whyoom_trace::{Address, Bytes, PoolId, SegmentGrowth, SizeClass, StackId, StreamId};

use crate::{address_map::MappedSegment, block::LiveBlock, segments::Segment};

/// What the driver maps at least, and whyoom's pool moves.
const PAGE: u64 = 2 << 20;

/// A request, as far as it decides which segments can serve it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) stream: StreamId,
    pub(crate) pool: PoolId,
    pub(crate) class: SizeClass,
}

impl Request {
    fn fits(&self, segment: &Segment) -> bool {
        (segment.stream, segment.pool, segment.class) == (self.stream, self.pool, self.class)
    }
}

/// Live blocks of one stack that keep segments from being given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// Who made them.
    pub stack: StackId,
    /// How many they are.
    pub blocks: u64,
    /// What they themselves take.
    pub bytes: Bytes,
    /// Their share of the free bytes around them.
    pub holds: Bytes,
}

/// Free memory inside segments at one instant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreeSpace {
    /// All of it.
    pub total: Bytes,
    /// The largest piece.
    pub largest: Bytes,
    /// In segments that hold nothing: the allocator gives these back before it gives up.
    pub in_empty_segments: Bytes,
    /// Of that, in segments of no private pool which keep their size, where the request was for no private pool
    /// either: what PyTorch still has of these when it gives up, it may not give back.
    pub in_kept_segments: Bytes,
    /// In empty segments of the private pool that the request was for.
    pub in_own_private_pool: Bytes,
    /// The largest piece of those.
    pub own_private_largest: Bytes,
    /// True if the request was for a private pool: of a CUDA graph, or made by the program.
    #[serde(default)]
    pub is_for_private_pool: bool,
    /// In segments that hold something and could have served the request.
    pub usable: Bytes,
    /// The largest piece of those.
    pub usable_largest: Bytes,
    /// In segments of the request's pool that hold something and belong to other streams.
    pub other_streams: Bytes,
    /// In segments of private pools that are not the request's.
    pub private_pools: Bytes,
    /// What those pools hold altogether.
    pub private_pools_reserved: Bytes,
    /// Whole pages of 2 MiB with nothing in them, in segments of no private pool but the request's: an
    /// allocator that moves pages could have used them.
    pub idle_pages: Bytes,
    /// Segments that hold something and have free bytes too.
    pub pinned_segments: u64,
    /// What pins them, the most first.
    pub pins: Vec<Pin>,
}

impl FreeSpace {
    /// The free space of all these segments, as `request` sees it.
    pub(crate) fn measure(map: impl Iterator<Item = MappedSegment>, request: Request) -> Self {
        let mut space = Self { is_for_private_pool: request.pool != PoolId(0), ..Self::default() };
        let mut pins = BTreeMap::new();
        for mapped in map {
            space.add_segment(&mapped, request, &mut pins);
        }
        space.pins = pins.into_values().collect();
        space.pins.sort_by_key(|pin| std::cmp::Reverse(pin.holds));
        space
    }

    fn add_segment(
        &mut self,
        mapped: &MappedSegment,
        request: Request,
        pins: &mut BTreeMap<StackId, Pin>,
    ) {
        let segment = &mapped.segment;
        let free: Bytes = mapped.gaps().map(|(_, size)| size).sum();
        let largest = mapped.gaps().map(|(_, size)| size).max().unwrap_or_default();
        self.total = self.total.plus(free);
        self.largest = self.largest.max(largest);
        let own_pool = segment.pool == request.pool;
        if !own_pool && segment.pool != PoolId(0) {
            self.private_pools = self.private_pools.plus(free);
            self.private_pools_reserved = self.private_pools_reserved.plus(segment.size);
        } else if own_pool && segment.stream != request.stream && !mapped.blocks.is_empty() {
            self.other_streams = self.other_streams.plus(free);
        }
        if own_pool || segment.pool == PoolId(0) {
            let idle = mapped.gaps().map(|(start, size)| whole_pages(start, size));
            self.idle_pages = self.idle_pages.plus(idle.sum());
        }
        if mapped.blocks.is_empty() {
            self.add_empty(segment, request, free);
            return;
        }
        if free == Bytes::ZERO {
            return;
        }
        self.pinned_segments += 1;
        if request.fits(segment) {
            self.usable = self.usable.plus(free);
            self.usable_largest = self.usable_largest.max(largest);
            add_pins(free, &mapped.blocks, pins);
        }
    }

    fn add_empty(&mut self, segment: &Segment, request: Request, free: Bytes) {
        self.in_empty_segments = self.in_empty_segments.plus(free);
        let no_pool = PoolId(0);
        if request.pool == no_pool {
            let kept = segment.pool == no_pool && segment.growth == SegmentGrowth::Fixed;
            let more = if kept { free } else { Bytes::ZERO };
            self.in_kept_segments = self.in_kept_segments.plus(more);
        } else if request.fits(segment) {
            self.in_own_private_pool = self.in_own_private_pool.plus(free);
            self.own_private_largest = self.own_private_largest.max(free);
        }
    }
}

/// The whole pages in a free piece.
fn whole_pages(start: Address, size: Bytes) -> Bytes {
    let first = start.0.checked_next_multiple_of(PAGE).unwrap_or(u64::MAX);
    let end = start.offset(size).0 / PAGE * PAGE;
    Bytes(end.saturating_sub(first))
}

/// Shares a segment's free bytes out among the blocks that pin it.
fn add_pins(free: Bytes, blocks: &[(Address, LiveBlock)], pins: &mut BTreeMap<StackId, Pin>) {
    let share = Bytes(free.0 / blocks.len() as u64);
    for (_, block) in blocks {
        let none = Pin { stack: block.stack, blocks: 0, bytes: Bytes::ZERO, holds: Bytes::ZERO };
        let pin = pins.entry(block.stack).or_insert(none);
        pin.blocks += 1;
        pin.bytes = pin.bytes.plus(block.size);
        pin.holds = pin.holds.plus(share);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_pages_can_be_moved() {
        let pages = |start, size| whole_pages(Address(start), Bytes(size)).0 / PAGE;
        assert_eq!(pages(0, PAGE), 1);
        assert_eq!(pages(512, 3 * PAGE), 2);
        assert_eq!(pages(512, PAGE), 0);
        assert_eq!(pages(PAGE - 512, PAGE), 0);
        assert_eq!(pages(u64::MAX - 5, 5), 0);
    }
}
