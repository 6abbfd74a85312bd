//! Virtual memory: addresses and the physical memory behind them, each on its own.

use std::{os::fd::OwnedFd, sync::Arc};

use whyoom_trace::{Action, Address, Bytes, HandleId as TracedHandle};

use super::{
    Allocation, AllocationKind, ContextId, Driver, HandleId, Physical,
    state::{FileOf, Handle, Mapping},
};
use crate::{
    backing,
    error::{Error, Result},
    log::Place,
    machine::SharedMemory,
};

impl Driver {
    /// Reserves addresses.
    pub fn reserve(&mut self, size: u64, alignment: u64) -> Result<u64> {
        self.needs_virtual_memory()?;
        let unit = self.device(0)?.granularity;
        let aligned = alignment == 0 || alignment.is_power_of_two();
        let valid = size != 0 && size.is_multiple_of(unit) && aligned;
        let valid = if valid { Ok(()) } else { Err(Error::InvalidValue) };
        let outcome = valid.and_then(|()| backing::reserve(size, alignment.max(unit), false));
        let address = Address(outcome.unwrap_or_default());
        self.note(Place::default(), &outcome, Action::Reserve { address, size: Bytes(size) });
        self.reservations.insert(outcome?, size);
        outcome
    }

    /// Gives reserved addresses up; nothing may be mapped there.
    pub fn unreserve(&mut self, address: u64, size: u64) -> Result<()> {
        let whole = self.reservations.get(&address) == Some(&size);
        let end = address.saturating_add(size);
        let mapped = self.mappings.range(address..end).next().is_some();
        let outcome = if whole && !mapped { Ok(()) } else { Err(Error::InvalidValue) };
        let action = Action::Unreserve { address: Address(address), size: Bytes(size) };
        self.note(Place::default(), &outcome, action);
        outcome?;
        self.reservations.remove(&address);
        backing::unmap(address, size);
        Ok(())
    }

    /// Makes physical memory.
    pub fn create(&mut self, physical: Physical) -> Result<HandleId> {
        let id = self.new_handle();
        let outcome = self.create_physical(id, physical);
        let place = Place { device: Some(physical.device), ..Place::default() };
        let action = Action::Create { handle: TracedHandle(id), size: Bytes(physical.size) };
        self.note(place, &outcome, action);
        outcome.map(|()| id)
    }

    fn create_physical(&mut self, id: HandleId, physical: Physical) -> Result<()> {
        self.needs_virtual_memory()?;
        let unit = self.device(physical.device)?.granularity;
        if physical.size == 0 || !physical.size.is_multiple_of(unit) {
            return Err(Error::InvalidValue);
        }
        self.count_allocation()?;
        self.charge(physical.device, physical.size)?;
        let placed = self.device_mut(physical.device)?.take_physical(physical.size);
        let Ok(offset) = placed else {
            self.refund(physical.device, physical.size);
            return Err(Error::OutOfMemory);
        };
        let handle = Handle {
            physical,
            references: 1,
            mappings: 0,
            file: FileOf::Own,
            offset,
            shared: None,
        };
        self.handles.insert(id, handle);
        Ok(())
    }

    /// Enters physical memory of another process.
    pub(super) fn enter_imported(
        &mut self,
        physical: Physical,
        file: OwnedFd,
        offset: u64,
        shared: SharedMemory,
    ) -> HandleId {
        let id = self.new_handle();
        let file = FileOf::Imported(Arc::new(file));
        let shared = Some(shared);
        let handle = Handle { physical, references: 1, mappings: 0, file, offset, shared };
        self.handles.insert(id, handle);
        id
    }

    /// Ends one use of a handle. The memory goes when no use and no mapping is left.
    pub fn release_handle(&mut self, id: HandleId) -> Result<()> {
        let live = self.handles.get_mut(&id).filter(|handle| handle.references > 0);
        let device = live.as_ref().map(|handle| handle.physical.device);
        let outcome = live.map(|handle| handle.references -= 1).ok_or(Error::InvalidValue);
        let place = Place { device, ..Place::default() };
        self.note(place, &outcome, Action::Release { handle: TracedHandle(id) });
        self.drop_if_unused(id);
        outcome
    }

    fn drop_if_unused(&mut self, id: HandleId) {
        let unused = |handle: &Handle| handle.references == 0 && handle.mappings == 0;
        if !self.handles.get(&id).is_some_and(unused) {
            return;
        }
        let Some(handle) = self.handles.remove(&id) else { return };
        let Physical { device, size, .. } = handle.physical;
        match handle.shared {
            // Its place in the file stays taken: another process may still read there.
            Some(shared) => self.end_share(shared),
            None => {
                if let Some(device) = self.devices.get_mut(device) {
                    device.give_physical(handle.offset, size);
                }
                self.refund(device, size);
            }
        }
    }

    /// Maps physical memory at reserved addresses.
    pub fn map(&mut self, address: u64, size: u64, offset: u64, id: HandleId) -> Result<()> {
        let outcome = self.map_physical(address, size, offset, id);
        let device = self.handles.get(&id).map(|handle| handle.physical.device);
        let place = Place { device, ..Place::default() };
        let action =
            Action::Map { address: Address(address), size: Bytes(size), handle: TracedHandle(id) };
        self.note(place, &outcome, action);
        outcome
    }

    fn map_physical(&mut self, address: u64, size: u64, offset: u64, id: HandleId) -> Result<()> {
        let handle = self.held(id)?;
        let unit = self.device(handle.physical.device)?.granularity;
        // Documented: the offset must be zero for now.
        let valid = size != 0
            && offset == 0
            && size <= handle.physical.size
            && size.is_multiple_of(unit)
            && address.is_multiple_of(unit);
        if !valid || !self.is_reserved(address, size) || self.is_mapped_anywhere(address, size) {
            return Err(Error::InvalidValue);
        }
        // A full device has no room for page tables either (assumed to be refused so).
        if self.machine.must_fail_mapping() {
            return Err(Error::OutOfMemory);
        }
        let device = handle.physical.device;
        let mapped = self.device(device)?.mapped + size;
        self.charge_page_tables(device, mapped)?;
        let handle = self.held(id)?;
        let own = self.device(device)?.physical.as_ref();
        let file = match &handle.file {
            FileOf::Own => own.map(|(file, _)| file).ok_or(Error::InvalidValue)?,
            FileOf::Imported(file) => file,
        };
        if let Err(error) = backing::map_file(address, size, file, handle.offset) {
            self.charge_page_tables(device, mapped - size)?;
            return Err(error);
        }
        if let Some(handle) = self.handles.get_mut(&id) {
            handle.mappings += 1;
        }
        let mapping = Mapping { size, handle: id, access: 0, id: self.new_handle() };
        self.mappings.insert(address, mapping);
        Ok(())
    }

    /// Page tables for so much that is mapped on a device: more or less than there are.
    fn charge_page_tables(&mut self, device: usize, mapped: u64) -> Result<()> {
        let of_each = self.quirks().page_table_bytes;
        if of_each == 0 {
            return Ok(());
        }
        let wanted = mapped.div_ceil(1 << 30).saturating_mul(of_each);
        let held = self.device(device)?.page_tables;
        self.charge(device, wanted.saturating_sub(held))?;
        self.refund(device, held.saturating_sub(wanted));
        let device = self.device_mut(device)?;
        (device.mapped, device.page_tables) = (mapped, wanted);
        Ok(())
    }

    fn is_reserved(&self, address: u64, size: u64) -> bool {
        let below = self.reservations.range(..=address).next_back();
        below.is_some_and(|(start, length)| {
            address.checked_add(size).is_some_and(|end| end <= start + length)
        })
    }

    fn is_mapped_anywhere(&self, address: u64, size: u64) -> bool {
        let below = self.mappings.range(..address + size).next_back();
        below.is_some_and(|(start, mapping)| start + mapping.size > address)
    }

    /// Ends mappings. The range must be made of whole ones, as documented.
    pub fn unmap(&mut self, address: u64, size: u64) -> Result<()> {
        let covered = self.whole_mappings(address, size);
        let device = covered.as_ref().ok().and_then(|starts| self.mapped_device(starts[0]));
        let action = Action::Unmap { address: Address(address), size: Bytes(size) };
        self.note(Place { device, ..Place::default() }, &covered, action);
        for start in covered? {
            let Some(mapping) = self.mappings.remove(&start) else { continue };
            self.end_touched(start, mapping.size);
            backing::clear(start, mapping.size)?;
            if let Some(handle) = self.handles.get_mut(&mapping.handle) {
                handle.mappings -= 1;
                let device = handle.physical.device;
                let mapped = self.device(device)?.mapped.saturating_sub(mapping.size);
                self.charge_page_tables(device, mapped)?;
            }
            self.drop_if_unused(mapping.handle);
        }
        Ok(())
    }

    fn mapped_device(&self, start: u64) -> Option<usize> {
        let mapping = self.mappings.get(&start)?;
        self.handles.get(&mapping.handle).map(|handle| handle.physical.device)
    }

    /// The mappings that make up a range, without a gap or a rest.
    fn whole_mappings(&self, address: u64, size: u64) -> Result<Vec<u64>> {
        let end = address.checked_add(size).ok_or(Error::InvalidValue)?;
        let mut starts = Vec::new();
        let mut next = address;
        while next < end {
            let mapping = self.mappings.get(&next).ok_or(Error::InvalidValue)?;
            starts.push(next);
            next += mapping.size;
        }
        if next == end && !starts.is_empty() { Ok(starts) } else { Err(Error::InvalidValue) }
    }

    /// Lets a device read and write mapped memory, or not. Without peers that is its own memory alone.
    pub fn set_access(
        &mut self,
        address: u64,
        size: u64,
        device: usize,
        accessible: bool,
    ) -> Result<()> {
        self.device(device)?;
        let starts = self.whole_mappings(address, size)?;
        let own = |start: &u64| self.mapped_device(*start) == Some(device);
        if accessible && self.quirks().no_peers && !starts.iter().all(own) {
            return Err(Error::InvalidDevice);
        }
        for start in starts {
            if let Some(mapping) = self.mappings.get_mut(&start) {
                let bit = 1 << device;
                mapping.access =
                    if accessible { mapping.access | bit } else { mapping.access & !bit };
            }
        }
        Ok(())
    }

    /// Whether a device may use the address.
    pub fn access(&self, address: u64, device: usize) -> Result<bool> {
        let mapping = self.mapping_at(address).ok_or(Error::InvalidValue)?;
        Ok(mapping.access >> device & 1 == 1)
    }

    fn mapping_at(&self, address: u64) -> Option<&Mapping> {
        let (start, mapping) = self.mappings.range(..=address).next_back()?;
        (address - start < mapping.size).then_some(mapping)
    }

    /// Copies that name no context run on the device of the current one, which must reach mapped memory of other
    /// devices. Memory that was not mapped is reached by any copy (PyTorch's allocator says so of its own copies).
    pub fn check_reach(&self, context: ContextId, address: u64) -> Result<()> {
        let device = self.device_of(context)?;
        let reached = self.mapping_at(address).is_none_or(|found| found.access >> device & 1 == 1);
        if reached { Ok(()) } else { Err(Error::InvalidValue) }
    }

    pub(super) fn needs_virtual_memory(&self) -> Result<()> {
        if self.quirks().no_virtual_memory { Err(Error::NotSupported) } else { Ok(()) }
    }

    /// What a handle stands for.
    pub fn physical(&self, id: HandleId) -> Result<Physical> {
        self.held(id).map(|handle| handle.physical)
    }

    /// A handle that the program still has. One that it released is none any more, also while its
    /// memory is mapped.
    pub(super) fn held(&self, id: HandleId) -> Result<&Handle> {
        let held = self.handles.get(&id).filter(|handle| handle.references > 0);
        held.ok_or(Error::InvalidValue)
    }

    /// The handle of what is mapped at an address, used once more.
    pub fn retain_handle(&mut self, address: u64) -> Result<HandleId> {
        let id =
            self.mapping_at(address).map(|mapping| mapping.handle).ok_or(Error::InvalidValue)?;
        self.handles.get_mut(&id).ok_or(Error::InvalidValue)?.references += 1;
        Ok(id)
    }

    /// The mapping that an address lies in, as an allocation. Mappings side by side are one range
    /// to a copy, so the range reaches as far as they do.
    pub(super) fn find_mapped(&self, address: u64) -> Option<Allocation> {
        let (&start, mapping) = self.mappings.range(..=address).next_back()?;
        if address - start >= mapping.size || mapping.access == 0 {
            return None;
        }
        let mut end = start + mapping.size;
        while let Some(next) = self.mappings.get(&end).filter(|next| next.access != 0) {
            end += next.size;
        }
        Some(Allocation {
            start,
            size: end - start,
            kind: AllocationKind::Mapped,
            device: self.mapped_device(start)?,
            context: 0,
            id: mapping.id,
            footprint: mapping.size,
            touched: true,
            flags: 0,
        })
    }
}
