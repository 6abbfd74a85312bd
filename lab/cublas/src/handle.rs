//! The handle: what a caller has set, and the memory that the library took for it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use whyoom_lab_abi::Out;

use crate::{status::Failure, workspace::Pool};

/// `CUBLAS_POINTER_MODE_HOST`.
const HOST: u32 = 0;

/// What a caller can set. The defaults of cuBLAS are all zero.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    /// The stream's address.
    pub stream: usize,
    /// The caller's own workspace: address and bytes. It replaces the pool in use, not in memory.
    pub workspace: Option<(usize, usize)>,
    pub math_mode: u32,
    pub pointer_mode: u32,
    pub atomics_mode: u32,
    pub emulation: u32,
    pub multiprocessors: i32,
}

/// What stands behind a `cublasHandle_t`.
pub(crate) struct Handle {
    settings: Mutex<Settings>,
    /// Held for its `Drop`.
    _pool: Pool,
}

impl Handle {
    pub(crate) fn create() -> Result<HandlePointer, Failure> {
        let handle = Self { settings: Mutex::default(), _pool: Pool::take()? };
        Ok(HandlePointer(Box::into_raw(Box::new(handle))))
    }

    /// The settings, which several threads may ask for.
    pub(crate) fn settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a result that the host reads when the call returns. In device mode the place is
    /// device memory, which keeps what it has.
    pub(crate) fn tell_host<T>(&self, place: Out<T>, result: T) -> Result<(), Failure> {
        if self.settings().pointer_mode == HOST {
            place.put(result)?;
        }
        Ok(())
    }
}

/// A `cublasHandle_t` as callers pass it.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct HandlePointer(*mut Handle);

impl HandlePointer {
    /// The handle; null is what cuBLAS calls not initialised.
    pub(crate) fn get<'call>(self) -> Result<&'call Handle, Failure> {
        // SAFETY: null, or by the contract made by `cublasCreate_v2` and not destroyed before the
        // call returns; it is only ever borrowed shared.
        unsafe { self.0.as_ref() }.ok_or(Failure::NotInitialized)
    }

    /// Ends the handle and gives its memory back.
    pub(crate) fn destroy(self) -> Result<(), Failure> {
        self.get()?;
        // SAFETY: not null, so by the contract from `Handle::create` and not destroyed before.
        drop(unsafe { Box::from_raw(self.0) });
        Ok(())
    }
}
