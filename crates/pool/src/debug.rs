//! The debug mode: guards behind blocks, and a second book in which no two blocks may overlap.

use std::{collections::BTreeMap, sync::atomic::Ordering::Relaxed};

use whyoom_allocators::Grant;

use crate::{
    captures::Captures,
    driver::{Driver, Stream},
    lane::State,
    sync::{AtomicU64, Lock},
};

/// Bytes behind each block that nobody may change.
const GUARD: u64 = 64;
const GUARD_BYTE: u8 = 0xA5;

/// A live block.
#[derive(Clone, Copy, Debug)]
struct Guarded {
    end: u64,
    has_guard: bool,
}

/// What the debug mode knows.
#[derive(Debug, Default)]
pub(crate) struct Debug {
    /// Live blocks by address.
    live: Lock<BTreeMap<u64, Guarded>>,
    /// Guards found changed, wrong frees, overlaps.
    pub(crate) damaged: AtomicU64,
}

impl Debug {
    /// What has to be asked for, so that there is room for a guard.
    pub(crate) fn with_guard(bytes: u64) -> u64 {
        bytes.saturating_add(GUARD)
    }

    /// Notes a block that was given, and puts a guard behind it.
    pub(crate) fn given(
        &self,
        driver: &impl Driver,
        captures: &Captures,
        state: &State,
        grant: &Grant,
        requested: u64,
    ) {
        let (start, end) = (grant.address, grant.address + grant.size);
        let fill = |stream| driver.fill(start + requested, GUARD_BYTE, GUARD, stream);
        let has_guard = on_stream(captures, state, fill).is_some_and(|filled| filled.is_ok());
        let mut live = self.live.lock();
        let before = live.range(..end).next_back().filter(|(_, other)| other.end > start);
        if let Some((other, Guarded { end: other_end, .. })) = before {
            self.report(&format!(
                "the block {start:#x}..{end:#x} overlaps {other:#x}..{other_end:#x}, a bug in whyoom"
            ));
        }
        live.insert(start, Guarded { end, has_guard });
    }

    /// Looks at a block that is about to be given back.
    pub(crate) fn check(
        &self,
        driver: &impl Driver,
        captures: &Captures,
        state: &State,
        address: u64,
    ) {
        let Some(held) = state.block_at(address) else {
            self.report(&format!("{address:#x} was freed twice, or is inside a block"));
            return;
        };
        let known = self.live.lock().remove(&address);
        if !known.is_some_and(|block| block.has_guard) {
            return;
        }
        let mut guard = [GUARD_BYTE; GUARD as usize];
        let read = |stream| driver.read(address + held.requested, &mut guard, stream);
        let read = on_stream(captures, state, read).is_some_and(|read| read.is_ok());
        if read && guard.iter().any(|byte| *byte != GUARD_BYTE) {
            self.report(&format!(
                "something was written past the {} bytes of the block at {address:#x}",
                held.requested
            ));
        }
    }

    /// An address that is not the pool's was given back to it.
    pub(crate) fn foreign(&self, address: u64) {
        self.report(&format!("{address:#x} was freed, but does not belong to the pool"));
    }

    fn report(&self, what: &str) {
        self.damaged.fetch_add(1, Relaxed);
        eprintln!("whyoom: pool: {what}");
    }
}

/// Writes or reads a guard in the order of a lane's stream; nothing where the stream has gone, or while a
/// graph is captured, which it would become a part of.
fn on_stream<T>(captures: &Captures, state: &State, act: impl FnOnce(Stream) -> T) -> Option<T> {
    let stream = if state.key.is_ordered() { state.key.stream } else { Stream::LEGACY };
    let is_common = state.key.pool == 0 && state.last.is_none();
    if is_common { captures.if_none_open(|| act(stream)) } else { None }
}
