//! Finding the driver's library and its functions.
//!
//! Plain `dlopen` and `dlsym`, by their own names: a recorder that stands before them sees who asks
//! for what, and answers with functions that record.
#![expect(unsafe_code, reason = "the loader's functions are called here")]

use std::{
    ffi::{CStr, c_int, c_void},
    ptr::NonNull,
};

use super::{error::DriverError, sys::Functions};

const LIBRARY: &CStr = c"libcuda.so.1";

/// The functions of the library that the process has, or else of the machine's.
pub(super) fn functions() -> Result<Functions, DriverError> {
    let library = match open(libc::RTLD_NOLOAD | libc::RTLD_NOW) {
        Some(library) => library,
        None => open(libc::RTLD_NOW).ok_or_else(|| DriverError::NoLibrary(complaint()))?,
    };
    // SAFETY: what the driver's library, or a recorder before it, gives for a documented name is the
    // function documented under it. The library is never closed, so the functions stay.
    unsafe { Functions::find(|name| find(library, name)) }.map_err(DriverError::NoFunction)
}

fn open(flags: c_int) -> Option<NonNull<c_void>> {
    // SAFETY: the name ends with a nul; the driver's library, if it is loaded by this, runs its own
    // initializers as it does in every program that uses it.
    NonNull::new(unsafe { libc::dlopen(LIBRARY.as_ptr(), flags) })
}

fn find(library: NonNull<c_void>, name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: the library is open, and stays so; the name ends with a nul.
    NonNull::new(unsafe { libc::dlsym(library.as_ptr(), name.as_ptr()) })
}

/// What the loader says about this thread's last failure.
fn complaint() -> String {
    // SAFETY: the function takes nothing; what it gives is null or a text that ends with a nul, which
    // stays until this thread's next call of the loader, and is copied before.
    let text = unsafe {
        let text = libc::dlerror();
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    text.unwrap_or_else(|| "the loader does not say why".to_owned())
}
