//! What the functions answer with.

use whyoom_lab_abi as abi;
use whyoom_lab_core::Error;

/// A `CUresult`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Status(pub u32);

impl abi::Status for Status {
    type Error = Failure;
    const SUCCESS: Self = Self(0);
    const PANICKED: Self = Self(999);

    fn of(failure: Failure) -> Self {
        Self(failure.0.code())
    }
}

/// Why a function body ended early.
#[derive(Clone, Copy, Debug)]
pub struct Failure(pub(crate) Error);

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

/// The API documents a null pointer as an invalid value.
impl From<abi::NullPointer> for Failure {
    fn from(_: abi::NullPointer) -> Self {
        Self(Error::InvalidValue)
    }
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;
