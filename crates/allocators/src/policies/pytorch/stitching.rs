//! Ours: before the device is asked for more pages, those that lie idle in free blocks are taken
//! from there and mapped where they are needed.

use super::{PyTorch, blocks::NONE};
use crate::device::{Device, Handle};

/// A run has settled once it has made so many times the requests that led to its peak.
const SETTLED: u64 = 2;

/// It then gets pages to keep up to this share above what was ever live,
const KEPT_OF_LIVE: f64 = 0.09;
/// and at least so many bytes above what it had reserved when it settled: several streams cannot
/// share their pages, and a small run needs a few.
const KEPT: u64 = 48 << 20;

impl PyTorch {
    /// Pages to put behind a bare block: spare ones, idle ones where that is wanted, then new ones.
    pub(super) fn pages(
        &mut self,
        count: u64,
        page: u64,
        bare: u32,
        device: &mut dyn Device,
    ) -> Option<Vec<Handle>> {
        let Some(slack) = self.settings.stitching else {
            return self.create(count, page, device);
        };
        let spared = self.spare.len() - (self.spare.len() as u64).min(count) as usize;
        let mut handles = self.spare.split_off(spared);
        let allowance = (self.peak_live as f64 * (1.0 + slack)) as u64;
        let missing = count - handles.len() as u64;
        let bytes = missing * page;
        if self.reserved + bytes > allowance && !self.may_keep(bytes) {
            handles.extend(self.harvest(missing, bare, device));
        }
        let missing = count - handles.len() as u64;
        let Some(new) = self.create(missing, page, device) else {
            self.spare.extend(handles);
            return None;
        };
        handles.extend(new);
        Some(handles)
    }

    /// Whether the run goes in circles: it has gone on for as long again without a new peak. What has
    /// to be stitched then would have to be stitched in every round, so it gets pages to keep.
    fn may_keep(&mut self, more: u64) -> bool {
        if self.requests <= SETTLED * self.peak_at {
            self.reserved_when_settled = 0;
            return false;
        }
        if self.reserved_when_settled == 0 {
            self.reserved_when_settled = self.reserved;
        }
        let of_live = (self.peak_live as f64 * (1.0 + KEPT_OF_LIVE)) as u64;
        self.reserved + more <= of_live.max(self.reserved_when_settled + KEPT)
    }

    /// Idle pages of the same stream's free blocks, but not of those beside the bare block: they are
    /// about to be part of the same block.
    fn harvest(&mut self, wanted: u64, bare: u32, device: &mut dyn Device) -> Vec<Handle> {
        let block = *self.blocks.get(bare);
        let mut handles = Vec::new();
        while (handles.len() as u64) < wanted {
            let missing = wanted - handles.len() as u64;
            let Some(victim) = self.victim(block.stream, bare, missing) else { break };
            handles.extend(self.unmap_pages(victim, missing, device));
        }
        handles
    }

    /// The smallest free block with enough idle pages; the one with the most where none has.
    fn victim(&self, stream: u64, bare: u32, wanted: u64) -> Option<u32> {
        let beside = self.run_around(bare);
        let mut best: Option<(bool, u64, u32)> = None;
        for id in self.pools.iter().flat_map(|pool| pool.of_stream(stream)) {
            let pages = self.idle_pages(id);
            if pages == 0 || beside.contains(&id) {
                continue;
            }
            let enough = pages >= wanted;
            let better =
                best.is_none_or(|(best_enough, best_pages, _)| match (enough, best_enough) {
                    (true, true) => pages < best_pages,
                    (false, false) => pages > best_pages,
                    (enough, _) => enough,
                });
            if better {
                best = Some((enough, pages, id));
            }
        }
        best.map(|(_, _, id)| id)
    }

    /// Free and bare blocks side by side with this one.
    fn run_around(&self, bare: u32) -> Vec<u32> {
        let mut run = Vec::new();
        let mut id = self.blocks.get(bare).prev;
        while id != NONE && !self.blocks.get(id).allocated {
            run.push(id);
            id = self.blocks.get(id).prev;
        }
        id = self.blocks.get(bare).next;
        while id != NONE && !self.blocks.get(id).allocated {
            run.push(id);
            id = self.blocks.get(id).next;
        }
        run
    }

    /// Gives spare pages back to the device.
    pub(super) fn release_spare(&mut self, device: &mut dyn Device) {
        for handle in std::mem::take(&mut self.spare) {
            self.reserved -= crate::device::PAGE;
            device.release(handle);
        }
    }
}
