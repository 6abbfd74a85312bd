//! What the library says about itself; none of it needs a device.

use std::{
    ffi::{CString, c_char},
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

use whyoom_lab_abi::{Out, exports};

use crate::status::Status;

/// The release that the stand-in says it is: NCCL 2.30.7, that of the PyTorch 2.15 wheels. Older
/// programs accept a newer library.
pub(crate) const VERSION: u32 = 2 * 10_000 + 30 * 100 + 7;

exports! { Status;
    fn ncclGetVersion(version: Out<i32>) { Ok(version.put(VERSION as i32)?) }
}

/// What a result means.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub extern "C" fn ncclGetErrorString(result: Status) -> *const c_char {
    result.meaning()
}

/// What went wrong last in this process.
static LAST_ERROR: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());

/// Remembers that the device had no memory left, in the words that NCCL has for it
/// (NVIDIA/nccl#2363): programs and people look for them.
pub(crate) fn could_not_allocate(bytes: usize) {
    remember(format!("Failed to CUDA calloc {bytes} bytes"));
}

/// Remembers what went wrong, for `ncclGetLastError`.
pub(crate) fn remember(text: String) {
    if let Ok(text) = CString::new(text) {
        // Never freed: somebody may be reading the one before. Few programs survive the first.
        LAST_ERROR.store(text.into_raw(), Ordering::Release);
    }
}

/// What went wrong last; empty where nothing did.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub extern "C" fn ncclGetLastError(_communicator: usize) -> *const c_char {
    let last = LAST_ERROR.load(Ordering::Acquire);
    if last.is_null() { c"".as_ptr() } else { last }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_one_of_the_wheels() {
        let mut version = 0;
        assert_eq!(ncclGetVersion(Out(&mut version)), Status(0));
        assert_eq!(version, 23_007);
        assert_eq!(ncclGetVersion(Out(std::ptr::null_mut())), Status(4));
    }

    #[test]
    fn a_failed_allocation_is_told() {
        could_not_allocate(7);
        let text = whyoom_lab_abi::Text(ncclGetLastError(0)).get();
        assert_eq!(text.as_deref(), Ok("Failed to CUDA calloc 7 bytes"));
    }

    #[test]
    fn every_result_has_a_text() {
        for code in 0..=9 {
            assert!(!ncclGetErrorString(Status(code)).is_null());
        }
    }
}
