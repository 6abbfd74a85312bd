//! The best-fit-with-coalescing allocator of XLA and TensorFlow (tsl's `BFCAllocator`).
//!
//! From its source (bfc_allocator.cc of openxla/xla, 2026): multiples of 256 bytes; the best fit,
//! and of equal ones the lowest; a chunk is cut only if it is twice as large as needed or 128 MiB
//! would be lost; neighbours are joined at once; regions grow by doubling from 2 MiB, or one region
//! is taken at the start. Its 21 bins by powers of two hold chunks in order of size and address and
//! are searched upwards, which finds what a search of one such set finds: here there is one set.
//! It knows no streams. Regions without a chunk in use go back before a request fails, as
//! TensorFlow's garbage collection does (on by default there). It knows no private pools; here each
//! is an allocator of its own, and grows even where the common one takes all at the start.

use whyoom_trace::PoolId;

use super::shared::{Arrivals, FreeBlocks, FreeSet, FreeTag, ListId};
use crate::device::Device;
use crate::policy::{ALIGNMENT, BlockId, Grant, OutOfMemory, Policy, Request};

/// The first region's size where regions grow.
const FIRST_REGION: u64 = 2 << 20;
/// A chunk is cut before so much of it is lost.
const MOST_LOST: u64 = 128 << 20;
const COMMON: u32 = 0;

/// How the allocator is set up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Whether the common pool takes all that it may have at its first use; else it grows. JAX does,
    /// unless `XLA_PYTHON_CLIENT_PREALLOCATE` is false.
    pub preallocate: bool,
    /// What part of the device's memory a pool may have: `XLA_PYTHON_CLIENT_MEM_FRACTION`.
    pub fraction: f64,
}

impl Settings {
    /// JAX's own: 75 % of the device, taken at once.
    pub const JAX: Self = Self { preallocate: true, fraction: 0.75 };
}

impl Default for Settings {
    /// Growth up to the whole device, which shows what a run needs: TensorFlow's `allow_growth`.
    fn default() -> Self {
        Self { preallocate: false, fraction: 1.0 }
    }
}

/// XLA's best-fit allocator.
#[derive(Debug)]
pub struct Bfc {
    settings: Settings,
    blocks: FreeBlocks,
    pools: Arrivals<PoolId, Pool>,
}

#[derive(Debug, Default)]
struct Pool {
    free: FreeSet,
    /// What the next region is to have; `None` before the first.
    next_region: Option<u64>,
    reserved: u64,
}

impl Bfc {
    /// An allocator that has nothing yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings, blocks: FreeBlocks::new(), pools: Arrivals::new() }
    }

    fn take(&mut self, size: u64, pool: u32) -> Option<u32> {
        let set = &mut self.pools.get_mut(pool).free;
        let (found, _, chunk) = set.best_fit(size)?;
        self.blocks.take_free(chunk, set);
        if found / 2 >= size || found - size >= MOST_LOST {
            self.blocks.leave(chunk, size, set);
        }
        Some(chunk)
    }

    /// What a pool may have still.
    fn available(&self, pool: u32, device: &dyn Device) -> u64 {
        let limit = (device.capacity() as f64 * self.settings.fraction) as u64;
        limit.saturating_sub(self.pools.get(pool).reserved) / ALIGNMENT * ALIGNMENT
    }

    /// Adds a region that is large enough.
    fn extend(&mut self, size: u64, pool: u32, device: &mut dyn Device) -> Option<()> {
        let available = self.available(pool, device);
        if size > available {
            return None;
        }
        let preallocate = self.settings.preallocate && pool == COMMON;
        let first = if preallocate { available } else { FIRST_REGION };
        let planned = self.pools.get(pool).next_region.unwrap_or(first);
        let mut region = planned;
        while region < size {
            region = region.saturating_mul(2);
        }
        let grown = region > planned;
        // A region that was too small is doubled once for this request, not once more for the next.
        self.pools.get_mut(pool).next_region = Some(region);
        let (address, received) = take_region(region.min(available), size, device)?;
        if !grown {
            self.pools.get_mut(pool).next_region = Some(region.saturating_mul(2));
        }
        self.add_region(address, received, pool);
        Some(())
    }

    fn add_region(&mut self, address: u64, size: u64, number: u32) {
        let list = ListId { pool: number, list: 0 };
        let region = self.blocks.add_segment(address, size, FreeTag { list, is_free: false });
        let pool = self.pools.get_mut(number);
        self.blocks.insert_free(region, list, &mut pool.free);
        pool.reserved += size;
    }

    /// Whether a pool could have so much if it gave its free regions back.
    fn could_help(&self, needed: u64, pool: u32, device: &dyn Device) -> bool {
        let idle = self.blocks.idle_segments(&self.pools.get(pool).free);
        let free: u64 = idle.into_iter().map(|region| self.blocks[region].size).sum();
        needed <= self.available(pool, device).saturating_add(free)
    }

    /// Gives the free regions of all pools back.
    fn release_idle(&mut self, device: &mut dyn Device) {
        for pool in 0..self.pools.len() {
            let pool = self.pools.get_mut(pool);
            device.looked_at(1 + pool.free.len());
            for region in self.blocks.idle_segments(&pool.free) {
                self.blocks.take_free(region, &mut pool.free);
                pool.reserved -= self.blocks[region].size;
                device.free(self.blocks.remove_segment(region));
            }
        }
    }
}

/// Takes a region, by tenths smaller as long as the device refuses.
fn take_region(mut size: u64, at_least: u64, device: &mut dyn Device) -> Option<(u64, u64)> {
    while size >= at_least {
        if let Some(address) = device.alloc(size) {
            return Some((address, size));
        }
        let less = (size / 10 * 9).next_multiple_of(ALIGNMENT);
        // Rounding up must not bring small sizes back to where they were.
        size = less.min(size.saturating_sub(ALIGNMENT));
    }
    None
}

impl Policy for Bfc {
    fn alloc(&mut self, request: Request, device: &mut dyn Device) -> Result<Grant, OutOfMemory> {
        let failed = OutOfMemory { requested: request.size };
        let size = request.size.checked_next_multiple_of(ALIGNMENT).ok_or(failed)?;
        let pool = self.pools.number(request.pool);
        let mut found = self.take(size, pool);
        if found.is_none() {
            if self.extend(size, pool, device).is_none() {
                device.looked_at(self.pools.get(pool).free.len());
                if !self.could_help(size, pool, device) {
                    return Err(failed);
                }
                self.release_idle(device);
                self.extend(size, pool, device).ok_or(failed)?;
            }
            found = self.take(size, pool);
        }
        let chunk = found.ok_or(failed)?;
        let (address, size) = (self.blocks[chunk].address, self.blocks[chunk].size);
        Ok(Grant { block: BlockId(chunk), address, size })
    }

    fn free(&mut self, block: BlockId, _: &mut dyn Device) {
        if self.blocks.is_live(block.0) {
            let list = self.blocks[block.0].tag.list;
            self.blocks.insert_free(block.0, list, &mut self.pools.get_mut(list.pool).free);
        }
    }

    fn release_cached(&mut self, device: &mut dyn Device) {
        self.release_idle(device);
    }
}

#[cfg(test)]
mod tests;
