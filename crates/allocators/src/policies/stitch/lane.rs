//! The blocks of one stream in one pool.

use super::growth::Growth;
use crate::{
    device::{Device, Handle, PAGE},
    policies::pytorch::{PyTorch, PyTorchSettings, SMALL_LIMIT},
    policy::{BlockId, Grant},
};

/// One stream's blocks in one pool, for small and large requests.
///
/// [`Lane::take`] and [`Lane::free`] are arithmetic and ask nobody. Where nothing free fits,
/// [`Lane::grow`] maps pages.
#[derive(Clone, Debug)]
pub struct Lane {
    blocks: PyTorch,
    private: bool,
}

/// A piece of a lane's addresses that has memory behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneBlock {
    /// Where it starts.
    pub address: u64,
    /// Its length.
    pub size: u64,
    /// Whether it is given to somebody.
    pub allocated: bool,
    /// Whether PyTorch would count it among its small ones.
    pub small: bool,
}

impl Lane {
    /// A lane of the common pool: its idle pages can be moved.
    #[must_use]
    pub fn new(device_total: u64) -> Self {
        let settings = PyTorchSettings {
            expandable_segments: true,
            large_segment_size: PAGE,
            device_total,
            ..PyTorchSettings::default()
        };
        Self { blocks: PyTorch::new(settings), private: false }
    }

    /// A lane of a private pool: its pages stay where they are as long as the pool is used, since a
    /// captured graph goes on using its addresses, free or not. They may come from other lanes.
    #[must_use]
    pub fn private(device_total: u64) -> Self {
        Self { private: true, ..Self::new(device_total) }
    }

    /// A block from what is free.
    #[inline]
    pub fn take(&mut self, size: u64) -> Option<Grant> {
        self.blocks.take_idle(size)
    }

    /// Takes a live block back; its size.
    #[inline]
    pub fn free(&mut self, block: BlockId) -> u64 {
        self.blocks.put_idle(block)
    }

    /// A block at a new place, for a request that nothing free can serve: pages are put behind the
    /// lowest addresses that are enough. Where there are too few pages, nothing is mapped, and those
    /// that were found are among `growth`'s spare ones.
    pub fn grow(&mut self, size: u64, growth: &mut Growth<'_>) -> Option<Grant> {
        let site = self.blocks.site_for(size, growth)?;
        let (blocks, private) = (&mut self.blocks, self.private);
        let mut own = |most: u64, device: &mut dyn Device| match private {
            true => Vec::new(),
            false => blocks.unmap_idle(most, Some(&site), device),
        };
        let handles = growth.pages(site.pages, &mut own)?;
        self.blocks.settle(&site, handles, growth)
    }

    /// Unmaps idle pages, at most so many, those first whose loss is felt least; none of a private
    /// pool that is used. They are the caller's.
    pub fn give_idle(&mut self, most: u64, device: &mut dyn Device) -> Vec<Handle> {
        if self.private { Vec::new() } else { self.blocks.unmap_idle(most, None, device) }
    }

    /// The private pool has lost its last user: the lane becomes like one of the common pool.
    pub fn retire(&mut self) {
        self.private = false;
    }

    /// A lane without memory serves a private pool from now on.
    pub fn devote(&mut self) {
        self.private = true;
    }

    /// Its blocks with memory behind them, free and live, in any order.
    pub fn blocks(&self) -> impl Iterator<Item = LaneBlock> {
        let blocks = self.blocks.mapped_blocks();
        blocks.map(|(address, size, allocated)| {
            let small = allocated && size <= SMALL_LIMIT;
            LaneBlock { address, size, allocated, small }
        })
    }

    /// Bytes with memory behind them.
    #[must_use]
    pub fn mapped(&self) -> u64 {
        self.blocks.mapped()
    }
}
