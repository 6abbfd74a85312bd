//! Free blocks in order of size and address, for policies that look for the best fit.

use std::collections::BTreeSet;

use super::{Blocks, NONE};

/// Free blocks; of those of one size the lowest address comes first.
#[derive(Debug, Default)]
pub(crate) struct FreeSet(BTreeSet<(u64, u64, u32)>);

impl FreeSet {
    /// The smallest block that is large enough, as size, address and number.
    pub(crate) fn best_fit(&self, size: u64) -> Option<(u64, u64, u32)> {
        self.0.range((size, 0, 0)..).next().copied()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// The blocks in order of address.
    pub(crate) fn by_address(&self) -> Vec<u32> {
        let mut blocks: Vec<_> =
            self.0.iter().map(|(_, address, block)| (*address, *block)).collect();
        blocks.sort_unstable();
        blocks.into_iter().map(|(_, block)| block).collect()
    }
}

/// Where a list of free blocks is kept: a pool's number, and a list's in that pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListId {
    pub(crate) pool: u32,
    pub(crate) list: u32,
}

/// What a policy with lists of free blocks knows of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FreeTag {
    /// The list that it is in, or will be in once it is freed.
    pub(crate) list: ListId,
    pub(crate) is_free: bool,
}

/// Blocks whose free ones are in lists. A block's tag says which; only those of one list are joined.
pub(crate) type FreeBlocks = Blocks<FreeTag>;

impl FreeBlocks {
    /// Whether a program may give the block back.
    pub(crate) fn is_live(&self, block: u32) -> bool {
        !self[block].tag.is_free
    }

    /// Puts a block that is in no list into one, joined with its neighbours there.
    pub(crate) fn insert_free(&mut self, mut block: u32, list: ListId, set: &mut FreeSet) -> u32 {
        let tag = FreeTag { list, is_free: true };
        let next = self[block].next;
        if next != NONE && self[next].tag == tag {
            self.forget_free(next, set);
            self.join_with_next(block);
        }
        let previous = self[block].previous;
        if previous != NONE && self[previous].tag == tag {
            self.forget_free(previous, set);
            self.join_with_next(previous);
            block = previous;
        }
        self[block].tag = tag;
        set.0.insert((self[block].size, self[block].address, block));
        block
    }

    /// Takes a free block out of its list, to be live or to go into another.
    pub(crate) fn take_free(&mut self, block: u32, set: &mut FreeSet) {
        self.forget_free(block, set);
        self[block].tag.is_free = false;
    }

    /// Leaves so many bytes of a block that was just taken; the rest goes back into its list.
    pub(crate) fn leave(&mut self, block: u32, size: u64, set: &mut FreeSet) {
        if self[block].size > size {
            let rest = self.split(block, size);
            self.insert_free(rest, self[rest].tag.list, set);
        }
    }

    /// The free blocks of a list that are whole segments, in order of address.
    pub(crate) fn idle_segments(&self, set: &FreeSet) -> Vec<u32> {
        let mut blocks = set.by_address();
        blocks.retain(|block| self.is_segment(*block));
        blocks
    }

    fn forget_free(&self, block: u32, set: &mut FreeSet) {
        set.0.remove(&(self[block].size, self[block].address, block));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: ListId = ListId { pool: 0, list: 0 };
    const THERE: ListId = ListId { pool: 0, list: 1 };

    /// A segment of three blocks of 256 bytes, all live.
    fn three_blocks() -> (FreeBlocks, [u32; 3]) {
        let mut blocks = FreeBlocks::new();
        let first = blocks.add_segment(0, 768, FreeTag { list: HERE, is_free: false });
        let last = blocks.split(first, 512);
        let middle = blocks.split(first, 256);
        (blocks, [first, middle, last])
    }

    #[test]
    fn blocks_of_one_list_are_joined() {
        let (mut blocks, [first, middle, last]) = three_blocks();
        let mut set = FreeSet::default();
        blocks.insert_free(first, HERE, &mut set);
        blocks.insert_free(last, HERE, &mut set);
        assert!(blocks.idle_segments(&set).is_empty());
        assert_eq!(blocks.insert_free(middle, HERE, &mut set), first);
        assert_eq!(blocks.idle_segments(&set), [first]);
        assert_eq!(set.best_fit(1), Some((768, 0, first)));
    }

    #[test]
    fn blocks_of_two_lists_are_not_joined() {
        let (mut blocks, [first, middle, _]) = three_blocks();
        let (mut here, mut there) = (FreeSet::default(), FreeSet::default());
        blocks.insert_free(first, HERE, &mut here);
        blocks.insert_free(middle, THERE, &mut there);
        assert_eq!(here.best_fit(1), Some((256, 0, first)));
        assert_eq!(there.best_fit(1), Some((256, 256, middle)));
    }

    #[test]
    fn of_equal_blocks_the_lowest_is_taken_and_the_rest_stays() {
        let (mut blocks, [first, _, last]) = three_blocks();
        let mut set = FreeSet::default();
        blocks.insert_free(last, HERE, &mut set);
        blocks.insert_free(first, HERE, &mut set);
        assert_eq!(set.best_fit(100), Some((256, 0, first)));
        blocks.take_free(first, &mut set);
        blocks.leave(first, 128, &mut set);
        assert_eq!(
            (blocks[first].size, set.best_fit(100)),
            (128, Some((128, 128, blocks[first].next)))
        );
    }
}
