//! The segments that a caching allocator holds, in order of address.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use whyoom_trace::{Address, Bytes, PoolId, SegmentGrowth, SizeClass, StackId, StreamId};

/// A contiguous piece of memory that a caching allocator holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// Its length.
    pub size: Bytes,
    /// The stream whose requests it serves.
    pub stream: StreamId,
    /// The pool that it belongs to.
    pub pool: PoolId,
    /// The sizes that it serves.
    pub class: SizeClass,
    /// Whether it can grow.
    pub growth: SegmentGrowth,
    /// Who needed it.
    pub stack: StackId,
}

impl Segment {
    fn continues(&self, other: &Self) -> bool {
        self.growth == SegmentGrowth::Expandable
            && other.growth == SegmentGrowth::Expandable
            && (self.stream, self.pool, self.class) == (other.stream, other.pool, other.class)
    }
}

/// All segments of a space.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Segments {
    by_address: BTreeMap<Address, Segment>,
    total: Bytes,
}

impl Segments {
    pub(crate) fn total(&self) -> Bytes {
        self.total
    }

    pub(crate) fn len(&self) -> usize {
        self.by_address.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Address, &Segment)> {
        self.by_address.iter().map(|(&address, segment)| (address, segment))
    }

    /// Whether an address lies in one of them.
    pub(crate) fn covers(&self, address: Address) -> bool {
        let before = self.by_address.range(..=address).next_back();
        before.is_some_and(|(start, segment)| address < start.offset(segment.size))
    }

    /// Adds a segment; a part that continues an expandable segment becomes one with it.
    pub(crate) fn add(&mut self, address: Address, segment: Segment) {
        self.remove_range(address, segment.size);
        self.total = self.total.plus(segment.size);
        let (mut address, mut segment) = (address, segment);
        if let Some((&before, left)) = self.by_address.range(..address).next_back()
            && before.offset(left.size) == address
            && left.continues(&segment)
        {
            segment = Segment { size: left.size.plus(segment.size), ..*left };
            address = before;
        }
        let end = address.offset(segment.size);
        if let Some(right) = self.by_address.get(&end)
            && right.continues(&segment)
        {
            segment.size = segment.size.plus(right.size);
            self.by_address.remove(&end);
        }
        self.by_address.insert(address, segment);
    }

    /// Removes the segment that starts at an address.
    pub(crate) fn remove(&mut self, address: Address) {
        if let Some(segment) = self.by_address.remove(&address) {
            self.total = self.total.minus(segment.size);
        }
    }

    /// Removes whatever lies in a range, leaving the parts outside it.
    pub(crate) fn remove_range(&mut self, address: Address, size: Bytes) {
        let end = address.offset(size);
        let before = self.by_address.range(..address).next_back();
        let mut touched: Vec<Address> = before
            .filter(|(start, segment)| start.offset(segment.size) > address)
            .map(|(&start, _)| start)
            .into_iter()
            .collect();
        if address < end {
            touched.extend(self.by_address.range(address..end).map(|(&start, _)| start));
        }
        for start in touched {
            let Some(segment) = self.by_address.remove(&start) else { continue };
            self.total = self.total.minus(segment.size);
            let segment_end = start.offset(segment.size);
            self.insert_part(start, address.since(start), segment);
            self.insert_part(end, segment_end.since(end), segment);
        }
    }

    fn insert_part(&mut self, address: Address, size: Bytes, of: Segment) {
        if size > Bytes::ZERO {
            self.by_address.insert(address, Segment { size, ..of });
            self.total = self.total.plus(size);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn segment(size: u64, growth: SegmentGrowth) -> Segment {
        Segment {
            size: Bytes(size),
            stream: StreamId(0),
            pool: PoolId(0),
            class: SizeClass::Large,
            growth,
            stack: StackId(0),
        }
    }

    #[test]
    fn mapped_parts_become_one_and_fixed_ones_stay_apart() {
        for (growth, expected) in [(SegmentGrowth::Expandable, 1), (SegmentGrowth::Fixed, 3)] {
            let mut segments = Segments::default();
            for address in [0, 20, 10] {
                segments.add(Address(address), segment(10, growth));
            }
            assert_eq!(segments.len(), expected);
            assert_eq!(segments.total(), Bytes(30));
        }
    }

    proptest! {
        #[test]
        fn mapping_agrees_with_a_bitmap(
            steps in prop::collection::vec((any::<bool>(), 0u64..64, 1u64..20), 0..60),
        ) {
            let mut segments = Segments::default();
            let mut bitmap = [false; 84];
            for (map, start, size) in steps {
                if map {
                    segments.add(Address(start), segment(size, SegmentGrowth::Expandable));
                } else {
                    segments.remove_range(Address(start), Bytes(size));
                }
                bitmap[start as usize..(start + size) as usize].fill(map);
            }
            let covered = bitmap.iter().filter(|bit| **bit).count() as u64;
            prop_assert_eq!(segments.total(), Bytes(covered));
            let mut previous_end = None;
            for (address, segment) in segments.iter() {
                prop_assert!(previous_end.is_none_or(|end| end < address), "parts should be one");
                previous_end = Some(address.offset(segment.size));
                for byte in address.0..address.0 + segment.size.0 {
                    prop_assert!(bitmap[byte as usize]);
                }
            }
        }
    }
}
