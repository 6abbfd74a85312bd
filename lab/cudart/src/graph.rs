//! Graphs, captures and legacy inter-process handles: not supported. What can be answered truthfully
//! without them is: no stream is capturing, and graphs hold no memory.

use std::cell::Cell;

use cudarc::driver::sys::CUstream;
use whyoom_lab_abi::{In, Out, exports, refusals};

use crate::{
    device, driver,
    error::{Failure, Status, refusal},
};

/// `cudaStreamCaptureStatusNone`.
const NOT_CAPTURING: u32 = 0;
/// The four `cudaGraphMemAttributeType`s are numbered from zero.
const MEMORY_ATTRIBUTES: u32 = 4;
/// Global, thread-local and relaxed.
const CAPTURE_MODES: u32 = 3;

thread_local! {
    static CAPTURE_MODE: Cell<u32> = const { Cell::new(0) };
}

exports! { Status;
    fn cudaStreamIsCapturing(_stream: CUstream, status: Out<u32>) {
        driver::initialized()?;
        Ok(status.put(NOT_CAPTURING)?)
    }

    // What else there is to tell about a capture is left unwritten, as documented, while none runs.
    fn cudaStreamGetCaptureInfo(_stream: CUstream, status: Out<u32>, id: Out<u64>) {
        driver::initialized()?;
        id.put_if_wanted(0);
        Ok(status.put(NOT_CAPTURING)?)
    }

    fn cudaThreadExchangeStreamCaptureMode(mode: *mut u32) {
        let wanted = In(mode.cast_const()).get()?;
        if wanted >= CAPTURE_MODES {
            return Err(Failure::INVALID_VALUE);
        }
        Ok(Out(mode).put(CAPTURE_MODE.replace(wanted))?)
    }

    fn cudaDeviceGetGraphMemAttribute(device: i32, attribute: u32, value: Out<u64>) {
        device::at(device)?;
        if attribute >= MEMORY_ATTRIBUTES {
            return Err(Failure::INVALID_VALUE);
        }
        Ok(value.put(0)?)
    }

    // The high marks, which alone can be set, can only be set to zero.
    fn cudaDeviceSetGraphMemAttribute(device: i32, attribute: u32, value: In<u64>) {
        device::at(device)?;
        match (attribute, value.get()?) {
            (1 | 3, 0) => Ok(()),
            _ => Err(Failure::INVALID_VALUE),
        }
    }

    fn cudaDeviceGraphMemTrim(device: i32) { device::at(device).map(|_| ()) }
}

refusals! { Status = refusal();
    cudaStreamBeginCapture cudaStreamBeginCaptureToGraph cudaStreamEndCapture
    cudaStreamUpdateCaptureDependencies

    cudaGraphCreate cudaGraphDestroy cudaGraphClone cudaGraphAddNode cudaGraphAddKernelNode
    cudaGraphAddMemcpyNode cudaGraphAddMemcpyNode1D cudaGraphAddMemsetNode cudaGraphAddHostNode
    cudaGraphAddChildGraphNode cudaGraphAddEmptyNode cudaGraphAddEventRecordNode
    cudaGraphAddEventWaitNode cudaGraphAddMemAllocNode cudaGraphAddMemFreeNode
    cudaGraphAddDependencies cudaGraphRemoveDependencies cudaGraphDestroyNode
    cudaGraphConditionalHandleCreate cudaGraphGetNodes cudaGraphGetRootNodes cudaGraphGetEdges
    cudaGraphNodeGetDependencies cudaGraphNodeGetDependentNodes cudaGraphNodeGetType
    cudaGraphKernelNodeGetParams cudaGraphKernelNodeSetParams cudaGraphMemcpyNodeGetParams
    cudaGraphMemsetNodeGetParams cudaGraphNodeSetParams cudaGraphDebugDotPrint

    cudaGraphInstantiate cudaGraphInstantiateWithFlags cudaGraphInstantiateWithParams
    cudaGraphExecDestroy cudaGraphExecUpdate cudaGraphExecGetFlags
    cudaGraphExecKernelNodeSetParams cudaGraphExecNodeSetParams cudaGraphUpload cudaGraphLaunch

    cudaUserObjectCreate cudaUserObjectRetain cudaUserObjectRelease cudaGraphRetainUserObject
    cudaGraphReleaseUserObject

    cudaIpcGetMemHandle cudaIpcOpenMemHandle cudaIpcCloseMemHandle cudaIpcGetEventHandle
    cudaIpcOpenEventHandle
}

#[cfg(test)]
mod tests {
    use super::*;
    use whyoom_lab_abi::Status as _;

    #[test]
    fn capture_modes_are_exchanged_per_thread() {
        let mut mode = 2;
        assert_eq!(cudaThreadExchangeStreamCaptureMode(&mut mode), Status::SUCCESS);
        assert_eq!(mode, 0);
        assert_eq!(cudaThreadExchangeStreamCaptureMode(&mut mode), Status::SUCCESS);
        assert_eq!(mode, 2);
        mode = 3;
        assert_ne!(cudaThreadExchangeStreamCaptureMode(&mut mode), Status::SUCCESS);
    }
}
