//! Where blocks lie at one instant, as far as it decides how large the next one is.
//!
//! The allocator hands out a free block's front and splits the rest off if it is worth it; what is
//! not split off belongs to the block. The trace tells only what was requested, so the rest is read
//! off the gap behind: neighbours coalesce at once on free, hence a gap is one free block.

use std::collections::BTreeMap;

use whyoom_trace::{Address, Bytes, DeviceId, PoolId, SegmentGrowth, SizeClass};

use super::rules::Rules;

/// What is known of the segment around an address.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub(super) end: Address,
    pub(super) class: SizeClass,
    pub(super) growth: SegmentGrowth,
    pub(super) pool: PoolId,
}

#[derive(Debug)]
pub(super) struct Layout {
    device: DeviceId,
    rules: Rules,
    segments: BTreeMap<Address, Extent>,
    /// The blocks of fixed, large segments: in all others nothing is left unsplit.
    large_blocks: BTreeMap<Address, Bytes>,
}

impl Layout {
    pub(super) fn new(device: DeviceId, rules: Rules) -> Self {
        Self { device, rules, segments: BTreeMap::new(), large_blocks: BTreeMap::new() }
    }

    pub(super) fn add_segment(&mut self, address: Address, extent: Extent) {
        self.segments.insert(address, extent);
    }

    pub(super) fn remove_segment(&mut self, address: Address) {
        self.segments.remove(&address);
    }

    /// Takes a range away from whatever segments it lies in: other pools may map there later.
    pub(super) fn remove_range(&mut self, address: Address, end: Address) {
        let touched: Vec<(Address, Extent)> = self
            .segments
            .range(..end)
            .rev()
            .take_while(|(_, extent)| extent.end > address)
            .map(|(start, extent)| (*start, *extent))
            .collect();
        for (start, extent) in touched {
            self.segments.remove(&start);
            if start < address {
                self.segments.insert(start, Extent { end: address, ..extent });
            }
            if extent.end > end {
                self.segments.insert(end, extent);
            }
        }
    }

    /// The segment around an address.
    pub(super) fn segment_at(&self, address: Address) -> Option<Extent> {
        let (_, &extent) = self.segments.range(..=address).next_back()?;
        (address < extent.end).then_some(extent)
    }

    /// Places a block and says what it costs.
    pub(super) fn place(&mut self, address: Address, requested: Bytes) -> Bytes {
        let rounded = self.rules.round(requested);
        // The host's allocator gives every block a piece of its own.
        if self.device == DeviceId::HOST {
            return self.segment_at(address).map_or(rounded, |own| own.end.since(address));
        }
        let Some(extent) = self.segment_at(address).filter(is_large_and_fixed) else {
            return rounded;
        };
        let end = address.offset(rounded);
        let behind = self.large_blocks.range(end..).next();
        let next = behind.map_or(extent.end, |(&address, _)| address.min(extent.end));
        let remainder = next.since(end);
        let size = if self.rules.keeps_remainder(rounded, remainder) {
            rounded.plus(remainder)
        } else {
            rounded
        };
        self.large_blocks.insert(address, size);
        size
    }

    /// Places a block whose size is known.
    pub(super) fn place_exactly(&mut self, address: Address, size: Bytes) {
        if self.segment_at(address).filter(is_large_and_fixed).is_some() {
            self.large_blocks.insert(address, size);
        }
    }

    pub(super) fn remove(&mut self, address: Address) {
        self.large_blocks.remove(&address);
    }
}

fn is_large_and_fixed(extent: &Extent) -> bool {
    extent.class == SizeClass::Large && extent.growth == SegmentGrowth::Fixed
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A layout with one large segment of that many MiB at address 0.
    fn layout(mebibytes: u64) -> Layout {
        let mut layout = Layout::new(DeviceId(0), Rules::default());
        let (class, growth) = (SizeClass::Large, SegmentGrowth::Fixed);
        let end = Address(mebibytes << 20);
        layout.add_segment(Address(0), Extent { end, class, growth, pool: PoolId(0) });
        layout
    }

    #[test]
    fn a_block_keeps_a_remainder_that_is_not_split_off() {
        let mut layout = layout(20);
        layout.place_exactly(Address(10 << 20), Bytes(10 << 20));
        // 1 MiB is left before the next block: it stays with this one.
        assert_eq!(layout.place(Address(0), Bytes(9 << 20)), Bytes(10 << 20));
        layout.remove(Address(0));
        assert_eq!(layout.place(Address(0), Bytes((9 << 20) - 512)), Bytes((9 << 20) - 512));
    }

    #[test]
    fn a_block_beyond_its_segment_is_taken_as_it_is() {
        // Only a damaged file has one.
        assert_eq!(layout(2).place(Address(1 << 20), Bytes(50 << 20)), Bytes(50 << 20));
    }
}
