//! RMM's `pool_memory_resource`: best fit in one list of free blocks per stream.
//!
//! From its source (pool_memory_resource_impl, stream_ordered_memory_resource and
//! coalescing_free_list of rapidsai/rmm, 2026): blocks are multiples of 256 bytes and always cut; a
//! stream looks in its own list, then in each of the others, then adds the others to its own one by
//! one, and then the pool grows. A block that was freed goes to its stream's list and is joined only
//! with neighbours in that list. RMM keeps what it has; that idle segments go back when the cache is
//! emptied, and before a request fails, is the contract of [`Policy`]. Assumed: the lists of other
//! streams come in the order in which the streams first asked (RMM: by the address of an event), and
//! a block is freed on the stream that it was made for.

use whyoom_trace::{PoolId, StreamId};

use super::shared::{Arrivals, FreeBlocks, FreeSet, FreeTag, ListId};
use crate::device::Device;
use crate::policy::{ALIGNMENT, BlockId, Grant, OutOfMemory, Policy, Request};

/// How the pool is set up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// What the common pool takes at its first use. RMM's Python default is half of the device's
    /// free memory, which would hide what a run needs; here the default is nothing.
    pub initial: u64,
    /// What a pool may have at most.
    pub maximum: Option<u64>,
}

/// RMM's pool.
#[derive(Debug)]
pub struct RmmPool {
    settings: Settings,
    started: bool,
    blocks: FreeBlocks,
    pools: Arrivals<PoolId, Pool>,
}

#[derive(Debug, Default)]
struct Pool {
    /// Each stream's free blocks.
    lists: Arrivals<StreamId, FreeSet>,
    reserved: u64,
}

impl RmmPool {
    /// An empty pool. Sizes are taken as multiples of 256 bytes, which RMM asks for.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let round = |size: u64| size / ALIGNMENT * ALIGNMENT;
        let settings =
            Settings { initial: round(settings.initial), maximum: settings.maximum.map(round) };
        Self { settings, started: false, blocks: FreeBlocks::new(), pools: Arrivals::new() }
    }

    /// The initial size of the common pool, which belongs to the default stream.
    fn start(&mut self, device: &mut dyn Device) -> Option<()> {
        let initial = self.settings.initial;
        if initial > 0 && !self.started {
            self.try_to_grow(initial, initial, ListId { pool: 0, list: 0 }, device)?;
        }
        self.started = true;
        Some(())
    }

    fn take_from_others(&mut self, size: u64, own: ListId, device: &mut dyn Device) -> Option<u32> {
        let lists = self.pools.get(own.pool).lists.len();
        device.looked_at(u64::from(lists));
        let others = (0..lists).filter(|list| *list != own.list).map(|list| ListId { list, ..own });
        others.clone().find_map(|other| self.take(size, other)).or_else(|| {
            others.clone().find_map(|other| {
                device.looked_at(self.merge(other, own));
                self.take(size, own)
            })
        })
    }

    fn take(&mut self, size: u64, from: ListId) -> Option<u32> {
        let set = self.pools.get_mut(from.pool).lists.get_mut(from.list);
        let (_, _, block) = set.best_fit(size)?;
        self.blocks.take_free(block, set);
        self.blocks.leave(block, size, set);
        Some(block)
    }

    /// Adds one list to another; how many blocks it had.
    fn merge(&mut self, from: ListId, to: ListId) -> u64 {
        let lists = &mut self.pools.get_mut(from.pool).lists;
        let blocks = lists.get(from.list).by_address();
        let count = blocks.len() as u64;
        for block in blocks {
            self.blocks.take_free(block, lists.get_mut(from.list));
            self.blocks.insert_free(block, to, lists.get_mut(to.list));
        }
        count
    }

    fn grow(&mut self, size: u64, list: ListId, device: &mut dyn Device) -> Option<()> {
        if self.size_to_grow(size, list.pool).is_none() {
            self.reclaim(size, list, device);
        }
        let wanted = self.size_to_grow(size, list.pool)?;
        self.try_to_grow(wanted, size, list, device)
    }

    /// As much as the pool has; under a maximum, half of what is left below it. `None`: the maximum
    /// leaves too little.
    fn size_to_grow(&self, size: u64, pool: u32) -> Option<u64> {
        let reserved = self.pools.get(pool).reserved;
        let Some(maximum) = self.settings.maximum else { return Some(size.max(reserved)) };
        let left = maximum.saturating_sub(reserved).next_multiple_of(ALIGNMENT);
        (size <= left).then(|| size.max(left / 2))
    }

    /// Takes a segment, by halves smaller as long as the device refuses. It goes to a stream's list.
    fn try_to_grow(
        &mut self,
        mut size: u64,
        at_least: u64,
        list: ListId,
        device: &mut dyn Device,
    ) -> Option<()> {
        let address = loop {
            match device.alloc(size) {
                Some(address) => break address,
                None if size == at_least => return None,
                None => size = at_least.max(size / 2),
            }
        };
        let segment = self.blocks.add_segment(address, size, FreeTag { list, is_free: false });
        let pool = self.pools.get_mut(list.pool);
        self.blocks.insert_free(segment, list, pool.lists.get_mut(list.list));
        pool.reserved += size;
        Some(())
    }

    /// Gives idle segments of a list back until the maximum leaves room for so much.
    fn reclaim(&mut self, size: u64, list: ListId, device: &mut dyn Device) {
        let Some(maximum) = self.settings.maximum.filter(|maximum| size <= *maximum) else {
            return;
        };
        for segment in self.blocks.idle_segments(self.pools.get(list.pool).lists.get(list.list)) {
            if maximum.saturating_sub(self.pools.get(list.pool).reserved) >= size {
                return;
            }
            self.give_back(segment, device);
        }
    }

    fn give_back(&mut self, segment: u32, device: &mut dyn Device) {
        let list = self.blocks[segment].tag.list;
        let pool = self.pools.get_mut(list.pool);
        self.blocks.take_free(segment, pool.lists.get_mut(list.list));
        pool.reserved -= self.blocks[segment].size;
        device.free(self.blocks.remove_segment(segment));
    }

    /// Gives every idle segment back. A segment may be free in pieces, by several streams; the lists
    /// are merged, which is allowed since the device has finished.
    fn release_idle(&mut self, device: &mut dyn Device) {
        for pool in 0..self.pools.len() {
            let common = ListId { pool, list: 0 };
            for list in 1..self.pools.get(pool).lists.len() {
                device.looked_at(1 + self.merge(ListId { pool, list }, common));
            }
            device.looked_at(1 + self.pools.get(pool).lists.get(0).len());
            for segment in self.blocks.idle_segments(self.pools.get(pool).lists.get(0)) {
                self.give_back(segment, device);
            }
        }
    }
}

impl Policy for RmmPool {
    fn alloc(&mut self, request: Request, device: &mut dyn Device) -> Result<Grant, OutOfMemory> {
        let failed = OutOfMemory { requested: request.size };
        let size = request.size.checked_next_multiple_of(ALIGNMENT).ok_or(failed)?;
        self.start(device).ok_or(failed)?;
        let pool = self.pools.number(request.pool);
        let list = self.pools.get_mut(pool).lists.number(request.stream);
        let own = ListId { pool, list };
        let mut found = self.take(size, own).or_else(|| self.take_from_others(size, own, device));
        if found.is_none() {
            if self.grow(size, own, device).is_none() {
                self.release_idle(device);
                self.grow(size, own, device).ok_or(failed)?;
            }
            found = self.take(size, own);
        }
        let block = found.ok_or(failed)?;
        self.blocks[block].tag.list = own;
        Ok(Grant { block: BlockId(block), address: self.blocks[block].address, size })
    }

    fn free(&mut self, block: BlockId, _: &mut dyn Device) {
        if self.blocks.is_live(block.0) {
            let list = self.blocks[block.0].tag.list;
            let set = self.pools.get_mut(list.pool).lists.get_mut(list.list);
            self.blocks.insert_free(block.0, list, set);
        }
    }

    fn release_cached(&mut self, device: &mut dyn Device) {
        device.synchronize();
        self.release_idle(device);
    }
}

#[cfg(test)]
mod tests;
