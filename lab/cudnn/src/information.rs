//! What the library says about itself; none of it needs a device.

use std::ffi::c_char;

use whyoom_lab_abi::{Out, exports};

use crate::{
    release::Release,
    status::{Failure, Status},
};

exports! { Status;
    // 0 the major version, 1 the minor version, 2 the patch level.
    fn cudnnGetProperty(which: u32, value: Out<i32>) {
        let parts = Release::of_this_process().parts;
        let part = *parts.get(which as usize).ok_or(Failure::BadParam)?;
        Ok(value.put(part as i32)?)
    }
}

/// The version in one number.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub extern "C" fn cudnnGetVersion() -> usize {
    Release::of_this_process().number()
}

/// The CUDA runtime that the library was built with. Only its major version is known.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub extern "C" fn cudnnGetCudartVersion() -> usize {
    Release::of_this_process().cuda * 1000
}

/// The last failure of this thread, in words; empty if there was none.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub extern "C" fn cudnnGetLastErrorString(message: Out<c_char>, room: usize) {
    // No room, or no place: nothing to write.
    let _ = message.put_text(&Status::last(), room);
}
