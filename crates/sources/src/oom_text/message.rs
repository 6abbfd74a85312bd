//! A message that was understood.

use whyoom_trace::{Bytes, Counter, DeviceId, Software, Symptom};

use super::{
    failure::{Voice, failure},
    window::Window,
};

/// How much a message says. Of one failure the heaviest message counts: a title that names it, or words without
/// figures, add nothing to one with figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Weight {
    /// Somebody speaks of a failure.
    Mention,
    /// A program tells of a failure, without a figure.
    Words,
    /// It tells what was asked for, or what was free.
    Figures,
    /// Its line is known.
    Known,
    /// Its format is known.
    Exact,
}

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
    pub(super) weight: Weight,
    /// Whether the program went on: it fell back, or tried again with less.
    pub(super) recovered: bool,
}

impl Message {
    pub(super) fn new(format: &'static str, software: Software, symptom: Symptom) -> Self {
        let (counters, holders) = (Vec::new(), Vec::new());
        let weight = Weight::Exact;
        let (device, recovered) = (None, false);
        Self { format, symptom, software, device, counters, holders, weight, recovered }
    }

    /// Adds a counter, where the message tells it.
    pub(super) fn with(mut self, counter: Counter, bytes: Option<Bytes>) -> Self {
        self.counters.extend(bytes.map(|bytes| (counter, bytes)));
        self
    }

    /// The same with its weight: the bare words for a full device are no more than anybody's.
    pub(super) fn weighed(mut self, window: &Window<'_>) -> Self {
        let bare = self.symptom == Symptom::DeviceOutOfMemory && self.counters.is_empty();
        if bare {
            let line = [window.prefix(), window.line()].concat();
            self.weight = match failure(&line, window.near()).map(|failure| failure.voice) {
                Some(Voice::Mention) => Weight::Mention,
                _ => Weight::Words,
            };
        }
        self
    }

    /// Whether it tells how memory ran out, so that what says less adds nothing.
    pub(super) fn is_decided(&self) -> bool {
        let open = [
            Symptom::IndirectOom,
            Symptom::ReportFailed,
            Symptom::Killed,
            Symptom::LibraryAllocFailed,
            Symptom::SettingTooLate,
        ];
        !open.contains(&self.symptom)
    }

    /// Sets the device, where the message tells it.
    pub(super) fn on(mut self, ordinal: Option<&str>) -> Self {
        self.device = ordinal.and_then(|text| text.parse().ok()).map(DeviceId);
        self
    }
}
