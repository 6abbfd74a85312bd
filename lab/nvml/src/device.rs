//! Handles: what callers hold of a device.

use std::{ffi::c_void, thread::sleep, time::Duration};

use whyoom_lab_core::machine::{DeviceSpec, Machine};

use crate::{
    session,
    status::{Failure, Result},
};

/// Where handles begin. They are numbers that no program holds by accident, and never followed.
const FIRST_HANDLE: usize = 0x6c61_6200_0000;
/// Where those of parts begin.
const FIRST_PART: usize = 0x6c61_6300_0000;

/// A device as callers name it; what they pass may be anything.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Handle(*mut c_void);

/// A device of the lab.
pub(crate) struct Device {
    pub(crate) machine: Machine,
    pub(crate) index: usize,
    pub(crate) spec: DeviceSpec,
    /// Whether its one part (MIG) was named, and not the whole.
    pub(crate) is_part: bool,
}

impl Device {
    /// Whether it is the whole of a divided device.
    pub(crate) fn is_divided(&self) -> bool {
        self.machine.quirks().mig && !self.is_part
    }

    /// What a divided device tells nobody here.
    pub(crate) fn may_be_asked(&self) -> Result {
        if self.is_divided() { Err(Failure::NoPermission) } else { Ok(()) }
    }
}

impl Handle {
    /// The handle of a device, if there is such a device.
    pub(crate) fn of(index: usize) -> Result<Self> {
        let machine = session::machine()?;
        machine.device(index)?;
        is_there(&machine, index)?;
        Ok(Self(std::ptr::without_provenance_mut(FIRST_HANDLE + index)))
    }

    /// The handle of the one part of a divided device.
    pub(crate) fn of_part(index: usize) -> Self {
        Self(std::ptr::without_provenance_mut(FIRST_PART + index))
    }

    /// The device that it names.
    pub(crate) fn device(self) -> Result<Device> {
        let machine = session::machine()?;
        let address = self.0.addr();
        let is_part = machine.quirks().mig && address >= FIRST_PART;
        let first = if is_part { FIRST_PART } else { FIRST_HANDLE };
        let index = address.checked_sub(first).ok_or(Failure::InvalidArgument)?;
        let spec = machine.device(index)?;
        is_there(&machine, index)?;
        sleep(Duration::from_nanos(machine.quirks().nvml_nanoseconds));
        Ok(Device { machine, index, spec, is_part })
    }
}

fn is_there(machine: &Machine, index: usize) -> Result {
    let lost = machine.quirks().lost_device == Some(index);
    if lost { Err(Failure::GpuIsLost) } else { Ok(()) }
}
