//! What the functions answer with.

use std::ffi::c_char;

use nvml_wrapper_sys::bindings as nvml;
use whyoom_lab_abi::{In, NullPointer, Out, Status};
use whyoom_lab_core::error::Error;

/// A status as C callers see it. Unlike an enumeration it may hold any number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Code(pub(crate) u32);

/// Why a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    Uninitialized,
    InvalidArgument,
    NotSupported,
    NoPermission,
    NotFound,
    InsufficientSize,
    DriverNotLoaded,
    GpuIsLost,
    ArgumentVersionMismatch,
    Unknown,
}

/// The result of a function body.
pub(crate) type Result<T = (), E = Failure> = std::result::Result<T, E>;

impl Status for Code {
    type Error = Failure;
    const SUCCESS: Self = Self(nvml::nvmlReturn_enum_NVML_SUCCESS);
    const PANICKED: Self = Self(nvml::nvmlReturn_enum_NVML_ERROR_UNKNOWN);

    fn of(failure: Failure) -> Self {
        Self(match failure {
            Failure::Uninitialized => nvml::nvmlReturn_enum_NVML_ERROR_UNINITIALIZED,
            Failure::InvalidArgument => nvml::nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT,
            Failure::NotSupported => nvml::nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED,
            Failure::NoPermission => nvml::nvmlReturn_enum_NVML_ERROR_NO_PERMISSION,
            Failure::NotFound => nvml::nvmlReturn_enum_NVML_ERROR_NOT_FOUND,
            Failure::InsufficientSize => nvml::nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE,
            Failure::DriverNotLoaded => nvml::nvmlReturn_enum_NVML_ERROR_DRIVER_NOT_LOADED,
            Failure::GpuIsLost => nvml::nvmlReturn_enum_NVML_ERROR_GPU_IS_LOST,
            Failure::ArgumentVersionMismatch => {
                nvml::nvmlReturn_enum_NVML_ERROR_ARGUMENT_VERSION_MISMATCH
            }
            Failure::Unknown => nvml::nvmlReturn_enum_NVML_ERROR_UNKNOWN,
        })
    }
}

impl From<NullPointer> for Failure {
    fn from(_: NullPointer) -> Self {
        Self::InvalidArgument
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::InvalidDevice | Error::InvalidValue => Self::InvalidArgument,
            Error::NoDevice => Self::DriverNotLoaded,
            _ => Self::Unknown,
        }
    }
}

/// Writes text that NVML never cuts: too little room is an error.
pub(crate) fn write_text(place: Out<c_char>, room: u32, text: &str) -> Result {
    if place.is_null() {
        return Err(Failure::InvalidArgument);
    }
    if text.len() >= room as usize {
        return Err(Failure::InsufficientSize);
    }
    Ok(place.put_text(text, room as usize)?)
}

/// Text in a field of a structure, cut to its room and closed with a zero.
pub(crate) fn text_field<const ROOM: usize>(text: &str) -> [c_char; ROOM] {
    let mut field = [0; ROOM];
    for (place, byte) in field[..ROOM - 1].iter_mut().zip(text.bytes()) {
        *place = byte as c_char;
    }
    field
}

/// The version number that a structure of this type carries: its size, and which one it is.
pub(crate) const fn version_of<T>(number: u32) -> u32 {
    size_of::<T>() as u32 | number << 24
}

/// The version that the caller's structure says it has. It is the first field of each that has one.
pub(crate) fn given_version<T>(structure: Out<T>) -> Result<u32> {
    Ok(In(structure.0.cast::<u32>().cast_const()).get()?)
}

/// Checks that the caller's structure is of the one version that there is.
pub(crate) fn check_version<T>(structure: Out<T>, number: u32) -> Result {
    if given_version(structure)? == version_of::<T>(number) {
        Ok(())
    } else {
        Err(Failure::ArgumentVersionMismatch)
    }
}
