//! Calls that need memory of the driver's own and are recorded only if it has none: graphs, code, streams, access.
//!
//! Signatures are those of the public bindings (cudarc 0.19, `driver/sys`). A call that succeeds costs one
//! comparison.

use std::ffi::{c_char, c_void};

use whyoom_trace::{Action, Bytes};

use crate::{
    declare::hooks,
    record::{Call, Location, clock, device_of},
    result_code::{Code, OUT_OF_MEMORY},
};

hooks! { Refusals;
    Optional (executable: u64, stream: u64)
    [cuGraphUpload = "cuGraphUpload" since 11010,
     cuGraphUpload_ptsz = "cuGraphUpload" since 11010 (per_thread)]
    failed { |call, (), result| refused_in_stream(call, stream, result) }

    Optional (function: *mut u64, module: u64, name: *const c_char)
    [cuModuleGetFunction = "cuModuleGetFunction" since 2000,
     cuLibraryGetKernel = "cuLibraryGetKernel" since 12000]
    failed { |call, (), result| refused_here(call, 0, result) }

    Optional (found: *mut u64, of: u64)
    [cuKernelGetFunction = "cuKernelGetFunction" since 12000,
     cuLibraryGetModule = "cuLibraryGetModule" since 12000,
     cuCtxFromGreenCtx = "cuCtxFromGreenCtx" since 12040]
    failed { |call, (), result| refused_here(call, 0, result) }

    Optional (function: u64)
    [cuFuncLoad = "cuFuncLoad" since 12040]
    failed { |call, (), result| refused_here(call, 0, result) }

    Optional (created: *mut u64, flags: u32)
    [cuStreamCreate = "cuStreamCreate" since 2000,
     cuEventCreate = "cuEventCreate" since 2000]
    failed { |call, (), result| refused_here(call, 0, result) }

    Optional (stream: *mut u64, flags: u32, priority: i32)
    [cuStreamCreateWithPriority = "cuStreamCreateWithPriority" since 5050]
    failed { |call, (), result| refused_here(call, 0, result) }

    Optional (stream: *mut u64, context: u64, flags: u32, priority: i32)
    [cuGreenCtxStreamCreate = "cuGreenCtxStreamCreate" since 12050]
    failed { |call, (), result| refused_here(call, 0, result) }

    Optional (context: *mut u64, resources: u64, device: i32, flags: u32)
    [cuGreenCtxCreate = "cuGreenCtxCreate" since 12040]
    failed { |call, (), result| refused(call, Location::on(device_of(device)), 0, result) }

    Optional (context: u64, flags: u32)
    [cuCtxEnablePeerAccess = "cuCtxEnablePeerAccess" since 4000]
    failed { |call, (), result| refused_here(call, 0, result) }

    Optional (object: *mut u64, properties: *const c_void)
    [cuMulticastCreate = "cuMulticastCreate" since 12010,
     cuSurfObjectCreate = "cuSurfObjectCreate" since 5000]
    failed { |call, (), result| refused_here(call, 0, result) }

    Optional (object: u64, device: i32)
    [cuMulticastAddDevice = "cuMulticastAddDevice" since 12010]
    failed { |call, (), result| refused(call, Location::on(device_of(device)), 0, result) }

    Optional (
        object: u64,
        object_offset: usize,
        handle: u64,
        offset: usize,
        bytes: usize,
        flags: u64,
    )
    [cuMulticastBindMem = "cuMulticastBindMem" since 12010 until 13010]
    failed { |call, (), result| refused_here(call, bytes as u64, result) }

    Optional (
        object: u64,
        device: i32,
        object_offset: usize,
        handle: u64,
        offset: usize,
        bytes: usize,
        flags: u64,
    )
    [cuMulticastBindMem_v2 = "cuMulticastBindMem_v2" since 13010]
    failed {
        |call, (), result| refused(call, Location::on(device_of(device)), bytes as u64, result)
    }

    Optional (object: u64, object_offset: usize, address: u64, bytes: usize, flags: u64)
    [cuMulticastBindAddr = "cuMulticastBindAddr" since 12010 until 13010]
    failed { |call, (), result| refused_here(call, bytes as u64, result) }

    Optional (
        object: u64,
        device: i32,
        object_offset: usize,
        address: u64,
        bytes: usize,
        flags: u64,
    )
    [cuMulticastBindAddr_v2 = "cuMulticastBindAddr_v2" since 13010]
    failed {
        |call, (), result| refused(call, Location::on(device_of(device)), bytes as u64, result)
    }

    Optional (copy: *const c_void)
    [cuMemcpy3D_v2 = "cuMemcpy3D" since 3020,
     cuMemcpy3D_v2_ptds = "cuMemcpy3D" since 7000 (per_thread),
     cuMemcpy3DPeer = "cuMemcpy3DPeer" since 4000,
     cuMemcpy3DPeer_ptds = "cuMemcpy3DPeer" since 7000 (per_thread)]
    failed { |call, (), result| refused_here(call, 0, result) }

    Optional (copy: *const c_void, stream: u64)
    [cuMemcpy3DAsync_v2 = "cuMemcpy3DAsync" since 3020,
     cuMemcpy3DAsync_v2_ptsz = "cuMemcpy3DAsync" since 7000 (per_thread),
     cuMemcpy3DPeerAsync = "cuMemcpy3DPeerAsync" since 4000,
     cuMemcpy3DPeerAsync_ptsz = "cuMemcpy3DPeerAsync" since 7000 (per_thread)]
    failed { |call, (), result| refused_in_stream(call, stream, result) }

    Optional (
        object: *mut u64,
        resource: *const c_void,
        texture: *const c_void,
        view: *const c_void,
    )
    [cuTexObjectCreate = "cuTexObjectCreate" since 5000]
    failed { |call, (), result| refused_here(call, 0, result) }
}

pub(super) fn refused_here(call: &Call, bytes: u64, result: Code) {
    if result == OUT_OF_MEMORY {
        refused(call, call.here(), bytes, result);
    }
}

fn refused_in_stream(call: &Call, stream: u64, result: Code) {
    if result == OUT_OF_MEMORY {
        refused(call, call.here().in_stream(stream), 0, result);
    }
}

/// Records that the driver had no memory for a call that is no allocation. `bytes` is the size in its arguments, 0 if
/// it has none. Any other result is not recorded.
pub(super) fn refused(call: &Call, location: Location, bytes: u64, result: Code) {
    if result != OUT_OF_MEMORY {
        return;
    }
    let stack = call.stack();
    let action = Action::LaunchFailed {
        kernel: call.process.text(call.hook.symbol),
        shared_memory: Bytes(bytes),
    };
    call.write(clock::now(), location, stack, result, action);
    // How much memory the driver wanted is not known: the size in the arguments is not what it takes for the call.
    call.failed(location, stack, result, 0);
}

#[cfg(test)]
mod tests {
    use whyoom_trace::driver_call_purpose;

    use super::HOOKS;

    #[test]
    fn every_call_has_a_purpose() {
        for hook in HOOKS {
            let name = hook.symbol.to_string_lossy();
            assert!(driver_call_purpose(&name).is_some(), "{name}");
        }
    }
}
