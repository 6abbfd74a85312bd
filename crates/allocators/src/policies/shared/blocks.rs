//! Segments cut into blocks, each of which knows its neighbours.

use std::ops::{Index, IndexMut};

/// No block.
pub(crate) const NONE: u32 = u32::MAX;

/// A part of a segment.
#[derive(Debug)]
pub(crate) struct Block<T> {
    pub(crate) address: u64,
    pub(crate) size: u64,
    /// The block before it in its segment.
    pub(crate) previous: u32,
    /// The block after it in its segment.
    pub(crate) next: u32,
    /// What a policy knows of it.
    pub(crate) tag: T,
}

/// Blocks by their number. Numbers are used again, so that they stay small.
#[derive(Debug)]
pub(crate) struct Blocks<T> {
    blocks: Vec<Block<T>>,
    unused: Vec<u32>,
}

impl<T: Copy> Blocks<T> {
    pub(crate) fn new() -> Self {
        Self { blocks: Vec::new(), unused: Vec::new() }
    }

    /// A segment as one block.
    pub(crate) fn add_segment(&mut self, address: u64, size: u64, tag: T) -> u32 {
        self.put(Block { address, size, previous: NONE, next: NONE, tag })
    }

    /// Cuts a block after so many bytes; the rest is a block with the same tag.
    pub(crate) fn split(&mut self, block: u32, size: u64) -> u32 {
        let Block { address, size: whole, next, tag, .. } = self[block];
        let rest =
            Block { address: address + size, size: whole - size, previous: block, next, tag };
        let rest = self.put(rest);
        self[block].size = size;
        self[block].next = rest;
        if next != NONE {
            self[next].previous = rest;
        }
        rest
    }

    /// Makes a block and the one after it one; the second number becomes unused.
    pub(crate) fn join_with_next(&mut self, block: u32) {
        let second = self[block].next;
        let Block { size, next, .. } = self[second];
        self[block].size += size;
        self[block].next = next;
        if next != NONE {
            self[next].previous = block;
        }
        self.unused.push(second);
    }

    /// Forgets a segment that is one block, and tells its address.
    pub(crate) fn remove_segment(&mut self, block: u32) -> u64 {
        self.unused.push(block);
        self[block].address
    }

    /// Whether the block is a whole segment.
    pub(crate) fn is_segment(&self, block: u32) -> bool {
        self[block].previous == NONE && self[block].next == NONE
    }

    fn put(&mut self, block: Block<T>) -> u32 {
        if let Some(unused) = self.unused.pop() {
            self[unused] = block;
            return unused;
        }
        self.blocks.push(block);
        self.blocks.len() as u32 - 1
    }
}

impl<T> Index<u32> for Blocks<T> {
    type Output = Block<T>;

    fn index(&self, block: u32) -> &Block<T> {
        &self.blocks[block as usize]
    }
}

impl<T> IndexMut<u32> for Blocks<T> {
    fn index_mut(&mut self, block: u32) -> &mut Block<T> {
        &mut self.blocks[block as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_cut_can_be_joined_and_its_number_used_again() {
        let mut blocks = Blocks::new();
        let first = blocks.add_segment(1024, 768, ());
        let last = blocks.split(first, 512);
        let middle = blocks.split(first, 256);
        assert_eq!((blocks[middle].address, blocks[middle].size), (1280, 256));
        assert_eq!((blocks[last].previous, blocks[last].next), (middle, NONE));
        assert!(!blocks.is_segment(first));
        blocks.join_with_next(first);
        blocks.join_with_next(first);
        assert!(blocks.is_segment(first));
        assert_eq!(blocks[first].size, 768);
        assert_eq!(blocks.remove_segment(first), 1024);
        assert_eq!(blocks.add_segment(0, 1, ()), first);
    }
}
