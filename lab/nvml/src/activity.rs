//! How busy a device is. The lab's kernels compute nothing, so 0 is the measured truth.

use nvml_wrapper_sys::bindings as nvml;
use whyoom_lab_abi::{In, Out, exports};

use crate::{
    device::Handle,
    status::{Code, Failure, Result},
};

/// An engine that never worked, watched for no time.
fn idle(handle: Handle, percent: Out<u32>, watched_microseconds: Out<u32>) -> Result {
    handle.device()?;
    percent.put(0)?;
    Ok(watched_microseconds.put(0)?)
}

/// A field that was asked for, with the answer that the lab has none.
fn unanswered(mut field: nvml::nvmlFieldValue_t) -> nvml::nvmlFieldValue_t {
    field.timestamp = 0;
    field.latencyUsec = 0;
    field.nvmlReturn = nvml::nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED;
    field
}

exports! { Code;
    fn nvmlDeviceGetUtilizationRates(handle: Handle, rates: Out<nvml::nvmlUtilization_t>) {
        handle.device()?;
        Ok(rates.put(nvml::nvmlUtilization_t { gpu: 0, memory: 0 })?)
    }

    fn nvmlDeviceGetEncoderUtilization(handle: Handle, percent: Out<u32>, watched: Out<u32>) {
        idle(handle, percent, watched)
    }

    fn nvmlDeviceGetDecoderUtilization(handle: Handle, percent: Out<u32>, watched: Out<u32>) {
        idle(handle, percent, watched)
    }

    fn nvmlDeviceGetJpgUtilization(handle: Handle, percent: Out<u32>, watched: Out<u32>) {
        idle(handle, percent, watched)
    }

    fn nvmlDeviceGetOfaUtilization(handle: Handle, percent: Out<u32>, watched: Out<u32>) {
        idle(handle, percent, watched)
    }

    fn nvmlDeviceGetProcessUtilization(
        handle: Handle,
        _samples: Out<nvml::nvmlProcessUtilizationSample_t>,
        count: Out<u32>,
        _since: u64,
    ) {
        handle.device()?;
        count.put(0)?;
        Err(Failure::NotFound)
    }

    // Each field has a status of its own: the call succeeds, and every field is refused in its own.
    fn nvmlDeviceGetFieldValues(
        handle: Handle,
        count: i32,
        fields: Out<nvml::nvmlFieldValue_t>,
    ) {
        handle.device()?;
        let count = usize::try_from(count).map_err(|_| Failure::InvalidArgument)?;
        if count == 0 {
            return Err(Failure::InvalidArgument);
        }
        let asked = In(fields.0.cast_const()).list(count)?;
        Ok(fields.put_all(asked.into_iter().map(unanswered))?)
    }
}
