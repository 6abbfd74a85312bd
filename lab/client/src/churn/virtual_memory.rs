//! Virtual memory: handles, mappings, and exports to this process and from others.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use anyhow::Context;
use cudarc::driver::{
    DriverError, result,
    sys::{self, CUresult},
};

use super::{progress::Progress, random::Random, unless_full::unless_full};

const MOST_HANDLES: usize = 16;
const MOST_MAPPINGS: usize = 16;
/// What is open for others to import.
const MOST_EXPORTS: usize = 4;
/// What is written of a mapping.
const WRITTEN: usize = 4096;
/// Sizes are multiples of this on every device of the lab.
const UNIT: usize = 2 << 20;
const FILE_DESCRIPTOR: sys::CUmemAllocationHandleType =
    sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

#[derive(Clone, Copy)]
struct Handle {
    id: sys::CUmemGenericAllocationHandle,
    /// Of an import from another process the size is not known, so no more than this is mapped.
    size: usize,
}

pub(super) struct VirtualMemory {
    device: sys::CUdevice,
    handles: Vec<Handle>,
    mappings: Vec<(sys::CUdeviceptr, usize)>,
    exports: Vec<OwnedFd>,
}

/// A device as a place for memory.
pub(super) fn on_device(id: sys::CUdevice) -> sys::CUmemLocation {
    sys::CUmemLocation {
        type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
        __bindgen_anon_1: sys::CUmemLocation_st__bindgen_ty_1 { id },
    }
}

impl VirtualMemory {
    pub(super) fn new(device: sys::CUdevice) -> Self {
        Self { device, handles: Vec::new(), mappings: Vec::new(), exports: Vec::new() }
    }

    pub(super) fn step(&mut self, random: &mut Random, progress: &Progress) -> anyhow::Result<()> {
        match random.below(20) {
            0..6 if self.handles.len() < MOST_HANDLES => self.create(random),
            0..8 => random.take(&mut self.handles).map_or(Ok(()), release),
            8..12 if self.mappings.len() < MOST_MAPPINGS => self.map(random),
            8..16 => random.take(&mut self.mappings).map_or(Ok(()), unmap),
            16 | 17 => self.export(random),
            18 => self.import_foreign(random, progress),
            _ => self.close_export(random),
        }
    }

    pub(super) fn latest_export(&self) -> Option<RawFd> {
        self.exports.last().map(AsRawFd::as_raw_fd)
    }

    fn create(&mut self, random: &mut Random) -> anyhow::Result<()> {
        let properties = sys::CUmemAllocationProp {
            type_: sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            requestedHandleTypes: FILE_DESCRIPTOR,
            location: on_device(self.device),
            win32HandleMetaData: std::ptr::null_mut(),
            allocFlags: sys::CUmemAllocationProp_st__bindgen_ty_1 {
                compressionType: 0,
                gpuDirectRDMACapable: 0,
                usage: 0,
                reserved: [0; 4],
            },
        };
        let size = random.size().next_multiple_of(UNIT);
        let mut id = 0;
        // SAFETY: the properties are complete, and there is a place for the answer.
        let answer =
            unsafe { sys::cuMemCreate(&raw mut id, size, &raw const properties, 0).result() };
        self.handles.extend(unless_full("cuMemCreate", answer)?.map(|()| Handle { id, size }));
        Ok(())
    }

    fn map(&mut self, random: &mut Random) -> anyhow::Result<()> {
        let Some(&Handle { id, size }) = self.handles.get(random.index(self.handles.len())) else {
            return Ok(());
        };
        let mut address = 0;
        // SAFETY: there is a place for the answer.
        let answer = unsafe { sys::cuMemAddressReserve(&raw mut address, size, 0, 0, 0).result() };
        if unless_full("cuMemAddressReserve", answer)?.is_none() {
            return Ok(());
        }
        // SAFETY: nothing is mapped yet where the addresses were just reserved.
        unsafe { sys::cuMemMap(address, size, 0, id, 0).result() }.context("cuMemMap")?;
        self.mappings.push((address, size));
        let access = sys::CUmemAccessDesc {
            location: on_device(self.device),
            flags: sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        };
        // SAFETY: the range was just mapped, and the list has one entry.
        unsafe { sys::cuMemSetAccess(address, size, &raw const access, 1).result() }
            .context("cuMemSetAccess")?;
        // SAFETY: the range is larger.
        unsafe { result::memset_d8_sync(address, 7, WRITTEN) }.context("cuMemsetD8 of a mapping")
    }

    /// Exports a handle and imports it at once, so that this process holds it twice.
    fn export(&mut self, random: &mut Random) -> anyhow::Result<()> {
        let Some(&Handle { id, size }) = self.handles.get(random.index(self.handles.len())) else {
            return Ok(());
        };
        let mut descriptor: RawFd = -1;
        // SAFETY: a descriptor is what is written to the place for one.
        unsafe {
            let place = (&raw mut descriptor).cast();
            sys::cuMemExportToShareableHandle(place, id, FILE_DESCRIPTOR, 0).result()
        }
        .context("cuMemExportToShareableHandle")?;
        // SAFETY: the descriptor is new and nobody else's.
        let export = unsafe { OwnedFd::from_raw_fd(descriptor) };
        let id = import(&export).context("cuMemImportFromShareableHandle")?;
        self.handles.push(Handle { id, size });
        self.exports.push(export);
        if self.exports.len() > MOST_EXPORTS { self.close_export(random) } else { Ok(()) }
    }

    fn close_export(&mut self, random: &mut Random) -> anyhow::Result<()> {
        drop(random.take(&mut self.exports));
        Ok(())
    }

    /// Imports what another process exported. It may have died or let go of it in the meantime.
    fn import_foreign(&mut self, random: &mut Random, progress: &Progress) -> anyhow::Result<()> {
        let Some(export) = progress.foreign_export(random) else { return Ok(()) };
        match import(&export) {
            Err(DriverError(CUresult::CUDA_ERROR_INVALID_VALUE)) => Ok(()),
            answer => {
                let id = answer.context("import from another process")?;
                self.handles.push(Handle { id, size: UNIT });
                Ok(())
            }
        }
    }

    pub(super) fn give_all_back(&mut self) -> anyhow::Result<()> {
        self.mappings.drain(..).try_for_each(unmap)?;
        self.exports.clear();
        self.handles.drain(..).try_for_each(release)
    }
}

fn import(export: &OwnedFd) -> Result<sys::CUmemGenericAllocationHandle, DriverError> {
    let mut id = 0;
    // Documented: the descriptor itself stands in place of a pointer.
    let descriptor = std::ptr::without_provenance_mut(export.as_raw_fd() as usize);
    // SAFETY: there is a place for the answer, and the descriptor is open.
    unsafe {
        sys::cuMemImportFromShareableHandle(&raw mut id, descriptor, FILE_DESCRIPTOR).result()
    }?;
    Ok(id)
}

fn release(handle: Handle) -> anyhow::Result<()> {
    // SAFETY: it is released once because it has left the list.
    unsafe { sys::cuMemRelease(handle.id).result() }.context("cuMemRelease")
}

fn unmap((address, size): (sys::CUdeviceptr, usize)) -> anyhow::Result<()> {
    // SAFETY: the range was mapped as a whole, and has left the list.
    unsafe { sys::cuMemUnmap(address, size).result() }.context("cuMemUnmap")?;
    // SAFETY: the range was reserved as a whole, and nothing is mapped there any more.
    unsafe { sys::cuMemAddressFree(address, size).result() }.context("cuMemAddressFree")
}
