//! The system that the devices are in.

use std::ffi::c_char;

use nvml_wrapper_sys::bindings as nvml;
use whyoom_lab_abi::{Out, exports};
use whyoom_lab_core::identity;

use crate::{
    session,
    status::{Code, Result, check_version, version_of, write_text},
};

fn write_cuda_version(version: Out<i32>) -> Result {
    session::machine()?;
    Ok(version.put(identity::CUDA_VERSION)?)
}

/// There are none of that kind.
fn none(count: Out<u32>) -> Result {
    session::machine()?;
    Ok(count.put(0)?)
}

exports! { Code;
    fn nvmlSystemGetDriverVersion(version: Out<c_char>, room: u32) {
        session::machine()?;
        write_text(version, room, identity::DRIVER_VERSION)
    }

    fn nvmlSystemGetNVMLVersion(version: Out<c_char>, room: u32) {
        session::machine()?;
        write_text(version, room, identity::NVML_VERSION)
    }

    fn nvmlSystemGetCudaDriverVersion(version: Out<i32>) { write_cuda_version(version) }

    fn nvmlSystemGetCudaDriverVersion_v2(version: Out<i32>) { write_cuda_version(version) }

    fn nvmlUnitGetCount(count: Out<u32>) { none(count) }

    fn nvmlGetExcludedDeviceCount(count: Out<u32>) { none(count) }

    // Confidential computing is off; NCCL asks.
    fn nvmlSystemGetConfComputeState(state: Out<nvml::nvmlConfComputeSystemState_t>) {
        session::machine()?;
        let off =
            nvml::nvmlConfComputeSystemState_t { environment: 0, ccFeature: 0, devToolsMode: 0 };
        Ok(state.put(off)?)
    }

    fn nvmlSystemGetConfComputeSettings(place: Out<nvml::nvmlSystemConfComputeSettings_v1_t>) {
        session::machine()?;
        check_version(place, 1)?;
        Ok(place.put(nvml::nvmlSystemConfComputeSettings_v1_t {
            version: version_of::<nvml::nvmlSystemConfComputeSettings_v1_t>(1),
            environment: 0,
            ccFeature: 0,
            devToolsMode: 0,
            multiGpuMode: 0,
        })?)
    }
}
