//! Documented functions that the lab does not do yet, and says so.

use whyoom_lab_abi::refusals;

use crate::status::Status;

/// `CUDA_ERROR_NOT_SUPPORTED`.
const NOT_SUPPORTED: Status = Status(801);

refusals! { Status = NOT_SUPPORTED;
    cuMemPoolExportToShareableHandle cuMemPoolImportFromShareableHandle cuMemPoolExportPointer
    cuMemPoolImportPointer
    cuMulticastCreate cuMulticastAddDevice cuMulticastBindMem cuMulticastBindAddr
    cuMulticastUnbind cuMulticastGetGranularity
    cuGreenCtxCreate cuGreenCtxDestroy cuGreenCtxStreamCreate cuCtxFromGreenCtx
    cuDeviceGetDevResource cuDevSmResourceSplitByCount cuDevResourceGenerateDesc
    cuLogsRegisterCallback cuLogsUnregisterCallback
    cuTexObjectCreate cuSurfObjectCreate
    cuImportExternalMemory cuImportExternalSemaphore
    cuTensorMapEncodeTiled cuTensorMapEncodeIm2col
    cuLinkCreate_v2 cuLinkAddData_v2 cuLinkComplete cuLinkDestroy
}
