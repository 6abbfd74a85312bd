//! Physical memory: created, counted and given back; it has no address of its own.
#![expect(unsafe_code, reason = "functions of the driver are called here")]

use std::{
    ffi::{c_int, c_uchar},
    ptr,
};

use super::{Code, Driver, sys};

/// A piece of physical memory, which can be mapped at any number of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PhysicalHandle(pub u64);

impl Driver {
    /// The free and the total memory of the current context's device.
    ///
    /// # Errors
    /// The driver's own.
    pub fn memory_info(&self) -> Result<(u64, u64), Code> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: two numbers are written to the two places given for them.
        Code::check(unsafe { (self.functions.memory_info)(&raw mut free, &raw mut total) })?;
        Ok((free as u64, total as u64))
    }

    /// Takes memory with an address, on the current context's device.
    ///
    /// # Errors
    /// The driver's own: [`Code::OUT_OF_MEMORY`] where the device has no more.
    pub fn alloc(&self, size: u64) -> Result<u64, Code> {
        let mut address = 0;
        // SAFETY: one address is written to the place given for it.
        Code::check(unsafe { (self.functions.memory_alloc)(&raw mut address, size as usize) })?;
        Ok(address)
    }

    /// Gives it back.
    ///
    /// # Errors
    /// The driver's own.
    pub fn free(&self, address: u64) -> Result<(), Code> {
        // SAFETY: an address that was not given is answered with a code.
        Code::check(unsafe { (self.functions.memory_free)(address) })
    }

    /// What the sizes of physical memory on the device are multiples of.
    ///
    /// # Errors
    /// The driver's own.
    pub fn granularity(&self, device: u32) -> Result<u64, Code> {
        let properties = self.properties(device)?;
        let mut granularity = 0;
        let ask = self.functions.memory_granularity;
        // SAFETY: one number is written to the place given for it, and the properties are read, which
        // live until the call is over.
        Code::check(unsafe {
            ask(&raw mut granularity, &raw const properties, sys::LEAST_GRANULARITY)
        })?;
        Ok(granularity as u64)
    }

    /// Takes so much memory from the device, a multiple of its granularity. It is reachable by RDMA
    /// where the device can do that, and cannot be exported to other processes.
    ///
    /// # Errors
    /// The driver's own: [`Code::OUT_OF_MEMORY`] where the device has no more.
    pub fn create(&self, device: u32, size: u64) -> Result<PhysicalHandle, Code> {
        let properties = self.properties(device)?;
        let mut handle = 0;
        let create = self.functions.memory_create;
        // SAFETY: one handle is written to the place given for it, and the properties are read, which
        // live until the call is over.
        Code::check(unsafe { create(&raw mut handle, size as usize, &raw const properties, 0) })?;
        Ok(PhysicalHandle(handle))
    }

    /// Gives the handle up. The memory goes back to the device when it is mapped nowhere any more.
    ///
    /// # Errors
    /// The driver's own.
    pub fn release(&self, handle: PhysicalHandle) -> Result<(), Code> {
        // SAFETY: a number that is no handle is answered with a code.
        Code::check(unsafe { (self.functions.memory_release)(handle.0) })
    }

    fn properties(&self, device: u32) -> Result<sys::AllocationProperties, Code> {
        let rdma = self.reachable_by_rdma(device)?;
        Ok(sys::AllocationProperties {
            kind: sys::PINNED,
            handle_types: sys::NOT_EXPORTED,
            location: location(device)?,
            security_attributes: ptr::null_mut(),
            flags: sys::AllocationFlags {
                compression: 0,
                rdma_capable: c_uchar::from(rdma),
                usage: 0,
                reserved: [0; 4],
            },
        })
    }
}

/// The place of memory on a device.
pub(super) fn location(device: u32) -> Result<sys::Location, Code> {
    let id = c_int::try_from(device).map_err(|_| Code::INVALID_DEVICE)?;
    Ok(sys::Location { kind: sys::ON_DEVICE, id })
}

#[cfg(test)]
mod tests {
    use std::{
        ffi::{CStr, c_uint, c_ulonglong, c_void},
        ptr::NonNull,
        sync::atomic::{AtomicU32, Ordering::Relaxed},
    };

    use super::*;

    /// How often a device was asked for an attribute.
    static ASKED: AtomicU32 = AtomicU32::new(0);

    extern "C" fn device_get(device: *mut sys::Device, index: c_int) -> sys::Result {
        // SAFETY: the caller gives a place for the device.
        unsafe { *device = index };
        0
    }

    /// The first device can, the second cannot, and the driver of the third does not know.
    extern "C" fn attribute(value: *mut c_int, which: c_uint, device: sys::Device) -> sys::Result {
        assert_eq!(which, sys::RDMA_WITH_VIRTUAL_MEMORY);
        ASKED.fetch_add(1, Relaxed);
        // SAFETY: the caller gives a place for the value.
        unsafe { *value = c_int::from(device == 0) };
        if device == 2 { Code::INVALID_VALUE.0 } else { 0 }
    }

    /// The handle tells what was asked for.
    extern "C" fn create(
        handle: *mut sys::Handle,
        size: usize,
        properties: *const sys::AllocationProperties,
        flags: c_ulonglong,
    ) -> sys::Result {
        // SAFETY: the caller gives a place for the handle, and properties.
        let properties = unsafe {
            *handle = u64::from((*properties).flags.rdma_capable);
            *properties
        };
        assert_eq!((size, flags, properties.kind, properties.handle_types), (4096, 0, 1, 0));
        0
    }

    fn find(name: &CStr) -> Option<NonNull<c_void>> {
        NonNull::new(match name.to_bytes() {
            b"cuDeviceGet" => device_get as *mut c_void,
            b"cuDeviceGetAttribute" => attribute as *mut c_void,
            b"cuMemCreate" => create as *mut c_void,
            _ => return Some(NonNull::dangling()),
        })
    }

    #[test]
    fn memory_is_for_rdma_where_the_device_says_so_and_it_is_asked_once() {
        // SAFETY: the three functions that are called here have the types of those they stand for.
        let functions = unsafe { sys::Functions::find(find) }.expect("all are found");
        let driver = Driver::of(functions);
        for (device, capable) in [(0, 1), (1, 0), (2, 0), (0, 1), (1, 0), (2, 0)] {
            assert_eq!(driver.create(device, 4096), Ok(PhysicalHandle(capable)), "{device}");
        }
        assert_eq!(ASKED.load(Relaxed), 3);
    }
}
