//! Virtual memory management.

use std::ffi::c_void;

use cudarc::driver::sys;
use whyoom_lab_abi::{In, Out, exports};
use whyoom_lab_core::{Error, driver::Physical};

use crate::{
    devices::known,
    process::with,
    status::{Result, Status},
};

/// `CU_MEM_ACCESS_FLAGS_PROT_READWRITE`.
pub(crate) const READ_WRITE: u32 = 3;
/// `CU_MEM_ALLOCATION_TYPE_PINNED`, the documented kind.
pub(crate) const PINNED: u32 = 1;
/// `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR`.
const FILE_DESCRIPTOR: u32 = 1;

/// `CUmemLocation`, with its enumeration as a number: C may pass any.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Location {
    kind: u32,
    id: i32,
}

impl Location {
    /// A device.
    pub(crate) fn of_device(device: usize) -> Self {
        Self { kind: 1, id: device as i32 }
    }

    /// The device; other places are not simulated.
    pub(crate) fn device(self) -> Result<i32> {
        match self.kind {
            1 => Ok(self.id),
            2..=4 => Err(Error::NotSupported.into()),
            _ => Err(Error::InvalidValue.into()),
        }
    }
}

/// `CUmemAllocationProp`, likewise.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Properties {
    kind: u32,
    handle_types: u32,
    location: Location,
    windows: u64,
    flags: [u8; 8],
}

/// `CUmemAccessDesc`, likewise.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Access {
    location: Location,
    flags: u32,
}

const _: () = assert!(size_of::<Location>() == size_of::<sys::CUmemLocation>());
const _: () = assert!(size_of::<Properties>() == size_of::<sys::CUmemAllocationProp>());
const _: () = assert!(size_of::<Access>() == size_of::<sys::CUmemAccessDesc>());

exports! { Status;
    fn cuMemAddressReserve(address: Out<u64>, bytes: usize, alignment: usize, _at: u64, flags: u64) {
        if flags != 0 || address.is_null() {
            return Err(Error::InvalidValue.into());
        }
        with(|driver| Ok(address.put(driver.reserve(bytes as u64, alignment as u64)?)?))
    }

    fn cuMemAddressFree(address: u64, bytes: usize) {
        with(|driver| Ok(driver.unreserve(address, bytes as u64)?))
    }

    fn cuMemCreate(handle: Out<u64>, bytes: usize, properties: In<Properties>, flags: u64) {
        let wanted = properties.get()?;
        if flags != 0 || handle.is_null() || wanted.kind != PINNED {
            return Err(Error::InvalidValue.into());
        }
        if wanted.handle_types & !FILE_DESCRIPTOR != 0 {
            return Err(Error::NotSupported.into());
        }
        with(|driver| {
            let device = known(driver, wanted.location.device()?)?;
            let physical =
                Physical { device, size: bytes as u64, handle_types: wanted.handle_types };
            Ok(handle.put(driver.create(physical)?)?)
        })
    }

    fn cuMemRelease(handle: u64) { with(|driver| Ok(driver.release_handle(handle)?)) }

    fn cuMemMap(address: u64, bytes: usize, offset: usize, handle: u64, flags: u64) {
        if flags != 0 {
            return Err(Error::InvalidValue.into());
        }
        with(|driver| Ok(driver.map(address, bytes as u64, offset as u64, handle)?))
    }

    fn cuMemUnmap(address: u64, bytes: usize) {
        with(|driver| Ok(driver.unmap(address, bytes as u64)?))
    }

    fn cuMemSetAccess(address: u64, bytes: usize, list: In<Access>, count: usize) {
        let accesses = list.list(count)?;
        with(|driver| {
            for access in &accesses {
                let device = known(driver, access.location.device()?)?;
                driver.set_access(address, bytes as u64, device, access.flags != 0)?;
            }
            Ok(())
        })
    }

    fn cuMemGetAccess(flags: Out<u64>, location: In<Location>, address: u64) {
        with(|driver| {
            let device = known(driver, location.get()?.device()?)?;
            let accessible = driver.access(address, device)?;
            Ok(flags.put(if accessible { READ_WRITE.into() } else { 0 })?)
        })
    }

    fn cuMemGetAllocationGranularity(bytes: Out<usize>, properties: In<Properties>, _option: u32) {
        with(|driver| {
            let device = known(driver, properties.get()?.location.device()?)?;
            Ok(bytes.put(driver.granularity(device)? as usize)?)
        })
    }

    fn cuMemGetAllocationPropertiesFromHandle(properties: Out<Properties>, handle: u64) {
        with(|driver| {
            let physical = driver.physical(handle)?;
            Ok(properties.put(Properties {
                kind: PINNED,
                handle_types: physical.handle_types,
                location: Location { kind: 1, id: physical.device as i32 },
                windows: 0,
                flags: [0; 8],
            })?)
        })
    }

    fn cuMemRetainAllocationHandle(handle: Out<u64>, address: u64) {
        with(|driver| Ok(handle.put(driver.retain_handle(address)?)?))
    }

    fn cuMemExportToShareableHandle(shared: *mut c_void, handle: u64, kind: u32, flags: u64) {
        if flags != 0 {
            return Err(Error::InvalidValue.into());
        }
        if kind != FILE_DESCRIPTOR {
            return Err(Error::NotSupported.into());
        }
        with(|driver| Ok(Out(shared.cast::<i32>()).put(driver.export(handle)?)?))
    }

    // The descriptor itself is passed in place of a pointer, as documented.
    fn cuMemImportFromShareableHandle(handle: Out<u64>, shared: usize, kind: u32) {
        if kind != FILE_DESCRIPTOR {
            return Err(Error::NotSupported.into());
        }
        with(|driver| Ok(handle.put(driver.import(shared as i32)?)?))
    }
}
