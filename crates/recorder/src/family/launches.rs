//! Launches, where they fail: a kernel that asks for more than there is.

use std::{
    ffi::{CStr, c_char, c_void},
    ptr,
};

use whyoom_trace::{Action, Bytes, StringId};

use super::out_parameter::written;
use crate::{
    declare::hooks,
    record::{Call, Cause, cause_of, clock},
    resolution::real::Function,
    result_code::Code,
};

/// The beginning of `CUlaunchConfig`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Config {
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: u64,
}

/// `CUDA_ERROR_INVALID_HANDLE`: such a function has no name.
const INVALID_HANDLE: Code = 400;

type GetName = unsafe extern "C" fn(*mut *const c_char, u64) -> Code;
static FUNCTION_NAME: Function<GetName> = Function::named(c"cuFuncGetName");
static KERNEL_NAME: Function<GetName> = Function::named(c"cuKernelGetName");

hooks! { Launches;
    Required (
        function: u64,
        grid_x: u32,
        grid_y: u32,
        grid_z: u32,
        block_x: u32,
        block_y: u32,
        block_z: u32,
        shared: u32,
        stream: u64,
        parameters: *mut c_void,
        extra: *mut c_void,
    )
    [cuLaunchKernel = "cuLaunchKernel" since 4000,
     cuLaunchKernel_ptsz = "cuLaunchKernel" since 7000 (per_thread)]
    failed { |call, (), result| failed(call, function, shared, stream, result) }

    Optional (
        function: u64,
        grid_x: u32,
        grid_y: u32,
        grid_z: u32,
        block_x: u32,
        block_y: u32,
        block_z: u32,
        shared: u32,
        stream: u64,
        parameters: *mut c_void,
    )
    [cuLaunchCooperativeKernel = "cuLaunchCooperativeKernel" since 9000,
     cuLaunchCooperativeKernel_ptsz = "cuLaunchCooperativeKernel" since 9000 (per_thread)]
    failed { |call, (), result| failed(call, function, shared, stream, result) }

    Optional (
        config: *const Config,
        function: u64,
        parameters: *mut c_void,
        extra: *mut c_void,
    )
    [cuLaunchKernelEx = "cuLaunchKernelEx" since 11060,
     cuLaunchKernelEx_ptsz = "cuLaunchKernelEx" since 11060 (per_thread)]
    failed { |call, (), result| {
        // SAFETY: the program's own configuration, which it lends for the call.
        let Config { shared, stream, .. } = unsafe { written(config) };
        failed(call, function, shared, stream, result);
    } }
}

fn failed(call: &Call, function: u64, shared: u32, stream: u64, result: Code) {
    let location = call.here().in_stream(stream);
    // After a kernel has failed every launch says so, and a launch in no context was never one.
    let known = cause_of(result) == Cause::Kernel && call.process.is_broken(location.context);
    if known || location.context == 0 || (900..1000).contains(&result) && result != 999 {
        return;
    }
    let kernel = if result == INVALID_HANDLE { StringId(0) } else { name_of(call, function) };
    let stack = call.stack();
    let action = Action::LaunchFailed { kernel, shared_memory: Bytes(shared.into()) };
    call.write(clock::now(), location, stack, result, action);
    call.failed(location, stack, result, 0);
}

fn name_of(call: &Call, function: u64) -> StringId {
    let mut name = ptr::null();
    let told = [&FUNCTION_NAME, &KERNEL_NAME].iter().any(|ask| {
        // SAFETY: the driver knows the handle, of the one kind or of the other, for it launched it.
        ask.get().is_some_and(|get| unsafe { get(&mut name, function) } == 0)
    });
    if !told || name.is_null() {
        return StringId(0);
    }
    // SAFETY: documented: a name that ends with a zero, and lives as long as its module.
    call.process.text(unsafe { CStr::from_ptr(name) })
}
