//! What would change a device, or watch it for events: the lab is set up once, when it is made.

use whyoom_lab_abi::refusals;

use crate::{session::refusal, status::Code};

refusals! { Code = refusal();
    nvmlDeviceClearAccountingPids nvmlDeviceClearCpuAffinity nvmlDeviceClearEccErrorCounts
    nvmlDeviceClearFieldValues nvmlDeviceDiscoverGpus nvmlDeviceModifyDrainState
    nvmlDevicePerfMetricsGetSamples_v1 nvmlDevicePowerSmoothingActivatePresetProfile
    nvmlDevicePowerSmoothingSetState nvmlDevicePowerSmoothingUpdatePresetProfileParam
    nvmlDeviceQueryDrainState nvmlDeviceRegisterEvents nvmlDeviceRemoveGpu nvmlDeviceRemoveGpu_v2
    nvmlDeviceResetApplicationsClocks nvmlDeviceResetGpuLockedClocks
    nvmlDeviceResetMemoryLockedClocks nvmlDeviceSetAPIRestriction nvmlDeviceSetAccountingMode
    nvmlDeviceSetAdaptiveTgpMode_v1 nvmlDeviceSetApplicationsClocks
    nvmlDeviceSetAutoBoostedClocksEnabled nvmlDeviceSetClockOffsets nvmlDeviceSetComputeMode
    nvmlDeviceSetConfComputeUnprotectedMemSize nvmlDeviceSetCpuAffinity
    nvmlDeviceSetDefaultAutoBoostedClocksEnabled nvmlDeviceSetDefaultFanSpeed_v2
    nvmlDeviceSetDramEncryptionMode nvmlDeviceSetDriverModel nvmlDeviceSetEccMode
    nvmlDeviceSetFanControlPolicy nvmlDeviceSetFanSpeed_v2 nvmlDeviceSetGpcClkVfOffset
    nvmlDeviceSetGpuLockedClocks nvmlDeviceSetGpuOperationMode nvmlDeviceSetHostname_v1
    nvmlDeviceSetMemClkVfOffset nvmlDeviceSetMemoryLimits_v1 nvmlDeviceSetMemoryLockedClocks
    nvmlDeviceSetPersistenceMode nvmlDeviceSetPowerManagementLimit
    nvmlDeviceSetPowerManagementLimit_v2 nvmlDeviceSetPowerMizerMode_v1
    nvmlDeviceSetRusdSettings_v1 nvmlDeviceSetTemperatureThreshold nvmlDeviceValidateInforom
    nvmlDeviceWorkloadPowerProfileClearRequestedProfiles
    nvmlDeviceWorkloadPowerProfileGetCurrentProfiles nvmlDeviceWorkloadPowerProfileGetProfilesInfo
    nvmlDeviceWorkloadPowerProfileSetRequestedProfiles
    nvmlDeviceWorkloadPowerProfileUpdateProfiles_v1
}
