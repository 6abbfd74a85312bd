//! What the library says about itself; none of it needs a device.

use std::ffi::c_char;

use whyoom_lab_abi::{Out, exports};

use crate::{status::Status, version};

exports! { Status;
    // Documented: the version can be asked for without a handle.
    fn cublasGetVersion_v2(_handle: usize, number: Out<i32>) {
        Ok(number.put(version::NUMBER)?)
    }
    fn cublasGetProperty(which: u32, value: Out<i32>) {
        Ok(value.put(version::part(which)?)?)
    }
}

/// The CUDA runtime that the library was built with.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub extern "C" fn cublasGetCudartVersion() -> usize {
    version::RUNTIME
}

/// The name of a status.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub extern "C" fn cublasGetStatusName(status: Status) -> *const c_char {
    status.name()
}

/// What a status means.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub extern "C" fn cublasGetStatusString(status: Status) -> *const c_char {
    status.meaning()
}
