//! An allocator whose every step takes constant time: free blocks in 256 bins by size, whose bounds
//! grow like floating-point numbers, and bitmaps that tell the next bin with something in it.
//!
//! The idea is that of two-level segregated fit, in the form of sebbbi/OffsetAllocator. It spends
//! memory for speed: not the best fit but a good one, and streams share everything.

mod free_bins;
mod size_class;

use whyoom_trace::PoolId;

use self::free_bins::{BinBlocks, BinTag, FreeBins};
use super::shared::Arrivals;
use crate::device::{Device, PAGE};
use crate::policy::{ALIGNMENT, BlockId, Grant, OutOfMemory, Policy, Request};

/// How the allocator is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What a segment has at least, if the device has that much. Few large segments make few driver
    /// calls, and leave blocks more neighbours to be joined with; what is left of the last is lost.
    pub segment: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { segment: 64 << 20 }
    }
}

/// The binned allocator.
#[derive(Debug)]
pub struct Binned {
    settings: Settings,
    blocks: BinBlocks,
    pools: Arrivals<PoolId, FreeBins>,
}

impl Binned {
    /// An allocator that has nothing yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings, blocks: BinBlocks::new(), pools: Arrivals::new() }
    }

    fn take(&mut self, size: u64, pool: u32) -> Option<Grant> {
        let bins = self.pools.get_mut(pool);
        let block = bins.find(size, &self.blocks)?;
        bins.remove(block, &mut self.blocks);
        if self.blocks[block].size > size {
            let rest = self.blocks.split(block, size);
            // What is after a free block is live, so the rest has nothing to be joined with.
            bins.insert(rest, &mut self.blocks);
        }
        Some(Grant { block: BlockId(block), address: self.blocks[block].address, size })
    }

    /// Takes a segment: of the usual size, or as large as needed where the device has no more.
    fn grow(&mut self, size: u64, pool: u32, device: &mut dyn Device) -> Option<()> {
        let needed = size.checked_next_multiple_of(PAGE)?;
        let usual = needed.max(self.settings.segment / PAGE * PAGE);
        let sizes = [usual, needed];
        let tries = if usual > needed { &sizes[..] } else { &sizes[..1] };
        let taken = tries.iter().find_map(|size| Some((device.alloc(*size)?, *size)));
        let (address, size) = taken?;
        let segment = self.blocks.add_segment(address, size, BinTag::in_no_bin(pool));
        self.pools.get_mut(pool).insert(segment, &mut self.blocks);
        Some(())
    }

    fn release_idle(&mut self, device: &mut dyn Device) {
        for pool in 0..self.pools.len() {
            let bins = self.pools.get_mut(pool);
            let (idle, looked_at) = bins.idle_segments(&self.blocks);
            device.looked_at(looked_at);
            for segment in idle {
                bins.remove(segment, &mut self.blocks);
                device.free(self.blocks.remove_segment(segment));
            }
        }
    }
}

impl Policy for Binned {
    fn alloc(&mut self, request: Request, device: &mut dyn Device) -> Result<Grant, OutOfMemory> {
        let failed = OutOfMemory { requested: request.size };
        let size = request.size.checked_next_multiple_of(ALIGNMENT).ok_or(failed)?;
        let pool = self.pools.number(request.pool);
        if let Some(grant) = self.take(size, pool) {
            return Ok(grant);
        }
        if self.grow(size, pool, device).is_none() {
            self.release_idle(device);
            self.grow(size, pool, device).ok_or(failed)?;
        }
        self.take(size, pool).ok_or(failed)
    }

    fn free(&mut self, block: BlockId, _: &mut dyn Device) {
        let tag = self.blocks[block.0].tag;
        if !tag.is_free() {
            self.pools.get_mut(tag.pool).insert_joined(block.0, &mut self.blocks);
        }
    }

    fn release_cached(&mut self, device: &mut dyn Device) {
        self.release_idle(device);
    }
}

#[cfg(test)]
mod tests {
    use whyoom_trace::StreamId;

    use super::*;
    use crate::SimulatedDevice;

    const MIB: u64 = 1 << 20;

    fn ask(size: u64) -> Request {
        Request { size, stream: StreamId(0), pool: PoolId(0) }
    }

    #[test]
    fn a_size_that_is_no_bound_of_a_bin_gets_its_freed_block_again() {
        let mut device = SimulatedDevice::new(64 * MIB);
        let mut binned = Binned::new(Settings::default());
        let size = 5 * MIB + 256;
        let block = binned.alloc(ask(size), &mut device).unwrap();
        binned.alloc(ask(MIB), &mut device).unwrap();
        binned.free(block.block, &mut device);
        assert_eq!(binned.alloc(ask(size), &mut device).unwrap().address, block.address);
    }

    #[test]
    fn where_the_device_has_less_a_segment_is_as_large_as_needed() {
        let mut device = SimulatedDevice::new(100 * MIB);
        let mut binned = Binned::new(Settings::default());
        binned.alloc(ask(60 * MIB), &mut device).unwrap();
        binned.alloc(ask(20 * MIB + 1), &mut device).unwrap();
        assert_eq!(device.in_use(), 86 * MIB);
    }

    #[test]
    fn idle_segments_go_back_before_a_request_fails() {
        let mut device = SimulatedDevice::new(100 * MIB);
        let mut binned = Binned::new(Settings::default());
        let block = binned.alloc(ask(MIB), &mut device).unwrap();
        binned.free(block.block, &mut device);
        binned.alloc(ask(100 * MIB), &mut device).unwrap();
    }

    #[test]
    fn what_a_large_request_needs_is_found_in_the_segment_taken_for_it() {
        for size in [MIB, 65 * MIB, 1025 * MIB, 3000 * MIB + 256, 15 << 38] {
            let mut device = SimulatedDevice::new(u64::MAX / 4);
            let mut binned = Binned::new(Settings::default());
            binned.alloc(ask(size), &mut device).unwrap();
        }
    }
}
