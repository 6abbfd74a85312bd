//! Devices that are divided (MIG), where the lab has such: each has one part, with all of its memory.
//!
//! Documented: a divided device tells of its memory and its processes only to a privileged caller, and its parts tell
//! those who may use them.

use nvml_wrapper_sys::bindings as nvml;
use whyoom_lab_abi::{Out, exports};

use crate::{
    device::Handle,
    status::{Code, Failure, Result},
};

/// Places for parts, taken or not, as on an A100.
const PLACES: u32 = 7;

fn write_mode(handle: Handle, current: Out<u32>, pending: Out<u32>) -> Result {
    let device = handle.device()?;
    if !device.machine.quirks().mig {
        return Err(Failure::NotSupported);
    }
    let enabled = nvml::NVML_DEVICE_MIG_ENABLE;
    current.put(enabled)?;
    Ok(pending.put(enabled)?)
}

exports! { Code;
    fn nvmlDeviceGetMigMode(handle: Handle, current: Out<u32>, pending: Out<u32>) {
        write_mode(handle, current, pending)
    }

    fn nvmlDeviceGetMaxMigDeviceCount(handle: Handle, count: Out<u32>) {
        let device = handle.device()?;
        Ok(count.put(if device.is_divided() { PLACES } else { 0 })?)
    }

    fn nvmlDeviceGetMigDeviceHandleByIndex(handle: Handle, place: u32, part: Out<Handle>) {
        let device = handle.device()?;
        if !device.is_divided() {
            return Err(Failure::NotSupported);
        }
        match place {
            0 => Ok(part.put(Handle::of_part(device.index))?),
            1..PLACES => Err(Failure::NotFound),
            _ => Err(Failure::InvalidArgument),
        }
    }

    fn nvmlDeviceGetDeviceHandleFromMigDeviceHandle(part: Handle, handle: Out<Handle>) {
        let device = part.device()?;
        if !device.is_part {
            return Err(Failure::InvalidArgument);
        }
        Ok(handle.put(Handle::of(device.index)?)?)
    }

    fn nvmlDeviceIsMigDeviceHandle(handle: Handle, is_one: Out<u32>) {
        Ok(is_one.put(handle.device()?.is_part.into())?)
    }
}
