//! Free blocks in lists by size, and bitmaps over the lists.

use super::size_class::{BINS, bin_of, is_bound_of};
use crate::policies::shared::{Blocks, NONE};

/// So many blocks of the bin that a size is in are looked at before a larger one is cut: a run that
/// repeats itself asks for what it just freed, and a block of its own size may be there.
const LOOKS: usize = 4;
/// Bins below one bit of the upper bitmap.
const BINS_PER_GROUP: usize = 8;
const GROUPS: usize = BINS / BINS_PER_GROUP;

/// What the allocator knows of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct BinTag {
    /// The pool that it is of.
    pub(super) pool: u32,
    /// Its bin, if it is free.
    bin: Option<u8>,
    previous_free: u32,
    next_free: u32,
}

impl BinTag {
    pub(super) fn in_no_bin(pool: u32) -> Self {
        Self { pool, bin: None, previous_free: NONE, next_free: NONE }
    }

    pub(super) fn is_free(self) -> bool {
        self.bin.is_some()
    }
}

pub(super) type BinBlocks = Blocks<BinTag>;

/// A pool's free blocks.
#[derive(Debug)]
pub(super) struct FreeBins {
    /// Groups with a bin that holds something.
    groups: u32,
    /// In each group, the bins that do.
    bins: [u8; GROUPS],
    /// Each bin's first block.
    heads: [u32; BINS],
}

impl Default for FreeBins {
    fn default() -> Self {
        Self { groups: 0, bins: [0; GROUPS], heads: [NONE; BINS] }
    }
}

impl FreeBins {
    /// A free block that is large enough.
    pub(super) fn find(&self, size: u64, blocks: &BinBlocks) -> Option<u32> {
        let bin = bin_of(size);
        let certain = if is_bound_of(size, bin) {
            bin
        } else if let Some(block) = self.look_in(bin, size, blocks) {
            return Some(block);
        } else {
            bin + 1
        };
        self.next_filled(certain).map(|bin| self.heads[bin])
    }

    /// Looks at the first few of a bin in which some may be too small. In the last bin, which is
    /// endless, all are looked at.
    fn look_in(&self, bin: usize, size: u64, blocks: &BinBlocks) -> Option<u32> {
        let looks = if bin == BINS - 1 { usize::MAX } else { LOOKS };
        let mut block = self.heads[bin];
        for _ in 0..looks {
            if block == NONE {
                return None;
            }
            if blocks[block].size >= size {
                return Some(block);
            }
            block = blocks[block].tag.next_free;
        }
        None
    }

    /// The first bin from there on that holds something.
    fn next_filled(&self, bin: usize) -> Option<usize> {
        let group = bin / BINS_PER_GROUP;
        let here = self.bins.get(group)? >> (bin % BINS_PER_GROUP) << (bin % BINS_PER_GROUP);
        if here != 0 {
            return Some(group * BINS_PER_GROUP + here.trailing_zeros() as usize);
        }
        let above = self.groups & u32::MAX.checked_shl(group as u32 + 1)?;
        let group = above.trailing_zeros() as usize;
        let bins = self.bins.get(group)?;
        Some(group * BINS_PER_GROUP + bins.trailing_zeros() as usize)
    }

    /// Puts a block that is in no bin into its own, as the first.
    pub(super) fn insert(&mut self, block: u32, blocks: &mut BinBlocks) {
        let bin = bin_of(blocks[block].size);
        let first = self.heads[bin];
        if first != NONE {
            blocks[first].tag.previous_free = block;
        }
        let tag = &mut blocks[block].tag;
        (tag.bin, tag.previous_free, tag.next_free) = (Some(bin as u8), NONE, first);
        self.heads[bin] = block;
        self.bins[bin / BINS_PER_GROUP] |= 1 << (bin % BINS_PER_GROUP);
        self.groups |= 1 << (bin / BINS_PER_GROUP);
    }

    /// As [`Self::insert`], joined with the free neighbours.
    pub(super) fn insert_joined(&mut self, mut block: u32, blocks: &mut BinBlocks) {
        let (previous, next) = (blocks[block].previous, blocks[block].next);
        if next != NONE && blocks[next].tag.is_free() {
            self.remove(next, blocks);
            blocks.join_with_next(block);
        }
        if previous != NONE && blocks[previous].tag.is_free() {
            self.remove(previous, blocks);
            blocks.join_with_next(previous);
            block = previous;
        }
        self.insert(block, blocks);
    }

    /// Takes a free block out of its bin.
    pub(super) fn remove(&mut self, block: u32, blocks: &mut BinBlocks) {
        let BinTag { bin, previous_free, next_free, .. } = blocks[block].tag;
        let Some(bin) = bin else { return };
        blocks[block].tag.bin = None;
        if next_free != NONE {
            blocks[next_free].tag.previous_free = previous_free;
        }
        if previous_free != NONE {
            blocks[previous_free].tag.next_free = next_free;
            return;
        }
        let bin = usize::from(bin);
        self.heads[bin] = next_free;
        if next_free == NONE {
            self.mark_empty(bin);
        }
    }

    fn mark_empty(&mut self, bin: usize) {
        let group = bin / BINS_PER_GROUP;
        self.bins[group] &= !(1 << (bin % BINS_PER_GROUP));
        if self.bins[group] == 0 {
            self.groups &= !(1 << group);
        }
    }

    /// The free blocks that are whole segments. This looks at every bin and every free block: at how many in all.
    pub(super) fn idle_segments(&self, blocks: &BinBlocks) -> (Vec<u32>, u64) {
        let (mut idle, mut looked_at) = (Vec::new(), self.heads.len() as u64);
        for mut block in self.heads {
            while block != NONE {
                if blocks.is_segment(block) {
                    idle.push(block);
                }
                block = blocks[block].tag.next_free;
                looked_at += 1;
            }
        }
        (idle, looked_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of those many units, in segments of their own.
    fn filled(units: &[u64]) -> (FreeBins, BinBlocks) {
        let (mut bins, mut blocks) = (FreeBins::default(), BinBlocks::new());
        for units in units {
            let block = blocks.add_segment(0, units * 256, BinTag::in_no_bin(0));
            bins.insert(block, &mut blocks);
        }
        (bins, blocks)
    }

    #[test]
    fn the_next_filled_bin_is_found_in_and_above_the_group() {
        let (mut bins, mut blocks) = filled(&[3, 6, 1000]);
        assert_eq!(bins.find(1, &blocks), Some(0));
        assert_eq!(bins.find(4 * 256, &blocks), Some(1));
        assert_eq!(bins.find(7 * 256, &blocks), Some(2));
        assert_eq!(bins.find(1001 * 256, &blocks), None);
        bins.remove(2, &mut blocks);
        assert_eq!(bins.find(7 * 256, &blocks), None);
    }

    #[test]
    fn a_bins_list_survives_removal_at_any_place() {
        for first in 0..3 {
            let (mut bins, mut blocks) = filled(&[8, 8, 8]);
            for block in [first, (first + 1) % 3, (first + 2) % 3] {
                assert!(bins.find(8 * 256, &blocks).is_some());
                bins.remove(block, &mut blocks);
            }
            assert_eq!(bins.find(8 * 256, &blocks), None);
            assert_eq!((bins.groups, bins.bins), (0, [0; GROUPS]));
        }
    }
}
