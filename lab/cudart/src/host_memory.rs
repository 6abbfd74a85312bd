//! Host memory that the device can reach.

use std::{ffi::c_void, ptr};

use cudarc::driver::sys::CUdeviceptr;
use whyoom_lab_abi::{Out, exports};

use crate::{
    context::{self, Current},
    error::{Failure, Status},
};

exports! { Status;
    fn cudaMallocHost(pointer: Out<*mut c_void>, size: usize) {
        allocate(pointer, size, |current| current.cuMemAllocHost(pointer.0, size))
    }

    fn cudaHostAlloc(pointer: Out<*mut c_void>, size: usize, flags: u32) {
        allocate(pointer, size, |current| current.cuMemHostAlloc(pointer.0, size, flags))
    }

    fn cudaFreeHost(pointer: *mut c_void) {
        let current = context::current()?;
        if pointer.is_null() { Ok(()) } else { current.cuMemFreeHost(pointer) }
    }

    fn cudaHostRegister(pointer: *mut c_void, size: usize, flags: u32) {
        context::current()?.cuMemHostRegister(pointer, size, flags)
    }

    fn cudaHostUnregister(pointer: *mut c_void) {
        context::current()?.cuMemHostUnregister(pointer)
    }

    fn cudaHostGetDevicePointer(device: Out<CUdeviceptr>, host: *mut c_void, flags: u32) {
        context::current()?.cuMemHostGetDevicePointer(device.0, host, flags)
    }

    fn cudaHostGetFlags(flags: Out<u32>, host: *mut c_void) {
        context::current()?.cuMemHostGetFlags(flags.0, host)
    }
}

/// Null for zero bytes, as with device memory.
fn allocate(
    place: Out<*mut c_void>,
    size: usize,
    by: impl FnOnce(&Current) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let current = context::current()?;
    place.put(ptr::null_mut())?;
    if size == 0 { Ok(()) } else { by(&current) }
}
