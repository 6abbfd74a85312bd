//! Blocks of one allocator in a table, linked to their neighbours in the segment.

/// No block.
pub(super) const NONE: u32 = u32::MAX;

/// A piece of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) stream: u64,
    /// Which of the allocator's pools it belongs to.
    pub(super) pool: u32,
    pub(super) prev: u32,
    pub(super) next: u32,
    /// The expandable segment that it is part of.
    pub(super) segment: u32,
    pub(super) allocated: bool,
    /// Whether memory lies behind it; always so outside expandable segments.
    pub(super) mapped: bool,
    /// When its segment was registered: orders blocks of one size in newer versions.
    pub(super) registration: u32,
    /// The pool's count of searches when it became free: tells its age.
    pub(super) searches_at_free: u64,
}

impl Block {
    /// Whether it shares its segment with others.
    pub(super) fn is_split(&self) -> bool {
        self.prev != NONE || self.next != NONE
    }

    pub(super) fn end(&self) -> u64 {
        self.address.saturating_add(self.size)
    }
}

/// All blocks, by dense numbers that are used again.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks {
    table: Vec<Block>,
    unused: Vec<u32>,
}

impl Blocks {
    pub(super) fn add(&mut self, block: Block) -> u32 {
        if let Some(id) = self.unused.pop() {
            self.table[id as usize] = block;
            return id;
        }
        self.table.push(block);
        self.table.len() as u32 - 1
    }

    pub(super) fn remove(&mut self, id: u32) {
        self.unused.push(id);
    }

    #[inline]
    pub(super) fn get(&self, id: u32) -> &Block {
        &self.table[id as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: u32) -> &mut Block {
        &mut self.table[id as usize]
    }

    /// All blocks that there are.
    pub(super) fn all(&self) -> impl Iterator<Item = &Block> {
        let mut exists = vec![true; self.table.len()];
        self.unused.iter().for_each(|id| exists[*id as usize] = false);
        self.table.iter().zip(exists).filter(|(_, exists)| *exists).map(|(block, _)| block)
    }

    /// Puts a new block between two neighbours, either of which may be none.
    pub(super) fn add_between(&mut self, block: Block, prev: u32, next: u32) -> u32 {
        let id = self.add(Block { prev, next, ..block });
        if prev != NONE {
            self.get_mut(prev).next = id;
        }
        if next != NONE {
            self.get_mut(next).prev = id;
        }
        id
    }

    /// Takes a block out of its segment; its neighbour `into` grows over it.
    pub(super) fn absorb(&mut self, into: u32, gone: u32) {
        let Block { address, size, prev, next, .. } = *self.get(gone);
        let block = self.get_mut(into);
        block.size += size;
        if block.prev == gone {
            block.address = address;
            block.prev = prev;
            if prev != NONE {
                self.get_mut(prev).next = into;
            }
        } else {
            block.next = next;
            if next != NONE {
                self.get_mut(next).prev = into;
            }
        }
        self.remove(gone);
    }
}
