//! Properties of a board that the table of models has no figure for.

use whyoom_lab_abi::refusals;

use crate::{session::refusal, status::Code};

refusals! { Code = refusal();
    nvmlDeviceGetAPIRestriction nvmlDeviceGetAddressingMode nvmlDeviceGetAttributes
    nvmlDeviceGetAttributes_v2 nvmlDeviceGetBAR1MemoryInfo nvmlDeviceGetBoardId
    nvmlDeviceGetBoardPartNumber nvmlDeviceGetBridgeChipInfo nvmlDeviceGetCapabilities
    nvmlDeviceGetConfComputeGpuAttestationReport nvmlDeviceGetConfComputeGpuCertificate
    nvmlDeviceGetConfComputeMemSizeInfo nvmlDeviceGetConfComputeProtectedMemoryUsage
    nvmlDeviceGetCpuAffinity nvmlDeviceGetCpuAffinityWithinScope nvmlDeviceGetDramEncryptionMode
    nvmlDeviceGetDriverModel nvmlDeviceGetDriverModel_v2 nvmlDeviceGetGpuOperationMode
    nvmlDeviceGetGspFirmwareMode nvmlDeviceGetGspFirmwareVersion nvmlDeviceGetHandleBySerial
    nvmlDeviceGetHostname_v1 nvmlDeviceGetIrqNum nvmlDeviceGetMemoryAffinity
    nvmlDeviceGetMemoryLimits_v1 nvmlDeviceGetModuleId nvmlDeviceGetNumaNodeId nvmlDeviceGetPdi
    nvmlDeviceGetPlatformInfo nvmlDeviceGetSerial nvmlDeviceGetSupportedEventTypes
    nvmlDeviceGetVbiosVersion
}
