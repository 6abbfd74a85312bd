//! Settings of the device that a thread works on.

use whyoom_lab_abi::{Out, exports};

use crate::{
    context, device,
    error::{Failure, Status},
};

exports! { Status;
    fn cudaSetDeviceFlags(flags: u32) {
        let (driver, device) = device::at(context::device()?)?;
        driver.cuDevicePrimaryCtxSetFlags(device, flags)
    }

    fn cudaGetDeviceFlags(flags: Out<u32>) {
        let (driver, device) = device::at(context::device()?)?;
        let (mut found, mut active) = (0, 0);
        driver.cuDevicePrimaryCtxGetState(device, &mut found, &mut active)?;
        Ok(flags.put(found)?)
    }

    fn cudaDeviceSetLimit(limit: u32, value: usize) {
        context::current()?.cuCtxSetLimit(limit, value)
    }

    fn cudaDeviceGetLimit(value: Out<usize>, limit: u32) {
        context::current()?.cuCtxGetLimit(value.0, limit)
    }

    fn cudaDeviceSetCacheConfig(config: u32) {
        hint(context::current()?.cuCtxSetCacheConfig(config))
    }

    fn cudaDeviceGetCacheConfig(config: Out<u32>) {
        let mut found = 0;
        hint(context::current()?.cuCtxGetCacheConfig(&mut found))?;
        Ok(config.put(found)?)
    }

    fn cudaCtxResetPersistingL2Cache() {
        hint(context::current()?.cuCtxResetPersistingL2Cache())
    }

    fn cudaDeviceGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>) {
        context::current()?.cuCtxGetStreamPriorityRange(least.0, greatest.0)
    }
}

/// Cache preferences are hints, documented to have no effect where a device has no choice: a driver
/// that does not offer them is no error.
pub fn hint(result: Result<(), Failure>) -> Result<(), Failure> {
    match result {
        Err(Failure::NOT_SUPPORTED) => Ok(()),
        other => other,
    }
}
