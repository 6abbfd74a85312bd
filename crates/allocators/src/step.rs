//! The steps that a run consists of: what the program requested and freed, and the segments of the allocator that
//! served it.

use std::collections::HashMap;

use whyoom_trace::{Address, Bytes, PoolId, SegmentGrowth, SizeClass, StackId, StreamId};

use crate::policy::Request;

/// An allocation of the run: dense, in order of first sight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Item(pub u32);

/// One thing that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The program asked for memory.
    Alloc {
        /// Its name from here on.
        item: Item,
        /// What it asked for.
        request: Request,
        /// Where the recorded allocator put it.
        address: Address,
        /// What it cost there.
        size: Bytes,
        /// Who asked.
        stack: StackId,
    },
    /// Memory is free again: everything that used it is finished.
    Free {
        /// What it was.
        item: Item,
    },
    /// The recorded allocator took a segment.
    SegmentAlloc(Segment),
    /// It gave one back.
    SegmentFree {
        /// Where it started.
        address: Address,
    },
    /// It mapped memory into a growing segment.
    SegmentMap(Segment),
    /// It unmapped memory.
    SegmentUnmap {
        /// Where it started.
        address: Address,
        /// How much.
        size: Bytes,
    },
    /// The program gave cached memory up (`torch.cuda.empty_cache`): inferred, where the allocator
    /// had no reason of its own.
    EmptyCache,
    /// A private pool lost its last user.
    RetirePool {
        /// Which.
        pool: PoolId,
    },
    /// An allocation failed.
    OutOfMemory {
        /// What was asked for.
        request: Request,
        /// What the device had left, where the recording tells.
        device_free: Option<Bytes>,
        /// Who asked.
        stack: StackId,
    },
}

/// A segment of the recorded allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where it starts.
    pub address: Address,
    /// Its length.
    pub size: Bytes,
    /// Its stream.
    pub stream: StreamId,
    /// Its pool.
    pub pool: PoolId,
    /// Which requests it serves.
    pub class: SizeClass,
    /// Whether it grows.
    pub growth: SegmentGrowth,
}

impl Segment {
    /// Where it ends.
    pub(crate) fn end(&self) -> Address {
        self.address.offset(self.size)
    }
}

/// What the recorded allocator had reserved after each step.
pub(crate) fn recorded_reserved(steps: &[Step]) -> Vec<u64> {
    let mut segments = HashMap::new();
    let mut now = 0_u64;
    let mut after = |step: &Step| {
        match step {
            Step::SegmentAlloc(segment) | Step::SegmentMap(segment) => {
                now = now.saturating_add(segment.size.0);
                segments.insert(segment.address, segment.size.0);
            }
            Step::SegmentFree { address } => {
                now = now.saturating_sub(segments.remove(address).unwrap_or(0));
            }
            Step::SegmentUnmap { size, .. } => now = now.saturating_sub(size.0),
            _ => {}
        }
        now
    };
    steps.iter().map(&mut after).collect()
}
