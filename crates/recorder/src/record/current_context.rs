//! Where a call acts: the thread's current context and its device.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use whyoom_trace::DeviceId;

use super::{
    location::{Location, device_of},
    thread::Thread,
};
use crate::{resolution::real::Function, result_code::Code};

static CURRENT: Function<unsafe extern "C" fn(*mut u64) -> Code> =
    Function::named(c"cuCtxGetCurrent");
static DEVICE: Function<unsafe extern "C" fn(*mut i32) -> Code> =
    Function::named(c"cuCtxGetDevice");

/// Counts ended contexts: another may come to lie where one was, on another device.
static ENDED: AtomicU32 = AtomicU32::new(0);

/// Forgets which context is of which device.
pub(crate) fn context_ended() {
    ENDED.fetch_add(1, Relaxed);
}

/// The thread's current context and its device. Asked each time: contexts are switched in ways
/// that we do not see; the device of a context stays.
#[inline]
pub(super) fn current(thread: &Thread) -> Location {
    let mut context = 0;
    let Some(get) = CURRENT.get() else { return Location::NOWHERE };
    // SAFETY: the driver writes the handle where it is told to.
    if unsafe { get(&mut context) } != 0 || context == 0 {
        return Location::NOWHERE;
    }
    let ended = ENDED.load(Relaxed);
    let device = thread.known_device(context, ended).unwrap_or_else(|| {
        let Some(device) = ask_device() else { return DeviceId::HOST };
        thread.know_device(context, ended, device);
        device
    });
    Location::on(device).in_context(context)
}

/// Returns the device of the current context. Returns `None` if the driver does not answer, for example because the
/// primary context was reset: its handle may be active again later, and must not be remembered without a device.
fn ask_device() -> Option<DeviceId> {
    let mut device = -1;
    let get = DEVICE.get()?;
    // SAFETY: the driver writes the number where it is told to.
    let answered = unsafe { get(&mut device) } == 0;
    answered.then(|| device_of(device))
}
