//! How much memory a device has, and how much of it is taken.
//!
//! NVML's total is more than the driver's: it includes what the driver keeps for itself. The first
//! version of the answer counts that as used, the second names it `reserved`.

use nvml_wrapper_sys::bindings as nvml;
use whyoom_lab_abi::{Out, exports};

use crate::{
    device::{Device, Handle},
    status::{Code, Failure, Result, check_version, version_of},
};

impl Device {
    /// Total, reserved, free and used are read once, so that they add up.
    fn memory(&self) -> Result<nvml::nvmlMemory_v2_t> {
        self.may_be_asked()?;
        if self.machine.quirks().nvml_without_memory {
            return Err(Failure::NotSupported);
        }
        let used = self.machine.used(self.index);
        Ok(nvml::nvmlMemory_v2_t {
            version: version_of::<nvml::nvmlMemory_v2_t>(2),
            total: self.spec.nvml_total,
            reserved: self.spec.nvml_total.saturating_sub(self.spec.total),
            free: self.spec.total.saturating_sub(used),
            used,
        })
    }
}

exports! { Code;
    fn nvmlDeviceGetMemoryInfo(handle: Handle, place: Out<nvml::nvmlMemory_t>) {
        let memory = handle.device()?.memory()?;
        let used = memory.used.saturating_add(memory.reserved);
        Ok(place.put(nvml::nvmlMemory_t { total: memory.total, free: memory.free, used })?)
    }

    fn nvmlDeviceGetMemoryInfo_v2(handle: Handle, place: Out<nvml::nvmlMemory_v2_t>) {
        let device = handle.device()?;
        check_version(place, 2)?;
        Ok(place.put(device.memory()?)?)
    }
}
