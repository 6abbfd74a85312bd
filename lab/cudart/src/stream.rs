//! Streams. A `cudaStream_t` is the driver's `CUstream`; 0, 1 and 2 are the default streams.

use std::ffi::c_void;

use cudarc::driver::sys::{CUevent, CUhostFn, CUstream};
use whyoom_lab_abi::{Out, exports};

use crate::{context, error::Status};

exports! { Status;
    fn cudaStreamCreate(stream: Out<CUstream>) {
        context::current()?.cuStreamCreate(stream.0, 0)
    }

    fn cudaStreamCreateWithFlags(stream: Out<CUstream>, flags: u32) {
        context::current()?.cuStreamCreate(stream.0, flags)
    }

    fn cudaStreamCreateWithPriority(stream: Out<CUstream>, flags: u32, priority: i32) {
        context::current()?.cuStreamCreateWithPriority(stream.0, flags, priority)
    }

    fn cudaStreamDestroy(stream: CUstream) { context::current()?.cuStreamDestroy(stream) }

    fn cudaStreamSynchronize(stream: CUstream) { context::current()?.cuStreamSynchronize(stream) }

    fn cudaStreamQuery(stream: CUstream) { context::current()?.cuStreamQuery(stream) }

    fn cudaStreamWaitEvent(stream: CUstream, event: CUevent, flags: u32) {
        context::current()?.cuStreamWaitEvent(stream, event, flags)
    }

    fn cudaStreamGetPriority(stream: CUstream, priority: Out<i32>) {
        context::current()?.cuStreamGetPriority(stream, priority.0)
    }

    fn cudaStreamGetFlags(stream: CUstream, flags: Out<u32>) {
        context::current()?.cuStreamGetFlags(stream, flags.0)
    }

    fn cudaStreamGetId(stream: CUstream, id: Out<u64>) {
        context::current()?.cuStreamGetId(stream, id.0)
    }

    fn cudaStreamGetDevice(stream: CUstream, device: Out<i32>) {
        context::current()?.cuStreamGetDevice(stream, device.0)
    }

    fn cudaStreamCopyAttributes(to: CUstream, from: CUstream) {
        context::current()?.cuStreamCopyAttributes(to, from)
    }

    fn cudaStreamGetAttribute(stream: CUstream, attribute: u32, value: Out<c_void>) {
        context::current()?.cuStreamGetAttribute(stream, attribute, value.0)
    }

    fn cudaStreamSetAttribute(stream: CUstream, attribute: u32, value: *const c_void) {
        context::current()?.cuStreamSetAttribute(stream, attribute, value)
    }

    // The callback's signature differs only in the name of the error type.
    fn cudaStreamAddCallback(stream: CUstream, callback: *const c_void, data: *mut c_void, flags: u32) {
        context::current()?.cuStreamAddCallback(stream, callback, data, flags)
    }

    fn cudaLaunchHostFunc(stream: CUstream, function: CUhostFn, data: *mut c_void) {
        context::current()?.cuLaunchHostFunc(stream, function, data)
    }
}
