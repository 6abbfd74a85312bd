//! The device that the library is used on, as the driver describes it.

use std::{ffi::c_int, ptr};

use cudarc::driver::sys::{CUcontext, CUdevice_attribute};

use whyoom_lab_abi::{driver::Code, driver_table};

use crate::status::Failure;

driver_table! {
    /// What the library asks of the driver.
    Driver {
        context_current = c"cuCtxGetCurrent": unsafe extern "C" fn(*mut CUcontext) -> Code;
        context_device = c"cuCtxGetDevice": unsafe extern "C" fn(*mut c_int) -> Code;
        device_attribute = c"cuDeviceGetAttribute":
            unsafe extern "C" fn(*mut c_int, u32, c_int) -> Code;
    }
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
        let driver = Driver::find().ok_or(Failure::NotInitialized)?;
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
