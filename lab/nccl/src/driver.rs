//! The driver functions that the library needs, found the way NVIDIA's own libraries find them.
//!
//! NCCL carries a copy of the CUDA runtime, which opens `libcuda.so.1` and asks `cuGetProcAddress`
//! for everything else. A recorder that watches this road must meet the stand-in on it too.

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    mem,
    ptr::{self, NonNull},
    sync::OnceLock,
};

use cudarc::driver::sys::{CUcontext, CUdevice_attribute, CUdeviceptr, CUstream};

use crate::status::Failure;

/// What driver functions answer with; 0 is success. Never a Rust enum: new drivers have new codes.
type Code = u32;

/// The CUDA version whose functions are asked for: the signatures below are those of this one.
const ABI: c_int = 12_000;

type GetProcAddress =
    unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, u64, *mut u32) -> Code;

/// Declares the table of driver functions: their base names and documented signatures. A driver
/// that lacks one of them lacks the table.
macro_rules! entry_points {
    ($(#[$meta:meta])* $table:ident { $($field:ident = $name:literal: $signature:ty;)* }) => {
        $(#[$meta])*
        pub(crate) struct $table {
            $(pub(crate) $field: $signature,)*
        }

        impl $table {
            /// The table of this process's driver, if it has one.
            pub(crate) fn get() -> Result<&'static Self, Failure> {
                static TABLE: OnceLock<Option<$table>> = OnceLock::new();
                TABLE.get_or_init(Self::find).as_ref().ok_or(Failure::Cuda)
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
    /// What communicators take.
    Driver {
        initialize = c"cuInit": unsafe extern "C" fn(u32) -> Code;
        context_current = c"cuCtxGetCurrent": unsafe extern "C" fn(*mut CUcontext) -> Code;
        context_set = c"cuCtxSetCurrent": unsafe extern "C" fn(CUcontext) -> Code;
        context_device = c"cuCtxGetDevice": unsafe extern "C" fn(*mut c_int) -> Code;
        context_primary = c"cuDevicePrimaryCtxRetain":
            unsafe extern "C" fn(*mut CUcontext, c_int) -> Code;
        device_attribute = c"cuDeviceGetAttribute":
            unsafe extern "C" fn(*mut c_int, u32, c_int) -> Code;
        allocate = c"cuMemAlloc": unsafe extern "C" fn(*mut CUdeviceptr, usize) -> Code;
        free = c"cuMemFree": unsafe extern "C" fn(CUdeviceptr) -> Code;
        granularity = c"cuMemGetAllocationGranularity":
            unsafe extern "C" fn(*mut usize, *const c_void, u32) -> Code;
        create = c"cuMemCreate": unsafe extern "C" fn(*mut u64, usize, *const c_void, u64) -> Code;
        release = c"cuMemRelease": unsafe extern "C" fn(u64) -> Code;
        reserve = c"cuMemAddressReserve":
            unsafe extern "C" fn(*mut CUdeviceptr, usize, usize, CUdeviceptr, u64) -> Code;
        unreserve = c"cuMemAddressFree": unsafe extern "C" fn(CUdeviceptr, usize) -> Code;
        map = c"cuMemMap": unsafe extern "C" fn(CUdeviceptr, usize, usize, u64, u64) -> Code;
        unmap = c"cuMemUnmap": unsafe extern "C" fn(CUdeviceptr, usize) -> Code;
        set_access = c"cuMemSetAccess":
            unsafe extern "C" fn(CUdeviceptr, usize, *const c_void, usize) -> Code;
        copy = c"cuMemcpyAsync":
            unsafe extern "C" fn(CUdeviceptr, CUdeviceptr, usize, CUstream) -> Code;
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

/// The address of a driver function, by its base name.
fn look_up(get: GetProcAddress, name: &CStr) -> Option<NonNull<c_void>> {
    let (mut address, mut status) = (ptr::null_mut(), 0);
    // SAFETY: the name ends with a zero, and both places live through the call.
    let code = unsafe { get(name.as_ptr(), &mut address, ABI, 0, &mut status) };
    NonNull::new(address).filter(|_| code == 0)
}

/// Success, or what a refusal of the driver is called here.
pub(crate) fn done(code: Code) -> Result<(), Failure> {
    if code == 0 { Ok(()) } else { Err(Failure::Cuda) }
}

impl Driver {
    /// The context of this thread; null where there is none.
    pub(crate) fn current(&self) -> Result<CUcontext, Failure> {
        let mut context = ptr::null_mut();
        // SAFETY: the place for the answer lives through the call.
        done(unsafe { (self.context_current)(&mut context) })?;
        Ok(context)
    }

    /// The context of this thread. Where there is none NCCL's runtime makes that of the first
    /// device current, and so it stays.
    pub(crate) fn context(&self) -> Result<CUcontext, Failure> {
        // SAFETY: takes no pointer, and may be called as often as one likes.
        done(unsafe { (self.initialize)(0) })?;
        let current = self.current()?;
        if !current.is_null() {
            return Ok(current);
        }
        let first = self.primary(0)?;
        // SAFETY: the driver has just given this context.
        done(unsafe { (self.context_set)(first) })?;
        Ok(first)
    }

    /// The device of this thread's context.
    pub(crate) fn device(&self) -> Result<i32, Failure> {
        let mut device = 0;
        // SAFETY: the place for the answer lives through the call.
        done(unsafe { (self.context_device)(&mut device) })?;
        Ok(device)
    }

    /// Major and minor compute capability.
    pub(crate) fn architecture(&self, device: i32) -> Result<(i32, i32), Failure> {
        use CUdevice_attribute::{
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR as MAJOR,
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR as MINOR,
        };
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both places for answers live through the calls.
        unsafe {
            done((self.device_attribute)(&mut major, MAJOR as u32, device))?;
            done((self.device_attribute)(&mut minor, MINOR as u32, device))?;
        }
        Ok((major, minor))
    }

    /// Runs something with a context current, and puts back what was there.
    pub(crate) fn with_context<T>(&self, context: CUcontext, body: impl FnOnce() -> T) -> T {
        let before = self.current().unwrap_or(ptr::null_mut());
        // SAFETY: contexts come from the driver; one that is gone is refused, not followed.
        unsafe { (self.context_set)(context) };
        let result = body();
        // SAFETY: the same; null leaves the thread without a context, as it was.
        unsafe { (self.context_set)(before) };
        result
    }

    /// The primary context of a device, kept alive for good.
    pub(crate) fn primary(&self, device: i32) -> Result<CUcontext, Failure> {
        let mut context = ptr::null_mut();
        // SAFETY: the place for the answer lives through the call.
        done(unsafe { (self.context_primary)(&mut context, device) })?;
        Ok(context)
    }
}
