//! The driver functions that the library needs.

use std::{ffi::c_int, ptr};

use cudarc::driver::sys::{CUDA_MEMCPY2D, CUcontext, CUdevice_attribute, CUdeviceptr, CUstream};

use whyoom_lab_abi::{driver::Code, driver_table};

use crate::status::Failure;

driver_table! {
    /// What making and ending a handle takes.
    Driver {
        context_current = c"cuCtxGetCurrent": unsafe extern "C" fn(*mut CUcontext) -> Code;
        context_device = c"cuCtxGetDevice": unsafe extern "C" fn(*mut c_int) -> Code;
        device_attribute = c"cuDeviceGetAttribute":
            unsafe extern "C" fn(*mut c_int, u32, c_int) -> Code;
        allocate = c"cuMemAlloc": unsafe extern "C" fn(*mut CUdeviceptr, usize) -> Code;
        free = c"cuMemFree": unsafe extern "C" fn(CUdeviceptr) -> Code;
    }
}

driver_table! {
    /// What copying takes.
    Copier {
        copy = c"cuMemcpy2DUnaligned": unsafe extern "C" fn(*const CUDA_MEMCPY2D) -> Code;
        copy_async = c"cuMemcpy2DAsync":
            unsafe extern "C" fn(*const CUDA_MEMCPY2D, CUstream) -> Code;
    }
}

impl Driver {
    pub(crate) fn get() -> Result<&'static Self, Failure> {
        Self::find().ok_or(Failure::NotInitialized)
    }

    /// The major compute capability of the current context's device; an error without a context.
    pub(crate) fn architecture(&self) -> Result<i32, Failure> {
        let (mut context, mut device, mut major) = (ptr::null_mut(), 0, 0);
        let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR as u32;
        // SAFETY: each function gets a place for its answer that lives through the call.
        let found = unsafe {
            (self.context_current)(&mut context) == 0
                && !context.is_null()
                && (self.context_device)(&mut device) == 0
                && (self.device_attribute)(&mut major, attribute, device) == 0
        };
        found.then_some(major).ok_or(Failure::NotInitialized)
    }

    /// Device memory in the current context.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<CUdeviceptr, Failure> {
        let mut address = 0;
        // SAFETY: the place for the address lives through the call.
        let code = unsafe { (self.allocate)(&mut address, bytes) };
        if code == 0 { Ok(address) } else { Err(Failure::AllocFailed) }
    }

    /// Gives memory back. A context that is already gone has taken it along, so a refusal is fine.
    pub(crate) fn free(&self, address: CUdeviceptr) {
        // SAFETY: `allocate` made the address, and its one owner gives it back once.
        unsafe { (self.free)(address) };
    }
}

impl Copier {
    pub(crate) fn get() -> Result<&'static Self, Failure> {
        Self::find().ok_or(Failure::NotInitialized)
    }

    /// Copies, on a stream if one is given.
    pub(crate) fn copy(&self, copy: &CUDA_MEMCPY2D, on: Option<CUstream>) -> Result<(), Failure> {
        // SAFETY: the description lives through the call; its pointers are the caller's, who
        // vouches for them by the contract of the cuBLAS function that was called.
        let code = unsafe {
            match on {
                Some(stream) => (self.copy_async)(copy, stream),
                None => (self.copy)(copy),
            }
        };
        if code == 0 { Ok(()) } else { Err(Failure::MappingError) }
    }
}
