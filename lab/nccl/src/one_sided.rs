//! Windows and what is done through them: writing into the memory of other ranks, and the
//! interface for kernels.

use cudarc::driver::sys::CUdeviceptr;
use whyoom_lab_abi::{Out, exports, refusals};

use crate::{
    communicator::CommunicatorPointer,
    status::{Failure, Status},
};

/// What stands behind an `ncclWindow_t`.
pub struct Window {
    buffer: CUdeviceptr,
}

/// An `ncclWindow_t` as callers pass it.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct WindowPointer(*mut Window);

impl WindowPointer {
    fn get<'call>(self) -> Result<&'call Window, Failure> {
        // SAFETY: null, or by the contract made by `ncclCommWindowRegister` and not deregistered
        // before the call returns.
        unsafe { self.0.as_ref() }.ok_or(Failure::InvalidArgument)
    }
}

exports! { Status;
    fn ncclCommWindowRegister(
        communicator: CommunicatorPointer, buffer: CUdeviceptr, _bytes: usize,
        window: Out<WindowPointer>, _flags: i32,
    ) {
        communicator.get()?;
        if window.is_null() {
            return Err(Failure::InvalidArgument);
        }
        Ok(window.put(WindowPointer(Box::into_raw(Box::new(Window { buffer }))))?)
    }
    fn ncclCommWindowDeregister(communicator: CommunicatorPointer, window: WindowPointer) {
        communicator.get()?;
        window.get()?;
        // SAFETY: not null, so by the contract made by `ncclCommWindowRegister`, and ended once.
        drop(unsafe { Box::from_raw(window.0) });
        Ok(())
    }
    fn ncclWinGetUserPtr(
        communicator: CommunicatorPointer, window: WindowPointer, buffer: Out<CUdeviceptr>,
    ) {
        communicator.get()?;
        Ok(buffer.put(window.get()?.buffer)?)
    }
    // The memory of a peer that is alike: one's own.
    fn ncclGetPeerDevicePointer(
        window: WindowPointer, offset: usize, _peer: i32, address: Out<CUdeviceptr>,
    ) {
        Ok(address.put(window.get()?.buffer + offset as u64)?)
    }
}

// No simulated device has multicast, and no kernel runs that could use a device communicator or
// wait for a signal.
refusals! { Status = Status(Failure::InvalidUsage as u32);
    ncclGetLsaMultimemDevicePointer ncclDevCommCreate ncclDevCommDestroy
    ncclPutSignal ncclSignal ncclWaitSignal
}
