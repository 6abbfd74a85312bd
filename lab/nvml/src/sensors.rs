//! Temperature and power draw, so that monitors can be tried out. Both are assumed: those of a board on which nothing
//! runs, and they never change.

use nvml_wrapper_sys::bindings as nvml;
use whyoom_lab_abi::{Out, exports};

use crate::{
    device::Handle,
    status::{Code, Failure, Result},
};

/// Degrees Celsius of an idle board.
const IDLE_CELSIUS: u32 = 30;
/// An idle board draws this part of its power limit.
const IDLE_SHARE: u32 = 10;

fn temperature(handle: Handle, sensor: u32) -> Result<u32> {
    handle.device()?;
    match sensor {
        nvml::nvmlTemperatureSensors_enum_NVML_TEMPERATURE_GPU => Ok(IDLE_CELSIUS),
        _ => Err(Failure::InvalidArgument),
    }
}

exports! { Code;
    fn nvmlDeviceGetTemperature(handle: Handle, sensor: u32, celsius: Out<u32>) {
        Ok(celsius.put(temperature(handle, sensor)?)?)
    }

    fn nvmlDeviceGetPowerUsage(handle: Handle, milliwatts: Out<u32>) {
        Ok(milliwatts.put(handle.device()?.power_limit_milliwatts() / IDLE_SHARE)?)
    }
}
