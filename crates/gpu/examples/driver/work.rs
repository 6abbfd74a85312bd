//! Work for streams, and captures of it, which the pool never makes itself: by another crate, on the
//! same streams.

use cudarc::driver::{DriverError, result, sys};
use whyoom_gpu::driver::Stream;

const NOTHING: &std::ffi::CStr =
    c".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry nothing() { ret; }\n";

/// A kernel that does nothing.
pub(crate) struct Kernel(sys::CUfunction);

impl Kernel {
    pub(crate) fn load() -> Result<Self, DriverError> {
        // SAFETY: the text ends with a nul.
        let module = unsafe { result::module::load_data(NOTHING.as_ptr().cast()) }?;
        // SAFETY: the module has just been loaded, and stays.
        unsafe { result::module::get_function(module, c"nothing".to_owned()) }.map(Self)
    }

    pub(crate) fn launch(&self, stream: Stream) -> Result<(), DriverError> {
        // SAFETY: the kernel takes no arguments; the stream is one that the caller made.
        unsafe { result::launch_kernel(self.0, (1, 1, 1), (1, 1, 1), 0, theirs(stream), &mut []) }
    }
}

/// Begins a capture that forbids the calls of all threads that could spoil it.
pub(crate) fn begin_capture(stream: Stream) -> Result<(), DriverError> {
    let global = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
    // SAFETY: the stream is one that the caller made.
    unsafe { result::stream::begin_capture(theirs(stream), global) }
}

/// Ends a capture; its graph is not needed.
pub(crate) fn end_capture(stream: Stream) -> Result<(), DriverError> {
    // SAFETY: the stream is one that the caller made, and the graph is nobody else's.
    unsafe { result::graph::destroy(result::stream::end_capture(theirs(stream))?) }
}

fn theirs(stream: Stream) -> sys::CUstream {
    std::ptr::with_exposed_provenance_mut(stream.0 as usize)
}
