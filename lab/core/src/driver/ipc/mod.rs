//! Legacy handles for other processes: of device memory, and of events.
//!
//! The memory stays the exporter's: it alone pays for it, and its end ends it for whoever has not
//! opened it yet. What is open stays readable, as long as somebody has it open.

mod events;

use std::{
    collections::btree_map::Entry,
    os::fd::{AsRawFd, OwnedFd},
};

use whyoom_trace::MemoryKind;

use super::{
    Allocation, AllocationKind, ContextId, Driver, IpcHandle,
    state::{Export, Import},
};
use crate::{
    backing,
    error::{Error, Result},
    machine::Identity,
};

/// What handles begin with: which kind they are.
const MEMORY: u64 = u64::from_be_bytes(*b"whyipc\0\0");
const EVENT: u64 = u64::from_be_bytes(*b"whyevt\0\0");

impl Driver {
    /// A handle for device memory, by its first address. Documented: the same memory may be exported
    /// any number of times.
    pub fn export_memory(&mut self, address: u64) -> Result<IpcHandle> {
        let held = *self.allocations.get(&address).ok_or(Error::InvalidValue)?;
        let device = self.device(held.device)?;
        let (start, length) = match held.kind {
            AllocationKind::Device => (held.start, held.footprint),
            // The whole slab: pages are all that can be shared.
            AllocationKind::Small => {
                let slab = device.slabs.slab_of(held.start).ok_or(Error::InvalidValue)?;
                (slab, device.spec.units.slab)
            }
            _ => return Err(Error::InvalidValue),
        };
        let (unit, index) = (device.granularity, device.index as u64);
        let export = match self.ipc.exports.entry(start) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(vacant) => {
                let file = backing::share(start, length, unit)?;
                let inode = backing::inode(&file)?;
                vacant.insert(Export { length, file, inode })
            }
        };
        let own = Identity::own();
        let file = u64::from(own.pid) << 32 | export.file.as_raw_fd() as u64;
        let inside = held.start - start;
        Ok([
            MEMORY | index,
            file,
            own.started,
            export.inode,
            export.length,
            inside,
            held.size,
            held.id,
        ])
    }

    /// The end of a range that may have been exported: anonymous pages take its place.
    pub(super) fn end_export(&mut self, start: u64) -> bool {
        let Some(export) = self.ipc.exports.remove(&start) else { return false };
        backing::unshare(start, export.length);
        true
    }

    /// Opens another process's memory. Documented: a second time it is the same address, and only one
    /// context of a device may have it open. Observed: not in the process that exported it
    /// (openucx/ucx#11603).
    pub fn import_memory(&mut self, context: ContextId, handle: IpcHandle) -> Result<u64> {
        let known = self.ipc.imports.iter_mut().find(|(_, import)| import.handle == handle);
        if let Some((address, import)) = known {
            if import.context != context {
                return Err(Error::InvalidContext);
            }
            import.references += 1;
            return Ok(*address);
        }
        let outcome = self.map_import(context, handle);
        self.note_alloc(self.place(context), MemoryKind::Imported, &outcome, handle[6]);
        outcome
    }

    fn map_import(&mut self, context: ContextId, handle: IpcHandle) -> Result<u64> {
        let [tag, _, _, _, length, inside, size, _] = handle;
        if tag & !0xff != MEMORY
            || size == 0
            || inside.checked_add(size).is_none_or(|end| end > length)
        {
            return Err(Error::InvalidValue);
        }
        let device = self.ordinal((tag & 0xff) as usize)?;
        let unit = self.device(device)?.granularity;
        let file = open(&handle)?;
        let start = backing::reserve(length, unit, false)?;
        if let Err(error) = backing::map_file(start, length, &file, 0) {
            backing::unmap(start, length);
            return Err(error);
        }
        let address = start + inside;
        let kind = AllocationKind::Imported;
        let allocation = Allocation::new(kind, (device, context), address, size);
        self.enter(Allocation { touched: true, ..allocation });
        let mapped = (start, length);
        let import = Import { handle, context, device, mapped, references: 1 };
        self.ipc.imports.insert(address, import);
        Ok(address)
    }

    /// Ends one opening of another process's memory; the last one unmaps it.
    pub fn close_memory(&mut self, address: u64) -> Result<()> {
        let import = self.ipc.imports.get_mut(&address).ok_or(Error::InvalidValue)?;
        import.references -= 1;
        if import.references == 0 {
            let (context, device) = (import.context, import.device);
            self.release(address);
            let place = crate::log::Place { device: Some(device), ..self.place(context) };
            self.note_free(place, MemoryKind::Imported, &Ok(()), address);
        }
        Ok(())
    }

    pub(super) fn forget_import(&mut self, address: u64) {
        if let Some(Import { mapped: (start, length), .. }) = self.ipc.imports.remove(&address) {
            backing::unmap(start, length);
        }
    }
}

/// Opens the file that a handle names: of another process that lives.
fn open(handle: &IpcHandle) -> Result<OwnedFd> {
    let [_, file, started, inode, length, ..] = *handle;
    let owner = Identity { pid: (file >> 32) as u32, started };
    if owner == Identity::own() {
        return Err(Error::InvalidContext);
    }
    if !owner.is_alive() {
        return Err(Error::InvalidValue);
    }
    backing::open_of(owner.pid, file as u32, inode, length)
}
