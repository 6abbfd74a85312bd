//! Memory of other processes, opened here.

use whyoom_trace::{Action, Address, Bytes, MemoryKind::Imported};

use super::out_parameter::written;
use crate::{
    declare::hooks,
    record::{Call, clock},
    resolution::real::Function,
    result_code::Code,
};

/// `CUipcMemHandle`: 64 bytes, passed by value.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Handle {
    bytes: [u8; 64],
}

/// `CUDA_ERROR_INVALID_CONTEXT`.
const INVALID_CONTEXT: Code = 201;

static RANGE: Function<unsafe extern "C" fn(*mut u64, *mut usize, u64) -> Code> =
    Function::named(c"cuMemGetAddressRange_v2");

hooks! { Ipc;
    Required (address: *mut u64, handle: Handle, flags: u32)
    [cuIpcOpenMemHandle_v2 = "cuIpcOpenMemHandle" since 11000,
     cuIpcOpenMemHandle = "cuIpcOpenMemHandle" since 4010 until 11000]
    after { |call, (), result| opened(call, address, result) }

    Required (address: u64)
    [cuIpcCloseMemHandle = "cuIpcCloseMemHandle" since 4010]
    around { |_| clock::now(); |call, time, result| {
        if result == 0 && call.process.recount(address, -1) == Some(0) {
            let held = call.process.let_go(address);
            call.freed((time, held), call.here(), (Imported, address), result);
        }
    } }
}

fn opened(call: &Call, address: *const u64, result: Code) {
    let time = clock::now();
    if address.is_null() {
        return;
    }
    // SAFETY: a call that succeeded has written the address.
    let address = if result == 0 { unsafe { written(address) } } else { 0 };
    let known = call.process.held(address).is_some_and(|held| held.kind == Imported);
    if known && result == 0 {
        // The same memory opened again is at the same address, and closed as often.
        call.process.recount(address, 1);
        return;
    }
    let location = call.here();
    if result == INVALID_CONTEXT && location.context != 0 {
        // There is a context: the handle is of this process's own memory.
        let action = Action::Alloc { kind: Imported, address: Address(0), size: Bytes::ZERO };
        return call.write(time, location, call.stack(), result, action);
    }
    let size = if result == 0 { size_at(address) } else { 0 };
    call.allocated(time, location, (Imported, address, size), result);
}

/// How much is there; the handle does not tell.
fn size_at(address: u64) -> u64 {
    let (mut base, mut size) = (0, 0);
    // SAFETY: the driver writes two numbers where it is told to, and knows whether the address is one.
    let known = RANGE.get().is_some_and(|get| unsafe { get(&mut base, &mut size, address) } == 0);
    if known { (base + size as u64).saturating_sub(address) } else { 0 }
}
