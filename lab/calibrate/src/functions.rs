//! The driver's functions that are used, looked up by name in the installed driver.
//!
//! They are looked up here rather than called through cudarc's own wrappers for two reasons: those
//! panic where an older driver lacks a function, and they take the status for a Rust enumeration,
//! which a newer driver's unknown number must not become.

use std::ffi::{c_char, c_void};

use cudarc::driver::sys;

use crate::error::{Error, Result};

/// `CUDA_SUCCESS`, a number rather than an enumeration.
pub(crate) const SUCCESS: i32 = 0;

macro_rules! functions {
    ($($name:ident($($argument:ty),*);)*) => {
        /// The functions of the driver.
        #[expect(non_snake_case, reason = "the documented names")]
        pub(crate) struct Functions {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) -> i32,)*
        }

        impl Functions {
            /// Loads the driver; nothing of it is called yet.
            pub(crate) fn load() -> Result<Self> {
                // SAFETY: loading the driver runs its initializers, which every CUDA program runs.
                if !unsafe { sys::is_culib_present() } {
                    return Err(Error::NoDriver);
                }
                // SAFETY: as above; the library was found, so this does not panic.
                let library = unsafe { sys::culib() };
                Ok(Self {
                    $($name: {
                        let name = concat!(stringify!($name), "\0").as_bytes();
                        // SAFETY: the type is that of the documented function of this name, with
                        // enumerations as the integers that C passes for them.
                        let found = unsafe { library.get(name) };
                        *found.map_err(|_| Error::Missing(stringify!($name)))?
                    },)*
                })
            }
        }
    };
}

functions! {
    cuInit(u32);
    cuDriverGetVersion(*mut i32);
    cuGetErrorName(i32, *mut *const c_char);
    cuDeviceGetCount(*mut i32);
    cuDeviceGet(*mut i32, i32);
    cuDeviceGetName(*mut c_char, i32, i32);
    cuDeviceGetAttribute(*mut i32, u32, i32);
    cuDeviceGetPCIBusId(*mut c_char, i32, i32);
    cuDevicePrimaryCtxRetain(*mut sys::CUcontext, i32);
    cuDevicePrimaryCtxRelease_v2(i32);
    cuCtxSetCurrent(sys::CUcontext);
    cuCtxSynchronize();
    cuMemGetInfo_v2(*mut usize, *mut usize);
    cuMemAlloc_v2(*mut u64, usize);
    cuMemFree_v2(u64);
    cuMemGetAllocationGranularity(*mut usize, *const sys::CUmemAllocationProp, u32);
    cuMemPoolCreate(*mut sys::CUmemoryPool, *const sys::CUmemPoolProps);
    cuMemPoolDestroy(sys::CUmemoryPool);
    cuMemPoolGetAttribute(sys::CUmemoryPool, u32, *mut c_void);
    cuMemPoolSetAttribute(sys::CUmemoryPool, u32, *mut c_void);
    cuMemAllocFromPoolAsync(*mut u64, usize, sys::CUmemoryPool, sys::CUstream);
    cuMemFreeAsync(u64, sys::CUstream);
}
