//! Modules and libraries: code takes device memory too.

use std::ffi::{c_char, c_void};

use whyoom_trace::{Action, HandleId};

use super::out_parameter::written;
use crate::{
    declare::hooks,
    record::{Call, clock},
    result_code::{Code, OUT_OF_MEMORY},
};

hooks! { Code;
    Required (module: *mut u64, path: *const c_char)
    [cuModuleLoad = "cuModuleLoad" since 2000]
    after { |call, (), result| loaded(call, module, result) }

    Required (module: *mut u64, image: *const c_void)
    [cuModuleLoadData = "cuModuleLoadData" since 2000,
     cuModuleLoadFatBinary = "cuModuleLoadFatBinary" since 2000]
    after { |call, (), result| loaded(call, module, result) }

    Required (
        module: *mut u64,
        image: *const c_void,
        count: u32,
        options: *mut c_void,
        values: *mut c_void,
    )
    [cuModuleLoadDataEx = "cuModuleLoadDataEx" since 2010]
    after { |call, (), result| loaded(call, module, result) }

    Required (module: u64)
    [cuModuleUnload = "cuModuleUnload" since 2000]
    around { |_| clock::now(); |call, time, result| unloaded(call, time, module, result) }

    Optional (
        library: *mut u64,
        image: *const c_void,
        jit: *mut c_void,
        jit_values: *mut c_void,
        jit_count: u32,
        options: *mut c_void,
        values: *mut c_void,
        count: u32,
    )
    [cuLibraryLoadData = "cuLibraryLoadData" since 12000,
     cuLibraryLoadFromFile = "cuLibraryLoadFromFile" since 12000]
    after { |call, (), result| loaded(call, library, result) }

    Optional (library: u64)
    [cuLibraryUnload = "cuLibraryUnload" since 12000]
    around { |_| clock::now(); |call, time, result| unloaded(call, time, library, result) }
}

fn loaded(call: &Call, handle: *const u64, result: Code) {
    if result != 0 && result != OUT_OF_MEMORY {
        return;
    }
    // SAFETY: a call that succeeded has written the handle.
    let handle = HandleId(if result == 0 { unsafe { written(handle) } } else { 0 });
    let (location, stack) = (call.here(), call.stack());
    call.write(clock::now(), location, stack, result, Action::CodeLoad { handle });
    call.failed(location, stack, result, 0);
}

fn unloaded(call: &Call, time: u64, handle: u64, result: Code) {
    if result == 0 {
        let action = Action::CodeUnload { handle: HandleId(handle) };
        call.write(time, call.here(), call.stack(), result, action);
    }
}
