//! The moment at which memory ran out: what the device and its pools say of themselves, before
//! anything else happens.

use whyoom_trace::{Action, Bytes, Counter, StackId};

use super::{call::Call, clock, event::NO_STACK, location::Location};
use crate::{
    resolution::real::Function,
    result_code::{Code, OUT_OF_MEMORY},
};

static MEMORY: Function<unsafe extern "C" fn(*mut usize, *mut usize) -> Code> =
    Function::named(c"cuMemGetInfo_v2");
static LIMIT: Function<unsafe extern "C" fn(*mut usize, u32) -> Code> =
    Function::named(c"cuCtxGetLimit");
static EXCHANGE: Function<unsafe extern "C" fn(*mut u32) -> Code> =
    Function::named(c"cuThreadExchangeStreamCaptureMode");

/// `CU_LIMIT_MALLOC_HEAP_SIZE`.
const HEAP: u32 = 2;
/// `CU_STREAM_CAPTURE_MODE_RELAXED`: questions do not disturb a capture of this thread's.
const RELAXED: u32 = 2;

impl Call {
    /// Where a call failed because memory ran out: what the device and its pools say of themselves.
    pub(crate) fn failed(&self, location: Location, stack: StackId, result: Code, requested: u64) {
        if result == OUT_OF_MEMORY {
            out_of_memory(self, location, stack, requested);
        }
    }
}

/// Writes what can be learned now, and that memory ran out.
fn out_of_memory(call: &Call, location: Location, stack: StackId, requested: u64) {
    while_relaxed(|| {
        if location.context != 0 || call.here().context != 0 {
            tell_device(call, location);
        }
    });
    let action = Action::OutOfMemory { requested: Bytes(requested) };
    call.write(clock::now(), location, stack, OUT_OF_MEMORY, action);
    call.process.part.failed();
}

/// Writes what the device says of itself, where it is the current one. Asks the driver's own functions,
/// which nobody stands in the way of.
pub(crate) fn device_says(call: &Call, location: Location) {
    while_relaxed(|| {
        if call.here().device == location.device {
            tell_device(call, location);
        }
    });
}

fn tell_device(call: &Call, location: Location) {
    let tell = |location, counter, bytes: u64| {
        let action = Action::Sample { counter, bytes: Bytes(bytes) };
        call.write(clock::now(), location, NO_STACK, 0, action);
    };
    // The driver speaks of the current device, even where the call was about another.
    let here = call.here();
    let (mut free, mut total) = (0, 0);
    // SAFETY: the driver writes two numbers where it is told to.
    if MEMORY.get().is_some_and(|get| unsafe { get(&mut free, &mut total) } == 0) {
        tell(here, Counter::DeviceTotal, total as u64);
        tell(here, Counter::DeviceFree, free as u64);
    }
    for (pool, facts) in (call.process.callbacks.pool_facts)(call.process, location.device) {
        let location = Location::on(location.device).in_pool(pool);
        for (counter, bytes) in facts {
            tell(location, counter, bytes);
        }
    }
    let mut heap = 0;
    // SAFETY: likewise.
    if LIMIT.get().is_some_and(|get| unsafe { get(&mut heap, HEAP) } == 0) {
        tell(here, Counter::DeviceHeap, heap as u64);
    }
}

/// Asks the driver something in a mode in which captures do not mind.
fn while_relaxed(ask: impl FnOnce()) {
    let Some(exchange) = EXCHANGE.get() else { return ask() };
    let mut mode = RELAXED;
    // SAFETY: exchanges the thread's mode with the one given.
    let exchanged = unsafe { exchange(&mut mode) } == 0;
    ask();
    if exchanged {
        // SAFETY: puts back what was there.
        unsafe { exchange(&mut mode) };
    }
}
