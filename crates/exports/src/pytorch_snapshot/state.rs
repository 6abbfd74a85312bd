//! The state at the end: segments, and the blocks that they consist of, without gaps.

use std::io;

use whyoom_memory::{LiveBlock, Space};
use whyoom_trace::{Address, Bytes, DeviceId, PoolId, SegmentGrowth, SizeClass, StackId, StreamId};

use super::{history::address_of, pickler::Pickler};

/// A segment with everything in it.
pub(super) struct Segment {
    address: Address,
    size: Bytes,
    stream: StreamId,
    pool: PoolId,
    class: SizeClass,
    expandable: bool,
    stack: StackId,
    blocks: Vec<Block>,
}

struct Block {
    address: Address,
    size: Bytes,
    requested: Bytes,
    state: &'static str,
    stack: StackId,
}

/// The segments of a space at the end, in order of address. A block that lies in none, and memory of the
/// driver, is a segment of its own.
pub(super) fn segments_of(space: &Space) -> Vec<Segment> {
    let mut blocks: Vec<(Address, &LiveBlock)> = space
        .blocks()
        .filter(|(_, block)| block.size > Bytes::ZERO)
        .map(|(address, block)| (address_of(address, block.interface), block))
        .collect();
    blocks.sort_by_key(|(address, _)| *address);
    let mut blocks = blocks.into_iter().peekable();
    let mut segments = Vec::new();
    let known = space.segments().filter(|_| space.has_allocator());
    for (address, of_segment) in known {
        let end = address.offset(of_segment.size);
        while let Some((address, block)) = blocks.next_if(|(block, _)| *block < address) {
            segments.push(Segment::around(address, block));
        }
        let mut segment = Segment {
            address,
            size: of_segment.size,
            stream: of_segment.stream,
            pool: of_segment.pool,
            class: of_segment.class,
            expandable: of_segment.growth == SegmentGrowth::Expandable,
            stack: of_segment.stack,
            blocks: Vec::new(),
        };
        while let Some((address, block)) = blocks.next_if(|(block, _)| *block < end) {
            segment.add(address, block);
        }
        segment.fill_up_to(end);
        segments.push(segment);
    }
    segments.extend(blocks.map(|(address, block)| Segment::around(address, block)));
    segments
}

impl Segment {
    fn around(address: Address, block: &LiveBlock) -> Self {
        let mut segment = Self {
            address,
            size: block.size,
            stream: block.stream,
            pool: block.pool,
            class: SizeClass::Large,
            expandable: false,
            stack: block.stack,
            blocks: Vec::new(),
        };
        segment.add(address, block);
        segment
    }

    /// Adds a block. What overlaps the one before it or the end, as in a damaged input, is cut.
    fn add(&mut self, address: Address, block: &LiveBlock) {
        let end = self.address.offset(self.size);
        let address = address.max(self.filled());
        let size = block.size.min(end.since(address));
        if size == Bytes::ZERO {
            return;
        }
        self.fill_up_to(address);
        let state = if block.pending { "active_pending_free" } else { "active_allocated" };
        let requested = block.requested;
        self.blocks.push(Block { address, size, requested, state, stack: block.stack });
    }

    /// Where what is known of it ends.
    fn filled(&self) -> Address {
        self.blocks.last().map_or(self.address, |block| block.address.offset(block.size))
    }

    /// What lies between blocks is free.
    fn fill_up_to(&mut self, end: Address) {
        let address = self.filled();
        let size = end.since(address);
        if size > Bytes::ZERO {
            let (requested, stack) = (Bytes::ZERO, StackId(0));
            self.blocks.push(Block { address, size, requested, state: "inactive", stack });
        }
    }

    fn sum(&self, of: impl Fn(&Block) -> Bytes) -> Bytes {
        self.blocks.iter().filter(|block| block.state != "inactive").map(of).sum()
    }

    pub(super) fn write(&self, device: DeviceId, pickler: &mut Pickler<'_>) -> io::Result<()> {
        let pending = self.blocks.iter().filter(|block| block.state == "active_pending_free");
        let pending: Bytes = pending.map(|block| block.size).sum();
        let active = self.sum(|block| block.size);
        let tables = pickler.tables();
        let numbers = [
            ("address", self.address.0),
            ("total_size", self.size.0),
            ("stream", self.stream.0),
            ("allocated_size", active.minus(pending).0),
            ("active_size", active.0),
            ("requested_size", self.sum(|block| block.requested).0),
        ];
        pickler.dict(|pickler| {
            pickler.text("device")?;
            // What belongs to no device stands in a list of its own.
            let ordinal = if device == DeviceId::HOST { 0 } else { device.0 };
            pickler.number(ordinal.into())?;
            for (name, number) in numbers {
                pickler.text(name)?;
                pickler.number(number)?;
            }
            pickler.text("segment_type")?;
            pickler.text(if self.class == SizeClass::Small { "small" } else { "large" })?;
            pickler.text("segment_pool_id")?;
            pickler.pair(tables.pool_name(self.pool))?;
            pickler.text("is_expandable")?;
            pickler.flag(self.expandable)?;
            pickler.text("frames")?;
            pickler.stack(self.stack)?;
            pickler.text("blocks")?;
            pickler.list(|pickler, written| {
                for block in &self.blocks {
                    pickler.item(written)?;
                    block.write(pickler)?;
                }
                Ok(())
            })
        })
    }
}

impl Block {
    fn write(&self, pickler: &mut Pickler<'_>) -> io::Result<()> {
        pickler.dict(|pickler| {
            pickler.text("address")?;
            pickler.number(self.address.0)?;
            pickler.text("size")?;
            pickler.number(self.size.0)?;
            pickler.text("requested_size")?;
            pickler.number(self.requested.0)?;
            pickler.text("state")?;
            pickler.text(self.state)?;
            pickler.text("frames")?;
            pickler.stack(self.stack)
        })
    }
}
