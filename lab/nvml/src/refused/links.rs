//! Links that the lab does not have (NVLink, chip to chip), and figures of the one that it has.

use whyoom_lab_abi::refusals;

use crate::{session::refusal, status::Code};

refusals! { Code = refusal();
    nvmlDeviceFreezeNvLinkUtilizationCounter nvmlDeviceGetC2cModeInfoV
    nvmlDeviceGetCurrPcieLinkGeneration nvmlDeviceGetCurrPcieLinkWidth nvmlDeviceGetGpuFabricInfo
    nvmlDeviceGetGpuFabricInfo_v4 nvmlDeviceGetGpuMaxPcieLinkGeneration
    nvmlDeviceGetMaxPcieLinkGeneration nvmlDeviceGetMaxPcieLinkWidth nvmlDeviceGetNvLinkCapability
    nvmlDeviceGetNvLinkErrorCounter nvmlDeviceGetNvLinkInfo nvmlDeviceGetNvLinkRemoteDeviceType
    nvmlDeviceGetNvLinkRemotePciInfo nvmlDeviceGetNvLinkRemotePciInfo_v2 nvmlDeviceGetNvLinkState
    nvmlDeviceGetNvLinkTelemetrySamples_v1 nvmlDeviceGetNvLinkUtilizationControl
    nvmlDeviceGetNvLinkUtilizationCounter nvmlDeviceGetNvLinkVersion nvmlDeviceGetNvlinkBwMode
    nvmlDeviceGetNvlinkSupportedBwModes nvmlDeviceGetPciInfo nvmlDeviceGetPciInfo_v2
    nvmlDeviceGetPcieLinkMaxSpeed nvmlDeviceGetPcieReplayCounter nvmlDeviceGetPcieSpeed
    nvmlDeviceGetPcieThroughput nvmlDeviceReadPRMCounters_v1 nvmlDeviceReadWritePRM_v1
    nvmlDeviceResetNvLinkErrorCounters nvmlDeviceResetNvLinkUtilizationCounter
    nvmlDeviceSetNvLinkDeviceLowPowerThreshold nvmlDeviceSetNvLinkUtilizationControl
    nvmlDeviceSetNvlinkBwMode nvmlDeviceSetNvlinkBwModeAsync_v1
}
