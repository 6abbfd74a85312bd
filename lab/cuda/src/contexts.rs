//! Contexts.

use std::ffi::c_void;

use whyoom_lab_abi::{Out, exports};
use whyoom_lab_core::{
    Error,
    driver::{Limit, current_context},
};
use whyoom_trace::SyncScope;

use crate::{
    devices::known,
    process::{in_context, synchronize, usable, with},
    status::{Result, Status},
};

/// The interface version that contexts report, as in CUDA 13.
const API_VERSION: u32 = 13020;

fn limit_of(number: u32) -> Result<Limit> {
    match number {
        0 => Ok(Limit::Stack),
        1 => Ok(Limit::Printf),
        2 => Ok(Limit::DeviceHeap),
        // CU_LIMIT_UNSUPPORTED is 215; the others concern what the lab does not have.
        _ => Err(Error::NotSupported.into()),
    }
}

fn create(context: Out<u64>, flags: u32, device: i32) -> Result<()> {
    with(|driver| {
        let created = driver.create_context(known(driver, device)?, flags)?;
        driver.push_current(created)?;
        Ok(context.put(created)?)
    })
}

fn wait_for(context: Option<u64>) -> Result<()> {
    synchronize(SyncScope::Device, |driver, current| {
        let context = context.unwrap_or(current);
        driver.device_of(context)?;
        driver.forbid_for_context(context)?;
        Ok((context, driver.until_context(context)))
    })
}

exports! { Status;
    fn cuDevicePrimaryCtxRetain(context: Out<u64>, device: i32) {
        with(|driver| Ok(context.put(driver.retain_primary(known(driver, device)?)?)?))
    }

    fn cuDevicePrimaryCtxRelease_v2(device: i32) {
        with(|driver| Ok(driver.release_primary(known(driver, device)?)?))
    }

    fn cuDevicePrimaryCtxReset_v2(device: i32) {
        with(|driver| Ok(driver.reset_primary(known(driver, device)?)?))
    }

    fn cuDevicePrimaryCtxSetFlags_v2(device: i32, flags: u32) {
        with(|driver| Ok(driver.set_primary_flags(known(driver, device)?, flags)?))
    }

    fn cuDevicePrimaryCtxGetState(device: i32, flags: Out<u32>, active: Out<i32>) {
        with(|driver| {
            let (value, is_active) = driver.primary_state(known(driver, device)?)?;
            flags.put_if_wanted(value);
            active.put_if_wanted(is_active.into());
            Ok(())
        })
    }

    fn cuCtxCreate_v2(context: Out<u64>, flags: u32, device: i32) {
        create(context, flags, device)
    }

    // Parameters ask for affinity or for sharing with graphics, which the lab does not have.
    fn cuCtxCreate_v4(context: Out<u64>, parameters: *const c_void, flags: u32, device: i32) {
        if !parameters.is_null() {
            return Err(Error::NotSupported.into());
        }
        create(context, flags, device)
    }

    fn cuCtxDestroy_v2(context: u64) { with(|driver| Ok(driver.destroy_context(context)?)) }

    // Libraries ask for it before each call of their own.
    fn cuCtxGetCurrent(context: Out<u64>) {
        usable()?;
        match current_context() {
            Some(current) => Ok(context.put(current)?),
            None => with(|_| Ok(context.put(0)?)),
        }
    }

    fn cuCtxSetCurrent(context: u64) { with(|driver| Ok(driver.set_current(context)?)) }

    fn cuCtxPushCurrent_v2(context: u64) { with(|driver| Ok(driver.push_current(context)?)) }

    fn cuCtxPopCurrent_v2(context: Out<u64>) {
        with(|driver| {
            context.put_if_wanted(driver.pop_current()?);
            Ok(())
        })
    }

    fn cuCtxGetDevice(device: Out<i32>) {
        in_context(|driver, context| Ok(device.put(driver.device_of(context)? as i32)?))
    }

    fn cuCtxGetDevice_v2(device: Out<i32>, context: u64) {
        with(|driver| {
            let context = if context == 0 { driver.current()? } else { context };
            Ok(device.put(driver.device_of(context)? as i32)?)
        })
    }

    fn cuCtxGetFlags(flags: Out<u32>) {
        in_context(|driver, context| Ok(flags.put(driver.flags_of(context)?)?))
    }

    fn cuCtxGetId(context: u64, id: Out<u64>) {
        with(|driver| {
            let context = if context == 0 { driver.current()? } else { context };
            driver.device_of(context)?;
            Ok(id.put(context)?)
        })
    }

    fn cuCtxGetApiVersion(context: u64, version: Out<u32>) {
        with(|driver| {
            let context = if context == 0 { driver.current()? } else { context };
            driver.device_of(context)?;
            Ok(version.put(API_VERSION)?)
        })
    }

    fn cuCtxGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>) {
        in_context(|_, _| {
            least.put_if_wanted(0);
            greatest.put_if_wanted(crate::streams::GREATEST_PRIORITY);
            Ok(())
        })
    }

    fn cuCtxSynchronize() { wait_for(None) }

    fn cuCtxSynchronize_v2(context: u64) { wait_for((context != 0).then_some(context)) }

    fn cuCtxGetLimit(value: Out<usize>, limit: u32) {
        let limit = limit_of(limit)?;
        in_context(|driver, context| Ok(value.put(driver.limit(context, limit)? as usize)?))
    }

    fn cuCtxSetLimit(limit: u32, value: usize) {
        let limit = limit_of(limit)?;
        in_context(|driver, context| Ok(driver.set_limit(context, limit, value as u64)?))
    }

    fn cuCtxEnablePeerAccess(peer: u64, flags: u32) {
        if flags != 0 {
            return Err(Error::InvalidValue.into());
        }
        in_context(|driver, context| Ok(driver.enable_peer(context, peer)?))
    }

    fn cuCtxDisablePeerAccess(peer: u64) {
        in_context(|driver, context| Ok(driver.disable_peer(context, peer)?))
    }
}
