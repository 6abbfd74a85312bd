//! Page-locked host memory.

use whyoom_trace::MemoryKind;

use super::{Allocation, AllocationKind, ContextId, Driver};
use crate::{
    backing,
    error::{Error, Result},
    log::Place,
    ranges::round_up,
};

/// Host pages.
const PAGE: u64 = 4096;

/// The flags that page-locked memory was made with, as the driver API numbers them.
pub type HostFlags = u32;

impl Driver {
    /// Takes page-locked host memory.
    pub fn alloc_pinned(&mut self, context: ContextId, size: u64, flags: HostFlags) -> Result<u64> {
        let footprint = round_up(size, PAGE);
        let valid = if size == 0 { Err(Error::InvalidValue) } else { Ok(()) };
        let outcome = valid.and_then(|()| backing::reserve(footprint, PAGE, true));
        self.note_alloc(host(context), MemoryKind::Pinned, &outcome, size);
        let allocation = self.host_allocation(context, outcome?, size, flags)?;
        self.enter(Allocation { footprint, kind: AllocationKind::Pinned, ..allocation });
        outcome
    }

    /// Gives page-locked host memory back.
    pub fn free_pinned(&mut self, context: ContextId, address: u64) -> Result<()> {
        let outcome = self.expect_kind(address, AllocationKind::Pinned, Error::InvalidValue);
        if outcome.is_ok() {
            self.release(address);
        }
        self.note_free(host(context), MemoryKind::Pinned, &outcome, address);
        outcome
    }

    /// Page-locks memory that the program has.
    pub fn register(
        &mut self,
        context: ContextId,
        address: u64,
        size: u64,
        flags: HostFlags,
    ) -> Result<()> {
        let outcome = self.check_registration(address, size);
        let traced = outcome.map(|()| address);
        self.note_alloc(host(context), MemoryKind::Registered, &traced, size);
        outcome?;
        let allocation = self.host_allocation(context, address, size, flags)?;
        self.enter(Allocation { kind: AllocationKind::Registered, ..allocation });
        Ok(())
    }

    fn check_registration(&self, address: u64, size: u64) -> Result<()> {
        if address == 0 || size == 0 {
            return Err(Error::InvalidValue);
        }
        let end = address.checked_add(size).ok_or(Error::InvalidValue)?;
        let before = self.allocations.range(..end).next_back();
        let overlaps = before.is_some_and(|(start, held)| start + held.size > address);
        if overlaps { Err(Error::HostMemoryAlreadyRegistered) } else { Ok(()) }
    }

    /// Ends that.
    pub fn unregister(&mut self, context: ContextId, address: u64) -> Result<()> {
        let kind = AllocationKind::Registered;
        let outcome = self.expect_kind(address, kind, Error::HostMemoryNotRegistered);
        if outcome.is_ok() {
            self.release(address);
        }
        self.note_free(host(context), MemoryKind::Registered, &outcome, address);
        outcome
    }

    fn expect_kind(&self, address: u64, kind: AllocationKind, otherwise: Error) -> Result<()> {
        let found = self.allocations.get(&address);
        if found.is_some_and(|held| held.kind == kind) { Ok(()) } else { Err(otherwise) }
    }

    fn host_allocation(
        &self,
        context: ContextId,
        start: u64,
        size: u64,
        flags: HostFlags,
    ) -> Result<Allocation> {
        Ok(Allocation {
            start,
            size,
            kind: AllocationKind::Registered,
            device: self.device_of(context)?,
            context,
            id: 0,
            footprint: size,
            touched: true,
            flags,
        })
    }
}

fn host(context: ContextId) -> Place {
    Place { device: None, context, ..Place::default() }
}
