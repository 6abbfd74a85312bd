//! Plain device memory, managed memory and arrays.

use whyoom_trace::MemoryKind;

use super::{Allocation, AllocationKind, ArrayShape, ContextId, Driver};
use crate::{
    backing,
    error::{Error, Result},
    log::Place,
    ranges::round_up,
};

impl Driver {
    /// Takes device memory.
    pub fn alloc(&mut self, context: ContextId, size: u64) -> Result<u64> {
        let outcome = self.alloc_unlogged(context, size);
        self.note_alloc(self.place(context), MemoryKind::Device, &outcome, size);
        outcome
    }

    fn alloc_unlogged(&mut self, context: ContextId, size: u64) -> Result<u64> {
        let device = self.device_of(context)?;
        if size == 0 {
            return Err(Error::InvalidValue);
        }
        self.count_allocation()?;
        let units = self.device(device)?.spec.units;
        let small = size <= units.small_limit;
        let unit = if small { units.small_unit } else { units.granularity };
        let footprint = round_up(size, unit);
        let start = if small {
            self.take_small(device, footprint)?
        } else {
            self.take_range(device, footprint)?
        };
        let kind = if small { AllocationKind::Small } else { AllocationKind::Device };
        let place = (device, context);
        self.enter(Allocation { footprint, ..Allocation::new(kind, place, start, size) });
        Ok(start)
    }

    fn take_small(&mut self, device: usize, footprint: u64) -> Result<u64> {
        if let Some(place) = self.device_mut(device)?.slabs.take(footprint) {
            return Ok(place);
        }
        let length = self.device(device)?.spec.units.slab;
        let start = self.take_range(device, length)?;
        let slabs = &mut self.device_mut(device)?.slabs;
        slabs.add(start, length);
        slabs.take(footprint).ok_or(Error::OutOfMemory)
    }

    pub(super) fn enter(&mut self, allocation: Allocation) {
        let id = self.new_handle();
        self.allocations.insert(allocation.start, Allocation { id, ..allocation });
    }

    /// Gives device memory back. Memory of a pool can be given back this way too; documented: the
    /// call then waits for the device.
    pub fn free(&mut self, context: ContextId, address: u64) -> Result<()> {
        let freed = self.allocations.get(&address);
        let kind = freed.map(|allocation| allocation.kind);
        // The log tells where the memory lay, whichever device is current now.
        let mut place = self.place(context);
        place.device = freed.map_or(place.device, |allocation| Some(allocation.device));
        let outcome = match kind {
            Some(AllocationKind::Pooled(_) | AllocationKind::Graph(_)) => {
                self.free_pooled_now(address)
            }
            Some(AllocationKind::Device | AllocationKind::Small | AllocationKind::Managed) => {
                self.release(address);
                Ok(())
            }
            _ => Err(Error::InvalidValue),
        };
        self.note_free(place, traced(kind), &outcome, address);
        outcome
    }

    pub(super) fn release(&mut self, address: u64) {
        let Some(gone) = self.allocations.remove(&address) else { return };
        match gone.kind {
            AllocationKind::Device => {
                self.give_range(gone.device, gone.start, gone.footprint, gone.touched);
            }
            AllocationKind::Small => self.release_small(&gone),
            AllocationKind::Managed | AllocationKind::Pinned => {
                backing::unmap(gone.start, gone.footprint);
            }
            AllocationKind::Imported => self.forget_import(gone.start),
            AllocationKind::Pooled(_)
            | AllocationKind::Registered
            | AllocationKind::Mapped
            | AllocationKind::Graph(_) => {}
        }
    }

    fn release_small(&mut self, gone: &Allocation) {
        if gone.touched {
            backing::fill_zero(gone.start, gone.footprint);
        }
        let Some(device) = self.devices.get_mut(gone.device) else { return };
        let length = device.spec.units.slab;
        if let Some(slab) = device.slabs.give_back(gone.start, gone.footprint, length) {
            self.give_range(gone.device, slab, length, true);
        }
    }

    /// Frees what was allocated in a context. Assumed: blocks of pools too, back into their pools.
    pub(super) fn free_all_of(&mut self, context: ContextId) {
        let of_context = self.allocations.values().filter(|held| held.context == context);
        let addresses: Vec<u64> = of_context.map(|held| held.start).collect();
        for address in addresses {
            if self.free_pooled_now(address).is_err() {
                self.release(address);
            }
        }
        let allocations = &self.allocations;
        self.arrays.retain(|_, (address, _)| allocations.contains_key(address));
        // A library outlives the context; the memory of its variables does not.
        for module in self.modules.values_mut() {
            module.variables.retain(|_, (address, _)| allocations.contains_key(address));
        }
    }

    /// Takes managed memory. It may exceed the device (documented for Linux), so it is charged to
    /// the host until a kernel would touch it, and none does.
    pub fn alloc_managed(&mut self, context: ContextId, size: u64) -> Result<u64> {
        let device = self.device_of(context)?;
        let unit = self.device(device)?.granularity;
        let footprint = round_up(size, unit);
        let valid = if size == 0 { Err(Error::InvalidValue) } else { Ok(()) };
        let outcome = valid.and_then(|()| backing::reserve(footprint, unit, true));
        self.note_alloc(self.place(context), MemoryKind::Managed, &outcome, size);
        let start = outcome?;
        let kind = AllocationKind::Managed;
        let place = (device, context);
        self.enter(Allocation {
            footprint,
            touched: true,
            ..Allocation::new(kind, place, start, size)
        });
        Ok(start)
    }

    /// Makes an array. Assumed: it takes what its elements take, without padding of rows.
    pub fn create_array(&mut self, context: ContextId, shape: ArrayShape) -> Result<u64> {
        let size = shape.bytes().ok_or(Error::InvalidValue)?;
        let outcome = self.alloc_unlogged(context, size);
        self.note_alloc(self.place(context), MemoryKind::Array, &outcome, size);
        let address = outcome?;
        let array = self.new_handle();
        self.arrays.insert(array, (address, shape));
        Ok(array)
    }

    /// Where an array's elements lie, and how far its rows are apart.
    pub fn array_place(&self, array: u64) -> Result<(u64, u64)> {
        let (address, shape) = self.arrays.get(&array).ok_or(Error::InvalidHandle)?;
        Ok((*address, shape.width * shape.element))
    }

    /// What an array is.
    pub fn array_shape(&self, array: u64) -> Result<ArrayShape> {
        self.arrays.get(&array).map(|(_, shape)| *shape).ok_or(Error::InvalidHandle)
    }

    /// Ends an array.
    pub fn destroy_array(&mut self, array: u64) -> Result<()> {
        let (address, _) = self.arrays.remove(&array).ok_or(Error::InvalidHandle)?;
        let context = self.allocations.get(&address).map(|held| held.context).unwrap_or_default();
        self.release(address);
        self.note_free(self.place(context), MemoryKind::Array, &Ok(()), address);
        Ok(())
    }

    /// The live allocation that an address lies in.
    #[must_use]
    pub fn find(&self, address: u64) -> Option<Allocation> {
        let below = self.allocations.range(..=address).next_back().map(|(_, below)| *below);
        below
            .filter(|below| address - below.start < below.size)
            .or_else(|| self.find_mapped(address))
    }

    /// Where something happened that belongs to a stream.
    pub(super) fn stream_place(&self, context: ContextId, stream: u64) -> Place {
        Place { stream, ..self.place(context) }
    }
}

fn traced(kind: Option<AllocationKind>) -> MemoryKind {
    match kind {
        Some(AllocationKind::Pooled(_) | AllocationKind::Graph(_)) => MemoryKind::StreamOrdered,
        Some(AllocationKind::Imported) => MemoryKind::Imported,
        Some(AllocationKind::Managed) => MemoryKind::Managed,
        _ => MemoryKind::Device,
    }
}
