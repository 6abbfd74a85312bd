//! Contexts: an event when one begins or ends, not for each use of it.

use std::{
    collections::HashMap,
    ffi::c_void,
    sync::{Mutex, MutexGuard, PoisonError},
};

use foldhash::fast::FixedState;
use whyoom_trace::{Action, DeviceId};

use super::out_parameter::written;
use crate::{
    declare::hooks,
    record::{Call, Location, PerProcess, Process, clock, context_ended, device_of},
    resolution::real::Function,
    result_code::{Code, OUT_OF_MEMORY},
    serve,
};

/// The contexts that were seen to begin.
#[derive(Default)]
struct Contexts {
    devices: Mutex<HashMap<u64, DeviceId, FixedState>>,
    /// The primary contexts that live, by device.
    primary: Mutex<HashMap<u16, u64, FixedState>>,
}

static CONTEXTS: PerProcess<Contexts> = PerProcess::new();

static STATE: Function<unsafe extern "C" fn(i32, *mut u32, *mut i32) -> Code> =
    Function::named(c"cuDevicePrimaryCtxGetState");

hooks! { Contexts;
    Required (context: *mut u64, device: i32)
    [cuDevicePrimaryCtxRetain = "cuDevicePrimaryCtxRetain" since 7000]
    after { |call, (), result| retained(call, context, device_of(device), result) }

    Required (device: i32)
    [cuDevicePrimaryCtxRelease_v2 = "cuDevicePrimaryCtxRelease" since 11000,
     cuDevicePrimaryCtxRelease = "cuDevicePrimaryCtxRelease" since 7000 until 11000]
    around { |_| clock::now(); |call, time, result| released(call, time, device, result) }

    Required (device: i32)
    [cuDevicePrimaryCtxReset_v2 = "cuDevicePrimaryCtxReset" since 11000,
     cuDevicePrimaryCtxReset = "cuDevicePrimaryCtxReset" since 7000 until 11000]
    served {
        |_| serve::resetting(device);
        |_| clock::now();
        |call, time, result| released(call, time, device, result)
    }

    Required (context: *mut u64, flags: u32, device: i32)
    [cuCtxCreate_v2 = "cuCtxCreate" since 3020 until 11040]
    after { |call, (), result| created(call, context, device_of(device), result) }

    Optional (
        context: *mut u64,
        parameters: *mut c_void,
        count: i32,
        flags: u32,
        device: i32,
    )
    [cuCtxCreate_v3 = "cuCtxCreate" since 11040 until 12050]
    after { |call, (), result| created(call, context, device_of(device), result) }

    Optional (context: *mut u64, parameters: *mut c_void, flags: u32, device: i32)
    [cuCtxCreate_v4 = "cuCtxCreate" since 12050]
    after { |call, (), result| created(call, context, device_of(device), result) }

    Required (context: u64)
    [cuCtxDestroy_v2 = "cuCtxDestroy" since 4000]
    around { |_| clock::now(); |call, time, result| if result == 0 {
        ended(call, time, context);
    } }
}

fn created(call: &Call, context: *const u64, device: DeviceId, result: Code) {
    if result != 0 && result != OUT_OF_MEMORY {
        return;
    }
    // SAFETY: a call that succeeded has written the handle.
    let context = if result == 0 { unsafe { written(context) } } else { 0 };
    began(call, context, device, result);
}

fn began(call: &Call, context: u64, device: DeviceId, result: Code) {
    let location = Location::on(device).in_context(context);
    let stack = call.stack();
    call.write(clock::now(), location, stack, result, Action::ContextCreate);
    if result == 0 {
        CONTEXTS.of(call.process).devices().insert(context, device);
    } else {
        call.failed(location, stack, result, 0);
    }
}

fn retained(call: &Call, context: *const u64, device: DeviceId, result: Code) {
    if result != 0 {
        if !CONTEXTS.of(call.process).primary().contains_key(&device.0) {
            created(call, context, device, result);
        }
        return;
    }
    // SAFETY: a call that succeeded has written the handle.
    let context = unsafe { written(context) };
    let before = CONTEXTS.of(call.process).primary().insert(device.0, context);
    if before != Some(context) {
        began(call, context, device, result);
    }
}

/// After one use of the primary context ended: whether the context did too.
fn released(call: &Call, time: u64, device: i32, result: Code) {
    if result != 0 || is_active(device) {
        return;
    }
    let gone = CONTEXTS.of(call.process).primary().remove(&device_of(device).0);
    if let Some(context) = gone {
        ended(call, time, context);
    }
}

fn is_active(device: i32) -> bool {
    let (mut flags, mut active) = (0, 0);
    // SAFETY: the driver writes two numbers where it is told to.
    STATE.get().is_some_and(|get| unsafe { get(device, &mut flags, &mut active) } == 0)
        && active != 0
}

fn ended(call: &Call, time: u64, context: u64) {
    context_ended();
    call.process.forget_context(context);
    let device = CONTEXTS.of(call.process).devices().remove(&context);
    let location = Location::on(device.unwrap_or(DeviceId::UNKNOWN)).in_context(context);
    call.write(time, location, call.stack(), 0, Action::ContextDestroy);
}

/// Whether contexts live on more than one device.
pub(crate) fn are_on_several_devices(process: &'static Process) -> bool {
    CONTEXTS.of(process).are_on_several_devices()
}

impl Contexts {
    fn are_on_several_devices(&self) -> bool {
        let devices = self.devices();
        let mut devices = devices.values();
        devices.next().is_some_and(|first| devices.any(|device| device != first))
    }

    fn devices(&self) -> MutexGuard<'_, HashMap<u64, DeviceId, FixedState>> {
        self.devices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn primary(&self) -> MutexGuard<'_, HashMap<u16, u64, FixedState>> {
        self.primary.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
