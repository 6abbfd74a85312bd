//! PyTorch's expandable segments for one stream and one pool, in steps that somebody else drives: who
//! brings the pages, and takes idle ones away. The policy `stitch` is built of these.

use std::ops::Range;

use super::{
    PyTorch,
    blocks::{Block, NONE},
    segment::ExpandableSegment,
};
use crate::{
    device::{Device, Handle, PAGE},
    policy::{BlockId, Grant},
};

/// The only stream.
const STREAM: u64 = 0;
/// Small requests come from the same pool as large ones: they fill what is left of pages that others
/// use, and pages that lie idle among large blocks need not be moved for them.
const POOL: u32 = 0;

/// Where a request can be put, and what that takes.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// The first block of a run of free and bare ones.
    first: u32,
    needed: u64,
    /// Pages that have to be mapped.
    pub(crate) pages: u64,
    /// The addresses of the whole run: idle pages in it are about to be used.
    run: Range<u64>,
}

impl PyTorch {
    /// A block for a request from what is free.
    #[inline]
    pub(crate) fn take_idle(&mut self, size: u64) -> Option<Grant> {
        let needed = self.settings.round(size);
        let found = self.take_free(POOL, STREAM, needed)?;
        if self.breaks_page_unless_last(found, needed) {
            return Some(self.grant_last(found, needed));
        }
        Some(self.grant(found, needed))
    }

    /// Whether a small request at the beginning of a free block would break into a whole page that
    /// could be moved, where at the end it would not.
    #[inline]
    fn breaks_page_unless_last(&self, id: u32, needed: u64) -> bool {
        let block = self.blocks.get(id);
        if needed >= PAGE || block.size < PAGE + needed {
            return false;
        }
        let before_pages = block.address.next_multiple_of(PAGE) - block.address;
        let behind_pages = block.end() % PAGE;
        before_pages < needed && needed <= behind_pages
    }

    /// The last bytes of a free block that is larger and in no pool.
    fn grant_last(&mut self, id: u32, needed: u64) -> Grant {
        let block = *self.blocks.get(id);
        let address = block.end() - needed;
        let last = Block { address, size: needed, allocated: true, ..block };
        let last = self.blocks.add_between(last, id, block.next);
        self.blocks.get_mut(id).size -= needed;
        self.pools[POOL as usize].insert(&mut self.blocks, id);
        Grant { block: BlockId(last), address, size: needed }
    }

    /// Takes a live block back; its size.
    #[inline]
    pub(crate) fn put_idle(&mut self, block: BlockId) -> u64 {
        self.give_back(block)
    }

    /// Where a request that nothing free can serve would go; none where it is more than there are
    /// addresses for.
    pub(crate) fn site_for(&mut self, size: u64, device: &mut dyn Device) -> Option<Site> {
        let needed = self.settings.round(size);
        let first = self.place_for(POOL, STREAM, needed, device)?;
        let pages = self.bare_pages(first, needed);
        let (run, blocks) = self.run_of(first);
        device.looked_at(blocks);
        Some(Site { first, needed, pages, run })
    }

    /// Pages that are missing behind so many bytes from this block on.
    fn bare_pages(&self, first: u32, needed: u64) -> u64 {
        let (mut id, mut covered, mut pages) = (first, 0, 0);
        while covered < needed && id != NONE {
            let block = self.blocks.get(id);
            if !block.mapped {
                let page = self.segments[block.segment as usize].page;
                pages += block.size.min(needed - covered).div_ceil(page);
            }
            covered += block.size;
            id = block.next;
        }
        pages
    }

    /// The addresses of the free and bare blocks side by side with this one, and how many they are.
    fn run_of(&self, first: u32) -> (Range<u64>, u64) {
        let block = self.blocks.get(first);
        let (mut run, mut blocks) = (block.address..block.end(), 1);
        let mut id = block.prev;
        while id != NONE && !self.blocks.get(id).allocated {
            run.start = self.blocks.get(id).address;
            id = self.blocks.get(id).prev;
            blocks += 1;
        }
        id = block.next;
        while id != NONE && !self.blocks.get(id).allocated {
            run.end = self.blocks.get(id).end();
            id = self.blocks.get(id).next;
            blocks += 1;
        }
        (run, blocks)
    }

    /// Maps pages where the request goes; as many as the site says.
    pub(crate) fn settle(
        &mut self,
        site: &Site,
        mut handles: Vec<Handle>,
        device: &mut dyn Device,
    ) -> Option<Grant> {
        let mut source = |_: &mut Self, count: u64, _, _: &mut dyn Device| {
            let rest = handles.len().checked_sub(count as usize)?;
            Some(handles.split_off(rest))
        };
        let found = self.fill(site.first, site.needed, &mut source, device)?;
        Some(self.grant(found, site.needed))
    }

    /// Unmaps idle pages, at most so many, but none in the run of a site.
    pub(crate) fn unmap_idle(
        &mut self,
        most: u64,
        spared: Option<&Site>,
        device: &mut dyn Device,
    ) -> Vec<Handle> {
        let spared = spared.map_or(0..0, |site| site.run.clone());
        let mut handles = Vec::new();
        while (handles.len() as u64) < most {
            let missing = most - handles.len() as u64;
            let mut looked_at = 0;
            let found = self.victim(&spared, missing, &mut looked_at);
            device.looked_at(looked_at);
            let Some(victim) = found else { break };
            handles.extend(self.unmap_pages(victim, missing, device));
        }
        handles
    }

    /// The smallest free block with enough idle pages; the one with the most where none has. Among equals, the
    /// first in order of size.
    fn victim(&self, spared: &Range<u64>, wanted: u64, looked_at: &mut u64) -> Option<u32> {
        let enough = self.smallest_with(spared, wanted, looked_at);
        enough.or_else(|| {
            let most = self.most_idle_pages(spared, looked_at);
            // Enough of these are there: the first has exactly as many.
            self.smallest_with(spared, most.filter(|most| *most > 0)?, looked_at)
        })
    }

    /// The free block with the fewest idle pages that are enough.
    fn smallest_with(&self, spared: &Range<u64>, wanted: u64, looked_at: &mut u64) -> Option<u32> {
        let mut best: Option<(u64, u32)> = None;
        for (size, id) in self.pools[POOL as usize].from(STREAM, wanted.checked_mul(PAGE)?) {
            *looked_at += 1;
            // A block of the size of so many pages has that many whole ones, or one less.
            if best.is_some_and(|(fewest, _)| size / PAGE > fewest) {
                break;
            }
            let pages = self.idle_pages_beside(spared, id);
            if pages >= wanted && best.is_none_or(|(fewest, _)| pages < fewest) {
                best = Some((pages, id));
            }
        }
        best.map(|(_, id)| id)
    }

    /// The most idle pages that a free block has.
    fn most_idle_pages(&self, spared: &Range<u64>, looked_at: &mut u64) -> Option<u64> {
        let mut most = None;
        for (size, id) in self.pools[POOL as usize].downwards(STREAM) {
            *looked_at += 1;
            // Smaller ones have no more.
            if most.is_some_and(|most| size / PAGE <= most) || size < PAGE {
                break;
            }
            most = most.max(Some(self.idle_pages_beside(spared, id)));
        }
        most
    }

    fn idle_pages_beside(&self, spared: &Range<u64>, id: u32) -> u64 {
        if spared.contains(&self.blocks.get(id).address) { 0 } else { self.idle_pages(id) }
    }

    /// Bytes with memory behind them.
    pub(crate) fn mapped(&self) -> u64 {
        self.segments.iter().map(ExpandableSegment::mapped).sum()
    }

    /// Every block with memory behind it: address, size, and whether it is allocated.
    pub(crate) fn mapped_blocks(&self) -> impl Iterator<Item = (u64, u64, bool)> {
        let mapped = self.blocks.all().filter(|block| block.mapped);
        mapped.map(|block: &Block| (block.address, block.size, block.allocated))
    }
}
