//! Functions of the driver, for programs that ask the runtime for them.

use std::{
    ffi::{c_char, c_void},
    sync::OnceLock,
};

use whyoom_lab_abi::{Out, exports};

use crate::{
    RUNTIME_VERSION,
    driver::{self, LookUp},
    error::{Failure, Status},
};

exports! { Status;
    fn cudaGetDriverEntryPoint(name: *const c_char, function: Out<*mut c_void>, flags: u64, status: Out<u32>) {
        find(name, RUNTIME_VERSION as u32, flags, function, status)
    }

    fn cudaGetDriverEntryPointByVersion(name: *const c_char, function: Out<*mut c_void>, version: u32, flags: u64, status: Out<u32>) {
        find(name, version, flags, function, status)
    }
}

/// A function that the driver does not have is no error: the status says so.
fn find(
    name: *const c_char,
    version: u32,
    flags: u64,
    function: Out<*mut c_void>,
    status: Out<u32>,
) -> Result<(), Failure> {
    static LOOK_UP: OnceLock<Option<LookUp>> = OnceLock::new();
    let version = i32::try_from(version).map_err(|_| Failure::INVALID_VALUE)?;
    if name.is_null() {
        return Err(Failure::INVALID_VALUE);
    }
    let look_up = LOOK_UP.get_or_init(driver::look_up);
    let found = look_up.as_ref().ok_or(Failure::INSUFFICIENT_DRIVER)?.ask(name, version, flags)?;
    status.put_if_wanted(found.status);
    Ok(function.put(found.address)?)
}
