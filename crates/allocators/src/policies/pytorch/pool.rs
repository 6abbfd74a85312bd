//! The free blocks of one of PyTorch's pools, by stream.

use std::collections::BTreeSet;

use super::{
    blocks::{Block, Blocks},
    settings::TieBreak,
};
use crate::size_bins::{Entry, Place, SizeBins};

/// Free blocks of one size class of one (private or common) pool.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    pub(super) small: bool,
    /// Whether it is private, and has been given up by whoever used it.
    pub(super) retired: bool,
    /// How often it was searched: the clock of garbage collection.
    pub(super) searches: u64,
    tie_break: TieBreak,
    /// The streams' free blocks, in order of stream. Few pools serve more than one.
    free: Vec<(u64, SizeBins)>,
    /// Blocks without memory, in order of stream and address.
    unmapped: BTreeSet<(u64, u64, u32)>,
}

/// A free block that a search has found, and where.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) id: u32,
    pub(super) size: u64,
    index: usize,
    place: Place,
}

impl Pool {
    pub(super) fn new(small: bool, tie_break: TieBreak) -> Self {
        Self {
            small,
            retired: false,
            searches: 0,
            tie_break,
            free: Vec::new(),
            unmapped: BTreeSet::new(),
        }
    }

    fn entry(&self, id: u32, block: &Block) -> Entry {
        let tie = match self.tie_break {
            TieBreak::Address => 0,
            TieBreak::Registration => block.registration,
        };
        Entry { size: block.size, address: block.address, tie, block: id }
    }

    /// Adds a free block with memory behind it; its age starts now.
    pub(super) fn insert(&mut self, blocks: &mut Blocks, id: u32) {
        let block = blocks.get_mut(id);
        block.searches_at_free = self.searches;
        let entry = self.entry(id, block);
        let index = self.index_of(block.stream).unwrap_or_else(|index| {
            self.free.insert(index, (block.stream, SizeBins::default()));
            index
        });
        self.free[index].1.insert(entry);
    }

    pub(super) fn remove(&mut self, blocks: &Blocks, id: u32) {
        let block = blocks.get(id);
        let entry = self.entry(id, block);
        if let Ok(index) = self.index_of(block.stream) {
            self.free[index].1.remove(entry);
        }
    }

    /// Removes what [`Pool::find`] has just found.
    #[inline]
    pub(super) fn remove_found(&mut self, found: &Found) {
        self.free[found.index].1.remove_at(found.place);
    }

    /// Where the stream's blocks are, or would be.
    #[inline]
    fn index_of(&self, stream: u64) -> Result<usize, usize> {
        match self.free.first() {
            Some((first, _)) if *first == stream => Ok(0),
            _ => self.free.binary_search_by_key(&stream, |(stream, _)| *stream),
        }
    }

    fn bins_of(&self, stream: u64) -> Option<&SizeBins> {
        self.index_of(stream).ok().map(|index| &self.free[index].1)
    }

    /// The smallest free block of the stream that is at least so large.
    #[inline(always)]
    pub(super) fn find(&self, stream: u64, size: u64) -> Option<Found> {
        let index = self.index_of(stream).ok()?;
        let (entry, place) = self.free[index].1.at_least(size)?;
        Some(Found { id: entry.block, size: entry.size, index, place })
    }

    /// As [`Pool::find`], for those who only want to know which.
    pub(super) fn at_least(&self, stream: u64, size: u64) -> Option<u32> {
        self.find(stream, size).map(|found| found.id)
    }

    /// The block behind one that was found, in the order of its stream.
    #[inline]
    pub(super) fn after(&self, found: &Found) -> Option<Found> {
        let (entry, place) = self.free[found.index].1.after(found.place)?;
        Some(Found { id: entry.block, size: entry.size, place, ..*found })
    }

    /// The largest free blocks of a stream that are smaller than a size, downwards.
    pub(super) fn below(&self, stream: u64, size: u64) -> Vec<u32> {
        let Some(free) = self.bins_of(stream) else { return Vec::new() };
        let mut below: Vec<u32> =
            free.iter().filter(|entry| entry.size < size).map(|entry| entry.block).collect();
        below.reverse();
        below
    }

    /// The free blocks of a stream that are at least so large, in order of size.
    pub(super) fn from(&self, stream: u64, size: u64) -> impl Iterator<Item = (u64, u32)> {
        let found = self.bins_of(stream).into_iter().flat_map(move |bins| bins.from(size));
        found.map(|entry| (entry.size, entry.block))
    }

    /// The free blocks of a stream, the largest first.
    pub(super) fn downwards(&self, stream: u64) -> impl Iterator<Item = (u64, u32)> {
        let found = self.bins_of(stream).into_iter().flat_map(|bins| bins.iter().rev());
        found.map(|entry| (entry.size, entry.block))
    }

    /// How many streams have or had free blocks.
    pub(super) fn streams(&self) -> usize {
        self.free.len()
    }

    /// All free blocks in order of stream, size and age.
    pub(super) fn all(&self) -> impl Iterator<Item = u32> {
        self.free.iter().flat_map(|(_, bins)| bins.iter()).map(|entry| entry.block)
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
