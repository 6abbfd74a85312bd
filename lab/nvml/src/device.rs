//! Handles: what callers hold of a device.

use std::{ffi::c_void, thread::sleep, time::Duration};

use whyoom_lab_core::machine::{DeviceSpec, Machine};

use crate::{
    session,
    status::{Failure, Result},
};

/// Where handles begin. They are numbers that no program holds by accident, and never followed.
const FIRST_HANDLE: usize = 0x6c61_6200_0000;

/// A device as callers name it; what they pass may be anything.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Handle(*mut c_void);

/// A device of the lab.
pub(crate) struct Device {
    pub(crate) machine: Machine,
    pub(crate) index: usize,
    pub(crate) spec: DeviceSpec,
}

impl Handle {
    /// The handle of a device, if there is such a device.
    pub(crate) fn of(index: usize) -> Result<Self> {
        let machine = session::machine()?;
        machine.device(index)?;
        is_there(&machine, index)?;
        Ok(Self(std::ptr::without_provenance_mut(FIRST_HANDLE + index)))
    }

    /// The device that it names.
    pub(crate) fn device(self) -> Result<Device> {
        let machine = session::machine()?;
        let index = self.0.addr().checked_sub(FIRST_HANDLE).ok_or(Failure::InvalidArgument)?;
        let spec = machine.device(index)?;
        is_there(&machine, index)?;
        sleep(Duration::from_nanos(machine.quirks().nvml_nanoseconds));
        Ok(Device { machine, index, spec })
    }
}

fn is_there(machine: &Machine, index: usize) -> Result {
    let lost = machine.quirks().lost_device == Some(index);
    if lost { Err(Failure::GpuIsLost) } else { Ok(()) }
}
