//! What an allocation policy is: it turns requests into addresses, and asks a device for memory.

use whyoom_trace::{PoolId, StreamId};

use crate::device::Device;

/// What a program asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Bytes, not yet rounded; never 0.
    pub size: u64,
    /// The stream that will use them.
    pub stream: StreamId,
    /// The private pool that they must come from; 0 for the common one.
    pub pool: PoolId,
}

/// The unit that live bytes are counted in: every allocator here rounds to it at least.
const UNIT: u64 = 512;

impl Request {
    /// What it counts for among live bytes. A size that no device has is not served.
    pub(crate) fn live_bytes(&self) -> u64 {
        self.size.checked_next_multiple_of(UNIT).unwrap_or(u64::MAX)
    }
}

/// A policy's own name for a block that it gave: dense and small, and used again after a free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u32);

/// What a policy gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// What to give back.
    pub block: BlockId,
    /// Where it starts.
    pub address: u64,
    /// What it costs: at least what was asked for.
    pub size: u64,
}

/// The device has too little left, and the policy nothing more to give back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("out of memory: {requested} bytes were requested")]
pub struct OutOfMemory {
    /// What was asked for.
    pub requested: u64,
}

/// An allocation policy: pure arithmetic over what a [`Device`] gives. It touches no memory, so that
/// the same code serves a replay and, on a real device, a live allocator.
///
/// The contract, which `tests/conformance.rs` holds every policy to: live blocks never overlap, lie
/// in memory that the device gave and has not taken back, are aligned to [`ALIGNMENT`], and are at
/// least as large as asked for. A policy that fails changes nothing that the program can see.
pub trait Policy {
    /// Gives memory for a request. A policy that is about to fail first gives back to the device
    /// whatever it caches and tries once more.
    fn alloc(&mut self, request: Request, device: &mut dyn Device) -> Result<Grant, OutOfMemory>;

    /// Takes a live block back: everything that used it is finished.
    fn free(&mut self, block: BlockId, device: &mut dyn Device);

    /// Gives cached memory back to the device, as `torch.cuda.empty_cache` asks.
    fn release_cached(&mut self, device: &mut dyn Device);

    /// A private pool has lost its last user: what it caches goes back to the device, now and whenever
    /// more of it becomes free.
    fn retire_pool(&mut self, pool: PoolId, device: &mut dyn Device) {
        let _ = pool;
        self.release_cached(device);
    }
}

/// Every block's address is a multiple of this: what `cudaMalloc` documents.
pub const ALIGNMENT: u64 = 256;
