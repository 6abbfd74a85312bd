//! Captures: streams whose work is written down into a graph and not done.
#![expect(unsafe_code, reason = "functions of the driver are called here")]

use super::{
    Code, Driver, Stream,
    sys::{NOT_CAPTURING, RELAXED, opaque},
};

/// Puts the thread's mode back, also when what ran meanwhile panics.
struct Relaxed<'a> {
    driver: &'a Driver,
    before: u32,
}

impl Driver {
    /// Whether the stream's work is being captured. A capture that has failed counts until its end.
    ///
    /// # Errors
    /// The driver's own: [`Code::STREAM_CAPTURE_IMPLICIT`] for the legacy stream while a stream that
    /// it waits for is capturing.
    pub fn stream_is_capturing(&self, stream: Stream) -> Result<bool, Code> {
        let mut status = NOT_CAPTURING;
        let ask = self.functions.stream_is_capturing;
        // SAFETY: one number is written to the place given for it; the stream is live, by its type's
        // contract.
        Code::check(unsafe { ask(opaque(stream.0), &raw mut status) })?;
        Ok(status != NOT_CAPTURING)
    }

    /// Runs `f` with this thread's capture mode relaxed. While any thread captures in the usual mode,
    /// calls such as querying an event or taking memory would spoil the capture; they are harmless
    /// to it where they touch nothing of the captured stream, and this says so to the driver.
    ///
    /// # Errors
    /// The driver's own, if the mode cannot be changed: `f` has not run then.
    pub fn relaxed<T>(&self, f: impl FnOnce() -> T) -> Result<T, Code> {
        let before = self.exchange_capture_mode(RELAXED)?;
        let _relaxed = (before != RELAXED).then_some(Relaxed { driver: self, before });
        Ok(f())
    }

    /// Sets this thread's mode, as the driver numbers them, and tells what it was: for what cannot be
    /// put into one function, see [`Self::relaxed`].
    ///
    /// # Errors
    /// The driver's own.
    pub fn exchange_capture_mode(&self, mut mode: u32) -> Result<u32, Code> {
        // SAFETY: the mode is read from the place given and the former one written there.
        Code::check(unsafe { (self.functions.exchange_capture_mode)(&raw mut mode) })?;
        Ok(mode)
    }
}

impl Drop for Relaxed<'_> {
    fn drop(&mut self) {
        // It was changed a moment ago: changing it back cannot fail but for a driver that has gone.
        let _ = self.driver.exchange_capture_mode(self.before);
    }
}
