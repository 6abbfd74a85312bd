//! A policy on a simulated device, with a plain model beside it: which blocks are live.

use std::collections::BTreeMap;

use whyoom_allocators::{
    ALIGNMENT, BlockId, Device, Handle, OutOfMemory, Policy, Request, SimulatedDevice,
};
use whyoom_trace::{PoolId, StreamId};

/// A live block's address and size.
type Range = (u64, u64);

/// A policy whose every answer is checked.
pub(crate) struct Checked {
    pub(crate) name: &'static str,
    pub(crate) device: SimulatedDevice,
    policy: Box<dyn Policy>,
    live: BTreeMap<BlockId, Range>,
    /// The same by address.
    ends: BTreeMap<u64, u64>,
}

impl Checked {
    pub(crate) fn new(name: &'static str, policy: Box<dyn Policy>, capacity: u64) -> Self {
        let device = SimulatedDevice::new(capacity);
        Self { name, device, policy, live: BTreeMap::new(), ends: BTreeMap::new() }
    }

    pub(crate) fn alloc(&mut self, size: u64, stream: u64, pool: u32) -> Option<BlockId> {
        let name = self.name;
        let request = Request { size, stream: StreamId(stream), pool: PoolId(pool) };
        let grant = match self.policy.alloc(request, &mut self.device) {
            Ok(grant) => grant,
            Err(error) => {
                assert_eq!(error, OutOfMemory { requested: size }, "{name}");
                self.check_all();
                return None;
            }
        };
        assert!(grant.size >= size, "{name}: {grant:?} is less than {size}");
        assert_eq!(grant.address % ALIGNMENT, 0, "{name}: {grant:?}");
        let end = grant.address + grant.size;
        let before = self.ends.range(..end).next_back();
        assert!(before.is_none_or(|(_, end)| *end <= grant.address), "{name}: {grant:?} overlaps");
        self.ends.insert(grant.address, end);
        let other = self.live.insert(grant.block, (grant.address, grant.size));
        assert_eq!(other, None, "{name}: {:?} names two live blocks", grant.block);
        Some(grant.block)
    }

    pub(crate) fn must_alloc(&mut self, size: u64, stream: u64, pool: u32) -> BlockId {
        let block = self.alloc(size, stream, pool);
        assert!(block.is_some(), "{}: {size} bytes were refused", self.name);
        block.expect("it was given")
    }

    pub(crate) fn free(&mut self, block: BlockId) {
        let (address, _) = self.live.remove(&block).expect("the test frees what is live");
        self.ends.remove(&address);
        self.policy.free(block, &mut self.device);
    }

    pub(crate) fn release_cached(&mut self) {
        self.policy.release_cached(&mut self.device);
        self.check_all();
    }

    pub(crate) fn retire_pool(&mut self, pool: u32) {
        self.policy.retire_pool(PoolId(pool), &mut self.device);
        self.check_all();
    }

    /// Ends a test: nothing may be left of the device's memory.
    pub(crate) fn free_all(&mut self) {
        self.check_all();
        let blocks: Vec<_> = self.live.keys().copied().collect();
        for block in blocks {
            self.free(block);
        }
        // A policy may keep what a private pool caches as long as the pool is used.
        for pool in 1..4 {
            self.retire_pool(pool);
        }
        self.release_cached();
        assert_eq!(self.device.in_use(), 0, "{}: memory is left", self.name);
    }

    /// Every live block is backed, and no two by the same memory. Bytes are conserved.
    pub(crate) fn check_all(&self) {
        let backed: Vec<Range> = self.device.backed().collect();
        let mut pieces = Vec::new();
        for block in self.live.values() {
            self.add_pieces(*block, &backed, &mut pieces);
        }
        pieces.sort_unstable_by_key(|piece| (piece.handle, piece.offset));
        for pair in pieces.windows(2) {
            let apart = pair[0].handle != pair[1].handle
                || pair[0].offset + pair[0].length <= pair[1].offset;
            assert!(apart, "{}: two blocks share memory: {pair:?}", self.name);
        }
        let live: u64 = self.live.values().map(|(_, size)| size).sum();
        assert!(live <= self.device.in_use(), "{}: more is live than there is", self.name);
        assert!(self.device.peak() <= self.device.capacity(), "{}", self.name);
    }

    /// The physical memory behind a block. Mappings side by side are as good as one.
    fn add_pieces(&self, (mut address, size): Range, backed: &[Range], pieces: &mut Vec<Piece>) {
        let end = address + size;
        while address < end {
            let after = backed.partition_point(|(start, _)| *start <= address);
            let (start, length) = after.checked_sub(1).map_or((0, 0), |at| backed[at]);
            let stop = end.min(start + length);
            assert!(stop > address, "{}: there is no memory at {address:#x}", self.name);
            let (handle, offset, _) = self.device.behind(address).expect("it is backed");
            pieces.push(Piece { handle, offset, length: stop - address });
            address = stop;
        }
    }
}

#[derive(Debug)]
struct Piece {
    handle: Option<Handle>,
    offset: u64,
    length: u64,
}

/// A small generator of numbers that are the same in every run.
pub(crate) struct Xorshift(pub(crate) u64);

impl Xorshift {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A size of up to so many bits, each number of bits as likely as another.
    pub(crate) fn size(&mut self, bits: u64) -> u64 {
        let most = 1 << (1 + self.below(bits));
        1 + self.below(most)
    }
}
