//! Why the pool cannot do what it was asked.

use thiserror::Error;

use crate::refusal::Refusal;

/// Why the pool cannot do what it was asked.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PoolError {
    /// There is no memory left.
    #[error("out of memory: {requested} bytes were requested")]
    OutOfMemory {
        /// What was asked for.
        requested: u64,
    },
    /// The address is in no memory of the pool's.
    #[error(
        "{address:#x} does not belong to the pool: free it with the allocator that allocated it"
    )]
    Foreign {
        /// The address.
        address: u64,
    },
    /// The address is in the pool's memory, but no live block starts there.
    #[error("no live block starts at {address:#x}: it was already freed, or is inside a block")]
    NotLive {
        /// The address.
        address: u64,
    },
    /// The driver refused something other than memory.
    #[error("the driver returned an error: {refusal}")]
    Refused {
        /// Its code.
        refusal: Refusal,
    },
    /// There are more streams and private pools than the pool can tell apart.
    #[error("too many streams: the pool supports 1,024; use fewer, or reuse them")]
    TooManyStreams,
    /// The default stream of the thread is another one in every thread.
    #[error("the per-thread default stream (2) is not supported; create a stream and use that")]
    PerThreadStream,
    /// This process was forked off one that uses the device: CUDA does not work here.
    #[error("this is a forked process: CUDA does not work in it; start workers with spawn")]
    Forked,
    /// There is no driver, or no such device.
    #[error("{0}")]
    NoDevice(String),
    /// The device cannot do what the pool needs.
    #[error("the pool is off: {0}")]
    CannotServe(String),
}

impl PoolError {
    /// What a C caller gets: the driver's own codes.
    #[must_use]
    pub fn code(&self) -> u32 {
        const INVALID_VALUE: u32 = 1;
        const OUT_OF_MEMORY: u32 = 2;
        const NOT_INITIALIZED: u32 = 3;
        const INVALID_DEVICE: u32 = 101;
        const NOT_SUPPORTED: u32 = 801;
        match self {
            Self::OutOfMemory { .. } | Self::TooManyStreams => OUT_OF_MEMORY,
            Self::Foreign { .. } | Self::NotLive { .. } | Self::PerThreadStream => INVALID_VALUE,
            Self::Refused { refusal } => refusal.0,
            Self::Forked => NOT_INITIALIZED,
            Self::NoDevice(_) => INVALID_DEVICE,
            Self::CannotServe(_) => NOT_SUPPORTED,
        }
    }
}
