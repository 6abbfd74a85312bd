//! What a cause looks at: one moment at which memory ran out, or one space in which it did not.

use whyoom_allocators::policies::pytorch::with_option;
use whyoom_memory::{
    Category, DriverState, Growth, Holder, Incident, Model, Process, Space, Usage, library, place,
    sums_by_place,
};
use whyoom_trace::{Bytes, DeviceId, ProcessId, Software, StackId, Symptom, Tables};

use crate::{
    finding::{Basis, Evidence, Finding, Strength},
    situation::{CONTEXT_ALLOWANCE, Situation, name_of},
};

/// Stacks beyond these tell nothing new.
const MANY_STACKS: usize = 64;

/// The setting that tells of whyoom's pool.
const POOL: &str = "whyoom_pool";

/// One moment at which memory ran out, or one space in which it did not.
pub struct Scene<'a> {
    /// Everything that was seen.
    pub model: &'a Model,
    /// The names of it.
    pub tables: &'a Tables,
    /// The process that is looked at.
    pub process: ProcessId,
    /// The device that is looked at.
    pub device: DeviceId,
    /// The moment, if memory ran out.
    pub incident: Option<&'a Incident>,
    /// The process's memory on the device, if its blocks are known.
    pub space: Option<&'a Space>,
    /// Growth in that space.
    pub growth: Option<Growth>,
    /// The figures, from whatever told them.
    pub situation: Situation,
}

impl<'a> Scene<'a> {
    /// A finding of `cause` in this scene, with the situation's figures and who asked as evidence.
    pub(crate) fn finding(
        &self,
        cause: &'static str,
        strength: Strength,
        headline: impl Into<String>,
        because: impl Into<String>,
    ) -> Finding {
        let mut evidence = self.situation.evidence(self.tables);
        if let Some(incident) = self.incident.filter(|incident| incident.stack != StackId(0)) {
            let basis = self.situation.basis.unwrap_or(Basis::Message);
            evidence.push(Evidence::text("asked for at", self.place(incident.stack), basis));
        }
        Finding {
            cause,
            strength,
            headline: headline.into(),
            because: because.into(),
            gives_back: None,
            evidence,
            remedies: Vec::new(),
            process: self.process,
            device: self.device,
        }
    }

    /// What the incident's message tells, if it is one.
    pub(crate) fn symptom(&self) -> Option<Symptom> {
        self.incident?.symptom.map(|(symptom, ..)| symptom)
    }

    /// Whose message it is.
    pub(crate) fn software(&self) -> Option<Software> {
        self.incident?.symptom.map(|(_, software, _)| software)
    }

    /// The message.
    pub(crate) fn message(&self) -> &'a str {
        let text = self.incident.and_then(|incident| incident.symptom);
        text.map_or("", |(_, _, text)| self.tables.text(text))
    }

    /// Whether a request of this process to the device failed: the ordinary case.
    pub(crate) fn device_refused(&self) -> bool {
        let refused = |incident: &Incident| {
            incident.symptom.is_none_or(|(s, ..)| s == Symptom::DeviceOutOfMemory)
        };
        self.incident.is_some_and(refused) && self.device != DeviceId::HOST
    }

    /// Whether it failed for want of memory: had more been free, it would have been served.
    pub(crate) fn device_ran_out(&self) -> bool {
        self.device_refused() && !self.situation.enough_was_free()
    }

    /// What was recorded of the process beside its memory.
    pub(crate) fn facts(&self) -> Option<&'a Process> {
        self.model.process(self.process)
    }

    /// Whether the process ended in order, and nothing of it is missing.
    pub(crate) fn exited(&self) -> bool {
        self.facts().is_some_and(|process| process.exited().is_some())
    }

    /// What the process had taken from the driver when the request failed, where that was recorded.
    pub(crate) fn driver(&self) -> Option<&'a DriverState> {
        self.incident?.driver.as_ref()
    }

    /// Whether a caching allocator serves the process, on any device: pinned memory has one too, which
    /// nothing tells of.
    pub(crate) fn uses_allocator(&self) -> bool {
        let mut spaces = self.model.spaces().filter(|(process, ..)| *process == self.process);
        spaces.any(|(_, _, space)| space.has_allocator())
    }

    /// About what a context of this process takes: what it holds beside everything that its allocator,
    /// its libraries and itself are known to have taken.
    pub(crate) fn own_context(&self) -> Option<Bytes> {
        let used = self.situation.process_used.filter(|_| self.was_recorded())?;
        let held = self.situation.reserved.max(self.driver().map(|driver| driver.held))?;
        Some(used.minus(held).min(CONTEXT_ALLOWANCE)).filter(|size| *size > Bytes::ZERO)
    }

    /// Whether the figures were recorded, and not read off a message.
    pub(crate) fn was_recorded(&self) -> bool {
        self.situation.basis == Some(Basis::Recorded)
    }

    /// Whether PyTorch's own allocator made the request that the driver refused.
    pub(crate) fn asked_by_pytorch(&self) -> bool {
        let stack = self.incident.map_or(StackId(0), |incident| incident.stack);
        self.tables.frames(stack).any(|frame| {
            frame.file.contains("libc10_cuda")
                || frame.function.contains("CUDACachingAllocator")
                || frame.function.contains("CachingHostAllocator")
        })
    }

    /// Whether whoever made a stack is compiled code: advice on Python would miss it.
    pub(crate) fn is_compiled(&self, stack: StackId) -> bool {
        stack != StackId(0) && !self.tables.frames(stack).any(|frame| frame.is_python())
    }

    /// Whether what a stack led to is of the program's own making, and neither Python's nor PyTorch's.
    pub(crate) fn is_plain(&self, stack: StackId) -> bool {
        let pytorch = |file: &str| file.contains("libtorch") || file.contains("libc10");
        self.is_compiled(stack) && !self.tables.frames(stack).any(|frame| pytorch(frame.file))
    }

    /// The compiled file that a stack leads to, past CUDA's own.
    pub(crate) fn library(&self, stack: StackId) -> Option<&'a str> {
        library(self.tables, stack)
    }

    /// A process that holds memory, as people know it.
    pub(crate) fn name_of(&self, holder: &Holder) -> String {
        name_of(holder, self.tables)
    }

    /// A setting of this process's allocator, from its snapshot or from the log.
    pub(crate) fn setting(&self, name: &str) -> Option<&'a str> {
        self.model.setting(self.process, name)
    }

    /// Whether whyoom's pool serves the process: PyTorch's settings have no effect then, and idle pages
    /// go where they are needed.
    pub(crate) fn has_pool(&self) -> bool {
        self.model.own_setting(self.process, POOL) == Some("on")
    }

    /// Whose cache it is.
    pub(crate) fn allocator_name(&self) -> &'static str {
        if self.has_pool() { "whyoom's pool" } else { "PyTorch" }
    }

    /// The allocator's variable as the process had it, whatever its name is there.
    pub(crate) fn allocator_conf(&self) -> &'a str {
        let names = ["PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"];
        names.iter().find_map(|name| self.setting(name)).unwrap_or("")
    }

    /// Whether expandable segments are on already.
    pub(crate) fn expandable_segments_on(&self) -> bool {
        self.setting("expandable_segments") == Some("true")
            || self.allocator_conf().contains("expandable_segments:True")
            || self.space.is_some_and(Space::has_expandable_segments)
    }

    /// Whether a largest size to split is set already.
    pub(crate) fn max_split_size_set(&self) -> bool {
        self.setting("max_split_size").is_some_and(|value| value != "-1")
            || self.allocator_conf().contains("max_split_size_mb")
    }

    /// The line that sets the allocator's variable, with what is set already kept.
    pub(crate) fn set_conf(&self, option: &str) -> String {
        let hip = self.message().contains("HIP out of memory");
        let variable = if hip { "PYTORCH_HIP_ALLOC_CONF" } else { "PYTORCH_CUDA_ALLOC_CONF" };
        let options = with_option(self.allocator_conf(), option);
        let command = if self.on_windows() { "set" } else { "export" };
        format!("{command} {variable}={options}")
    }

    /// What a category held at the peak, where it held anything.
    pub(crate) fn peak_of(&self, wanted: Category) -> Option<Bytes> {
        let peak = self.space?.peak_by_category();
        peak.iter().find(|(category, _)| *category == wanted).map(|(_, usage)| usage.bytes)
    }

    /// Whether the failed request came from a model that generates.
    pub(crate) fn is_generating(&self) -> bool {
        let stack = self.incident.map_or(StackId(0), |incident| incident.stack);
        let generates = |function: &str| function.rsplit('.').next() == Some("generate");
        self.tables.frames(stack).any(|frame| frame.is_python() && generates(frame.function))
    }

    /// Sums by stack as sums by place, the most first: several stacks may lead to one line.
    pub(crate) fn by_place(&self, stacks: Vec<(StackId, Usage)>) -> Vec<(String, Bytes)> {
        sums_by_place(self.tables, stacks)
    }

    /// Whether the program ran on Windows: its files' paths tell, in a traceback or a snapshot.
    pub(crate) fn on_windows(&self) -> bool {
        let few = self.tables.stack_count().min(MANY_STACKS) as u32;
        let mut frames = (0..few).flat_map(|index| self.tables.frames(StackId(index)));
        frames.any(|frame| frame.file.contains(":\\"))
    }

    /// The release that the message's form belongs to.
    pub(crate) fn era(&self) -> Era {
        let message = self.message();
        if message.contains(" cached)") {
            Era::BeforeSettings
        } else if message.contains("reserved in total by PyTorch") {
            Era::BeforeExpandable
        } else {
            Era::Today
        }
    }

    /// The place in the program that a stack leads to.
    pub(crate) fn place(&self, stack: StackId) -> String {
        place(self.tables, stack)
    }
}

/// What PyTorch could do when its message looked as it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// Up to 1.3: the allocator has no settings.
    BeforeSettings,
    /// Up to 2.0: it has, but no expandable segments.
    BeforeExpandable,
    /// Since 2.1.
    Today,
}
