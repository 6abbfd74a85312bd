//! Errors and wear of memory, and the records of them: simulated memory has neither.

use whyoom_lab_abi::refusals;

use crate::{session::refusal, status::Code};

refusals! { Code = refusal();
    nvmlDeviceGetBBXTimeData_v1 nvmlDeviceGetBankRemapperStatus_v1 nvmlDeviceGetDefaultEccMode
    nvmlDeviceGetDetailedEccErrors nvmlDeviceGetEccMode nvmlDeviceGetInforomConfigurationChecksum
    nvmlDeviceGetInforomImageVersion nvmlDeviceGetInforomVersion nvmlDeviceGetLastBBXFlushTime
    nvmlDeviceGetMemoryErrorCounter nvmlDeviceGetRemappedRows nvmlDeviceGetRemappedRows_v2
    nvmlDeviceGetRepairStatus nvmlDeviceGetRetiredPages nvmlDeviceGetRetiredPagesPendingStatus
    nvmlDeviceGetRetiredPages_v2 nvmlDeviceGetRowRemapperHistogram nvmlDeviceGetSramEccErrorStatus
    nvmlDeviceGetSramUniqueUncorrectedEccErrorCounts nvmlDeviceGetTotalEccErrors
    nvmlDeviceGetUnrepairableMemoryFlag_v1 nvmlDeviceGetViolationStatus
}
