//! What CUDA 13 has in a form of its own.

use cudarc::{
    driver::sys::{CUdeviceptr, CUstream},
    runtime::sys::{cudaDeviceProp, cudaPointerAttributes},
};
use whyoom_lab_abi::{Out, exports};

use crate::{context, device, driver::Location, error::Status, pointer, properties};

/// The version of the runtime API that is spoken here, as CUDA numbers it.
pub const RUNTIME_VERSION: i32 = 13_020;

exports! { Status;
    fn cudaGetDeviceProperties(properties: Out<cudaDeviceProp>, device: i32) {
        let (driver, device) = device::at(device)?;
        Ok(properties.put(properties::of(driver, device)?)?)
    }

    fn cudaPointerGetAttributes(attributes: Out<cudaPointerAttributes>, pointer: CUdeviceptr) {
        Ok(attributes.put(pointer::attributes_of(&context::current()?, pointer)?)?)
    }

    fn cudaMemPrefetchAsync(pointer: CUdeviceptr, size: usize, to: Location, flags: u32, stream: CUstream) {
        context::current()?.cuMemPrefetchAsync(pointer, size, to, flags, stream)
    }

    fn cudaMemAdvise(pointer: CUdeviceptr, size: usize, advice: u32, location: Location) {
        context::current()?.cuMemAdvise(pointer, size, advice, location)
    }
}
