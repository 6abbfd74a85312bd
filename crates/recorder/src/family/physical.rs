//! Physical memory behind handles, and where it is mapped: a release or an unmapping does not say of
//! which device it is, nor whether it was the last.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, MutexGuard, PoisonError, atomic::Ordering::Relaxed},
};

use foldhash::fast::FixedState;
use whyoom_recording::LiveTotals;
use whyoom_trace::DeviceId;

/// Physical memory behind a handle.
struct Handle {
    device: DeviceId,
    size: u64,
    references: u32,
    mappings: u32,
}

impl Handle {
    fn is_unused(&self) -> bool {
        self.references == 0 && self.mappings == 0
    }
}

/// What is known of handles and mappings.
#[derive(Default)]
pub(super) struct Physical {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    handles: HashMap<u64, Handle, FixedState>,
    /// By address: the handle.
    mappings: BTreeMap<u64, u64>,
}

impl Physical {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A handle came. What another process has taken has no size here: it counts there.
    pub(super) fn enter(&self, handle: u64, device: DeviceId, size: u64, live: &LiveTotals) {
        count(live, device, size, true);
        let mut known = self.known();
        if let Some(again) = known.handles.get_mut(&handle).filter(|known| !known.is_unused()) {
            // Memory that is imported twice has one handle.
            again.references += 1;
            return;
        }
        let new = Handle { device, size, references: 1, mappings: 0 };
        if let Some(old) = known.handles.insert(handle, new) {
            // Another thread's release is just about to see that it is gone.
            count(live, old.device, old.size, false);
        }
    }

    /// One more use of a handle.
    pub(super) fn reuse(&self, handle: u64) {
        if let Some(handle) = self.known().handles.get_mut(&handle) {
            handle.references += 1;
        }
    }

    /// One use of the handle less, from before the call on: its number may be another's right after
    /// it. The device that it is of.
    pub(super) fn releasing(&self, handle: u64) -> DeviceId {
        let mut known = self.known();
        let Some(handle) = known.handles.get_mut(&handle).filter(|known| known.references > 0)
        else {
            return DeviceId::HOST;
        };
        handle.references -= 1;
        handle.device
    }

    /// After the driver took that: the memory goes when no use and no mapping of it is left.
    pub(super) fn released(&self, handle: u64, live: &LiveTotals) {
        self.known().drop_if_unused(handle, live);
    }

    /// The handle was mapped, or was not. The device that it is of.
    pub(super) fn mapped(&self, address: u64, handle: u64, done: bool) -> DeviceId {
        let mut known = self.known();
        if done {
            known.mappings.insert(address, handle);
        }
        known.handles.get_mut(&handle).map_or(DeviceId::HOST, |handle| {
            handle.mappings += u32::from(done);
            handle.device
        })
    }

    /// The device of what is mapped at an address.
    pub(super) fn device_at(&self, address: u64) -> Option<DeviceId> {
        let known = self.known();
        let handle = known.mappings.get(&address)?;
        known.handles.get(handle).map(|handle| handle.device)
    }

    /// Mappings went.
    pub(super) fn unmapped(&self, address: u64, size: u64, live: &LiveTotals) {
        let mut known = self.known();
        let within = known.mappings.range(address..address.saturating_add(size));
        let gone: Vec<(u64, u64)> = within.map(|(start, handle)| (*start, *handle)).collect();
        for (start, handle) in gone {
            known.mappings.remove(&start);
            if let Some(handle) = known.handles.get_mut(&handle) {
                handle.mappings = handle.mappings.saturating_sub(1);
            }
            known.drop_if_unused(handle, live);
        }
    }
}

impl Known {
    fn drop_if_unused(&mut self, handle: u64, live: &LiveTotals) {
        if self.handles.get(&handle).is_some_and(Handle::is_unused)
            && let Some(gone) = self.handles.remove(&handle)
        {
            count(live, gone.device, gone.size, false);
        }
    }
}

/// Adds physical memory to the live totals, or takes it off.
fn count(live: &LiveTotals, device: DeviceId, size: u64, more: bool) {
    let Some(live) = live.devices.get(usize::from(device.0)) else { return };
    if more {
        live.driver.fetch_add(size, Relaxed);
    } else {
        live.driver.fetch_sub(size, Relaxed);
    }
}
