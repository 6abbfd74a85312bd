//! Stream-ordered memory and its pools.

use std::ffi::c_void;

use whyoom_lab_abi::{In, Out, exports};
use whyoom_lab_core::{
    Error,
    driver::{Driver, PoolAttribute, PoolId},
};

use crate::{
    devices::known,
    process::{in_context, with},
    status::{Result, Status},
    virtual_memory::Location,
};

/// The beginning of `CUmemPoolProps`, with its enumerations as numbers.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct PoolProperties {
    kind: u32,
    pub(crate) handle_types: u32,
    pub(crate) location: Location,
}

impl PoolProperties {
    /// Those of plain memory on a device.
    pub(crate) fn on(device: usize) -> Self {
        let location = Location::of_device(device);
        Self { kind: crate::virtual_memory::PINNED, handle_types: 0, location }
    }
}

fn attribute_of(number: u32) -> Result<PoolAttribute> {
    use PoolAttribute::*;
    Ok(match number {
        1 => ReuseFollowEvents,
        2 => ReuseOpportunistic,
        3 => ReuseInternalWaits,
        4 => ReleaseThreshold,
        5 => Reserved,
        6 => ReservedHigh,
        7 => Used,
        8 => UsedHigh,
        _ => return Err(Error::InvalidValue.into()),
    })
}

/// Whether the value is an `int` rather than a `cuuint64_t`: documented for the rules of reuse.
fn is_int(number: u32) -> bool {
    number <= 3
}

fn alloc(address: Out<u64>, bytes: usize, pool: Option<PoolId>, stream: u64) -> Result<()> {
    if address.is_null() {
        return Err(Error::InvalidValue.into());
    }
    in_context(|driver, context| {
        let stream = driver.stream(context, stream)?;
        let current = driver.current_pool(driver.device_of(context)?)?;
        let pool = pool.unwrap_or(current);
        Ok(address.put(driver.alloc_async(context, pool, stream, bytes as u64)?)?)
    })
}

fn pool_at(driver: &Driver, location: In<Location>) -> Result<usize> {
    known(driver, location.get()?.device()?)
}

exports! { Status;
    fn cuDeviceGetDefaultMemPool(pool: Out<u64>, device: i32) {
        with(|driver| Ok(pool.put(driver.default_pool(known(driver, device)?)?)?))
    }

    fn cuDeviceGetMemPool(pool: Out<u64>, device: i32) {
        with(|driver| Ok(pool.put(driver.current_pool(known(driver, device)?)?)?))
    }

    fn cuDeviceSetMemPool(device: i32, pool: u64) {
        with(|driver| Ok(driver.set_current_pool(known(driver, device)?, pool)?))
    }

    fn cuMemGetDefaultMemPool(pool: Out<u64>, location: In<Location>, _kind: u32) {
        with(|driver| Ok(pool.put(driver.default_pool(pool_at(driver, location)?)?)?))
    }

    fn cuMemGetMemPool(pool: Out<u64>, location: In<Location>, _kind: u32) {
        with(|driver| Ok(pool.put(driver.current_pool(pool_at(driver, location)?)?)?))
    }

    fn cuMemPoolCreate(pool: Out<u64>, properties: In<PoolProperties>) {
        let wanted = properties.get()?;
        if wanted.handle_types != 0 {
            return Err(Error::NotSupported.into());
        }
        with(|driver| {
            let device = known(driver, wanted.location.device()?)?;
            Ok(pool.put(driver.create_pool(device)?)?)
        })
    }

    fn cuMemPoolDestroy(pool: u64) { with(|driver| Ok(driver.destroy_pool(pool)?)) }

    fn cuMemPoolTrimTo(pool: u64, keep: usize) {
        with(|driver| Ok(driver.trim_pool(pool, keep as u64)?))
    }

    fn cuMemPoolGetAttribute(pool: u64, number: u32, value: *mut c_void) {
        let attribute = attribute_of(number)?;
        with(|driver| {
            let found = driver.pool_attribute(pool, attribute)?;
            if is_int(number) {
                return Ok(Out(value.cast::<i32>()).put(found as i32)?);
            }
            Ok(Out(value.cast::<u64>()).put(found)?)
        })
    }

    fn cuMemPoolSetAttribute(pool: u64, number: u32, value: *const c_void) {
        let attribute = attribute_of(number)?;
        let value = if is_int(number) {
            In(value.cast::<i32>()).get()? as u64
        } else {
            In(value.cast::<u64>()).get()?
        };
        with(|driver| Ok(driver.set_pool_attribute(pool, attribute, value)?))
    }

    // Every device may reach every pool here; nothing depends on it.
    fn cuMemPoolSetAccess(pool: u64, _list: *const c_void, _count: usize) {
        with(|driver| Ok(driver.pool_device(pool).map(|_| ())?))
    }

    fn cuMemPoolGetAccess(flags: Out<u32>, pool: u64, _location: *const c_void) {
        with(|driver| {
            driver.pool_device(pool)?;
            Ok(flags.put(crate::virtual_memory::READ_WRITE)?)
        })
    }

    fn cuMemAllocAsync(address: Out<u64>, bytes: usize, stream: u64) {
        alloc(address, bytes, None, stream)
    }

    fn cuMemAllocFromPoolAsync(address: Out<u64>, bytes: usize, pool: u64, stream: u64) {
        alloc(address, bytes, Some(pool), stream)
    }

    fn cuMemFreeAsync(address: u64, stream: u64) {
        in_context(|driver, context| {
            let stream = driver.stream(context, stream)?;
            Ok(driver.free_async(context, stream, address)?)
        })
    }
}
