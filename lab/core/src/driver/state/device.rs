//! A device as one process uses it: its addresses, and the memory behind them.

use std::os::fd::OwnedFd;

use super::ids::{ContextId, PoolId};
use crate::{
    backing,
    error::{Error, Result},
    machine::DeviceSpec,
    ranges::FreeRanges,
    slabs::Slabs,
};

/// The length of the file behind a device's handles, of which only what is written exists. Places
/// that were exported are never used again, so this must outlast any number of exports.
const FILE_LENGTH: u64 = 1 << 46;

/// Addresses are plenty: each device has room for this many times its memory, so that fragments of
/// the address space never look like out of memory.
const ADDRESS_ROOM: u64 = 4;

/// A device as this process uses it.
pub(crate) struct Device {
    /// Its number in the machine.
    pub(crate) index: usize,
    pub(crate) spec: DeviceSpec,
    /// The unit of virtual memory.
    pub(crate) granularity: u64,
    pub(crate) primary: Option<ContextId>,
    pub(crate) primary_users: u32,
    pub(crate) primary_flags: u32,
    pub(crate) default_pool: PoolId,
    pub(crate) current_pool: PoolId,
    /// Free addresses, once any was asked for.
    pub(crate) addresses: Option<FreeRanges>,
    /// Where its addresses lie.
    pub(crate) region: (u64, u64),
    pub(crate) slabs: Slabs,
    /// The file behind the virtual-memory handles, once there is one, and its free parts.
    pub(crate) physical: Option<(OwnedFd, FreeRanges)>,
    /// What this process has mapped of it, and the page tables for that.
    pub(crate) mapped: u64,
    pub(crate) page_tables: u64,
}

impl Device {
    pub(crate) fn new(index: usize, spec: DeviceSpec, granularity: u64, pool: PoolId) -> Self {
        Self {
            index,
            spec,
            granularity,
            primary: None,
            primary_users: 0,
            primary_flags: 0,
            default_pool: pool,
            current_pool: pool,
            addresses: None,
            region: (0, 0),
            slabs: Slabs::default(),
            physical: None,
            mapped: 0,
            page_tables: 0,
        }
    }

    pub(crate) fn contains(&self, address: u64) -> bool {
        address >= self.region.0 && address - self.region.0 < self.region.1
    }

    pub(crate) fn take_addresses(&mut self, bytes: u64) -> Result<u64> {
        if self.addresses.is_none() {
            let room = self.spec.capacity.next_multiple_of(self.granularity) * ADDRESS_ROOM;
            let start = backing::reserve(room, self.granularity, true)?;
            backing::leave_out_of_core_files(start, room);
            self.addresses = Some(FreeRanges::new(start, room));
            self.region = (start, room);
        }
        self.addresses.as_mut().and_then(|free| free.take_highest(bytes)).ok_or(Error::OutOfMemory)
    }

    /// A place in the file behind this device's handles.
    pub(crate) fn take_physical(&mut self, size: u64) -> Result<u64> {
        if self.physical.is_none() {
            let file = backing::memory_file(FILE_LENGTH)?;
            self.physical = Some((file, FreeRanges::new(0, FILE_LENGTH)));
        }
        let free = self.physical.as_mut().map(|(_, free)| free);
        free.and_then(|free| free.take(size)).ok_or(Error::OutOfMemory)
    }

    pub(crate) fn give_physical(&mut self, offset: u64, size: u64) {
        if let Some((file, free)) = &mut self.physical {
            backing::punch_hole(file, offset, size);
            free.give_back(offset, size);
        }
    }
}
