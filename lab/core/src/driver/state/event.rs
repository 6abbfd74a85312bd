//! An event: where a stream or a capture stood when it was recorded.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{edge::Edge, ids::ContextId};
use crate::timeline::Stamp;

pub(crate) struct Event {
    pub(crate) context: ContextId,
    pub(crate) timed: bool,
    pub(crate) recorded: Option<Stamp>,
    /// Where it was last recorded, if that was in a capture.
    pub(crate) captured: Option<Captured>,
    /// When it is finished, where other processes may know it too.
    pub(crate) shared: Option<SharedMoment>,
}

/// Where a capture stood when an event was recorded in it.
#[derive(Clone, Debug)]
pub(crate) struct Captured {
    pub(crate) capture: u64,
    pub(crate) edges: Vec<Edge>,
}

/// When an event is finished, on the clock that processes share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedMoment {
    /// Within a mapping that is never ended.
    pub(crate) address: u64,
    /// Its place in this process's own file; none where it is another's.
    pub(crate) own: Option<u64>,
}

impl SharedMoment {
    fn cell(&self) -> &AtomicU64 {
        // SAFETY: an aligned word in a mapping of a file that is never unmapped; all who map it use
        // it as an atomic.
        unsafe { &*(self.address as *const AtomicU64) }
    }

    /// When the event is finished.
    pub(crate) fn get(&self) -> u64 {
        self.cell().load(Relaxed)
    }

    /// Sets that.
    pub(crate) fn set(&self, at: u64) {
        self.cell().store(at, Relaxed);
    }
}
