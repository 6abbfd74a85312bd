//! `dlclose`, hooked: where code goes, stacks that were seen before may mean other code.

use std::{
    ffi::{c_int, c_void},
    mem,
};

use super::real;

type Dlclose = unsafe extern "C" fn(*mut c_void) -> c_int;

/// What is answered where the real function cannot be found, as `dlclose` does for an invalid handle.
const FAILED: c_int = -1;

/// The hook of `dlclose`.
///
/// # Safety
/// That of `dlclose`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn dlclose(handle: *mut c_void) -> c_int {
    let real = real::dlclose();
    if real.is_null() {
        return FAILED;
    }
    // SAFETY: the function of that name has this signature.
    let real = unsafe { mem::transmute::<*mut c_void, Dlclose>(real) };
    whyoom_stacks::code_may_go();
    // SAFETY: the caller's own argument, passed on as it came.
    let closed = unsafe { real(handle) };
    whyoom_stacks::code_may_go();
    closed
}
