//! Page-locked host memory: the driver's own, and the program's that is locked afterwards.

use std::ffi::c_void;

use whyoom_trace::MemoryKind::{self, Pinned, Registered};

use super::out_parameter::written;
use crate::{
    declare::hooks,
    record::{Call, clock},
    result_code::Code,
};

hooks! { Host;
    Required (address: *mut u64, bytes: usize, flags: u32)
    [cuMemHostAlloc = "cuMemHostAlloc" since 2020]
    after { |call, (), result| pinned(call, address, bytes, result) }

    Required (address: *mut u64, bytes: usize)
    [cuMemAllocHost_v2 = "cuMemAllocHost" since 3020]
    after { |call, (), result| pinned(call, address, bytes, result) }

    Required (address: u64)
    [cuMemFreeHost = "cuMemFreeHost" since 2000]
    around { |call| call.freeing(address); |call, begun, result| {
        call.freed(begun, call.location_of(begun.1).host(), (Pinned, address), result);
    } }

    Required (address: *mut c_void, bytes: usize, flags: u32)
    [cuMemHostRegister_v2 = "cuMemHostRegister" since 6050,
     cuMemHostRegister = "cuMemHostRegister" since 4000 until 6050]
    after { |call, (), result| locked(call, Registered, address as u64, bytes, result) }

    Required (address: u64)
    [cuMemHostUnregister = "cuMemHostUnregister" since 4000]
    around { |call| call.freeing(address); |call, begun, result| {
        call.freed(begun, call.location_of(begun.1).host(), (Registered, address), result);
    } }
}

fn pinned(call: &Call, address: *const u64, bytes: usize, result: Code) {
    if !address.is_null() {
        // SAFETY: a call that succeeded has written the address.
        let address = if result == 0 { unsafe { written(address) } } else { 0 };
        locked(call, Pinned, address, bytes, result);
    }
}

fn locked(call: &Call, kind: MemoryKind, address: u64, bytes: usize, result: Code) {
    let time = clock::now();
    call.allocated(time, call.here().host(), (kind, address, bytes as u64), result);
}
