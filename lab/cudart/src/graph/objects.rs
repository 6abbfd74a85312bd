//! Objects of the program's that graphs keep alive.

use std::ffi::c_void;

use cudarc::driver::sys::CUhostFn;
use whyoom_lab_abi::{Out, exports};

use super::Handle;
use crate::{driver, error::Status};

exports! { Status;
    fn cudaUserObjectCreate(object: Out<Handle>, data: *mut c_void, destroy: CUhostFn, references: u32, flags: u32) {
        driver::initialized()?.cuUserObjectCreate(object.0, data, destroy, references, flags)
    }

    fn cudaUserObjectRetain(object: Handle, count: u32) {
        driver::initialized()?.cuUserObjectRetain(object, count)
    }

    fn cudaUserObjectRelease(object: Handle, count: u32) {
        driver::initialized()?.cuUserObjectRelease(object, count)
    }

    fn cudaGraphRetainUserObject(graph: Handle, object: Handle, count: u32, flags: u32) {
        driver::initialized()?.cuGraphRetainUserObject(graph, object, count, flags)
    }

    fn cudaGraphReleaseUserObject(graph: Handle, object: Handle, count: u32) {
        driver::initialized()?.cuGraphReleaseUserObject(graph, object, count)
    }
}
