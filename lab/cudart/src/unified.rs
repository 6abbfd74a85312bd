//! Advice about memory that host and device share.

use std::ffi::c_void;

use cudarc::driver::sys::{CUdeviceptr, CUstream};
use whyoom_lab_abi::{Out, exports};

use crate::{context, driver::Location, error::Status};

exports! { Status;
    fn cudaMemPrefetchAsync(pointer: CUdeviceptr, size: usize, to: Location, flags: u32, stream: CUstream) {
        context::current()?.cuMemPrefetchAsync(pointer, size, to, flags, stream)
    }

    fn cudaMemAdvise(pointer: CUdeviceptr, size: usize, advice: u32, location: Location) {
        context::current()?.cuMemAdvise(pointer, size, advice, location)
    }

    fn cudaMemRangeGetAttribute(data: Out<c_void>, room: usize, attribute: u32, pointer: CUdeviceptr, size: usize) {
        context::current()?.cuMemRangeGetAttribute(data.0, room, attribute, pointer, size)
    }

    fn cudaStreamAttachMemAsync(stream: CUstream, pointer: CUdeviceptr, size: usize, flags: u32) {
        context::current()?.cuStreamAttachMemAsync(stream, pointer, size, flags)
    }
}
