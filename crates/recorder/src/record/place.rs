//! Where a call acts: the thread's current context and its device.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use whyoom_recording::LIVE_DEVICES;
use whyoom_trace::DeviceId;

use super::{Thread, device_of};
use crate::{hook::Code, road::real::Function};

/// Where something happened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) device: DeviceId,
    pub(crate) context: u64,
    pub(crate) stream: u64,
    pub(crate) pool: u64,
    /// The current device, where `device` says "the host".
    beside: DeviceId,
}

impl Place {
    /// No device and no context.
    pub(crate) const NOWHERE: Self = Self::on(DeviceId::HOST);

    /// A device, whatever the context.
    pub(crate) const fn on(device: DeviceId) -> Self {
        Self { device, context: 0, stream: 0, pool: 0, beside: device }
    }

    /// The same, on a device.
    pub(crate) fn on_device(self, device: DeviceId) -> Self {
        Self { device, beside: device, ..self }
    }

    /// The same, in a context.
    pub(crate) fn in_context(self, context: u64) -> Self {
        Self { context, ..self }
    }

    /// The same, in the order of a stream.
    pub(crate) fn in_stream(self, stream: u64) -> Self {
        Self { stream, ..self }
    }

    /// The same, in a pool.
    pub(crate) fn in_pool(self, pool: u64) -> Self {
        Self { pool, ..self }
    }

    /// The host, beside this device.
    pub(crate) fn host(self) -> Self {
        Self { device: DeviceId::HOST, beside: self.device, ..self }
    }

    /// The device whose live totals count what is here.
    pub(crate) fn live_device(self) -> Option<usize> {
        Some(usize::from(self.beside.0)).filter(|device| *device < LIVE_DEVICES)
    }
}

static CURRENT: Function<unsafe extern "C" fn(*mut u64) -> Code> =
    Function::named(c"cuCtxGetCurrent");
static DEVICE: Function<unsafe extern "C" fn(*mut i32) -> Code> =
    Function::named(c"cuCtxGetDevice");

/// No machine has more devices than this.
pub(crate) const MOST_DEVICES: u16 = 64;

/// Counts ended contexts: another may come to lie where one was, on another device.
static ENDED: AtomicU32 = AtomicU32::new(0);

/// Forgets which context is of which device.
pub(crate) fn context_ended() {
    ENDED.fetch_add(1, Relaxed);
}

/// The thread's current context and its device. Asked each time: contexts are switched on roads
/// that we do not see; the device of a context stays.
#[inline]
pub(super) fn current(thread: &Thread) -> Place {
    let mut context = 0;
    let Some(get) = CURRENT.get() else { return Place::NOWHERE };
    // SAFETY: the driver writes the handle where it is told to.
    if unsafe { get(&mut context) } != 0 || context == 0 {
        return Place::NOWHERE;
    }
    let ended = ENDED.load(Relaxed);
    let device = thread.known_device(context, ended).unwrap_or_else(|| {
        let device = ask_device();
        thread.know_device(context, ended, device);
        device
    });
    Place { context, ..Place::on(device) }
}

fn ask_device() -> DeviceId {
    let mut device = -1;
    let Some(get) = DEVICE.get() else { return DeviceId::HOST };
    // SAFETY: the driver writes the number where it is told to.
    if unsafe { get(&mut device) } == 0 { device_of(device) } else { DeviceId::HOST }
}
