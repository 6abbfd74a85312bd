//! Ours, first version: PyTorch's expandable segments with pages of 2 MiB, whose idle pages are
//! stitched together where they are needed.
//!
//! Blocks are placed as PyTorch's expandable segments place them: the smallest free block that fits,
//! else at the lowest place where free and bare addresses together are enough. Blocks share pages.
//! The difference is where pages come from: once as much is taken as was ever live, and a little
//! more, pages that lie idle in free blocks are unmapped there and mapped here, and only what is
//! missing is asked of the device. What is taken stays near what is live, and in the steady state of
//! a loop blocks fit again where they were, so that nothing has to be mapped.

use whyoom_trace::PoolId;

use super::pytorch::{PyTorch, PyTorchSettings};
use crate::{
    device::{Device, PAGE},
    policy::{BlockId, Grant, OutOfMemory, Policy, Request},
};

/// Below this share above what was ever live, new pages are cheaper than moving idle ones.
const SLACK: f64 = 0.015;

/// The allocator.
#[derive(Clone, Debug)]
pub struct Stitch(PyTorch);

impl Stitch {
    /// An allocator on a device of that size that has nothing yet.
    #[must_use]
    pub fn new(device_total: u64) -> Self {
        Self(PyTorch::new(PyTorchSettings {
            expandable_segments: true,
            large_segment_size: PAGE,
            stitching: Some(SLACK),
            device_total,
            ..PyTorchSettings::default()
        }))
    }
}

impl Policy for Stitch {
    fn alloc(&mut self, request: Request, device: &mut dyn Device) -> Result<Grant, OutOfMemory> {
        self.0.alloc(request, device)
    }

    fn free(&mut self, block: BlockId, device: &mut dyn Device) {
        self.0.free(block, device);
    }

    fn release_cached(&mut self, device: &mut dyn Device) {
        self.0.release_cached(device);
    }

    fn retire_pool(&mut self, pool: PoolId, device: &mut dyn Device) {
        self.0.retire_pool(pool, device);
    }
}
