//! CUDA's stream-ordered pool (`cudaMallocAsync`), which PyTorch's `backend:cudaMallocAsync` uses.
//!
//! Documented: a stream uses its own freed blocks again at once, and another's once the free is
//! finished or by waiting for it; memory above the release threshold goes back at a synchronize.
//! Assumed, as in the simulated driver: chunks of 32 MiB, units of 512 bytes, best fit, and that
//! idle chunks go back before a request fails.

use whyoom_trace::{PoolId, StreamId};

use super::shared::{Arrivals, FreeBlocks, FreeSet, FreeTag, ListId};
use crate::device::Device;
use crate::policy::{BlockId, Grant, OutOfMemory, Policy, Request};

/// What the pool takes from the device at least.
const CHUNK: u64 = 32 << 20;
/// What every block is a multiple of.
const UNIT: u64 = 512;
/// The list of blocks that any stream may use.
const ANYONE: u32 = 0;

/// How the pool is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `cudaMemPoolAttrReleaseThreshold`: what the pool keeps. PyTorch sets the maximum: nothing
    /// goes back until the cache is emptied. CUDA's own is 0. A replay knows of no synchronize;
    /// it is taken to follow each free that leaves a chunk idle, the most that CUDA gives back.
    pub release_threshold: u64,
    /// Whether a stream may use what another freed. In a replay the work on a freed block is
    /// finished, so that any of the three `cudaMemPoolReuse…` attributes allows it; CUDA has all
    /// on. `false`: all off.
    pub across_streams: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { release_threshold: u64::MAX, across_streams: true }
    }
}

/// CUDA's stream-ordered pool.
#[derive(Debug)]
pub struct StreamOrdered {
    settings: Settings,
    blocks: FreeBlocks,
    pools: Arrivals<PoolId, Pool>,
}

#[derive(Debug, Default)]
struct Pool {
    /// Free blocks: of anyone, then of each stream by its number and one.
    lists: Vec<FreeSet>,
    streams: Arrivals<StreamId, ()>,
    reserved: u64,
}

impl Pool {
    fn list(&mut self, list: u32) -> &mut FreeSet {
        let wanted = list as usize + 1;
        if self.lists.len() < wanted {
            self.lists.resize_with(wanted, FreeSet::default);
        }
        &mut self.lists[list as usize]
    }

    /// The best fit among what anyone may use and what the stream freed itself.
    fn best_fit(&mut self, size: u64, own: u32) -> Option<u32> {
        let anyones = self.list(ANYONE).best_fit(size);
        let owns = self.list(own).best_fit(size);
        let found = anyones.into_iter().chain(owns).min();
        found.map(|(_, _, block)| block)
    }
}

impl StreamOrdered {
    /// An empty pool.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings, blocks: FreeBlocks::new(), pools: Arrivals::new() }
    }

    /// The list that a stream's blocks go to once they are freed.
    fn list_of(&mut self, pool: u32, stream: StreamId) -> ListId {
        let list = if self.settings.across_streams {
            ANYONE
        } else {
            self.pools.get_mut(pool).streams.number(stream) + 1
        };
        ListId { pool, list }
    }

    fn take(&mut self, size: u64, to: ListId) -> Option<Grant> {
        let pool = self.pools.get_mut(to.pool);
        let block = pool.best_fit(size, to.list)?;
        let from = pool.list(self.blocks[block].tag.list.list);
        self.blocks.take_free(block, from);
        self.blocks.leave(block, size, from);
        self.blocks[block].tag.list = to;
        Some(Grant { block: BlockId(block), address: self.blocks[block].address, size })
    }

    /// Takes a chunk from the device. It is anyone's.
    fn grow(&mut self, pool: u32, size: u64, device: &mut dyn Device) -> Option<()> {
        let size = size.checked_next_multiple_of(CHUNK)?;
        let address = device.alloc(size)?;
        let list = ListId { pool, list: ANYONE };
        let chunk = self.blocks.add_segment(address, size, FreeTag { list, is_free: false });
        let pool = self.pools.get_mut(pool);
        self.blocks.insert_free(chunk, list, pool.list(ANYONE));
        pool.reserved += size;
        Some(())
    }

    /// Gives idle chunks back, the highest first, as long as at least `keep` is left.
    fn trim(&mut self, number: u32, keep: u64, device: &mut dyn Device) {
        let pool = self.pools.get_mut(number);
        device.looked_at(1 + pool.lists.iter().map(|list| 1 + list.len()).sum::<u64>());
        let mut idle: Vec<u32> =
            pool.lists.iter().flat_map(|list| self.blocks.idle_segments(list)).collect();
        idle.sort_unstable_by_key(|chunk| std::cmp::Reverse(self.blocks[*chunk].address));
        for chunk in idle {
            let size = self.blocks[chunk].size;
            if pool.reserved - size < keep {
                continue;
            }
            let list = self.blocks[chunk].tag.list.list;
            self.blocks.take_free(chunk, pool.list(list));
            pool.reserved -= size;
            device.free(self.blocks.remove_segment(chunk));
        }
    }

    /// Everything is finished: what streams freed is anyone's.
    fn settle(&mut self, number: u32) {
        let pool = self.pools.get_mut(number);
        for list in ANYONE + 1..pool.lists.len() as u32 {
            for block in pool.list(list).by_address() {
                self.blocks.take_free(block, pool.list(list));
                let anyones = ListId { pool: number, list: ANYONE };
                self.blocks.insert_free(block, anyones, pool.list(ANYONE));
            }
        }
    }

    fn release_idle(&mut self, device: &mut dyn Device) {
        for pool in 0..self.pools.len() {
            self.settle(pool);
            self.trim(pool, 0, device);
        }
    }
}

impl Policy for StreamOrdered {
    fn alloc(&mut self, request: Request, device: &mut dyn Device) -> Result<Grant, OutOfMemory> {
        let failed = OutOfMemory { requested: request.size };
        let size = request.size.checked_next_multiple_of(UNIT).ok_or(failed)?;
        let pool = self.pools.number(request.pool);
        let list = self.list_of(pool, request.stream);
        if let Some(grant) = self.take(size, list) {
            return Ok(grant);
        }
        if self.grow(pool, size, device).is_none() {
            self.release_idle(device);
            // What was settled may fit by now; if it does not, the device may have enough.
            if let Some(grant) = self.take(size, list) {
                return Ok(grant);
            }
            self.grow(pool, size, device).ok_or(failed)?;
        }
        self.take(size, list).ok_or(failed)
    }

    fn free(&mut self, block: BlockId, device: &mut dyn Device) {
        if !self.blocks.is_live(block.0) {
            return;
        }
        let list = self.blocks[block.0].tag.list;
        let pool = self.pools.get_mut(list.pool);
        let joined = self.blocks.insert_free(block.0, list, pool.list(list.list));
        let above = pool.reserved > self.settings.release_threshold;
        if above && self.blocks.is_segment(joined) {
            self.trim(list.pool, self.settings.release_threshold, device);
        }
    }

    /// PyTorch synchronizes and trims the pool to nothing.
    fn release_cached(&mut self, device: &mut dyn Device) {
        device.synchronize();
        self.release_idle(device);
    }
}

#[cfg(test)]
mod tests;
