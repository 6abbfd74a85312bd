//! What belongs to the chassis and to all devices together: units, events, counters.

use whyoom_lab_abi::refusals;

use crate::{session::refusal, status::Code};

refusals! { Code = refusal();
    nvmlEventSetCreate nvmlEventSetFree nvmlEventSetGetContextCount_v1
    nvmlEventSetGetContextData_v1 nvmlEventSetGetContextInfo_v1
    nvmlEventSetGetGpuOperationalEventContextLegacyXid_v1
    nvmlEventSetRegisterGpuOperationalEvents_v1 nvmlEventSetWait nvmlEventSetWait_v2
    nvmlEventSetWait_v3 nvmlGetExcludedDeviceInfoByIndex nvmlGpmMetricsGet
    nvmlGpmQueryDeviceSupport nvmlGpmQueryIfStreamingEnabled nvmlGpmSampleAlloc nvmlGpmSampleFree
    nvmlGpmSampleGet nvmlGpmSetStreamingEnabled nvmlSystemEventSetCreate nvmlSystemEventSetFree
    nvmlSystemEventSetWait nvmlSystemGetCPER_v1 nvmlSystemGetConfComputeCapabilities
    nvmlSystemGetConfComputeGpusReadyState nvmlSystemGetConfComputeKeyRotationThresholdInfo
    nvmlSystemGetDriverBranch nvmlSystemGetHicVersion nvmlSystemGetNvlinkBwMode
    nvmlSystemGetTopologyGpuSet nvmlSystemRegisterEvents nvmlSystemSetConfComputeGpusReadyState
    nvmlSystemSetConfComputeKeyRotationThresholdInfo nvmlSystemSetNvlinkBwMode nvmlUnitGetDevices
    nvmlUnitGetFanSpeedInfo nvmlUnitGetHandleByIndex nvmlUnitGetLedState nvmlUnitGetPsuInfo
    nvmlUnitGetTemperature nvmlUnitGetUnitInfo nvmlUnitSetLedState
}
