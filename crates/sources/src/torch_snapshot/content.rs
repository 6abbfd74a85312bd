//! What a snapshot says, as plain records.

use whyoom_trace::{
    Address, Bytes, DeviceId, PoolId, SegmentGrowth, SizeClass, StackId, StreamId, StringId,
};

/// Everything that a snapshot says.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) segments: Vec<Segment>,
    pub(super) traces: Vec<(DeviceId, Vec<Entry>)>,
    /// Names and values; those that are longer than any setting is are left out.
    pub(super) settings: Vec<(String, String)>,
    pub(super) annotations: Vec<Annotation>,
}

/// A segment as it was when the snapshot was taken.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) device: DeviceId,
    pub(super) head: SegmentHead,
    pub(super) blocks: Vec<Block>,
}

/// A segment without what lies in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct SegmentHead {
    pub(super) address: Address,
    pub(super) size: Bytes,
    pub(super) stream: StreamId,
    pub(super) pool: PoolId,
    pub(super) class: SizeClass,
    pub(super) growth: SegmentGrowth,
    pub(super) stack: StackId,
}

impl SegmentHead {
    pub(super) fn end(&self) -> Address {
        self.address.offset(self.size)
    }
}

/// A block as it was when the snapshot was taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    pub(super) address: Address,
    pub(super) size: Bytes,
    pub(super) requested: Bytes,
    pub(super) state: BlockState,
    pub(super) stack: StackId,
}

/// Whether a block is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockState {
    Allocated,
    PendingFree,
    Inactive,
}

/// One entry of the history.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) action: EntryAction,
    /// For [`EntryAction::Oom`]: what was free on the device.
    pub(super) address: Address,
    pub(super) size: Bytes,
    pub(super) stream: StreamId,
    pub(super) time_us: u64,
    pub(super) pool: PoolId,
    pub(super) stack: StackId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryAction {
    Alloc,
    FreeRequested,
    FreeCompleted,
    SegmentAlloc,
    SegmentFree,
    SegmentMap,
    SegmentUnmap,
    Snapshot,
    Oom,
    /// What a block is was told: the stack carries it.
    Annotate,
}

/// Something that the program or PyTorch noted: an optimizer's step, a batch being loaded.
#[derive(Debug, Clone)]
pub(super) struct Annotation {
    pub(super) device: DeviceId,
    pub(super) time_us: u64,
    pub(super) name: StringId,
}
