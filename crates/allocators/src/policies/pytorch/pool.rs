//! The free blocks of one of PyTorch's pools, by stream.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    blocks::{Block, Blocks},
    settings::TieBreak,
};
use crate::size_bins::{Entry, SizeBins};

/// Free blocks of one size class of one (private or common) pool.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    pub(super) small: bool,
    /// Whether it is private, and has been given up by whoever used it.
    pub(super) retired: bool,
    /// How often it was searched: the clock of garbage collection.
    pub(super) searches: u64,
    tie_break: TieBreak,
    free: BTreeMap<u64, SizeBins>,
    /// Blocks without memory, in order of stream and address.
    unmapped: BTreeSet<(u64, u64, u32)>,
}

impl Pool {
    pub(super) fn new(small: bool, tie_break: TieBreak) -> Self {
        Self {
            small,
            retired: false,
            searches: 0,
            tie_break,
            free: BTreeMap::new(),
            unmapped: BTreeSet::new(),
        }
    }

    fn entry(&self, id: u32, block: &Block) -> Entry {
        let tie = match self.tie_break {
            TieBreak::Address => 0,
            TieBreak::Registration => block.registration,
        };
        Entry { size: block.size, tie, address: block.address, block: id }
    }

    /// Adds a free block with memory behind it; its age starts now.
    pub(super) fn insert(&mut self, blocks: &mut Blocks, id: u32) {
        blocks.get_mut(id).searches_at_free = self.searches;
        let block = blocks.get(id);
        let entry = self.entry(id, block);
        self.free.entry(block.stream).or_default().insert(entry);
    }

    pub(super) fn remove(&mut self, blocks: &Blocks, id: u32) {
        let block = blocks.get(id);
        let entry = self.entry(id, block);
        if let Some(free) = self.free.get_mut(&block.stream) {
            free.remove(entry);
        }
    }

    /// The smallest free block of the stream that is at least so large.
    pub(super) fn at_least(&self, stream: u64, size: u64) -> Option<u32> {
        self.free.get(&stream)?.at_least(size).map(|entry| entry.block)
    }

    /// The block behind another in the order of its stream.
    pub(super) fn after(&self, blocks: &Blocks, id: u32) -> Option<u32> {
        let block = blocks.get(id);
        let free = self.free.get(&block.stream)?;
        free.after(self.entry(id, block)).map(|entry| entry.block)
    }

    /// The largest free blocks of a stream that are smaller than a size, downwards.
    pub(super) fn below(&self, stream: u64, size: u64) -> Vec<u32> {
        let Some(free) = self.free.get(&stream) else { return Vec::new() };
        let mut below: Vec<u32> =
            free.iter().filter(|entry| entry.size < size).map(|entry| entry.block).collect();
        below.reverse();
        below
    }

    /// The free blocks of a stream.
    pub(super) fn of_stream(&self, stream: u64) -> impl Iterator<Item = u32> {
        self.free.get(&stream).into_iter().flat_map(SizeBins::iter).map(|entry| entry.block)
    }

    /// All free blocks in order of stream, size and age.
    pub(super) fn all(&self) -> Vec<u32> {
        self.free.values().flat_map(SizeBins::iter).map(|entry| entry.block).collect()
    }

    pub(super) fn insert_unmapped(&mut self, blocks: &Blocks, id: u32) {
        let block = blocks.get(id);
        self.unmapped.insert((block.stream, block.address, id));
    }

    pub(super) fn remove_unmapped(&mut self, blocks: &Blocks, id: u32) {
        let block = blocks.get(id);
        self.unmapped.remove(&(block.stream, block.address, id));
    }

    /// Blocks without memory of a stream, in order of address.
    pub(super) fn unmapped_of(&self, stream: u64) -> impl Iterator<Item = u32> {
        self.unmapped.range((stream, 0, 0)..=(stream, u64::MAX, u32::MAX)).map(|(_, _, id)| *id)
    }
}
