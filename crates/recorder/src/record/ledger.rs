//! What the process holds of the driver, by address: a free does not say what it frees.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError, atomic::Ordering::Relaxed},
};

use foldhash::fast::FixedState;
use whyoom_recording::LiveTotals;
use whyoom_trace::{Action, Address, Bytes, DeviceId, MemoryKind};

use super::part::{NO_MEMORY, stop};

/// Threads that allocate at once seldom meet in one shard.
const SHARDS: usize = 64;

/// Something held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) kind: MemoryKind,
    pub(crate) device: DeviceId,
    /// The device whose live totals count it.
    pub(crate) live: Option<usize>,
    pub(crate) size: u64,
    pub(crate) context: u64,
    /// How often it was opened, for another process's memory.
    pub(crate) count: u32,
}

type Shard = HashMap<u64, Held, FixedState>;

/// What the process holds.
pub(crate) struct Ledger {
    shards: [Mutex<Shard>; SHARDS],
}

impl Ledger {
    pub(crate) fn new() -> Self {
        let shard = |_| Mutex::new(Shard::with_hasher(FixedState::default()));
        Self { shards: std::array::from_fn(shard) }
    }

    fn shard(&self, address: u64) -> MutexGuard<'_, Shard> {
        // Addresses are multiples of 512 at least, most of 2 MiB.
        let mixed = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58;
        self.shards[mixed as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn insert(&self, address: u64, held: Held, live: &LiveTotals) {
        let mut shard = self.shard(address);
        if shard.try_reserve(1).is_err() {
            return stop(&NO_MEMORY);
        }
        count(&held, live, true);
        let old = shard.insert(address, held);
        // The driver took it back without a call that we saw, as the end of a context does.
        if let Some(old) = old {
            count(&old, live, false);
        }
    }

    pub(crate) fn remove(&self, address: u64, live: &LiveTotals) -> Option<Held> {
        let held = self.shard(address).remove(&address)?;
        count(&held, live, false);
        Some(held)
    }

    pub(crate) fn get(&self, address: u64) -> Option<Held> {
        self.shard(address).get(&address).copied()
    }

    /// Changes how often something was opened; what is left, if it is held at all.
    pub(crate) fn recount(&self, address: u64, by: i32) -> Option<u32> {
        let mut shard = self.shard(address);
        let held = shard.get_mut(&address)?;
        held.count = held.count.saturating_add_signed(by);
        Some(held.count)
    }

    /// Forgets what ended with a context.
    pub(crate) fn forget_context(&self, context: u64, live: &LiveTotals) {
        for shard in &self.shards {
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            shard.retain(|_, held| {
                let stays = held.context != context || held.kind == MemoryKind::Imported;
                if !stays {
                    count(held, live, false);
                }
                stays
            });
        }
    }
}

/// Adds something to the live totals, or takes it off.
fn count(held: &Held, live: &LiveTotals, more: bool) {
    let Some(device) = held.live.and_then(|device| live.devices.get(device)) else { return };
    let total = match held.kind {
        MemoryKind::Pinned | MemoryKind::Registered => &device.pinned,
        MemoryKind::Imported => return,
        _ => &device.driver,
    };
    if more {
        total.fetch_add(held.size, Relaxed);
    } else {
        total.fetch_sub(held.size, Relaxed);
    }
}

pub(crate) fn alloc(kind: MemoryKind, address: u64, size: u64) -> Action {
    Action::Alloc { kind, address: Address(address), size: Bytes(size) }
}

pub(crate) fn free(kind: MemoryKind, address: u64) -> Action {
    Action::Free { kind, address: Address(address) }
}
