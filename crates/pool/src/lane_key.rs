//! What tells lanes apart: a stream, and a pool that it takes memory from.

use crate::driver::Stream;

/// Whose requests a lane serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// The stream.
    pub(crate) stream: Stream,
    /// The private pool; 0 for the common one.
    pub(crate) pool: u64,
}

impl Key {
    /// Whether work may still run that uses what is free in the lane. Where frees wait for the device,
    /// none does.
    pub(crate) fn is_ordered(self) -> bool {
        self.stream != UNORDERED
    }
}

/// The stream of memory that is not bound to one: whoever frees it waits for the device.
pub(crate) const UNORDERED: Stream = Stream(u64::MAX);
