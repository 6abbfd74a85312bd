//! Handles: what callers hold of a device.

use std::ffi::c_void;

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
        session::machine()?.device(index)?;
        Ok(Self(std::ptr::without_provenance_mut(FIRST_HANDLE + index)))
    }

    /// The device that it names.
    pub(crate) fn device(self) -> Result<Device> {
        let machine = session::machine()?;
        let index = self.0.addr().checked_sub(FIRST_HANDLE).ok_or(Failure::InvalidArgument)?;
        Ok(Device { machine, index, spec: machine.device(index)? })
    }
}
