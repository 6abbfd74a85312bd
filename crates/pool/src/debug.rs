//! The debug mode: guards behind blocks, and a second book in which no two blocks may overlap.

use std::{collections::BTreeMap, sync::atomic::Ordering::Relaxed};

use whyoom_allocators::Grant;

use crate::{
    device::DevicePool,
    driver::{Driver, Stream},
    lane::State,
    sync::{AtomicU64, Lock},
};

/// Bytes behind each block that nobody may change.
const GUARD: u64 = 64;
const GUARD_BYTE: u8 = 0xA5;

/// What the debug mode knows.
#[derive(Debug, Default)]
pub(crate) struct Debug {
    /// Live blocks by address: where they end.
    live: Lock<BTreeMap<u64, u64>>,
    /// Guards found changed, wrong frees, overlaps.
    pub(crate) damaged: AtomicU64,
}

impl Debug {
    /// What has to be asked for, so that there is room for a guard.
    pub(crate) fn with_guard(bytes: u64) -> u64 {
        bytes.saturating_add(GUARD)
    }

    /// Notes a block that was given, and puts a guard behind it.
    pub(crate) fn given(&self, device: &DevicePool, state: &State, grant: &Grant, requested: u64) {
        let (start, end) = (grant.address, grant.address + grant.size);
        let mut live = self.live.lock();
        let before = live.range(..end).next_back().filter(|(_, other)| **other > start);
        if let Some((other, other_end)) = before {
            self.report(&format!(
                "the block {start:#x}..{end:#x} overlaps {other:#x}..{other_end:#x}, a bug in whyoom"
            ));
        }
        live.insert(start, end);
        drop(live);
        if let Some(stream) = guarded(device, state) {
            let _relaxed = device.relaxed();
            let _ = device.driver.fill(start + requested, GUARD_BYTE, GUARD, stream);
        }
    }

    /// Looks at a block that is about to be given back.
    pub(crate) fn check(&self, device: &DevicePool, state: &State, address: u64) {
        let Some(held) = state.block_at(address) else {
            self.report(&format!("{address:#x} was freed twice, or lies inside a block"));
            return;
        };
        self.live.lock().remove(&address);
        let Some(stream) = guarded(device, state) else { return };
        let _relaxed = device.relaxed();
        let mut guard = [0; GUARD as usize];
        let read = device.driver.read(address + held.requested, &mut guard, stream);
        if read.is_ok() && guard.iter().any(|byte| *byte != GUARD_BYTE) {
            self.report(&format!(
                "something was written behind the {} bytes of the block at {address:#x}",
                held.requested
            ));
        }
    }

    /// An address that is not the pool's was given back to it.
    pub(crate) fn foreign(&self, address: u64) {
        self.report(&format!("{address:#x} was freed, but is not the pool's"));
    }

    fn report(&self, what: &str) {
        self.damaged.fetch_add(1, Relaxed);
        eprintln!("whyoom: pool: {what}");
    }
}

/// The stream on which a lane's guards are written and read; none where that would become part of a
/// graph, or the stream has gone.
fn guarded(device: &DevicePool, state: &State) -> Option<Stream> {
    let stream = if state.key.is_ordered() { state.key.stream } else { Stream::LEGACY };
    let is_common = state.key.pool == 0 && state.last.is_none();
    let captured =
        || device.captures.are_open() && device.driver.is_capturing(stream).unwrap_or(true);
    (is_common && !captured()).then_some(stream)
}
