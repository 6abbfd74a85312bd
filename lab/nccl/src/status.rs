//! The result numbers of NCCL.

use std::ffi::{CStr, c_char};

use whyoom_lab_abi::NullPointer;

/// Why a call did not succeed; the values are NCCL's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Failure {
    /// The driver refused, most often because memory ran out.
    Cuda = 1,
    /// A system call failed, or the other ranks did not come.
    System = 2,
    /// Our own code failed.
    Internal = 3,
    /// An argument is null or out of range.
    InvalidArgument = 4,
    /// The call is right, but not now or not here: what the lab does not do.
    InvalidUsage = 5,
    /// The process of another rank has exited.
    Remote = 6,
}

impl From<NullPointer> for Failure {
    fn from(_: NullPointer) -> Self {
        Self::InvalidArgument
    }
}

/// What every function answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Status(pub u32);

impl Status {
    /// What it means.
    pub(crate) fn meaning(self) -> *const c_char {
        self.text().as_ptr()
    }

    fn text(self) -> &'static CStr {
        match self.0 {
            0 => c"no error",
            1 => c"the CUDA driver refused a call, most often because memory ran out",
            2 => c"a system call failed, or another rank did not come",
            3 => c"internal error of the simulated NCCL",
            4 => c"invalid argument",
            5 => c"invalid usage, or something that the simulated NCCL does not do",
            6 => c"another rank failed",
            7 => c"operation in progress",
            8 => c"operation timed out",
            _ => c"unknown result code",
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
