//! How cached memory goes back to the device.

use whyoom_trace::PoolId;

use super::{PyTorch, blocks::NONE};
use crate::device::Device;

impl PyTorch {
    /// The common pools, large before small; then private ones that nobody uses, small before large.
    pub(super) fn in_order_of_release(&self) -> Vec<u32> {
        let common = [false, true].map(|small| self.by_id.get(&(PoolId(0), small)).copied());
        let retired = |pool: &&u32| self.pools[**pool as usize].retired;
        let mut private: Vec<(PoolId, bool, u32)> = self
            .by_id
            .iter()
            .filter(|((id, _), _)| *id != PoolId(0))
            .filter(|(_, pool)| retired(pool))
            .map(|((id, small), pool)| (*id, !small, *pool))
            .collect();
        private.sort_unstable();
        common.into_iter().flatten().chain(private.into_iter().map(|(_, _, pool)| pool)).collect()
    }

    /// Gives back all segments of a pool that nothing lives in, and whole pages of growing ones.
    pub(super) fn release_pool(&mut self, pool: u32, device: &mut dyn Device) {
        let state = &self.pools[pool as usize];
        let free: Vec<u32> = state.all().collect();
        device.looked_at((free.len() + state.streams() + 1) as u64);
        let (growing, whole): (Vec<u32>, Vec<u32>) =
            free.into_iter().partition(|id| self.blocks.get(*id).segment != NONE);
        for id in whole {
            if !self.blocks.get(id).is_split() {
                self.release_block(id, device);
            }
        }
        for id in growing {
            self.release_pages(id, device);
        }
    }

    /// Gives a segment back that is one free block.
    fn release_block(&mut self, id: u32, device: &mut dyn Device) {
        let block = *self.blocks.get(id);
        self.pools[block.pool as usize].remove(&self.blocks, id);
        self.blocks.remove(id);
        self.reserved -= block.size;
        device.free(block.address);
    }

    /// Where a split limit is set: gives up one block beyond it that is large enough, or several,
    /// the largest first. True where that much was given up.
    pub(super) fn release_large(
        &mut self,
        pool: u32,
        stream: u64,
        needed: u64,
        device: &mut dyn Device,
    ) -> bool {
        let Some(limit) = self.settings.max_split_size else { return false };
        let wanted = needed.max(limit);
        let state = &self.pools[pool as usize];
        let covering = state.at_least(stream, wanted);
        if let Some(id) = covering.filter(|id| self.blocks.get(*id).segment == NONE) {
            self.release_block(id, device);
            return true;
        }
        let mut released = 0;
        let below = state.below(stream, wanted);
        device.looked_at(below.len() as u64);
        for id in below {
            let block = *self.blocks.get(id);
            if released >= wanted || block.size < limit {
                break;
            }
            if block.segment == NONE {
                released += block.size;
                self.release_block(id, device);
            }
        }
        released >= wanted
    }

    /// Under a memory fraction: once more than a share of it is reserved, gives up large segments
    /// that have been free for at least the average time, until the share is reached.
    pub(super) fn collect_garbage(&mut self, threshold: u64, device: &mut dyn Device) {
        if self.reserved <= threshold {
            return;
        }
        let target = self.reserved - threshold;
        let Some(&pool) = self.by_id.get(&(PoolId(0), false)) else { return };
        let mut reclaimed = 0;
        let mut candidates = self.garbage(pool);
        device.looked_at(candidates.len() as u64);
        let mut freed = true;
        while reclaimed < target && freed && !candidates.is_empty() {
            let total: u64 = candidates.iter().map(|(_, age)| age).sum();
            let average = total as f64 / candidates.len() as f64;
            let old = |(id, age): &(u32, u64)| {
                *age as f64 >= average && self.blocks.get(*id).segment == NONE
            };
            let (gone, kept): (Vec<_>, Vec<_>) = candidates.into_iter().partition(old);
            freed = !gone.is_empty();
            for (id, _) in gone {
                reclaimed += self.blocks.get(id).size;
                self.release_block(id, device);
            }
            candidates = kept;
        }
    }

    /// Segments of a pool that are one free block, with their ages.
    fn garbage(&self, pool: u32) -> Vec<(u32, u64)> {
        let state = &self.pools[pool as usize];
        let unsplit = state.all().filter(|id| !self.blocks.get(*id).is_split());
        let age = |id: u32| (id, state.searches - self.blocks.get(id).searches_at_free);
        unsplit.map(age).collect()
    }
}
