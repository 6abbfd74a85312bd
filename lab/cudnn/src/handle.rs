//! Handles: a stream, and nothing on the device.

use whyoom_lab_abi::{Out, exports};

use crate::{
    driver::Device,
    object::Opaque,
    status::{Failure, Status},
};

/// What stands behind a `cudnnHandle_t`.
#[derive(Debug)]
pub(crate) struct Handle {
    /// The stream's address.
    stream: usize,
    device: Device,
}

/// A `cudnnHandle_t` as callers pass it.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct HandlePointer(Opaque<Handle>);

impl HandlePointer {
    /// The device that the handle was made for; null is what cuDNN calls not initialised.
    pub(crate) fn device(self) -> Result<Device, Failure> {
        self.check()?;
        Ok(self.0.get()?.device)
    }

    /// Whether there is one.
    pub(crate) fn check(self) -> Result<(), Failure> {
        if self.0.is_null() { Err(Failure::NotInitialized) } else { Ok(()) }
    }
}

exports! { Status;
    // Documented to take resources on the device; no figure is known, so none are taken.
    fn cudnnCreate(place: Out<Opaque<Handle>>) {
        if place.is_null() {
            return Err(Failure::NullPointer);
        }
        Opaque::create(place, Handle { stream: 0, device: Device::current()? })
    }
    fn cudnnDestroy(handle: HandlePointer) {
        handle.check()?;
        handle.0.destroy();
        Ok(())
    }
    fn cudnnSetStream(handle: HandlePointer, stream: usize) {
        handle.check()?;
        handle.0.get()?.stream = stream;
        Ok(())
    }
    fn cudnnGetStream(handle: HandlePointer, stream: Out<usize>) {
        handle.check()?;
        Ok(stream.put(handle.0.get()?.stream)?)
    }
}

#[cfg(test)]
impl HandlePointer {
    /// A handle for a device that is not there.
    pub(crate) fn without_driver() -> Self {
        let device = Device { architecture: 8, multiprocessors: 108 };
        let mut place = Opaque::null();
        Opaque::create(Out(&mut place), Handle { stream: 0, device }).expect("a place");
        Self(place)
    }

    /// No handle.
    pub(crate) fn missing() -> Self {
        Self(Opaque::null())
    }
}
