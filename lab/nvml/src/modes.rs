//! Modes that a device could be in. The lab has each in its default, and none can be changed.

use nvml_wrapper_sys::bindings as nvml;
use whyoom_lab_abi::{Out, exports};

use crate::{
    device::Handle,
    status::{Code, Result},
};

/// The mode is off.
fn disabled(handle: Handle, mode: Out<u32>) -> Result {
    handle.device()?;
    Ok(mode.put(nvml::nvmlEnableState_enum_NVML_FEATURE_DISABLED)?)
}

exports! { Code;
    fn nvmlDeviceGetPersistenceMode(handle: Handle, mode: Out<u32>) { disabled(handle, mode) }

    fn nvmlDeviceGetDisplayMode(handle: Handle, mode: Out<u32>) { disabled(handle, mode) }

    fn nvmlDeviceGetDisplayActive(handle: Handle, mode: Out<u32>) { disabled(handle, mode) }

    fn nvmlDeviceGetAccountingMode(handle: Handle, mode: Out<u32>) { disabled(handle, mode) }

    fn nvmlDeviceGetComputeMode(handle: Handle, mode: Out<u32>) {
        handle.device()?;
        Ok(mode.put(nvml::nvmlComputeMode_enum_NVML_COMPUTEMODE_DEFAULT)?)
    }

    fn nvmlDeviceGetVirtualizationMode(handle: Handle, mode: Out<u32>) {
        handle.device()?;
        Ok(mode.put(nvml::nvmlGpuVirtualizationMode_NVML_GPU_VIRTUALIZATION_MODE_NONE)?)
    }
}
