//! The driver functions that the library needs, found the way NVIDIA's own libraries find them:
//! `libcuda.so.1` is opened, and `cuGetProcAddress` asked for the rest.

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    mem,
    ptr::{self, NonNull},
    sync::OnceLock,
};

use cudarc::driver::sys::{CUcontext, CUdevice_attribute};

use crate::status::Failure;

/// What driver functions answer with; 0 is success. Never a Rust enum: new drivers have new codes.
type Code = u32;

/// The CUDA version whose functions are asked for: the signatures below are those of this one.
const ABI: c_int = 12_000;

type GetProcAddress =
    unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, u64, *mut u32) -> Code;
type ContextCurrent = unsafe extern "C" fn(*mut CUcontext) -> Code;
type ContextDevice = unsafe extern "C" fn(*mut c_int) -> Code;
type DeviceAttribute = unsafe extern "C" fn(*mut c_int, u32, c_int) -> Code;

/// What the library asks of the driver.
struct Driver {
    context_current: ContextCurrent,
    context_device: ContextDevice,
    device_attribute: DeviceAttribute,
}

/// What the sizes of the library depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Device {
    /// The major compute capability.
    pub architecture: i32,
    pub multiprocessors: i32,
}

impl Device {
    /// The device of the current context; an error without one.
    pub(crate) fn current() -> Result<Self, Failure> {
        static DRIVER: OnceLock<Option<Driver>> = OnceLock::new();
        let driver = DRIVER.get_or_init(Driver::find).as_ref().ok_or(Failure::NotInitialized)?;
        let device = driver.device().ok_or(Failure::NotInitialized)?;
        let attribute = |which| driver.attribute(device, which).ok_or(Failure::NotInitialized);
        Ok(Self {
            architecture: attribute(
                CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            )?,
            multiprocessors: attribute(
                CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
            )?,
        })
    }
}

impl Driver {
    fn find() -> Option<Self> {
        let get = open()?;
        let current = look_up(get, c"cuCtxGetCurrent")?;
        let device = look_up(get, c"cuCtxGetDevice")?;
        let attribute = look_up(get, c"cuDeviceGetAttribute")?;
        // SAFETY: the driver answered with the functions of these names in the version asked for,
        // which are documented to have these signatures.
        unsafe {
            Some(Self {
                context_current: mem::transmute::<NonNull<c_void>, ContextCurrent>(current),
                context_device: mem::transmute::<NonNull<c_void>, ContextDevice>(device),
                device_attribute: mem::transmute::<NonNull<c_void>, DeviceAttribute>(attribute),
            })
        }
    }

    /// The number of the current context's device.
    fn device(&self) -> Option<c_int> {
        let (mut context, mut device) = (ptr::null_mut(), 0);
        // SAFETY: each function gets a place for its answer that lives through the call.
        let found = unsafe {
            (self.context_current)(&mut context) == 0
                && !context.is_null()
                && (self.context_device)(&mut device) == 0
        };
        found.then_some(device)
    }

    fn attribute(&self, device: c_int, which: CUdevice_attribute) -> Option<c_int> {
        let mut value = 0;
        // SAFETY: the place for the answer lives through the call.
        let code = unsafe { (self.device_attribute)(&mut value, which as u32, device) };
        (code == 0).then_some(value)
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
