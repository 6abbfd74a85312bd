//! Stream-ordered allocation and its pools.
//!
//! Properties, access lists and exported data have the same layout in both APIs and pass through.

use std::ffi::c_void;

use cudarc::driver::sys::{CUdeviceptr, CUmemoryPool, CUstream};
use whyoom_lab_abi::{Out, exports};

use crate::{context, device, driver::Location, error::Status, memory};

exports! { Status;
    fn cudaMallocAsync(pointer: Out<CUdeviceptr>, size: usize, stream: CUstream) {
        let current = context::current()?;
        memory::allocate(pointer, size, |place| current.cuMemAllocAsync(place, size, stream))
    }

    fn cudaMallocFromPoolAsync(pointer: Out<CUdeviceptr>, size: usize, pool: CUmemoryPool, stream: CUstream) {
        let current = context::current()?;
        memory::allocate(pointer, size, |place| {
            current.cuMemAllocFromPoolAsync(place, size, pool, stream)
        })
    }

    fn cudaFreeAsync(pointer: CUdeviceptr, stream: CUstream) {
        let current = context::current()?;
        if pointer == 0 { Ok(()) } else { current.cuMemFreeAsync(pointer, stream) }
    }

    fn cudaDeviceGetDefaultMemPool(pool: Out<CUmemoryPool>, device: i32) {
        let (driver, device) = device::at(device)?;
        driver.cuDeviceGetDefaultMemPool(pool.0, device)
    }

    fn cudaDeviceGetMemPool(pool: Out<CUmemoryPool>, device: i32) {
        let (driver, device) = device::at(device)?;
        driver.cuDeviceGetMemPool(pool.0, device)
    }

    fn cudaDeviceSetMemPool(device: i32, pool: CUmemoryPool) {
        let (driver, device) = device::at(device)?;
        driver.cuDeviceSetMemPool(device, pool)
    }

    fn cudaMemPoolCreate(pool: Out<CUmemoryPool>, properties: *const c_void) {
        context::current()?.cuMemPoolCreate(pool.0, properties)
    }

    fn cudaMemPoolDestroy(pool: CUmemoryPool) { context::current()?.cuMemPoolDestroy(pool) }

    fn cudaMemPoolTrimTo(pool: CUmemoryPool, kept: usize) {
        context::current()?.cuMemPoolTrimTo(pool, kept)
    }

    fn cudaMemPoolSetAttribute(pool: CUmemoryPool, attribute: u32, value: *mut c_void) {
        context::current()?.cuMemPoolSetAttribute(pool, attribute, value)
    }

    fn cudaMemPoolGetAttribute(pool: CUmemoryPool, attribute: u32, value: Out<c_void>) {
        context::current()?.cuMemPoolGetAttribute(pool, attribute, value.0)
    }

    fn cudaMemPoolSetAccess(pool: CUmemoryPool, list: *const c_void, count: usize) {
        context::current()?.cuMemPoolSetAccess(pool, list, count)
    }

    fn cudaMemPoolGetAccess(flags: Out<u32>, pool: CUmemoryPool, location: *mut Location) {
        context::current()?.cuMemPoolGetAccess(flags.0, pool, location)
    }

    fn cudaMemPoolExportToShareableHandle(handle: *mut c_void, pool: CUmemoryPool, kind: u32, flags: u32) {
        context::current()?.cuMemPoolExportToShareableHandle(handle, pool, kind, flags.into())
    }

    fn cudaMemPoolImportFromShareableHandle(pool: Out<CUmemoryPool>, handle: *mut c_void, kind: u32, flags: u32) {
        context::current()?.cuMemPoolImportFromShareableHandle(pool.0, handle, kind, flags.into())
    }

    fn cudaMemPoolExportPointer(data: *mut c_void, pointer: CUdeviceptr) {
        context::current()?.cuMemPoolExportPointer(data, pointer)
    }

    fn cudaMemPoolImportPointer(pointer: Out<CUdeviceptr>, pool: CUmemoryPool, data: *mut c_void) {
        context::current()?.cuMemPoolImportPointer(pointer.0, pool, data)
    }
}
