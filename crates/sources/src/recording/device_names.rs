//! What a process calls its devices.

use std::collections::BTreeMap;

use whyoom_trace::DeviceId;

/// What a process calls its devices. CUDA counts the fastest first unless it is told otherwise, NVML by their places
/// on the bus.
#[derive(Debug, Default)]
pub(super) struct DeviceNames {
    /// `CUDA_VISIBLE_DEVICES`, where it is set.
    pub(super) visible: Option<String>,
    /// The UUIDs of devices by their numbers, without the kind that stands before it.
    pub(super) uuids: BTreeMap<DeviceId, String>,
}
