//! How far a process had come in its work when it made each of the allocations that it still has.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use serde::{Deserialize, Serialize};
use whyoom_trace::{Action, Address, Event, ResultCode};

use crate::virtual_memory::handle_key;

/// How far a process has come: what it made and ended in all, through an allocator or of the driver, on any
/// device and on the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventCounts {
    /// Allocations made.
    pub made: u64,
    /// Allocations that ended.
    pub ended: u64,
}

/// The work of one process.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct EventCounter {
    so_far: EventCounts,
    /// How far it was when it made what it took from the driver and still has.
    at_birth: HashMap<Address, EventCounts, RandomState>,
}

impl EventCounter {
    /// How far it has come.
    pub(crate) fn so_far(&self) -> EventCounts {
        self.so_far
    }

    /// How far it was when it took memory from the driver.
    pub(crate) fn at_birth(&self, key: Address) -> Option<EventCounts> {
        self.at_birth.get(&key).copied()
    }

    /// Takes an event of the process.
    pub(crate) fn event(&mut self, event: &Event) {
        if event.result != ResultCode(0) {
            return;
        }
        match event.action {
            Action::BlockAlloc { .. } => self.so_far.made += 1,
            Action::BlockFree { .. } => self.so_far.ended += 1,
            Action::Alloc { address, .. } => self.made(address),
            Action::Create { handle, .. } => self.made(handle_key(handle)),
            Action::Free { address, .. } => self.ended(address),
            Action::Release { handle } => self.ended(handle_key(handle)),
            _ => {}
        }
    }

    fn made(&mut self, key: Address) {
        self.at_birth.insert(key, self.so_far);
        self.so_far.made += 1;
    }

    fn ended(&mut self, key: Address) {
        if self.at_birth.remove(&key).is_some() {
            self.so_far.ended += 1;
        }
    }
}
