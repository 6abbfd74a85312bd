//! PyTorch's caching allocator, with all settings that decide where memory goes.
//!
//! The rules are those of PyTorch 2.15, as its source and its traces show them; where versions differ,
//! [`TieBreak`] says which one. The order of one request: the pool; garbage collection; the driver;
//! large blocks given up where a split limit is set; all cached blocks given up; failure.

mod blocks;
mod conf;
mod expandable;
mod one_stream;
mod pool;
mod recorded;
mod release;
mod releases;
mod segment;
mod settings;
mod written;

use std::collections::BTreeMap;

use whyoom_trace::PoolId;

pub(crate) use self::settings::SMALL_LIMIT;
use self::{
    blocks::{Block, Blocks, NONE},
    pool::Pool,
    segment::ExpandableSegment,
};
pub use self::{
    conf::{AllocatorConf, ConfError, ConfOption, Merged, merge, merge_parsed},
    releases::{
        KNOWN_OPTIONS, KnownOption, NEWEST_MEASURED, OLDEST_MEASURED, READS_ALLOC_CONF, Release,
        doubtful_keys, needs_release, takes,
    },
    settings::{PyTorchSettings, TieBreak},
    written::SettingError,
};
use crate::{
    device::Device,
    policy::{BlockId, Grant, OutOfMemory, Policy, Request},
};

/// PyTorch's allocator.
#[derive(Clone, Debug)]
pub struct PyTorch {
    settings: PyTorchSettings,
    blocks: Blocks,
    pools: Vec<Pool>,
    /// Which pool serves small (true) and large requests of each private pool; 0 is the common one.
    by_id: BTreeMap<(PoolId, bool), u32>,
    segments: Vec<ExpandableSegment>,
    /// Segments made so far: new ones come behind old ones of their size.
    registrations: u32,
    reserved: u64,
}

/// A segment that exists when a replay starts, with what is allocated in it.
#[derive(Clone, Debug)]
pub struct AdoptedSegment {
    /// Where it starts.
    pub address: u64,
    /// Its length.
    pub size: u64,
    /// Its stream.
    pub stream: u64,
    /// Its pool.
    pub pool: PoolId,
    /// Whether it serves small requests.
    pub small: bool,
    /// Address and length of live blocks, in order.
    pub live: Vec<(u64, u64)>,
}

impl PyTorch {
    /// An allocator with those settings that has nothing yet.
    #[must_use]
    pub fn new(settings: PyTorchSettings) -> Self {
        let mut allocator = Self {
            settings,
            blocks: Blocks::default(),
            pools: Vec::new(),
            by_id: BTreeMap::new(),
            segments: Vec::new(),
            registrations: 0,
            reserved: 0,
        };
        // The common pools are the first two, large and small.
        allocator.add_pool(PoolId(0), false);
        allocator.add_pool(PoolId(0), true);
        allocator
    }

    /// What it has taken from the device.
    #[must_use]
    pub fn reserved(&self) -> u64 {
        self.reserved
    }

    /// Takes over a segment that exists already; the numbers of its live blocks, in order.
    pub(crate) fn adopt(&mut self, segment: &AdoptedSegment) -> Vec<BlockId> {
        let pool = self.pool_of(segment.pool, segment.small);
        self.registrations += 1;
        self.reserved = self.reserved.saturating_add(segment.size);
        let end = segment.address.saturating_add(segment.size);
        let (mut place, mut last) = (segment.address, NONE);
        let mut live = Vec::new();
        let piece = |address: u64, size: u64, allocated: bool| Block {
            address,
            size,
            allocated,
            ..self.new_block(segment.stream, pool)
        };
        let mut pieces = Vec::new();
        for &(address, size) in &segment.live {
            if address > place {
                pieces.push(piece(place, address - place, false));
            }
            pieces.push(piece(address, size, true));
            place = address.saturating_add(size);
        }
        if end > place {
            pieces.push(piece(place, end - place, false));
        }
        for piece in pieces {
            last = self.blocks.add_between(piece, last, NONE);
            if piece.allocated {
                live.push(BlockId(last));
            } else {
                self.pools[pool as usize].insert(&mut self.blocks, last);
            }
        }
        live
    }

    /// Takes exactly these bytes out of the free block that they lie in: sets the model right where a
    /// recording differs from it.
    pub(crate) fn place_at(
        &mut self,
        address: u64,
        size: u64,
        device: &mut dyn Device,
    ) -> Option<BlockId> {
        let around = |id: &u32| {
            let block = self.blocks.get(*id);
            block.address <= address && address.saturating_add(size) <= block.end()
        };
        let mut looked_at = 0;
        let found = self.pools.iter().flat_map(Pool::all).find(|id| {
            looked_at += 1;
            around(id)
        });
        device.looked_at(looked_at);
        let found = found?;
        let block = *self.blocks.get(found);
        self.pools[block.pool as usize].remove(&self.blocks, found);
        let mut id = found;
        if block.address < address {
            let before = address - block.address;
            let rest = Block { address, size: block.size - before, ..block };
            id = self.blocks.add_between(rest, found, block.next);
            self.blocks.get_mut(found).size = before;
            self.pools[block.pool as usize].insert(&mut self.blocks, found);
        }
        let rest = *self.blocks.get(id);
        if rest.size > size {
            let behind = Block { address: address + size, size: rest.size - size, ..rest };
            let behind = self.blocks.add_between(behind, id, rest.next);
            self.blocks.get_mut(id).size = size;
            self.pools[block.pool as usize].insert(&mut self.blocks, behind);
        }
        self.blocks.get_mut(id).allocated = true;
        Some(BlockId(id))
    }

    fn new_block(&self, stream: u64, pool: u32) -> Block {
        Block {
            address: 0,
            size: 0,
            stream,
            pool,
            prev: NONE,
            next: NONE,
            segment: NONE,
            allocated: false,
            mapped: true,
            registration: self.registrations,
            searches_at_free: 0,
        }
    }

    fn pool_of(&mut self, id: PoolId, small: bool) -> u32 {
        if id == PoolId(0) {
            return u32::from(small);
        }
        self.private_pool_of(id, small)
    }

    #[inline(never)]
    fn private_pool_of(&mut self, id: PoolId, small: bool) -> u32 {
        let known = self.by_id.get(&(id, small)).copied();
        known.unwrap_or_else(|| self.add_pool(id, small))
    }

    fn add_pool(&mut self, id: PoolId, small: bool) -> u32 {
        let pool = self.pools.len() as u32;
        self.pools.push(Pool::new(small, self.settings.tie_break));
        self.by_id.insert((id, small), pool);
        pool
    }

    // What nearly every allocation and free does is one function with few registers, and what few do is outside of
    // it: an eighth of the instructions less.

    /// A free block for a request, taken out of its pool.
    #[inline(always)]
    fn take_free(&mut self, pool: u32, stream: u64, needed: u64) -> Option<u32> {
        let state = &mut self.pools[pool as usize];
        state.searches += 1;
        let found = state.find(stream, needed)?;
        let found = if self.segments.is_empty() { found } else { self.least_growable(pool, found) };
        if !self.settings.may_serve(needed, found.size) {
            return None;
        }
        self.pools[pool as usize].remove_found(&found);
        Some(found.id)
    }

    /// A new segment from the driver, as one block that is in no pool.
    fn take_segment(
        &mut self,
        pool: u32,
        stream: u64,
        needed: u64,
        device: &mut dyn Device,
    ) -> Option<u32> {
        let size = self.settings.segment_size(needed);
        if self.settings.allowed.is_some_and(|allowed| self.reserved.saturating_add(size) > allowed)
        {
            return None;
        }
        if self.settings.expandable_segments {
            return self.take_expandable(pool, stream, needed, device);
        }
        let address = device.alloc(size)?;
        self.registrations += 1;
        self.reserved += size;
        let block = Block { address, size, ..self.new_block(stream, pool) };
        Some(self.blocks.add(block))
    }

    /// A block of a new segment, for which what is cached goes back if it has to.
    #[inline(never)]
    fn take_new(
        &mut self,
        pool: u32,
        stream: u64,
        needed: u64,
        device: &mut dyn Device,
    ) -> Option<u32> {
        if let Some(threshold) = self.settings.garbage_threshold() {
            self.collect_garbage(threshold, device);
        }
        let mut found = self.take_segment(pool, stream, needed, device);
        if found.is_none() && self.release_large(pool, stream, needed, device) {
            found = self.take_segment(pool, stream, needed, device);
        }
        if found.is_none() {
            self.release_cached(device);
            found = self.take_segment(pool, stream, needed, device);
        }
        found
    }

    /// Cuts a block down to what is needed, where the rest is worth keeping.
    #[inline(always)]
    fn cut(&mut self, id: u32, needed: u64) {
        let block = self.blocks.get(id);
        let pool = &self.pools[block.pool as usize];
        if self.settings.splits(pool.small, needed, block.size) {
            self.split(id, needed);
        }
    }

    /// Cuts a block in two; the rest is free.
    #[inline(never)]
    fn split(&mut self, id: u32, needed: u64) {
        let block = *self.blocks.get(id);
        let rest = Block { address: block.address + needed, size: block.size - needed, ..block };
        let rest = self.blocks.add_between(rest, id, block.next);
        self.blocks.get_mut(id).size = needed;
        self.pools[block.pool as usize].insert(&mut self.blocks, rest);
    }

    #[inline(always)]
    fn grant(&mut self, id: u32, needed: u64) -> Grant {
        self.cut(id, needed);
        let block = self.blocks.get_mut(id);
        block.allocated = true;
        Grant { block: BlockId(id), address: block.address, size: block.size }
    }

    /// Takes a live block back; its size.
    #[inline(always)]
    fn give_back(&mut self, block: BlockId) -> u64 {
        let id = block.0;
        let block = self.blocks.get_mut(id);
        block.allocated = false;
        let (pool, size) = (block.pool, block.size);
        self.join_both(id);
        self.pools[pool as usize].insert(&mut self.blocks, id);
        size
    }

    /// Joins a block with a neighbour that is free and alike.
    #[inline(always)]
    fn join(&mut self, id: u32, neighbour: u32) {
        if neighbour == NONE {
            return;
        }
        let (block, other) = (self.blocks.get(id), self.blocks.get(neighbour));
        if !other.allocated && other.mapped == block.mapped {
            self.absorb(id, neighbour);
        }
    }

    /// Grows a block over a free neighbour.
    #[inline(never)]
    fn absorb(&mut self, id: u32, neighbour: u32) {
        let other = self.blocks.get(neighbour);
        let pool = &mut self.pools[other.pool as usize];
        if other.mapped {
            pool.remove(&self.blocks, neighbour);
        } else {
            pool.remove_unmapped(&self.blocks, neighbour);
        }
        self.blocks.absorb(id, neighbour);
    }

    fn join_both(&mut self, id: u32) {
        self.join(id, self.blocks.get(id).prev);
        self.join(id, self.blocks.get(id).next);
    }
}

impl Policy for PyTorch {
    fn alloc(&mut self, request: Request, device: &mut dyn Device) -> Result<Grant, OutOfMemory> {
        let needed = self.settings.round(request.size);
        let pool = self.pool_of(request.pool, needed <= SMALL_LIMIT);
        let stream = request.stream.0;
        if let Some(found) = self.take_free(pool, stream, needed) {
            return Ok(self.grant(found, needed));
        }
        let found = self.take_new(pool, stream, needed, device);
        let found = found.ok_or(OutOfMemory { requested: request.size })?;
        Ok(self.grant(found, needed))
    }

    fn free(&mut self, block: BlockId, _: &mut dyn Device) {
        self.give_back(block);
    }

    fn release_cached(&mut self, device: &mut dyn Device) {
        device.synchronize();
        for pool in self.in_order_of_release() {
            self.release_pool(pool, device);
        }
    }

    fn retire_pool(&mut self, id: PoolId, device: &mut dyn Device) {
        for small in [true, false] {
            let pool = self.pool_of(id, small);
            self.pools[pool as usize].retired = true;
            self.release_pool(pool, device);
        }
    }
}
