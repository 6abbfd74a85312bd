//! Events: points of a stream's work.
#![expect(unsafe_code, reason = "functions of the driver are called here")]

use std::ptr;

use super::{
    Code, Driver, Stream,
    sys::{WITHOUT_TIMING, number, opaque},
};

/// An event of the driver's, until [`Driver::event_destroy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Event(pub u64);

impl Driver {
    /// A new event of the current context, without a clock. It counts as passed until it is recorded.
    ///
    /// # Errors
    /// The driver's own.
    pub fn event_create(&self) -> Result<Event, Code> {
        let mut event = ptr::null_mut();
        // SAFETY: one handle is written to the place given for it.
        Code::check(unsafe { (self.functions.event_create)(&raw mut event, WITHOUT_TIMING) })?;
        Ok(Event(number(event)))
    }

    /// Makes the event stand for the work given to the stream so far.
    ///
    /// # Errors
    /// The driver's own.
    pub fn event_record(&self, event: Event, stream: Stream) -> Result<(), Code> {
        // SAFETY: both are live, by this module's contract.
        Code::check(unsafe { (self.functions.event_record)(opaque(event.0), opaque(stream.0)) })
    }

    /// Whether the work before the event has passed. Does not wait.
    ///
    /// # Errors
    /// The driver's own, of the work too.
    pub fn event_query(&self, event: Event) -> Result<bool, Code> {
        // SAFETY: the event is live, by this module's contract.
        match Code::check(unsafe { (self.functions.event_query)(opaque(event.0)) }) {
            Ok(()) => Ok(true),
            Err(Code::NOT_READY) => Ok(false),
            Err(code) => Err(code),
        }
    }

    /// Waits until the work before the event has passed.
    ///
    /// # Errors
    /// The driver's own, of the work too.
    pub fn event_synchronize(&self, event: Event) -> Result<(), Code> {
        // SAFETY: the event is live, by this module's contract.
        Code::check(unsafe { (self.functions.event_synchronize)(opaque(event.0)) })
    }

    /// Gives the event up; it may not be used after this. Streams that wait for it go on waiting.
    ///
    /// # Errors
    /// The driver's own.
    pub fn event_destroy(&self, event: Event) -> Result<(), Code> {
        // SAFETY: the event is live, by this module's contract.
        Code::check(unsafe { (self.functions.event_destroy)(opaque(event.0)) })
    }

    /// Lets the stream's further work wait for the work before the event. The host does not wait.
    ///
    /// # Errors
    /// The driver's own.
    pub fn stream_wait(&self, stream: Stream, event: Event) -> Result<(), Code> {
        let wait = self.functions.stream_wait_event;
        // SAFETY: both are live, by this module's contract.
        Code::check(unsafe { wait(opaque(stream.0), opaque(event.0), 0) })
    }
}
