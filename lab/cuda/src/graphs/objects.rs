//! Objects of the program's that graphs keep alive.

use whyoom_lab_abi::{Out, exports};
use whyoom_lab_core::{Error, driver::HostCall};

use crate::{process::with, status::Status};

/// `CU_USER_OBJECT_NO_DESTRUCTOR_SYNC`: documented, it must be given.
const NO_DESTRUCTOR_SYNC: u32 = 1;
/// `CU_GRAPH_USER_OBJECT_MOVE`.
const MOVE: u32 = 1;

exports! { Status;
    fn cuUserObjectCreate(
        object: Out<u64>,
        data: u64,
        destroy: u64,
        references: u32,
        flags: u32,
    ) {
        if object.is_null() || destroy == 0 || flags != NO_DESTRUCTOR_SYNC {
            return Err(Error::InvalidValue.into());
        }
        let destroy = HostCall { function: destroy, data };
        with(|driver| Ok(object.put(driver.create_object(destroy, references)?)?))
    }

    fn cuUserObjectRetain(object: u64, count: u32) {
        with(|driver| Ok(driver.retain_object(object, count)?))
    }

    fn cuUserObjectRelease(object: u64, count: u32) {
        with(|driver| Ok(driver.release_object(object, count)?))
    }

    fn cuGraphRetainUserObject(graph: u64, object: u64, count: u32, flags: u32) {
        if flags & !MOVE != 0 {
            return Err(Error::InvalidValue.into());
        }
        with(|driver| Ok(driver.retain_object_in_graph(graph, object, count, flags == MOVE)?))
    }

    fn cuGraphReleaseUserObject(graph: u64, object: u64, count: u32) {
        with(|driver| Ok(driver.release_object_of_graph(graph, object, count)?))
    }
}
