//! The names and texts of the error codes.
//!
//! The wording of the errors that programs print most is the documented one; that of the others
//! says what their name says.

use std::ffi::CStr;

/// What is told about one error code.
pub struct Row {
    code: u32,
    /// The identifier in the API.
    pub name: &'static CStr,
    /// A description for people.
    pub text: &'static CStr,
}

/// What is told about a code; none if the API does not know it.
pub fn row(code: u32) -> Option<&'static Row> {
    ROWS.binary_search_by_key(&code, |row| row.code).ok().map(|index| &ROWS[index])
}

const fn known(code: u32, name: &'static CStr, text: &'static CStr) -> Row {
    Row { code, name, text }
}

/// Sorted by code.
#[rustfmt::skip]
static ROWS: &[Row] = &[
    known(0, c"cudaSuccess", c"no error"),
    known(1, c"cudaErrorInvalidValue", c"invalid argument"),
    known(2, c"cudaErrorMemoryAllocation", c"out of memory"),
    known(3, c"cudaErrorInitializationError", c"initialization error"),
    known(4, c"cudaErrorCudartUnloading", c"driver shutting down"),
    known(5, c"cudaErrorProfilerDisabled", c"profiler disabled"),
    known(6, c"cudaErrorProfilerNotInitialized", c"profiler not initialized"),
    known(7, c"cudaErrorProfilerAlreadyStarted", c"profiler already started"),
    known(8, c"cudaErrorProfilerAlreadyStopped", c"profiler already stopped"),
    known(9, c"cudaErrorInvalidConfiguration", c"invalid configuration argument"),
    known(10, c"cudaErrorVersionTranslation", c"version translation"),
    known(12, c"cudaErrorInvalidPitchValue", c"invalid pitch argument"),
    known(13, c"cudaErrorInvalidSymbol", c"invalid device symbol"),
    known(16, c"cudaErrorInvalidHostPointer", c"invalid host pointer"),
    known(17, c"cudaErrorInvalidDevicePointer", c"invalid device pointer"),
    known(18, c"cudaErrorInvalidTexture", c"invalid texture"),
    known(19, c"cudaErrorInvalidTextureBinding", c"invalid texture binding"),
    known(20, c"cudaErrorInvalidChannelDescriptor", c"invalid channel descriptor"),
    known(21, c"cudaErrorInvalidMemcpyDirection", c"invalid copy direction for memcpy"),
    known(22, c"cudaErrorAddressOfConstant", c"address of constant"),
    known(23, c"cudaErrorTextureFetchFailed", c"texture fetch failed"),
    known(24, c"cudaErrorTextureNotBound", c"texture not bound"),
    known(25, c"cudaErrorSynchronizationError", c"synchronization error"),
    known(26, c"cudaErrorInvalidFilterSetting", c"invalid filter setting"),
    known(27, c"cudaErrorInvalidNormSetting", c"invalid norm setting"),
    known(28, c"cudaErrorMixedDeviceExecution", c"mixed device execution"),
    known(31, c"cudaErrorNotYetImplemented", c"not yet implemented"),
    known(32, c"cudaErrorMemoryValueTooLarge", c"memory value too large"),
    known(34, c"cudaErrorStubLibrary", c"CUDA driver is a stub library"),
    known(35, c"cudaErrorInsufficientDriver", c"CUDA driver version is insufficient for CUDA runtime version"),
    known(36, c"cudaErrorCallRequiresNewerDriver", c"API call is not supported in the installed CUDA driver"),
    known(37, c"cudaErrorInvalidSurface", c"invalid surface"),
    known(43, c"cudaErrorDuplicateVariableName", c"duplicate variable name"),
    known(44, c"cudaErrorDuplicateTextureName", c"duplicate texture name"),
    known(45, c"cudaErrorDuplicateSurfaceName", c"duplicate surface name"),
    known(46, c"cudaErrorDevicesUnavailable", c"CUDA-capable device(s) is/are busy or unavailable"),
    known(49, c"cudaErrorIncompatibleDriverContext", c"incompatible driver context"),
    known(52, c"cudaErrorMissingConfiguration", c"__global__ function call is not configured"),
    known(53, c"cudaErrorPriorLaunchFailure", c"prior launch failure"),
    known(65, c"cudaErrorLaunchMaxDepthExceeded", c"launch max depth exceeded"),
    known(66, c"cudaErrorLaunchFileScopedTex", c"launch file scoped tex"),
    known(67, c"cudaErrorLaunchFileScopedSurf", c"launch file scoped surf"),
    known(68, c"cudaErrorSyncDepthExceeded", c"sync depth exceeded"),
    known(69, c"cudaErrorLaunchPendingCountExceeded", c"launch pending count exceeded"),
    known(98, c"cudaErrorInvalidDeviceFunction", c"invalid device function"),
    known(100, c"cudaErrorNoDevice", c"no CUDA-capable device is detected"),
    known(101, c"cudaErrorInvalidDevice", c"invalid device ordinal"),
    known(102, c"cudaErrorDeviceNotLicensed", c"device not licensed"),
    known(103, c"cudaErrorSoftwareValidityNotEstablished", c"software validity not established"),
    known(127, c"cudaErrorStartupFailure", c"startup failure"),
    known(200, c"cudaErrorInvalidKernelImage", c"device kernel image is invalid"),
    known(201, c"cudaErrorDeviceUninitialized", c"invalid device context"),
    known(205, c"cudaErrorMapBufferObjectFailed", c"map buffer object failed"),
    known(206, c"cudaErrorUnmapBufferObjectFailed", c"unmap buffer object failed"),
    known(207, c"cudaErrorArrayIsMapped", c"array is mapped"),
    known(208, c"cudaErrorAlreadyMapped", c"already mapped"),
    known(209, c"cudaErrorNoKernelImageForDevice", c"no kernel image is available for execution on the device"),
    known(210, c"cudaErrorAlreadyAcquired", c"already acquired"),
    known(211, c"cudaErrorNotMapped", c"not mapped"),
    known(212, c"cudaErrorNotMappedAsArray", c"not mapped as array"),
    known(213, c"cudaErrorNotMappedAsPointer", c"not mapped as pointer"),
    known(214, c"cudaErrorECCUncorrectable", c"uncorrectable ECC error encountered"),
    known(215, c"cudaErrorUnsupportedLimit", c"limit is not supported on this architecture"),
    known(216, c"cudaErrorDeviceAlreadyInUse", c"exclusive-thread device already in use by a different thread"),
    known(217, c"cudaErrorPeerAccessUnsupported", c"peer access is not supported between these two devices"),
    known(218, c"cudaErrorInvalidPtx", c"a PTX JIT compilation failed"),
    known(219, c"cudaErrorInvalidGraphicsContext", c"invalid graphics context"),
    known(220, c"cudaErrorNvlinkUncorrectable", c"nvlink uncorrectable"),
    known(221, c"cudaErrorJitCompilerNotFound", c"jit compiler not found"),
    known(222, c"cudaErrorUnsupportedPtxVersion", c"unsupported ptx version"),
    known(223, c"cudaErrorJitCompilationDisabled", c"jit compilation disabled"),
    known(224, c"cudaErrorUnsupportedExecAffinity", c"unsupported exec affinity"),
    known(225, c"cudaErrorUnsupportedDevSideSync", c"unsupported dev side sync"),
    known(226, c"cudaErrorContained", c"contained"),
    known(300, c"cudaErrorInvalidSource", c"invalid source"),
    known(301, c"cudaErrorFileNotFound", c"file not found"),
    known(302, c"cudaErrorSharedObjectSymbolNotFound", c"shared object symbol not found"),
    known(303, c"cudaErrorSharedObjectInitFailed", c"shared object init failed"),
    known(304, c"cudaErrorOperatingSystem", c"operating system"),
    known(400, c"cudaErrorInvalidResourceHandle", c"invalid resource handle"),
    known(401, c"cudaErrorIllegalState", c"illegal state"),
    known(402, c"cudaErrorLossyQuery", c"lossy query"),
    known(500, c"cudaErrorSymbolNotFound", c"named symbol not found"),
    known(600, c"cudaErrorNotReady", c"device not ready"),
    known(700, c"cudaErrorIllegalAddress", c"an illegal memory access was encountered"),
    known(701, c"cudaErrorLaunchOutOfResources", c"too many resources requested for launch"),
    known(702, c"cudaErrorLaunchTimeout", c"the launch timed out and was terminated"),
    known(703, c"cudaErrorLaunchIncompatibleTexturing", c"launch incompatible texturing"),
    known(704, c"cudaErrorPeerAccessAlreadyEnabled", c"peer access is already enabled"),
    known(705, c"cudaErrorPeerAccessNotEnabled", c"peer access has not been enabled"),
    known(708, c"cudaErrorSetOnActiveProcess", c"set on active process"),
    known(709, c"cudaErrorContextIsDestroyed", c"context is destroyed"),
    known(710, c"cudaErrorAssert", c"device-side assert triggered"),
    known(711, c"cudaErrorTooManyPeers", c"too many peers"),
    known(712, c"cudaErrorHostMemoryAlreadyRegistered", c"part or all of the requested memory range is already mapped"),
    known(713, c"cudaErrorHostMemoryNotRegistered", c"pointer does not correspond to a registered memory region"),
    known(714, c"cudaErrorHardwareStackError", c"hardware stack error"),
    known(715, c"cudaErrorIllegalInstruction", c"an illegal instruction was encountered"),
    known(716, c"cudaErrorMisalignedAddress", c"misaligned address"),
    known(717, c"cudaErrorInvalidAddressSpace", c"invalid address space"),
    known(718, c"cudaErrorInvalidPc", c"invalid pc"),
    known(719, c"cudaErrorLaunchFailure", c"unspecified launch failure"),
    known(720, c"cudaErrorCooperativeLaunchTooLarge", c"too many blocks in cooperative launch"),
    known(721, c"cudaErrorTensorMemoryLeak", c"tensor memory leak"),
    known(800, c"cudaErrorNotPermitted", c"operation not permitted"),
    known(801, c"cudaErrorNotSupported", c"operation not supported"),
    known(802, c"cudaErrorSystemNotReady", c"system not yet initialized"),
    known(803, c"cudaErrorSystemDriverMismatch", c"system has unsupported display driver / cuda driver combination"),
    known(804, c"cudaErrorCompatNotSupportedOnDevice", c"compat not supported on device"),
    known(805, c"cudaErrorMpsConnectionFailed", c"mps connection failed"),
    known(806, c"cudaErrorMpsRpcFailure", c"mps rpc failure"),
    known(807, c"cudaErrorMpsServerNotReady", c"mps server not ready"),
    known(808, c"cudaErrorMpsMaxClientsReached", c"mps max clients reached"),
    known(809, c"cudaErrorMpsMaxConnectionsReached", c"mps max connections reached"),
    known(810, c"cudaErrorMpsClientTerminated", c"mps client terminated"),
    known(811, c"cudaErrorCdpNotSupported", c"cdp not supported"),
    known(812, c"cudaErrorCdpVersionMismatch", c"cdp version mismatch"),
    known(900, c"cudaErrorStreamCaptureUnsupported", c"operation not permitted when stream is capturing"),
    known(901, c"cudaErrorStreamCaptureInvalidated", c"operation failed due to a previous error during capture"),
    known(902, c"cudaErrorStreamCaptureMerge", c"operation would result in a merge of separate capture sequences"),
    known(903, c"cudaErrorStreamCaptureUnmatched", c"capture was not ended in the same stream as it began"),
    known(904, c"cudaErrorStreamCaptureUnjoined", c"capturing stream has unjoined work"),
    known(905, c"cudaErrorStreamCaptureIsolation", c"dependency created on uncaptured work in another stream"),
    known(906, c"cudaErrorStreamCaptureImplicit", c"operation would make the legacy stream depend on a capturing blocking stream"),
    known(907, c"cudaErrorCapturedEvent", c"operation not permitted on an event last recorded in a capturing stream"),
    known(908, c"cudaErrorStreamCaptureWrongThread", c"attempt to terminate a thread-local capture sequence from another thread"),
    known(909, c"cudaErrorTimeout", c"wait operation timed out"),
    known(910, c"cudaErrorGraphExecUpdateFailure", c"the graph update was not performed because it included changes which violated constraints specific to instantiated graph update"),
    known(911, c"cudaErrorExternalDevice", c"external device"),
    known(912, c"cudaErrorInvalidClusterSize", c"invalid cluster size"),
    known(913, c"cudaErrorFunctionNotLoaded", c"function not loaded"),
    known(914, c"cudaErrorInvalidResourceType", c"invalid resource type"),
    known(915, c"cudaErrorInvalidResourceConfiguration", c"invalid resource configuration"),
    known(917, c"cudaErrorStreamDetached", c"stream detached"),
    known(999, c"cudaErrorUnknown", c"unknown error"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_by_code() {
        assert!(ROWS.is_sorted_by_key(|row| row.code));
    }
}
