//! Events. A `cudaEvent_t` is the driver's `CUevent`, with the same flags.

use cudarc::driver::sys::{CUevent, CUstream};
use whyoom_lab_abi::{Out, exports};

use crate::{context, error::Status};

exports! { Status;
    fn cudaEventCreate(event: Out<CUevent>) { context::current()?.cuEventCreate(event.0, 0) }

    fn cudaEventCreateWithFlags(event: Out<CUevent>, flags: u32) {
        context::current()?.cuEventCreate(event.0, flags)
    }

    fn cudaEventDestroy(event: CUevent) { context::current()?.cuEventDestroy(event) }

    fn cudaEventRecord(event: CUevent, stream: CUstream) {
        context::current()?.cuEventRecord(event, stream)
    }

    fn cudaEventRecordWithFlags(event: CUevent, stream: CUstream, flags: u32) {
        context::current()?.cuEventRecordWithFlags(event, stream, flags)
    }

    fn cudaEventQuery(event: CUevent) { context::current()?.cuEventQuery(event) }

    fn cudaEventSynchronize(event: CUevent) { context::current()?.cuEventSynchronize(event) }

    fn cudaEventElapsedTime(milliseconds: Out<f32>, start: CUevent, end: CUevent) {
        context::current()?.cuEventElapsedTime(milliseconds.0, start, end)
    }
}
