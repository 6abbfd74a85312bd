//! What the pool tells of itself.

use std::sync::atomic::Ordering::Relaxed;

use whyoom_allocators::PAGE;

use crate::{device::DevicePool, tally::Tally};

/// What the pool of one device holds and did; `whyoom_pool_statistics` of the header.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
#[allow(missing_docs, reason = "the header documents each field")]
pub struct Statistics {
    pub size: u32,
    pub device: u32,
    pub allocated: u64,
    pub peak_allocated: u64,
    pub requested: u64,
    pub reserved: u64,
    pub peak_reserved: u64,
    pub blocks: u64,
    pub peak_blocks: u64,
    pub allocations: u64,
    pub frees: u64,
    pub pending: u64,
    pub spare: u64,
    pub failures: u64,
    pub retries: u64,
    pub driver_calls: u64,
    pub creates: u64,
    pub releases: u64,
    pub maps: u64,
    pub unmaps: u64,
    pub access: u64,
    pub reserves: u64,
    pub events: u64,
    pub waits: u64,
    pub damaged: u64,
    pub cap: u64,
    pub device_total: u64,
    pub class_allocated: [u64; 2],
    pub class_blocks: [u64; 2],
    pub class_allocations: [u64; 2],
    pub class_frees: [u64; 2],
    pub class_allocated_bytes: [u64; 2],
    pub class_freed_bytes: [u64; 2],
    pub class_reserved: [u64; 2],
}

/// A block of the pool; `whyoom_pool_block` of the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs, reason = "the header documents each field")]
pub struct BlockInfo {
    pub address: u64,
    pub size: u64,
    pub requested: u64,
    pub stream: u64,
    pub pool: u64,
    pub state: u32,
    pub small: u32,
}

/// States of a block.
const FREE: u32 = 0;
const LIVE: u32 = 1;
const WAITING: u32 = 2;

impl Statistics {
    fn add(&mut self, tally: &Tally) {
        self.requested += tally.requested;
        self.pending += tally.waiting;
        self.peak_blocks += tally.peak_blocks;
        for (index, class) in tally.classes.iter().enumerate() {
            self.blocks += class.blocks;
            self.allocations += class.allocations;
            self.frees += class.frees;
            self.class_allocated[index] += class.bytes;
            self.class_blocks[index] += class.blocks;
            self.class_allocations[index] += class.allocations;
            self.class_frees[index] += class.frees;
            self.class_allocated_bytes[index] += class.allocated_bytes;
            self.class_freed_bytes[index] += class.freed_bytes;
        }
    }
}

impl DevicePool {
    /// What it holds and did. Each figure is true; between two of them others may have gone on.
    pub fn statistics(&self) -> Statistics {
        let calls = &self.driver.calls;
        let mut statistics = Statistics {
            size: size_of::<Statistics>() as u32,
            device: self.index,
            reserved: self.budget.reserved(),
            peak_reserved: self.budget.peak_reserved(),
            failures: self.failures.load(Relaxed),
            retries: self.retries.load(Relaxed),
            driver_calls: calls.sum(),
            creates: calls.creates.load(Relaxed),
            releases: calls.releases.load(Relaxed),
            maps: calls.maps.load(Relaxed),
            unmaps: calls.unmaps.load(Relaxed),
            access: calls.access.load(Relaxed),
            reserves: calls.reserves.load(Relaxed),
            events: calls.events.load(Relaxed),
            damaged: self.debug.as_ref().map_or(0, |debug| debug.damaged.load(Relaxed)),
            cap: self.cap().unwrap_or(0),
            device_total: self.total(),
            ..Statistics::default()
        };
        {
            let growth = self.growth.lock();
            statistics.waits = growth.pages.borrow().waits;
            statistics.spare = growth.spare.len() as u64 * PAGE;
        }
        for lane in self.lanes.all() {
            let mut state = lane.state.lock();
            self.settle_all(&mut state);
            statistics.add(&state.tally);
            // Small and large requests share pages: all count as the large ones'.
            statistics.class_reserved[1] += state.policy.mapped();
        }
        // Whoever waits has given back: it is the program's no more.
        statistics.allocated = statistics.class_allocated.iter().sum();
        statistics.peak_allocated = self.budget.peak_live().max(statistics.allocated);
        statistics
    }

    /// Bytes that are reserved and in no live block.
    pub fn idle(&self) -> u64 {
        self.budget.reserved().saturating_sub(self.budget.live())
    }

    /// Peaks start at what is now.
    pub fn reset_peaks(&self) {
        for lane in self.lanes.all() {
            let mut state = lane.state.lock();
            self.settle_all(&mut state);
            state.tally.reset_peaks();
        }
        self.budget.reset_peaks();
    }

    /// Counts of allocations and frees start at nothing.
    pub fn reset_totals(&self) {
        for lane in self.lanes.all() {
            lane.state.lock().tally.reset_totals();
        }
    }

    /// All blocks with memory behind them, in order of address.
    pub fn blocks(&self) -> Vec<BlockInfo> {
        let mut blocks = Vec::new();
        for lane in self.lanes.all() {
            let state = lane.state.lock();
            let waiting =
                |address| state.waiting().iter().find(|waiting| waiting.address == address);
            for block in state.policy.blocks() {
                let (requested, kind) = match (block.allocated, state.block_at(block.address)) {
                    (true, Some(held)) => (held.requested, LIVE),
                    (true, None) => {
                        (waiting(block.address).map_or(0, |w| w.held.requested), WAITING)
                    }
                    (false, _) => (0, FREE),
                };
                blocks.push(BlockInfo {
                    address: block.address,
                    size: block.size,
                    requested,
                    stream: crate::record::shown(state.key.stream),
                    pool: state.key.pool,
                    state: kind,
                    small: u32::from(block.small),
                });
            }
        }
        blocks.sort_unstable_by_key(|block| block.address);
        blocks
    }
}
