//! Copies and fills, where they fail: a size or an address that is wrong, and nobody looked.

use std::ffi::c_void;

use whyoom_trace::{Action, Bytes};

use crate::{
    declare::hooks,
    record::{Call, Cause, cause_of, clock},
    result_code::Code,
    serve,
};

hooks! { Copies;
    Optional (target: u64, source: u64, bytes: usize)
    [cuMemcpy = "cuMemcpy" since 4000,
     cuMemcpy_ptds = "cuMemcpy" since 7000 (per_thread),
     cuMemcpyDtoD_v2 = "cuMemcpyDtoD" since 3020,
     cuMemcpyDtoD_v2_ptds = "cuMemcpyDtoD" since 7000 (per_thread)]
    served_failed {
        |hook| serve::copy((target, source), bytes, 0, hook);
        |call, (), result| failed(call, 0, result)
    }

    Optional (target: u64, source: *const c_void, bytes: usize)
    [cuMemcpyHtoD_v2 = "cuMemcpyHtoD" since 3020,
     cuMemcpyHtoD_v2_ptds = "cuMemcpyHtoD" since 7000 (per_thread)]
    failed { |call, (), result| failed(call, 0, result) }

    Optional (target: *mut c_void, source: u64, bytes: usize)
    [cuMemcpyDtoH_v2 = "cuMemcpyDtoH" since 3020,
     cuMemcpyDtoH_v2_ptds = "cuMemcpyDtoH" since 7000 (per_thread)]
    failed { |call, (), result| failed(call, 0, result) }

    Optional (target: u64, source: u64, bytes: usize, stream: u64)
    [cuMemcpyAsync = "cuMemcpyAsync" since 4000,
     cuMemcpyAsync_ptsz = "cuMemcpyAsync" since 7000 (per_thread),
     cuMemcpyDtoDAsync_v2 = "cuMemcpyDtoDAsync" since 3020,
     cuMemcpyDtoDAsync_v2_ptsz = "cuMemcpyDtoDAsync" since 7000 (per_thread)]
    served_failed {
        |hook| serve::copy((target, source), bytes, stream, hook);
        |call, (), result| failed(call, stream, result)
    }

    Optional (target: u64, source: *const c_void, bytes: usize, stream: u64)
    [cuMemcpyHtoDAsync_v2 = "cuMemcpyHtoDAsync" since 3020,
     cuMemcpyHtoDAsync_v2_ptsz = "cuMemcpyHtoDAsync" since 7000 (per_thread)]
    failed { |call, (), result| failed(call, stream, result) }

    Optional (target: *mut c_void, source: u64, bytes: usize, stream: u64)
    [cuMemcpyDtoHAsync_v2 = "cuMemcpyDtoHAsync" since 3020,
     cuMemcpyDtoHAsync_v2_ptsz = "cuMemcpyDtoHAsync" since 7000 (per_thread)]
    failed { |call, (), result| failed(call, stream, result) }

    Optional (copy: *const c_void)
    [cuMemcpy2D_v2 = "cuMemcpy2D" since 3020,
     cuMemcpy2D_v2_ptds = "cuMemcpy2D" since 7000 (per_thread),
     cuMemcpy2DUnaligned_v2 = "cuMemcpy2DUnaligned" since 3020,
     cuMemcpy2DUnaligned_v2_ptds = "cuMemcpy2DUnaligned" since 7000 (per_thread)]
    failed { |call, (), result| failed(call, 0, result) }

    Optional (copy: *const c_void, stream: u64)
    [cuMemcpy2DAsync_v2 = "cuMemcpy2DAsync" since 3020,
     cuMemcpy2DAsync_v2_ptsz = "cuMemcpy2DAsync" since 7000 (per_thread)]
    failed { |call, (), result| failed(call, stream, result) }

    Optional (target: u64, value: u8, count: usize)
    [cuMemsetD8_v2 = "cuMemsetD8" since 3020,
     cuMemsetD8_v2_ptds = "cuMemsetD8" since 7000 (per_thread)]
    failed { |call, (), result| failed(call, 0, result) }

    Optional (target: u64, value: u32, count: usize)
    [cuMemsetD32_v2 = "cuMemsetD32" since 3020,
     cuMemsetD32_v2_ptds = "cuMemsetD32" since 7000 (per_thread)]
    failed { |call, (), result| failed(call, 0, result) }

    Optional (target: u64, value: u8, count: usize, stream: u64)
    [cuMemsetD8Async = "cuMemsetD8Async" since 3020,
     cuMemsetD8Async_ptsz = "cuMemsetD8Async" since 7000 (per_thread)]
    failed { |call, (), result| failed(call, stream, result) }

    Optional (target: u64, value: u32, count: usize, stream: u64)
    [cuMemsetD32Async = "cuMemsetD32Async" since 3020,
     cuMemsetD32Async_ptsz = "cuMemsetD32Async" since 7000 (per_thread)]
    failed { |call, (), result| failed(call, stream, result) }
}

/// A copy that the driver refused because of what it was asked for. One that tells of a kernel which failed
/// before is not among these, nor one that was made in no context.
fn failed(call: &Call, stream: u64, result: Code) {
    let location = call.here().in_stream(stream);
    if cause_of(result) != Cause::Memory || location.context == 0 {
        return;
    }
    let stack = call.stack();
    let action = Action::LaunchFailed {
        kernel: call.process.text(call.hook.symbol),
        shared_memory: Bytes::ZERO,
    };
    call.write(clock::now(), location, stack, result, action);
    call.failed(location, stack, result, 0);
}
