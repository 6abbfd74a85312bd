//! A context, and memory that is taken in it.

use std::ptr;

use cudarc::driver::sys;

use crate::{
    driver::Device,
    error::{Error, Result},
    small::Memory,
};

/// `CU_MEM_ALLOC_GRANULARITY_MINIMUM`.
const MINIMUM: u32 = 0;

/// The device's primary context, current on this thread until dropped.
///
/// It is the one that frameworks use, and the call that makes it has kept its form over all versions
/// of the driver.
pub(crate) struct Context<'device> {
    device: &'device Device<'device>,
}

impl<'device> Context<'device> {
    /// Makes the context.
    pub(crate) fn create(device: &'device Device<'device>) -> Result<Self> {
        let functions = &device.driver.functions;
        let mut handle = ptr::null_mut();
        // SAFETY: the place is valid for the call.
        let status =
            unsafe { (functions.cuDevicePrimaryCtxRetain)(&raw mut handle, device.handle) };
        device.driver.check("cuDevicePrimaryCtxRetain", status)?;
        let context = Self { device };
        // SAFETY: the handle was just given by the driver.
        let status = unsafe { (functions.cuCtxSetCurrent)(handle) };
        device.driver.check("cuCtxSetCurrent", status)?;
        Ok(context)
    }

    /// Free and total memory of the device.
    fn memory(&self) -> Result<(u64, u64)> {
        let (mut free, mut total) = (0, 0);
        let function = self.device.driver.functions.cuMemGetInfo_v2;
        // SAFETY: both places are valid for the call, and the context is current.
        let status = unsafe { function(&raw mut free, &raw mut total) };
        self.device.driver.check("cuMemGetInfo", status)?;
        Ok((free as u64, total as u64))
    }

    /// What the driver calls total.
    pub(crate) fn total(&self) -> Result<u64> {
        self.memory().map(|(_, total)| total)
    }

    /// The smallest unit of physical memory.
    pub(crate) fn granularity(&self) -> Result<u64> {
        let properties = sys::CUmemAllocationProp {
            type_: sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            requestedHandleTypes: sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            location: self.location(),
            win32HandleMetaData: ptr::null_mut(),
            allocFlags: sys::CUmemAllocationProp_st__bindgen_ty_1 {
                compressionType: 0,
                gpuDirectRDMACapable: 0,
                usage: 0,
                reserved: [0; 4],
            },
        };
        let mut bytes = 0;
        let function = self.device.driver.functions.cuMemGetAllocationGranularity;
        // SAFETY: the properties are complete and the place is valid for the call.
        let status = unsafe { function(&raw mut bytes, &raw const properties, MINIMUM) };
        self.device.driver.check("cuMemGetAllocationGranularity", status)?;
        Ok(bytes as u64)
    }

    /// What a new pool holds of the device after the smallest allocation from it.
    pub(crate) fn pool_chunk(&self) -> Result<u64> {
        let supported = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED;
        self.device.attribute(supported).map_err(|_| Error::Unsupported("memory pools"))?;
        let pool = self.pool_that_keeps()?;
        pool.use_once(1)?;
        pool.reserved()
    }

    /// A new pool that gives nothing back by itself.
    pub(crate) fn pool_that_keeps(&self) -> Result<Pool<'_>> {
        let pool = Pool::create(self)?;
        let which = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD as u32;
        let driver = self.device.driver;
        let mut all = u64::MAX;
        let place = (&raw mut all).cast();
        // SAFETY: the pool is live; this attribute is documented to be a 64-bit number, which is copied.
        let status = unsafe { (driver.functions.cuMemPoolSetAttribute)(pool.handle, which, place) };
        driver.check("cuMemPoolSetAttribute", status)?;
        Ok(pool)
    }

    fn location(&self) -> sys::CUmemLocation {
        sys::CUmemLocation {
            type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
            __bindgen_anon_1: sys::CUmemLocation_st__bindgen_ty_1 { id: self.device.handle },
        }
    }
}

impl Memory for Context<'_> {
    fn free_bytes(&self) -> Result<u64> {
        self.memory().map(|(free, _)| free)
    }

    fn take(&self, bytes: u64) -> Result<u64> {
        let mut address = 0;
        let function = self.device.driver.functions.cuMemAlloc_v2;
        // SAFETY: the place is valid for the call, and the context is current.
        let status = unsafe { function(&raw mut address, bytes as usize) };
        self.device.driver.check("cuMemAlloc", status)?;
        Ok(address)
    }

    fn give_back(&self, address: u64) {
        // SAFETY: the address came from `take` and no work was ever given to the device. There is
        // nothing to do where it fails: the context's end frees the rest.
        let _ = unsafe { (self.device.driver.functions.cuMemFree_v2)(address) };
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        let functions = &self.device.driver.functions;
        // SAFETY: no context is current afterwards, and the one reference that was taken is given
        // back; what was made in the context borrows it, so nothing is left of it.
        unsafe {
            let _ = (functions.cuCtxSetCurrent)(ptr::null_mut());
            let _ = (functions.cuDevicePrimaryCtxRelease_v2)(self.device.handle);
        }
    }
}

/// A pool of its own.
pub(crate) struct Pool<'context> {
    context: &'context Context<'context>,
    handle: sys::CUmemoryPool,
}

impl<'context> Pool<'context> {
    fn create(context: &'context Context<'context>) -> Result<Self> {
        let properties = sys::CUmemPoolProps {
            allocType: sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            location: context.location(),
            win32SecurityAttributes: ptr::null_mut(),
            maxSize: 0,
            usage: 0,
            reserved: [0; 54],
        };
        let driver = context.device.driver;
        let mut handle = ptr::null_mut();
        // SAFETY: the properties are complete and the place is valid for the call.
        let status =
            unsafe { (driver.functions.cuMemPoolCreate)(&raw mut handle, &raw const properties) };
        driver.check("cuMemPoolCreate", status)?;
        Ok(Self { context, handle })
    }

    /// Takes memory from it and gives it back, to the end.
    pub(crate) fn use_once(&self, size: u64) -> Result<()> {
        let driver = self.context.device.driver;
        let functions = &driver.functions;
        let (mut address, stream) = (0, ptr::null_mut());
        // SAFETY: the pool is live and its context current; null names the default stream.
        let status = unsafe {
            (functions.cuMemAllocFromPoolAsync)(
                &raw mut address,
                size as usize,
                self.handle,
                stream,
            )
        };
        driver.check("cuMemAllocFromPoolAsync", status)?;
        // SAFETY: the address was just given by the same pool, and nothing uses it.
        let status = unsafe { (functions.cuMemFreeAsync)(address, stream) };
        driver.check("cuMemFreeAsync", status)?;
        // SAFETY: a context is current.
        let status = unsafe { (functions.cuCtxSynchronize)() };
        driver.check("cuCtxSynchronize", status)
    }

    /// What it holds of the device.
    pub(crate) fn reserved(&self) -> Result<u64> {
        let which = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT as u32;
        let driver = self.context.device.driver;
        let mut bytes = 0_u64;
        let place = (&raw mut bytes).cast();
        // SAFETY: the pool is live; this attribute is documented to be a 64-bit number.
        let status = unsafe { (driver.functions.cuMemPoolGetAttribute)(self.handle, which, place) };
        driver.check("cuMemPoolGetAttribute", status)?;
        Ok(bytes)
    }
}

impl Drop for Pool<'_> {
    fn drop(&mut self) {
        // SAFETY: the pool is live and is not used again; what was taken from it is freed with it.
        let _ = unsafe { (self.context.device.driver.functions.cuMemPoolDestroy)(self.handle) };
    }
}
