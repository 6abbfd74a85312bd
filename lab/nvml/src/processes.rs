//! Which processes are on a device.
//!
//! All work of the lab is compute; no process has a graphics context. Clients of MPS, where the lab has them, stand in
//! the list of compute processes too, as nvidia-smi shows them (M+C).

use std::{ffi::c_char, fs};

use nvml_wrapper_sys::bindings as nvml;
use whyoom_lab_abi::{In, Out, exports};
use whyoom_lab_core::machine::Holder;

use crate::{
    device::{Device, Handle},
    process_list::{Entry, write_list},
    session,
    status::{Code, Failure, Result, check_version},
};

type ListV1 = Out<Entry<nvml::nvmlProcessInfo_v1_t>>;
type ListV2 = Out<Entry<nvml::nvmlProcessInfo_v2_t>>;

/// The documented numbers of the kinds of work that a list with details is of.
const MODE_COMPUTE: u32 = 0;
const MODE_GRAPHICS: u32 = 1;
const MODE_MPS: u32 = 2;

impl Device {
    /// Who has memory of it, and how much as far as NVML tells.
    fn holders(&self) -> Result<Vec<Holder>> {
        self.may_be_asked()?;
        let mut holders = self.machine.holders(self.index);
        if self.machine.quirks().nvml_without_use {
            holders.iter_mut().for_each(|holder| holder.bytes = 0);
        }
        Ok(holders)
    }

    /// Those of them that are clients of MPS.
    fn mps_clients(&self) -> Result<Vec<Holder>> {
        let holders = self.holders()?;
        Ok(if self.machine.quirks().mps { holders } else { Vec::new() })
    }
}

/// Nobody is on the device for this kind of work.
fn nobody(handle: Handle, count: Out<u32>) -> Result {
    handle.device()?;
    Ok(count.put(0)?)
}

/// The processes with details, in a structure that holds room and place of the list.
fn write_details(handle: Handle, details: Out<nvml::nvmlProcessDetailList_v1_t>) -> Result {
    let device = handle.device()?;
    check_version(details, 1)?;
    let mut list = In(details.0.cast_const()).get()?;
    let holders = match list.mode {
        MODE_COMPUTE => device.holders()?,
        MODE_GRAPHICS => Vec::new(),
        MODE_MPS => device.mps_clients()?,
        _ => return Err(Failure::InvalidArgument),
    };
    let place: Out<Entry<nvml::nvmlProcessDetail_v1_t>> = Out(list.procArray.cast());
    let written = write_list(Out(&mut list.numProcArrayEntries), place, &holders);
    details.put(list)?;
    written
}

/// What the process was started as.
#[allow(clippy::disallowed_methods, reason = "the kernel's own file")]
fn process_name(pid: u32) -> Result<String> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).map_err(|_| Failure::NotFound)?;
    let program = line.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(program).into_owned())
}

exports! { Code;
    fn nvmlDeviceGetComputeRunningProcesses(handle: Handle, count: Out<u32>, list: ListV1) {
        let device = handle.device()?;
        write_list(count, list, &device.holders()?)
    }

    fn nvmlDeviceGetComputeRunningProcesses_v2(handle: Handle, count: Out<u32>, list: ListV2) {
        let device = handle.device()?;
        write_list(count, list, &device.holders()?)
    }

    fn nvmlDeviceGetComputeRunningProcesses_v3(handle: Handle, count: Out<u32>, list: ListV2) {
        let device = handle.device()?;
        write_list(count, list, &device.holders()?)
    }

    fn nvmlDeviceGetGraphicsRunningProcesses(handle: Handle, count: Out<u32>, _list: ListV1) {
        nobody(handle, count)
    }

    fn nvmlDeviceGetGraphicsRunningProcesses_v2(handle: Handle, count: Out<u32>, _list: ListV2) {
        nobody(handle, count)
    }

    fn nvmlDeviceGetGraphicsRunningProcesses_v3(handle: Handle, count: Out<u32>, _list: ListV2) {
        nobody(handle, count)
    }

    fn nvmlDeviceGetMPSComputeRunningProcesses(handle: Handle, count: Out<u32>, list: ListV1) {
        let device = handle.device()?;
        write_list(count, list, &device.mps_clients()?)
    }

    fn nvmlDeviceGetMPSComputeRunningProcesses_v2(handle: Handle, count: Out<u32>, list: ListV2) {
        let device = handle.device()?;
        write_list(count, list, &device.mps_clients()?)
    }

    fn nvmlDeviceGetMPSComputeRunningProcesses_v3(handle: Handle, count: Out<u32>, list: ListV2) {
        let device = handle.device()?;
        write_list(count, list, &device.mps_clients()?)
    }

    fn nvmlDeviceGetRunningProcessDetailList(
        handle: Handle,
        details: Out<nvml::nvmlProcessDetailList_v1_t>,
    ) {
        write_details(handle, details)
    }

    fn nvmlSystemGetProcessName(pid: u32, name: Out<c_char>, room: u32) {
        session::machine()?;
        if name.is_null() || room == 0 {
            return Err(Failure::InvalidArgument);
        }
        // This one is documented to be cut where there is too little room.
        Ok(name.put_text(&process_name(pid)?, room as usize)?)
    }
}
