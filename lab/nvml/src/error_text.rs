//! Errors in words.

use std::ffi::{CStr, c_char};

/// The texts of the documented numbers from 0 on.
const TEXTS: [&CStr; 31] = [
    c"Success",
    c"Uninitialized",
    c"Invalid Argument",
    c"Not Supported",
    c"Insufficient Permissions",
    c"Already Initialized",
    c"Not Found",
    c"Insufficient Size",
    c"Insufficient External Power",
    c"Driver Not Loaded",
    c"Timeout",
    c"Interrupt Request Issue",
    c"NVML Shared Library Not Found",
    c"Function Not Found",
    c"Corrupted infoROM",
    c"GPU is lost",
    c"GPU requires restart",
    c"The operating system has blocked the request",
    c"RM has detected an NVML/RM version mismatch",
    c"In use by another client",
    c"Insufficient Memory",
    c"No data",
    c"ECC is not supported on this vGPU",
    c"Insufficient Resources",
    c"Frequency not supported",
    c"The version of the argument is not supported",
    c"Deprecated",
    c"The system is not ready",
    c"No GPUs were found",
    c"Invalid state",
    c"This type of reset is not supported",
];

/// A status in words. The text lives as long as the library is loaded.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub extern "C" fn nvmlErrorString(result: u32) -> *const c_char {
    TEXTS.get(result as usize).unwrap_or(&c"Unknown Error").as_ptr()
}
