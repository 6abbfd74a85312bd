//! The status numbers of cuBLAS, which cuBLASLt shares.

use std::ffi::{CStr, c_char};

use whyoom_lab_abi::NullPointer;

/// Why a call did not succeed; the values are cuBLAS's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Failure {
    /// No handle, or no context to make one in.
    NotInitialized = 1,
    /// The device has no memory left for the library.
    AllocFailed = 3,
    /// An argument is null or out of range.
    InvalidValue = 7,
    /// Device memory could not be reached.
    MappingError = 11,
    /// Our own code failed.
    Internal = 14,
    /// The lab does not do this.
    NotSupported = 15,
}

impl From<NullPointer> for Failure {
    fn from(_: NullPointer) -> Self {
        Self::InvalidValue
    }
}

/// What every function answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Status(pub u32);

impl Status {
    /// The answer of functions that exist only to be linked against.
    pub const REFUSED: Self = Self(Failure::NotSupported as u32);

    /// The name of the constant.
    #[must_use]
    pub fn name(self) -> *const c_char {
        self.texts().0.as_ptr()
    }

    /// What it means.
    #[must_use]
    pub fn meaning(self) -> *const c_char {
        self.texts().1.as_ptr()
    }

    fn texts(self) -> (&'static CStr, &'static CStr) {
        match self.0 {
            0 => (c"CUBLAS_STATUS_SUCCESS", c"success"),
            1 => (c"CUBLAS_STATUS_NOT_INITIALIZED", c"there is no handle or no device context"),
            3 => (c"CUBLAS_STATUS_ALLOC_FAILED", c"memory could not be allocated"),
            7 => (c"CUBLAS_STATUS_INVALID_VALUE", c"an argument is not valid"),
            8 => (c"CUBLAS_STATUS_ARCH_MISMATCH", c"the device lacks a feature"),
            11 => (c"CUBLAS_STATUS_MAPPING_ERROR", c"device memory could not be accessed"),
            13 => (c"CUBLAS_STATUS_EXECUTION_FAILED", c"the work failed on the device"),
            14 => (c"CUBLAS_STATUS_INTERNAL_ERROR", c"the library itself failed"),
            15 => (c"CUBLAS_STATUS_NOT_SUPPORTED", c"not supported"),
            16 => (c"CUBLAS_STATUS_LICENSE_ERROR", c"the licence check failed"),
            _ => (c"unrecognized status", c"unrecognized status"),
        }
    }
}

impl whyoom_lab_abi::Status for Status {
    type Error = Failure;
    const SUCCESS: Self = Self(0);
    const PANICKED: Self = Self(Failure::Internal as u32);
    fn of(failure: Failure) -> Self {
        Self(failure as u32)
    }
}
