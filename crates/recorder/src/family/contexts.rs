//! Contexts: an event when one begins or ends, not for each use of it.

use std::{
    collections::HashMap,
    ffi::c_void,
    sync::{Mutex, MutexGuard, PoisonError},
};

use foldhash::fast::FixedState;
use whyoom_trace::{Action, DeviceId, facts::DEVICE_UUID};

use super::out_parameter::written;
use crate::{
    declare::hooks,
    record::{Call, Location, NO_STACK, PerProcess, Process, clock, context_ended, device_of},
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

static COUNT: Function<unsafe extern "C" fn(*mut i32) -> Code> =
    Function::named(c"cuDeviceGetCount");

static UUID: Function<unsafe extern "C" fn(*mut [u8; 16], i32) -> Code> =
    Function::named(c"cuDeviceGetUuid_v2");

static OLD_UUID: Function<unsafe extern "C" fn(*mut [u8; 16], i32) -> Code> =
    Function::named(c"cuDeviceGetUuid");

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
        tell_uuid(call, device);
    } else {
        call.failed(location, stack, result, 0);
    }
}

/// Tells which device it is, where there may be several: CUDA may number them otherwise than NVML does.
fn tell_uuid(call: &Call, device: DeviceId) {
    let Some(get) = UUID.get().or_else(|| OLD_UUID.get()).filter(|_| may_be_several()) else {
        return;
    };
    let mut bytes = [0; 16];
    // SAFETY: the driver writes sixteen bytes where it is told to; any number of a device is answered.
    if unsafe { get(&mut bytes, i32::from(device.0)) } != 0 {
        return;
    }
    let name = call.process.names.string(&call.process.part, DEVICE_UUID.as_bytes());
    let value = call.process.names.string(&call.process.part, &uuid_text(bytes));
    let setting = Action::Setting { name, value };
    call.write(clock::now(), Location::on(device), NO_STACK, 0, setting);
}

fn may_be_several() -> bool {
    let mut count = 0;
    // SAFETY: the driver writes a number where it is told to.
    let counted = COUNT.get().is_some_and(|get| unsafe { get(&mut count) } == 0);
    // SAFETY: the name ends with a zero; what is found is not read.
    let hidden = unsafe { libc::getenv(c"CUDA_VISIBLE_DEVICES".as_ptr()) };
    counted && count > 1 || !hidden.is_null()
}

/// The digits of a UUID as NVML writes them, without a heap: this runs in somebody's program.
fn uuid_text(bytes: [u8; 16]) -> [u8; 36] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [b'-'; 36];
    let places = (0..36).filter(|place| !matches!(place, 8 | 13 | 18 | 23));
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    for (place, half) in places.zip(halves) {
        text[place] = DIGITS[usize::from(half)];
    }
    text
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_written_as_nvml_does() {
        let bytes = std::array::from_fn(|place| place as u8 * 16 + 1);
        assert_eq!(&uuid_text(bytes), b"01112131-4151-6171-8191-a1b1c1d1e1f1");
    }
}
