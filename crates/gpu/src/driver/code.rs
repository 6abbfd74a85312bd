//! What the driver answers.

use std::fmt::{self, Display, Formatter};

/// A failure, as the driver numbers them (`CUresult`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code(pub u32);

/// Declares the codes that are met where memory is managed: constant, number and documented name.
macro_rules! codes {
    ($($(#[$doc:meta])* $constant:ident = $number:literal, $name:ident;)*) => {
        impl Code {
            $($(#[$doc])* pub const $constant: Self = Self($number);)*

            /// Its documented name, where it is one that managing memory can meet.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self.0 {
                    $($number => stringify!($name),)*
                    _ => "CUDA error",
                }
            }
        }

        #[cfg(test)]
        const NAMED: &[(u32, cudarc::driver::sys::CUresult)] =
            &[$(($number, cudarc::driver::sys::CUresult::$name)),*];
    };
}

codes! {
    /// A wrong argument: an address that is not mapped, say, or is mapped already.
    INVALID_VALUE = 1, CUDA_ERROR_INVALID_VALUE;
    /// The device has no such amount of memory left.
    OUT_OF_MEMORY = 2, CUDA_ERROR_OUT_OF_MEMORY;
    /// `init` has not been called, or the process is a child that the driver did not follow into.
    NOT_INITIALIZED = 3, CUDA_ERROR_NOT_INITIALIZED;
    /// The process is ending and the driver has gone.
    DEINITIALIZED = 4, CUDA_ERROR_DEINITIALIZED;
    /// The library found is the stub that programs are linked with.
    STUB_LIBRARY = 34, CUDA_ERROR_STUB_LIBRARY;
    /// The device is in use by somebody who has it alone.
    DEVICE_UNAVAILABLE = 46, CUDA_ERROR_DEVICE_UNAVAILABLE;
    /// No device is here, or none is visible.
    NO_DEVICE = 100, CUDA_ERROR_NO_DEVICE;
    /// No device has this number.
    INVALID_DEVICE = 101, CUDA_ERROR_INVALID_DEVICE;
    /// No context is current on this thread, or not one that fits.
    INVALID_CONTEXT = 201, CUDA_ERROR_INVALID_CONTEXT;
    /// The mapping failed.
    MAP_FAILED = 205, CUDA_ERROR_MAP_FAILED;
    /// The unmapping failed.
    UNMAP_FAILED = 206, CUDA_ERROR_UNMAP_FAILED;
    /// It is mapped already.
    ALREADY_MAPPED = 208, CUDA_ERROR_ALREADY_MAPPED;
    /// It is not mapped.
    NOT_MAPPED = 211, CUDA_ERROR_NOT_MAPPED;
    /// Memory of the device is damaged.
    ECC_UNCORRECTABLE = 214, CUDA_ERROR_ECC_UNCORRECTABLE;
    /// The operating system refused something.
    OPERATING_SYSTEM = 304, CUDA_ERROR_OPERATING_SYSTEM;
    /// The handle is not one of the driver's.
    INVALID_HANDLE = 400, CUDA_ERROR_INVALID_HANDLE;
    /// The state does not allow the call.
    ILLEGAL_STATE = 401, CUDA_ERROR_ILLEGAL_STATE;
    /// The name asked for does not exist.
    NOT_FOUND = 500, CUDA_ERROR_NOT_FOUND;
    /// The work before the event has not passed yet: no failure.
    NOT_READY = 600, CUDA_ERROR_NOT_READY;
    /// A kernel used an address that it may not; the context is lost.
    ILLEGAL_ADDRESS = 700, CUDA_ERROR_ILLEGAL_ADDRESS;
    /// The context has been destroyed.
    CONTEXT_IS_DESTROYED = 709, CUDA_ERROR_CONTEXT_IS_DESTROYED;
    /// A kernel failed; the context is lost.
    LAUNCH_FAILED = 719, CUDA_ERROR_LAUNCH_FAILED;
    /// This user may not.
    NOT_PERMITTED = 800, CUDA_ERROR_NOT_PERMITTED;
    /// This device or driver cannot.
    NOT_SUPPORTED = 801, CUDA_ERROR_NOT_SUPPORTED;
    /// The machine's management service is not running yet.
    SYSTEM_NOT_READY = 802, CUDA_ERROR_SYSTEM_NOT_READY;
    /// The library and the kernel's part differ in version.
    SYSTEM_DRIVER_MISMATCH = 803, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
    /// The stream is capturing, or some stream is: the call is not allowed meanwhile.
    STREAM_CAPTURE_UNSUPPORTED = 900, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    /// The capture has been spoilt by an earlier failure.
    STREAM_CAPTURE_INVALIDATED = 901, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    /// Two captures would have become one.
    STREAM_CAPTURE_MERGE = 902, CUDA_ERROR_STREAM_CAPTURE_MERGE;
    /// A captured stream would have waited for one that is not captured.
    STREAM_CAPTURE_ISOLATION = 905, CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    /// The legacy stream was used, which waits for all others, while one of them is capturing.
    STREAM_CAPTURE_IMPLICIT = 906, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    /// The event was recorded in a capture, and has no state outside of it.
    CAPTURED_EVENT = 907, CUDA_ERROR_CAPTURED_EVENT;
    /// The driver knows no better.
    UNKNOWN = 999, CUDA_ERROR_UNKNOWN;
}

impl Code {
    /// What a function of the driver's answered.
    pub(super) fn check(answer: u32) -> Result<(), Self> {
        if answer == 0 { Ok(()) } else { Err(Self(answer)) }
    }
}

impl Display for Code {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.name(), self.0)
    }
}

impl std::error::Error for Code {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_those_of_the_bindings_crate() {
        for &(number, theirs) in NAMED {
            assert_eq!(number, theirs as u32, "{theirs:?}");
            assert_eq!(Code(number).name(), format!("{theirs:?}"));
        }
    }

    #[test]
    fn a_code_is_shown_with_its_name_and_number() {
        assert_eq!(Code::OUT_OF_MEMORY.to_string(), "CUDA_ERROR_OUT_OF_MEMORY (2)");
        assert_eq!(Code(1234).to_string(), "CUDA error (1234)");
    }

    #[test]
    fn nought_is_no_failure_and_all_else_is() {
        assert_eq!(Code::check(0), Ok(()));
        assert_eq!(Code::check(600), Err(Code::NOT_READY));
        assert_eq!(Code::check(4_000_000_000), Err(Code(4_000_000_000)));
    }
}
