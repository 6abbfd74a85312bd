//! A message that was understood.

use whyoom_trace::{Bytes, Counter, DeviceId, Software, Symptom};

/// A message that was understood.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Message {
    /// The id of its format.
    pub(super) format: &'static str,
    pub(super) symptom: Symptom,
    pub(super) software: Software,
    pub(super) device: Option<DeviceId>,
    pub(super) counters: Vec<(Counter, Bytes)>,
    pub(super) holders: Vec<(u32, Bytes)>,
}

impl Message {
    pub(super) fn new(format: &'static str, software: Software, symptom: Symptom) -> Self {
        let (counters, holders) = (Vec::new(), Vec::new());
        Self { format, symptom, software, device: None, counters, holders }
    }

    /// Adds a counter, where the message tells it.
    pub(super) fn with(mut self, counter: Counter, bytes: Option<Bytes>) -> Self {
        self.counters.extend(bytes.map(|bytes| (counter, bytes)));
        self
    }

    /// Sets the device, where the message tells it.
    pub(super) fn on(mut self, ordinal: Option<&str>) -> Self {
        self.device = ordinal.and_then(|text| text.parse().ok()).map(DeviceId);
        self
    }
}
