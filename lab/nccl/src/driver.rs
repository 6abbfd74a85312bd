//! The driver functions that the library needs.

use std::{
    ffi::{c_int, c_void},
    ptr,
};

use cudarc::driver::sys::{
    CUcontext, CUdevice_attribute, CUdeviceptr, CUpointer_attribute, CUstream,
};

use whyoom_lab_abi::{driver::Code, driver_table};

use crate::status::Failure;

driver_table! {
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
        stream_capturing = c"cuStreamIsCapturing":
            unsafe extern "C" fn(CUstream, *mut u32) -> Code;
        pointer_attribute = c"cuPointerGetAttribute":
            unsafe extern "C" fn(*mut c_void, u32, CUdeviceptr) -> Code;
    }
}

/// Success, or what a refusal of the driver is called here.
pub(crate) fn done(code: Code) -> Result<(), Failure> {
    if code == 0 { Ok(()) } else { Err(Failure::Cuda) }
}

impl Driver {
    pub(crate) fn get() -> Result<&'static Self, Failure> {
        Self::find().ok_or(Failure::Cuda)
    }

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

    /// Whether work on a stream goes into a graph. Where the driver does not say, the next call on
    /// the stream fails by itself.
    pub(crate) fn is_capturing(&self, stream: CUstream) -> bool {
        let mut status = 0;
        // SAFETY: the place for the answer lives through the call; the driver refuses a stream
        // that it does not know.
        let code = unsafe { (self.stream_capturing)(stream, &mut status) };
        code == 0 && status != 0
    }

    /// Where the allocation ends that an address is in.
    pub(crate) fn range_end(&self, address: CUdeviceptr) -> Result<CUdeviceptr, Failure> {
        use CUpointer_attribute::{
            CU_POINTER_ATTRIBUTE_RANGE_SIZE as SIZE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR as START,
        };
        let (mut start, mut size): (u64, u64) = (0, 0);
        // SAFETY: both answers are numbers of 64 bits, whose places live through the calls.
        unsafe {
            done((self.pointer_attribute)((&raw mut start).cast(), START as u32, address))?;
            done((self.pointer_attribute)((&raw mut size).cast(), SIZE as u32, address))?;
        }
        Ok(start + size)
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
