//! Where something happened: device, context, stream and pool.

use whyoom_recording::LIVE_DEVICES;
use whyoom_trace::DeviceId;

/// No machine has more devices than this.
pub(crate) const MOST_DEVICES: u16 = 64;

/// Where something happened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Location {
    pub(crate) device: DeviceId,
    pub(crate) context: u64,
    pub(crate) stream: u64,
    pub(crate) pool: u64,
    /// The current device, where `device` says "the host".
    beside: DeviceId,
}

impl Location {
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

/// A device by the number that the driver gives it; the host where it is none.
pub(crate) fn device_of(ordinal: i32) -> DeviceId {
    u16::try_from(ordinal).map_or(DeviceId::HOST, DeviceId)
}
