//! What a call ends with, and the last error of each thread.

use std::{
    cell::Cell,
    ffi::{CStr, c_char},
};

use cudarc::runtime::sys::cudaError;
use whyoom_lab_abi::NullPointer;

use crate::error_names;

/// A `cudaError_t` that is not success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure(u32);

impl Failure {
    pub const INVALID_VALUE: Self = Self::new(cudaError::cudaErrorInvalidValue);
    pub const INVALID_CONFIGURATION: Self = Self::new(cudaError::cudaErrorInvalidConfiguration);
    pub const INVALID_PITCH: Self = Self::new(cudaError::cudaErrorInvalidPitchValue);
    pub const INVALID_SYMBOL: Self = Self::new(cudaError::cudaErrorInvalidSymbol);
    pub const INVALID_CHANNEL: Self = Self::new(cudaError::cudaErrorInvalidChannelDescriptor);
    pub const INVALID_DIRECTION: Self = Self::new(cudaError::cudaErrorInvalidMemcpyDirection);
    pub const INSUFFICIENT_DRIVER: Self = Self::new(cudaError::cudaErrorInsufficientDriver);
    pub const MISSING_CONFIGURATION: Self = Self::new(cudaError::cudaErrorMissingConfiguration);
    pub const INVALID_FUNCTION: Self = Self::new(cudaError::cudaErrorInvalidDeviceFunction);
    pub const INVALID_DEVICE: Self = Self::new(cudaError::cudaErrorInvalidDevice);
    pub const INVALID_IMAGE: Self = Self::new(cudaError::cudaErrorInvalidKernelImage);
    pub const NOT_FOUND: Self = Self::new(cudaError::cudaErrorSymbolNotFound);
    pub const NOT_READY: Self = Self::new(cudaError::cudaErrorNotReady);
    pub const NOT_SUPPORTED: Self = Self::new(cudaError::cudaErrorNotSupported);
    pub const UNKNOWN: Self = Self::new(cudaError::cudaErrorUnknown);

    const fn new(code: cudaError) -> Self {
        Self(code as u32)
    }

    /// This failure, or `other` where it is `meant`: the driver's answer in the runtime's words.
    pub fn reworded(self, meant: Self, other: Self) -> Self {
        if self == meant { other } else { self }
    }
}

impl From<NullPointer> for Failure {
    fn from(_: NullPointer) -> Self {
        Self::INVALID_VALUE
    }
}

/// A driver's answer. Both APIs number their errors alike; what the runtime has no name for becomes
/// "unknown error".
pub fn of_driver(answer: u32) -> Result<(), Failure> {
    match answer {
        0 => Ok(()),
        code if error_names::row(code).is_some() => Err(Failure(code)),
        _ => Err(Failure::UNKNOWN),
    }
}

/// The `cudaError_t` that C callers see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Status(u32);

impl whyoom_lab_abi::Status for Status {
    type Error = Failure;
    const SUCCESS: Self = Self(0);
    const PANICKED: Self = Self(Failure::UNKNOWN.0);

    fn of(failure: Failure) -> Self {
        // "Not ready" answers a question; it is not an error of the program.
        if failure != Failure::NOT_READY {
            LAST.set(failure.0);
        }
        Self(failure.0)
    }
}

/// The answer of functions that exist only to refuse; the thread remembers it as its last error.
pub fn refusal() -> Status {
    <Status as whyoom_lab_abi::Status>::of(Failure::NOT_SUPPORTED)
}

thread_local! {
    static LAST: Cell<u32> = const { Cell::new(0) };
}

/// `cudaGetLastError`: the thread's last error, which is forgotten.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetLastError() -> Status {
    Status(LAST.replace(0))
}

/// `cudaPeekAtLastError`: the thread's last error, which stays.
#[unsafe(no_mangle)]
pub extern "C" fn cudaPeekAtLastError() -> Status {
    Status(LAST.get())
}

const UNRECOGNIZED: &CStr = c"unrecognized error code";

/// `cudaGetErrorName`.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorName(code: u32) -> *const c_char {
    error_names::row(code).map_or(UNRECOGNIZED, |row| row.name).as_ptr()
}

/// `cudaGetErrorString`.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorString(code: u32) -> *const c_char {
    error_names::row(code).map_or(UNRECOGNIZED, |row| row.text).as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;
    use whyoom_lab_abi::Status as _;

    #[test]
    fn last_error_is_per_thread_and_getting_it_clears_it() {
        assert_eq!(Status::of(Failure::INVALID_VALUE), Status(1));
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(cudaPeekAtLastError(), Status(0)));
        });
        assert_eq!(cudaPeekAtLastError(), Status(1));
        assert_eq!(cudaGetLastError(), Status(1));
        assert_eq!(cudaGetLastError(), Status(0));
    }

    #[test]
    fn not_ready_is_answered_but_not_remembered() {
        assert_eq!(Status::of(Failure::NOT_READY), Status(600));
        assert_eq!(cudaGetLastError(), Status(0));
    }

    #[test]
    fn driver_codes_keep_their_number_where_the_runtime_knows_it() {
        assert_eq!(of_driver(0), Ok(()));
        assert_eq!(of_driver(2), Err(Failure(2)));
        assert_eq!(of_driver(201), Err(Failure(201)));
        assert_eq!(of_driver(202), Err(Failure::UNKNOWN));
    }

    #[test]
    fn text_of_codes() {
        // SAFETY: the functions answer with static text.
        let text = |pointer| unsafe { CStr::from_ptr(pointer) };
        assert_eq!(text(cudaGetErrorName(2)), c"cudaErrorMemoryAllocation");
        assert_eq!(text(cudaGetErrorString(2)), c"out of memory");
        assert_eq!(text(cudaGetErrorString(0)), c"no error");
        assert_eq!(text(cudaGetErrorName(12345)), UNRECOGNIZED);
    }
}
