//! Documented functions that the lab does not do yet, and says so.

use whyoom_lab_abi::refusals;

use crate::status::Status;

/// `CUDA_ERROR_NOT_SUPPORTED`.
const NOT_SUPPORTED: Status = Status(801);

refusals! { Status = NOT_SUPPORTED;
    cuStreamBeginCapture_v2 cuStreamBeginCaptureToGraph cuStreamEndCapture
    cuStreamUpdateCaptureDependencies_v2
    cuGraphCreate cuGraphDestroy cuGraphInstantiateWithFlags cuGraphLaunch cuGraphExecDestroy
    cuGraphGetNodes cuGraphAddKernelNode_v2 cuGraphAddMemAllocNode cuGraphAddMemFreeNode
    cuDeviceGetGraphMemAttribute cuDeviceSetGraphMemAttribute cuDeviceGraphMemTrim
    cuIpcGetMemHandle cuIpcOpenMemHandle_v2 cuIpcCloseMemHandle cuIpcGetEventHandle
    cuIpcOpenEventHandle
    cuMemPoolExportToShareableHandle cuMemPoolImportFromShareableHandle cuMemPoolExportPointer
    cuMemPoolImportPointer
    cuMulticastCreate cuMulticastAddDevice cuMulticastBindMem cuMulticastBindAddr
    cuMulticastUnbind cuMulticastGetGranularity
    cuGreenCtxCreate cuGreenCtxDestroy cuGreenCtxStreamCreate cuCtxFromGreenCtx
    cuDeviceGetDevResource cuDevSmResourceSplitByCount cuDevResourceGenerateDesc
    cuLogsRegisterCallback cuLogsUnregisterCallback
    cuUserObjectCreate cuUserObjectRelease cuGraphRetainUserObject
    cuTexObjectCreate cuSurfObjectCreate
    cuImportExternalMemory cuImportExternalSemaphore
    cuTensorMapEncodeTiled cuTensorMapEncodeIm2col
    cuLinkCreate_v2 cuLinkAddData_v2 cuLinkComplete cuLinkDestroy
}
