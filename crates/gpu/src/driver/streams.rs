//! Streams: sequences of work.
#![expect(unsafe_code, reason = "functions of the driver are called here")]

use std::ptr;

use super::{
    Code, Driver,
    sys::{NON_BLOCKING, number, opaque},
};

/// A stream of the driver's, or one of its two default streams. Whoever makes one of a number
/// promises that it is a stream, and uses it only while that stream lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stream(pub u64);

impl Stream {
    /// The default stream.
    pub const DEFAULT: Self = Self(0);
    /// The default stream that waits for all others that are not non-blocking, by its own name.
    pub const LEGACY: Self = Self(1);
    /// The default stream of each thread.
    pub const PER_THREAD: Self = Self(2);
}

impl Driver {
    /// A new stream of the current context, which does not wait for the default stream.
    ///
    /// # Errors
    /// The driver's own.
    pub fn stream_create(&self) -> Result<Stream, Code> {
        let mut stream = ptr::null_mut();
        // SAFETY: one handle is written to the place given for it.
        Code::check(unsafe { (self.functions.stream_create)(&raw mut stream, NON_BLOCKING) })?;
        Ok(Stream(number(stream)))
    }

    /// Gives a stream up; it may not be used after this. Its work goes on to its end.
    ///
    /// # Errors
    /// The driver's own.
    pub fn stream_destroy(&self, stream: Stream) -> Result<(), Code> {
        // SAFETY: the stream is live, by its type's contract.
        Code::check(unsafe { (self.functions.stream_destroy)(opaque(stream.0)) })
    }

    /// Waits for the stream's work.
    ///
    /// # Errors
    /// The driver's own, of the work too.
    pub fn stream_synchronize(&self, stream: Stream) -> Result<(), Code> {
        // SAFETY: the stream is live, by its type's contract.
        Code::check(unsafe { (self.functions.stream_synchronize)(opaque(stream.0)) })
    }
}
