//! What an event changed of what is in use.

use whyoom_trace::{Action, Address, DeviceId, ProcessId};

use crate::block::LiveBlock;

/// Whose memory it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LayerKind {
    /// A caching allocator's blocks.
    Blocks,
    /// What was taken from the driver.
    Driver,
}

/// What happened to a piece of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It was taken.
    Taken,
    /// The program gave it back; a stream may still use it.
    GivenBack,
    /// It is free.
    Freed,
}

/// A change of what is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The process and the device whose memory it is.
    pub space: (ProcessId, DeviceId),
    /// The layer that it belongs to.
    pub layer: LayerKind,
    /// Where it lies; of virtual memory, the key of its handle.
    pub address: Address,
    /// The memory, as it was before the change; as it is, when it was taken.
    pub block: LiveBlock,
    /// What happened to it.
    pub step: Step,
    /// No event says so: it follows from another.
    pub unseen: bool,
}

impl Change {
    /// By how much it changes what is in use.
    #[must_use]
    pub fn bytes(&self) -> i64 {
        let size = i64::try_from(self.block.size.0).unwrap_or(i64::MAX);
        match self.step {
            Step::Taken => size,
            Step::GivenBack => -size,
            Step::Freed if self.block.pending => 0,
            Step::Freed => -size,
        }
    }
}

/// A change inside a layer.
pub(crate) type LayerChange = (Address, LiveBlock, Step);

/// Whether what an event frees follows from it: an address that comes again was freed unseen, and what was made in
/// a context goes with it.
pub(crate) fn frees_unseen(action: &Action) -> bool {
    use Action::{Alloc, BlockAlloc, ContextDestroy, Create};
    matches!(action, BlockAlloc { .. } | Alloc { .. } | Create { .. } | ContextDestroy)
}
