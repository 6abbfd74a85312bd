//! The status numbers of cuDNN 9, and the text of the last failure.

use std::{
    cell::Cell,
    ffi::{CStr, c_char},
};

use whyoom_lab_abi::NullPointer;

/// Why a call did not succeed; the values are cuDNN's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Failure {
    /// No handle, no context to make one in, or a descriptor in the wrong state.
    NotInitialized = 1001,
    /// An argument is out of range, or does not go with the others.
    BadParam = 2000,
    /// A pointer is null.
    NullPointer = 2002,
    /// A descriptor is used that has not been finalized.
    NotFinalized = 2004,
    /// An index is beyond the end.
    OutOfBound = 2005,
    /// The caller's buffer is too small.
    SizeInsufficient = 2006,
    /// Tensors do not fit together.
    ShapeMismatch = 2008,
    /// The attribute is of another type.
    AttributeType = 2010,
    /// The descriptor is of another type.
    DescriptorType = 2012,
    /// The lab does not do this.
    NotSupported = 3000,
    /// Our own code failed.
    Internal = 4000,
}

impl From<NullPointer> for Failure {
    fn from(_: NullPointer) -> Self {
        Self::NullPointer
    }
}

/// What every function answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Status(pub u32);

thread_local! {
    static LAST: Cell<Status> = const { Cell::new(Status(0)) };
}

impl Status {
    /// The name of the constant; unknown ones by their category, as cuDNN 9 numbers them.
    #[must_use]
    pub fn name(self) -> &'static CStr {
        match self.0 {
            0 => c"CUDNN_STATUS_SUCCESS",
            1001 => c"CUDNN_STATUS_NOT_INITIALIZED",
            2000 => c"CUDNN_STATUS_BAD_PARAM",
            2002 => c"CUDNN_STATUS_BAD_PARAM_NULL_POINTER",
            2004 => c"CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED",
            2005 => c"CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND",
            2006 => c"CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT",
            2008 => c"CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH",
            2010 => c"CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE",
            2012 => c"CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE",
            3000 => c"CUDNN_STATUS_NOT_SUPPORTED",
            4000 => c"CUDNN_STATUS_INTERNAL_ERROR",
            5000 => c"CUDNN_STATUS_EXECUTION_FAILED",
            number => match number / 1000 {
                2 => c"CUDNN_STATUS_BAD_PARAM",
                3 => c"CUDNN_STATUS_NOT_SUPPORTED",
                4 => c"CUDNN_STATUS_INTERNAL_ERROR",
                5 => c"CUDNN_STATUS_EXECUTION_FAILED",
                _ => c"CUDNN_UNKNOWN_STATUS",
            },
        }
    }

    /// The last failure of this thread, in words.
    #[must_use]
    pub fn last() -> String {
        let last = LAST.get();
        if last.0 == 0 {
            return String::new();
        }
        let name = last.name().to_string_lossy();
        format!("whyoom lab's cuDNN: {name}; docs/dev/lab-api.md lists what it answers")
    }
}

impl whyoom_lab_abi::Status for Status {
    type Error = Failure;
    const SUCCESS: Self = Self(0);
    const PANICKED: Self = Self(Failure::Internal as u32);
    fn of(failure: Failure) -> Self {
        let status = Self(failure as u32);
        LAST.set(status);
        status
    }
}

/// The name of a status.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub extern "C" fn cudnnGetErrorString(status: Status) -> *const c_char {
    status.name().as_ptr()
}
