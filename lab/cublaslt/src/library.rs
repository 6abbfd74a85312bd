//! Handles, and what the library says about itself.

use std::ffi::{c_char, c_void};

use whyoom_lab_abi::{Out, exports};

use crate::{
    status::{Failure, Status},
    version,
};

/// A `cublasLtHandle_t` as callers pass it. It may be a `cublasHandle_t` (documented, and what
/// PyTorch does), so nothing behind it is ever read.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct HandlePointer(*mut c_void);

impl HandlePointer {
    /// Whether there is one.
    pub(crate) fn check(self) -> Result<(), Failure> {
        if self.0.is_null() { Err(Failure::NotInitialized) } else { Ok(()) }
    }
}

/// What stands behind a handle that `cublasLtCreate` made: an address of its own.
type Handle = u64;

exports! { Status;
    // Documented to take device memory; no figure is known, so none is taken.
    fn cublasLtCreate(handle: Out<HandlePointer>) {
        if handle.is_null() {
            return Err(Failure::InvalidValue);
        }
        Ok(handle.put(HandlePointer(Box::into_raw(Box::<Handle>::default()).cast()))?)
    }
    fn cublasLtDestroy(handle: HandlePointer) {
        if handle.0.is_null() {
            return Err(Failure::InvalidValue);
        }
        // SAFETY: not null, so by the contract from `cublasLtCreate` and not destroyed before.
        drop(unsafe { Box::from_raw(handle.0.cast::<Handle>()) });
        Ok(())
    }
    fn cublasLtGetProperty(which: u32, value: Out<i32>) {
        Ok(value.put(version::part(which)?)?)
    }
    // There are no logs to switch off.
    fn cublasLtLoggerForceDisable() {
        Ok(())
    }
}

/// The version in one number.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub extern "C" fn cublasLtGetVersion() -> usize {
    version::NUMBER as usize
}

/// The CUDA runtime that the library was built with.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub extern "C" fn cublasLtGetCudartVersion() -> usize {
    version::RUNTIME
}

/// The name of a status.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub extern "C" fn cublasLtGetStatusName(status: Status) -> *const c_char {
    status.name()
}

/// What a status means.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub extern "C" fn cublasLtGetStatusString(status: Status) -> *const c_char {
    status.meaning()
}
