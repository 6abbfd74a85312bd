//! PyTorch's default algorithm in the straightforward way: free blocks in ordered sets of (stream,
//! size, address), and each block with the ones before and after it in its segment. Blocks have
//! numbers, as in the policies, rather than being looked up by address, which takes twice the
//! instructions: what is compared is the search.

use std::collections::BTreeSet;

use whyoom_allocators::{
    BlockId, Device, Grant, OutOfMemory, Policy, Request, policies::pytorch::PyTorchSettings,
};

/// Small blocks are cut where as much is left.
const UNIT: u64 = 512;
const SMALL_LIMIT: u64 = 1 << 20;

/// A piece of a segment.
#[derive(Clone, Copy)]
struct Block {
    address: u64,
    size: u64,
    stream: u64,
    small: bool,
    free: bool,
    previous: Option<u32>,
    next: Option<u32>,
}

/// The allocator. It knows one pool.
pub(super) struct Reference {
    settings: PyTorchSettings,
    /// Stream, size, address and number of free large and small blocks.
    free: [BTreeSet<(u64, u64, u64, u32)>; 2],
    blocks: Vec<Block>,
    unused: Vec<u32>,
}

impl Reference {
    pub(super) fn new() -> Self {
        let settings = PyTorchSettings::default();
        Self { settings, free: Default::default(), blocks: Vec::new(), unused: Vec::new() }
    }

    /// The first free block that is large enough, else a new segment.
    fn find(&mut self, needed: u64, stream: u64, device: &mut dyn Device) -> Option<u32> {
        let small = needed <= SMALL_LIMIT;
        let free = &mut self.free[usize::from(small)];
        let fitting = free.range((stream, needed, 0, 0)..).next().copied();
        if let Some(found) = fitting.filter(|found| found.0 == stream) {
            free.remove(&found);
            return Some(found.3);
        }
        let size = self.settings.segment_size(needed);
        let address = device.alloc(size)?;
        let (previous, next) = (None, None);
        Some(self.add(Block { address, size, stream, small, free: false, previous, next }))
    }

    fn add(&mut self, block: Block) -> u32 {
        if let Some(number) = self.unused.pop() {
            self.blocks[number as usize] = block;
            return number;
        }
        self.blocks.push(block);
        self.blocks.len() as u32 - 1
    }

    fn cut(&mut self, number: u32, needed: u64) {
        let block = self.blocks[number as usize];
        let size = block.size - needed;
        if if block.small { size < UNIT } else { size <= SMALL_LIMIT } {
            return;
        }
        let address = block.address + needed;
        let rest = self.add(Block { address, size, previous: Some(number), ..block });
        if let Some(next) = block.next {
            self.blocks[next as usize].previous = Some(rest);
        }
        let block = &mut self.blocks[number as usize];
        (block.size, block.next) = (needed, Some(rest));
        self.add_free(rest);
    }

    /// A neighbour that is free, taken out of the free ones.
    fn take_free(&mut self, number: Option<u32>) -> Option<Block> {
        let number = number?;
        let block = self.blocks[number as usize];
        if !block.free {
            return None;
        }
        let key = (block.stream, block.size, block.address, number);
        self.free[usize::from(block.small)].remove(&key);
        self.unused.push(number);
        Some(block)
    }

    fn add_free(&mut self, number: u32) {
        let block = &mut self.blocks[number as usize];
        block.free = true;
        let key = (block.stream, block.size, block.address, number);
        self.free[usize::from(block.small)].insert(key);
    }
}

impl Policy for Reference {
    fn alloc(&mut self, request: Request, device: &mut dyn Device) -> Result<Grant, OutOfMemory> {
        let needed = self.settings.round(request.size);
        let found = self.find(needed, request.stream.0, device);
        let number = found.ok_or(OutOfMemory { requested: request.size })?;
        self.cut(number, needed);
        let block = &mut self.blocks[number as usize];
        block.free = false;
        Ok(Grant { block: BlockId(number), address: block.address, size: block.size })
    }

    fn free(&mut self, block: BlockId, _: &mut dyn Device) {
        let number = block.0;
        let Block { previous, next, .. } = self.blocks[number as usize];
        if let Some(before) = self.take_free(previous) {
            let block = &mut self.blocks[number as usize];
            (block.address, block.previous) = (before.address, before.previous);
            block.size += before.size;
            if let Some(previous) = before.previous {
                self.blocks[previous as usize].next = Some(number);
            }
        }
        if let Some(after) = self.take_free(next) {
            let block = &mut self.blocks[number as usize];
            block.next = after.next;
            block.size += after.size;
            if let Some(next) = after.next {
                self.blocks[next as usize].previous = Some(number);
            }
        }
        self.add_free(number);
    }

    fn release_cached(&mut self, _: &mut dyn Device) {}
}
