//! Advice about memory that host and device share.

use std::ffi::c_void;

use cudarc::driver::sys::{CUdeviceptr, CUstream};
use whyoom_lab_abi::{Out, exports};

use crate::{context, error::Status};

exports! { Status;
    fn cudaMemRangeGetAttribute(data: Out<c_void>, room: usize, attribute: u32, pointer: CUdeviceptr, size: usize) {
        context::current()?.cuMemRangeGetAttribute(data.0, room, attribute, pointer, size)
    }

    fn cudaStreamAttachMemAsync(stream: CUstream, pointer: CUdeviceptr, size: usize, flags: u32) {
        context::current()?.cuStreamAttachMemAsync(stream, pointer, size, flags)
    }
}
