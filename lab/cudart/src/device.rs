//! Devices: how many there are, what they are, and which one a thread works on.

use std::ffi::c_char;

use whyoom_lab_abi::{Out, exports};

use crate::{
    RUNTIME_VERSION, context,
    driver::{self, Driver},
    error::{Failure, Status},
    registry,
};

exports! { Status;
    fn cudaGetDeviceCount(count: Out<i32>) {
        let found = device_count();
        // Programs read the count before they look at the error.
        count.put(found.unwrap_or(0))?;
        found.map(|_| ())
    }

    fn cudaGetDevice(device: Out<i32>) { Ok(device.put(context::device()?)?) }

    fn cudaSetDevice(device: i32) { context::set_device(device) }

    fn cudaInitDevice(device: i32, device_flags: u32, flags: u32) {
        const DEVICE_FLAGS_ARE_VALID: u32 = 1;
        let driver = driver::initialized()?;
        if flags & DEVICE_FLAGS_ARE_VALID != 0 {
            driver.cuDevicePrimaryCtxSetFlags(context::handle(driver, device)?, device_flags)?;
        }
        context::primary(driver, device).map(|_| ())
    }

    fn cudaDeviceReset() {
        registry::forget_context(context::reset()?);
        Ok(())
    }

    fn cudaDeviceSynchronize() { context::current()?.cuCtxSynchronize() }

    fn cudaDeviceGetAttribute(value: Out<i32>, attribute: u32, device: i32) {
        let (driver, device) = at(device)?;
        driver.cuDeviceGetAttribute(value.0, attribute, device)
    }

    fn cudaDeviceGetPCIBusId(id: Out<c_char>, room: i32, device: i32) {
        let (driver, device) = at(device)?;
        driver.cuDeviceGetPCIBusId(id.0, room, device)
    }

    fn cudaDeviceGetByPCIBusId(device: Out<i32>, id: *const c_char) {
        driver::initialized()?.cuDeviceGetByPCIBusId(device.0, id)
    }

    fn cudaDriverGetVersion(version: Out<i32>) {
        let mut found = 0;
        // Zero is the documented answer where no driver is installed.
        if let Ok(driver) = driver::loaded() {
            driver.cuDriverGetVersion(&mut found)?;
        }
        Ok(version.put(found)?)
    }

    fn cudaRuntimeGetVersion(version: Out<i32>) { Ok(version.put(RUNTIME_VERSION)?) }
}

/// The driver and its handle of a device, without making a context.
pub fn at(ordinal: i32) -> Result<(&'static Driver, i32), Failure> {
    let driver = driver::initialized()?;
    Ok((driver, context::handle(driver, ordinal)?))
}

fn device_count() -> Result<i32, Failure> {
    let mut count = 0;
    driver::initialized()?.cuDeviceGetCount(&mut count)?;
    Ok(count)
}
