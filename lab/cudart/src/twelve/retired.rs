//! What CUDA 13 no longer has, and what 12.8 renamed and 13 renamed back.

use cudarc::driver::sys::CUevent;
use whyoom_lab_abi::{Out, exports};

use crate::{context, error::Status};

exports! { Status;
    fn cudaEventElapsedTime_v2(milliseconds: Out<f32>, start: CUevent, end: CUevent) {
        context::current()?.cuEventElapsedTime(milliseconds.0, start, end)
    }

    fn cudaThreadSynchronize() { context::current()?.cuCtxSynchronize() }
}
