//! What a pointer points to, in a struct that CUDA 13 made longer.

use std::ffi::c_void;

use cudarc::{driver::sys::CUdeviceptr, runtime::sys::cudaMemoryType};
use whyoom_lab_abi::{Out, exports};

use crate::{context, error::Status, pointer};

/// `cudaPointerAttributes` as it was before 13.
#[repr(C)]
struct Attributes {
    kind: cudaMemoryType,
    device: i32,
    device_pointer: *mut c_void,
    host_pointer: *mut c_void,
}

exports! { Status;
    fn cudaPointerGetAttributes(attributes: Out<Attributes>, pointer: CUdeviceptr) {
        let known = pointer::attributes_of(&context::current()?, pointer)?;
        Ok(attributes.put(Attributes {
            kind: known.type_,
            device: known.device,
            device_pointer: known.devicePointer,
            host_pointer: known.hostPointer,
        })?)
    }
}
