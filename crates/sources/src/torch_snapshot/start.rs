//! The state that a trace starts from.
//!
//! PyTorch keeps its history in a ring, so most traces begin in mid-run. What existed then is what
//! exists now, less what the trace made, plus what it ended without having made it.

use std::collections::{BTreeMap, HashMap, HashSet};

use foldhash::fast::RandomState;
use whyoom_trace::{Address, Bytes, PoolId, SegmentGrowth, SizeClass, StackId, StreamId};

use super::{
    content::{BlockState, Entry, EntryAction, Segment, SegmentHead},
    ranges::Ranges,
    rules::{LARGE_REMAINDER, Rules, class_of_segment},
};

/// A block that was in use when the trace began.
#[derive(Debug, Clone, Copy)]
pub(super) struct StartBlock {
    pub(super) address: Address,
    pub(super) requested: Bytes,
    /// Its exact size, where it lived on to be in the snapshot.
    pub(super) size: Option<Bytes>,
    pub(super) stream: StreamId,
    pub(super) pool: PoolId,
    pub(super) stack: StackId,
    pub(super) pending: bool,
}

/// The state that one device's trace starts from, in order of address.
#[derive(Debug, Default)]
pub(super) struct Start {
    pub(super) segments: Vec<SegmentHead>,
    pub(super) blocks: Vec<StartBlock>,
    /// Blocks of which trace and state disagree: the file contradicts itself.
    pub(super) contradictions: u64,
}

impl Start {
    /// The start of one device's trace, whose segments at its end are these.
    pub(super) fn of(segments: &[&Segment], trace: &[Entry], rules: &Rules) -> Self {
        let mut start = Self::default();
        start.find_fixed_segments(segments, trace);
        start.find_mapped_ranges(segments, trace);
        start.find_blocks(segments, trace);
        start.segments.sort_by_key(|segment| segment.address);
        start.blocks.sort_by_key(|block| block.address);
        start.find_kept_remainders(trace, rules);
        start
    }

    /// Where free space lies behind a block of the start, the state does not tell whether its first
    /// part belongs to the block. The history can: an allocation begins where a free block does, so
    /// one that begins a little behind the block shows that the block kept what lies between.
    fn find_kept_remainders(&mut self, trace: &[Entry], rules: &Rules) {
        let mut open = BTreeMap::new();
        for (index, block) in self.blocks.iter().enumerate() {
            let end = block.address.offset(rules.round(block.requested));
            if block.size.is_none() && self.is_in_large_segment(block.address, end) {
                open.insert(end, index);
            }
        }
        for entry in trace {
            match entry.action {
                EntryAction::Alloc => {
                    let below = open.range(..=entry.address).next_back();
                    let Some((&end, &index)) = below else { continue };
                    let rest = entry.address.since(end);
                    if rest.0 > LARGE_REMAINDER || !self.is_in_large_segment(end, entry.address) {
                        continue;
                    }
                    open.remove(&end);
                    let block = &mut self.blocks[index];
                    block.size = Some(entry.address.since(block.address));
                }
                EntryAction::FreeCompleted => {
                    let found = self.blocks.binary_search_by_key(&entry.address, |b| b.address);
                    if let Ok(index) = found {
                        let block = &self.blocks[index];
                        open.remove(&block.address.offset(rules.round(block.requested)));
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether a range lies in one fixed, large segment of the start.
    fn is_in_large_segment(&self, start: Address, end: Address) -> bool {
        let behind = self.segments.partition_point(|segment| segment.address <= start);
        let around = behind.checked_sub(1).map(|index| &self.segments[index]);
        around.is_some_and(|segment| {
            segment.class == SizeClass::Large
                && segment.growth == SegmentGrowth::Fixed
                && end <= segment.end()
        })
    }

    fn find_fixed_segments(&mut self, segments: &[&Segment], trace: &[Entry]) {
        let mut touched = HashSet::<Address, RandomState>::default();
        for entry in trace {
            let freed = entry.action == EntryAction::SegmentFree;
            let relevant = freed || entry.action == EntryAction::SegmentAlloc;
            // Freed before the trace made it: it was there from the start.
            if relevant && touched.insert(entry.address) && freed {
                self.segments.push(SegmentHead {
                    address: entry.address,
                    size: entry.size,
                    stream: entry.stream,
                    pool: entry.pool,
                    class: class_of_segment(entry.size),
                    growth: SegmentGrowth::Fixed,
                    stack: StackId(0),
                });
            }
        }
        let fixed = segments.iter().map(|segment| segment.head);
        let fixed = fixed.filter(|head| head.growth == SegmentGrowth::Fixed);
        self.segments.extend(fixed.filter(|head| !touched.contains(&head.address)));
    }

    fn find_mapped_ranges(&mut self, segments: &[&Segment], trace: &[Entry]) {
        let heads = segments.iter().map(|segment| segment.head);
        let mut expandable: Vec<SegmentHead> =
            heads.filter(|head| head.growth == SegmentGrowth::Expandable).collect();
        expandable.sort_by_key(|head| head.address);
        let mut mapped = Ranges::default();
        for segment in &expandable {
            mapped.add(segment.address, segment.end());
        }
        for entry in trace.iter().rev() {
            let end = entry.address.offset(entry.size);
            match entry.action {
                EntryAction::SegmentMap => mapped.remove(entry.address, end),
                EntryAction::SegmentUnmap => mapped.add(entry.address, end),
                _ => {}
            }
        }
        for (address, end) in mapped.iter() {
            let size = end.since(address);
            let behind = expandable.partition_point(|segment| segment.address <= address);
            let known = behind.checked_sub(1).map(|index| expandable[index]);
            let known = known.filter(|head| address < head.end());
            self.segments.push(SegmentHead {
                address,
                size,
                stream: known.map_or(StreamId(0), |head| head.stream),
                pool: known.map_or(PoolId(0), |head| head.pool),
                class: known.map_or_else(|| class_of_segment(size), |head| head.class),
                growth: SegmentGrowth::Expandable,
                stack: known.map_or(StackId(0), |head| head.stack),
            });
        }
    }

    fn find_blocks(&mut self, segments: &[&Segment], trace: &[Entry]) {
        /// What the trace has last said of a block.
        #[derive(PartialEq)]
        enum Last {
            Allocated,
            FreeRequested,
            Free,
        }
        let mut touched = HashMap::<Address, Last, RandomState>::default();
        for entry in trace {
            let last = match entry.action {
                EntryAction::Alloc => Last::Allocated,
                EntryAction::FreeRequested => Last::FreeRequested,
                EntryAction::FreeCompleted => Last::Free,
                _ => continue,
            };
            let ends = last != Last::Allocated;
            let pending = last == Last::Free;
            if touched.insert(entry.address, last).is_none() && ends {
                self.blocks.push(StartBlock {
                    address: entry.address,
                    requested: entry.size,
                    size: None,
                    stream: entry.stream,
                    pool: entry.pool,
                    stack: StackId(0),
                    pending,
                });
            }
        }
        for segment in segments {
            for block in segment.blocks.iter().filter(|b| b.state != BlockState::Inactive) {
                match touched.remove(&block.address) {
                    None => self.blocks.push(StartBlock {
                        address: block.address,
                        requested: block.requested,
                        size: Some(block.size),
                        stream: segment.head.stream,
                        pool: segment.head.pool,
                        stack: block.stack,
                        pending: block.state == BlockState::PendingFree,
                    }),
                    Some(Last::Free) => self.contradictions += 1,
                    Some(Last::Allocated | Last::FreeRequested) => {}
                }
            }
        }
        let left_over = touched.values().filter(|last| **last != Last::Free).count();
        self.contradictions += left_over as u64;
    }
}
