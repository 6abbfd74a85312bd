//! Clocks and power limits: what the model's data sheet says. Nothing of it is measured.

use nvml_wrapper_sys::bindings as nvml;
use whyoom_lab_abi::{Out, exports};

use crate::{
    device::{Device, Handle},
    status::{Code, Failure, Result},
};

impl Device {
    /// The clock of a domain, in MHz.
    fn clock(&self, domain: u32) -> Result<u32> {
        let model = self.spec.model;
        match domain {
            nvml::nvmlClockType_enum_NVML_CLOCK_GRAPHICS
            | nvml::nvmlClockType_enum_NVML_CLOCK_SM => Ok(model.clock_khz.value / 1000),
            nvml::nvmlClockType_enum_NVML_CLOCK_MEM => Ok(model.memory_clock_khz.value / 1000),
            nvml::nvmlClockType_enum_NVML_CLOCK_VIDEO => Err(Failure::NotSupported),
            _ => Err(Failure::InvalidArgument),
        }
    }

    pub(crate) fn power_limit_milliwatts(&self) -> u32 {
        self.spec.model.power_limit_watts.value * 1000
    }
}

fn power_limit(handle: Handle, milliwatts: Out<u32>) -> Result {
    Ok(milliwatts.put(handle.device()?.power_limit_milliwatts())?)
}

exports! { Code;
    fn nvmlDeviceGetClockInfo(handle: Handle, domain: u32, megahertz: Out<u32>) {
        Ok(megahertz.put(handle.device()?.clock(domain)?)?)
    }

    fn nvmlDeviceGetMaxClockInfo(handle: Handle, domain: u32, megahertz: Out<u32>) {
        Ok(megahertz.put(handle.device()?.clock(domain)?)?)
    }

    fn nvmlDeviceGetClock(handle: Handle, domain: u32, which: u32, megahertz: Out<u32>) {
        let clock = handle.device()?.clock(domain)?;
        match which {
            nvml::nvmlClockId_enum_NVML_CLOCK_ID_CURRENT => Ok(megahertz.put(clock)?),
            _ => Err(Failure::NotSupported),
        }
    }

    fn nvmlDeviceGetEnforcedPowerLimit(handle: Handle, milliwatts: Out<u32>) {
        power_limit(handle, milliwatts)
    }

    fn nvmlDeviceGetPowerManagementLimit(handle: Handle, milliwatts: Out<u32>) {
        power_limit(handle, milliwatts)
    }

    fn nvmlDeviceGetPowerManagementDefaultLimit(handle: Handle, milliwatts: Out<u32>) {
        power_limit(handle, milliwatts)
    }
}
