//! Legacy handles of memory and events for other processes: the driver's, byte for byte.

use cudarc::driver::sys::{CUdeviceptr, CUevent, CUipcEventHandle, CUipcMemHandle};
use whyoom_lab_abi::{Out, exports};

use crate::{context, error::Status};

exports! { Status;
    fn cudaIpcGetMemHandle(handle: Out<CUipcMemHandle>, pointer: CUdeviceptr) {
        context::current()?.cuIpcGetMemHandle(handle.0, pointer)
    }

    fn cudaIpcOpenMemHandle(pointer: Out<CUdeviceptr>, handle: CUipcMemHandle, flags: u32) {
        context::current()?.cuIpcOpenMemHandle(pointer.0, handle, flags)
    }

    fn cudaIpcCloseMemHandle(pointer: CUdeviceptr) {
        context::current()?.cuIpcCloseMemHandle(pointer)
    }

    fn cudaIpcGetEventHandle(handle: Out<CUipcEventHandle>, event: CUevent) {
        context::current()?.cuIpcGetEventHandle(handle.0, event)
    }

    fn cudaIpcOpenEventHandle(event: Out<CUevent>, handle: CUipcEventHandle) {
        context::current()?.cuIpcOpenEventHandle(event.0, handle)
    }
}
