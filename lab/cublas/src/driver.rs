//! The driver functions that the library needs, found the way NVIDIA's own libraries find them.
//!
//! cuBLAS carries a copy of the CUDA runtime, which opens `libcuda.so.1` and asks
//! `cuGetProcAddress` for everything else. A recorder that watches this road must meet the
//! stand-in on it too, and exactly that file name must be opened: `libcuda.so` could be another
//! driver than the simulated one.

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    mem,
    ptr::{self, NonNull},
    sync::OnceLock,
};

use cudarc::driver::sys::{CUDA_MEMCPY2D, CUcontext, CUdevice_attribute, CUdeviceptr, CUstream};

use crate::status::Failure;

/// What driver functions answer with; 0 is success. Never a Rust enum: new drivers have new codes.
type Code = u32;

/// The CUDA version whose functions are asked for: the signatures below are those of this one.
const ABI: c_int = 12_000;

type GetProcAddress =
    unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, u64, *mut u32) -> Code;

/// Declares a table of driver functions: their base names and documented signatures. A driver
/// that lacks one of them lacks the table.
macro_rules! entry_points {
    ($(#[$meta:meta])* $table:ident { $($field:ident = $name:literal: $signature:ty;)* }) => {
        $(#[$meta])*
        pub(crate) struct $table {
            $($field: $signature,)*
        }

        impl $table {
            /// The table of this process's driver, if it has one.
            pub(crate) fn get() -> Result<&'static Self, Failure> {
                static TABLE: OnceLock<Option<$table>> = OnceLock::new();
                TABLE.get_or_init(Self::find).as_ref().ok_or(Failure::NotInitialized)
            }

            fn find() -> Option<Self> {
                let get = open()?;
                Some(Self {
                    $($field: {
                        let address = look_up(get, $name)?;
                        // SAFETY: the driver answered with the function of this name in the
                        // version asked for, which is documented to have this signature.
                        unsafe { mem::transmute::<NonNull<c_void>, $signature>(address) }
                    },)*
                })
            }
        }
    };
}

entry_points! {
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

entry_points! {
    /// What copying takes.
    Copier {
        copy = c"cuMemcpy2DUnaligned": unsafe extern "C" fn(*const CUDA_MEMCPY2D) -> Code;
        copy_async = c"cuMemcpy2DAsync":
            unsafe extern "C" fn(*const CUDA_MEMCPY2D, CUstream) -> Code;
    }
}

/// Opens the driver; it is never closed.
fn open() -> Option<GetProcAddress> {
    // SAFETY: the name ends with a zero; a driver's initialisers are as safe as the driver.
    let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) };
    if library.is_null() {
        return None;
    }
    // SAFETY: the library was opened just now, and the name ends with a zero.
    let address = unsafe { libc::dlsym(library, c"cuGetProcAddress_v2".as_ptr()) };
    // SAFETY: the documented function of that name has this signature; null becomes `None`.
    unsafe { mem::transmute::<*mut c_void, Option<GetProcAddress>>(address) }
}

impl Driver {
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

/// The address of a driver function, by its base name.
fn look_up(get: GetProcAddress, name: &CStr) -> Option<NonNull<c_void>> {
    let (mut address, mut status) = (ptr::null_mut(), 0);
    // SAFETY: the name ends with a zero, and both places live through the call.
    let code = unsafe { get(name.as_ptr(), &mut address, ABI, 0, &mut status) };
    NonNull::new(address).filter(|_| code == 0)
}
