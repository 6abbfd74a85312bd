//! What a cause looks at: one moment at which memory ran out, or one space in which it did not.

use whyoom_memory::{Category, Growth, Incident, Model, Space, Usage};
use whyoom_trace::{Bytes, Counter, DeviceId, ProcessId, Software, StackId, Symptom, Tables};

use crate::finding::{Basis, Evidence, Finding, Strength};

/// A context takes some hundred MiB, on old GPUs up to 725: less than this beside the allocator's
/// own memory is no riddle.
pub(crate) const CONTEXT_ALLOWANCE: Bytes = Bytes(1 << 30);

/// Stacks beyond these hold too little to be listed.
const MANY_STACKS: usize = 64;

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

/// The figures of a moment at which memory ran out. What nobody told is missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Situation {
    /// What was asked for: of the driver, where a message tells it; of the allocator, where it was
    /// recorded.
    pub requested: Option<Bytes>,
    /// What the driver was asked for.
    pub asked_of_driver: Option<Bytes>,
    /// The device's capacity.
    pub capacity: Option<Bytes>,
    /// What the device had free.
    pub free: Option<Bytes>,
    /// What the allocator had given to the program.
    pub allocated: Option<Bytes>,
    /// What the allocator held.
    pub reserved: Option<Bytes>,
    /// Free in the allocator, and usable by this request as far as is known.
    pub cached: Option<Bytes>,
    /// Free in the allocator's private pools.
    pub private_free: Option<Bytes>,
    /// Free in segments of other streams, which the request could not use.
    pub other_streams: Option<Bytes>,
    /// A cap on the process.
    pub allowed: Option<Bytes>,
    /// What this process used, with what its allocator does not know of.
    pub process_used: Option<Bytes>,
    /// Other processes that were seen to hold memory.
    pub others: Vec<(u32, Bytes)>,
    /// Whether anything told which processes hold memory.
    pub processes_listed: bool,
    /// Where the figures came from.
    pub basis: Option<Basis>,
}

impl Situation {
    /// The figures of an incident.
    #[must_use]
    pub fn of(incident: &Incident) -> Self {
        let counter = |counter| incident.counter(counter);
        let mut situation = Self {
            requested: incident.requested(),
            asked_of_driver: incident.requested(),
            capacity: counter(Counter::DeviceTotal),
            free: counter(Counter::DeviceFree),
            allocated: counter(Counter::Allocated),
            reserved: counter(Counter::Reserved),
            cached: counter(Counter::Cached),
            private_free: counter(Counter::PrivateFree),
            other_streams: None,
            allowed: counter(Counter::Allowed),
            process_used: counter(Counter::ProcessUsed),
            others: incident.holders.clone(),
            processes_listed: !incident.holders.is_empty()
                || counter(Counter::ProcessUsed).is_some(),
            basis: Some(Basis::Message),
        };
        match incident.totals {
            Some(_) => situation.take_recorded(incident),
            None => situation.complete_message(),
        }
        situation.take_self_out_of_others();
        situation
    }

    /// The figures of a recording: its blocks are known.
    fn take_recorded(&mut self, incident: &Incident) {
        self.basis = Some(Basis::Recorded);
        self.asked_of_driver = self.requested.map(segment_for);
        self.allocated = incident.totals.map(|totals| totals.active);
        self.reserved = incident.totals.map(|totals| totals.reserved);
        // Not every incident's address map was measured; without it nothing is known of the cache.
        self.cached = incident.free_space.as_ref().map(|space| space.usable);
        self.private_free = incident.free_space.as_ref().map(|space| space.private_pools);
        self.other_streams = incident.free_space.as_ref().map(|space| space.other_streams);
    }

    /// The figures of a message: what it leaves out follows from the rest.
    fn complete_message(&mut self) {
        let (allocated, cached) = (self.allocated, self.cached);
        self.reserved = self.reserved.or_else(|| Some(allocated?.plus(cached?)));
        self.cached = cached.or_else(|| Some(self.reserved?.minus(allocated?)));
        // PyTorch's message counts the free bytes of private pools as allocated.
        if let (Some(allocated), Some(private)) = (allocated, self.private_free) {
            self.allocated = Some(allocated.minus(private));
        }
    }

    /// In a container the message does not know its own process: there, the one that holds about
    /// what the allocator holds is this one.
    fn take_self_out_of_others(&mut self) {
        let Some(reserved) = self.reserved.filter(|_| self.process_used.is_none()) else { return };
        let at_most = Bytes(reserved.0 / 4).plus(reserved).plus(CONTEXT_ALLOWANCE);
        let own = self
            .others
            .iter()
            .enumerate()
            .filter(|(_, (_, bytes))| bytes.plus(Bytes(64 << 20)) >= reserved && *bytes <= at_most)
            .min_by_key(|(_, (_, bytes))| *bytes)
            .map(|(index, _)| index);
        if let Some(index) = own {
            self.process_used = Some(self.others.remove(index).1);
        }
    }

    /// What was missing for the request. Printed figures are rounded, so it is never less than a
    /// hundredth of the request.
    #[must_use]
    pub fn lacking(&self) -> Option<Bytes> {
        let asked = self.asked_of_driver?;
        let of_device = asked.minus(self.free.unwrap_or(Bytes::ZERO));
        // Windows lends host memory: then more is in use than the device has.
        let over =
            self.allocated.zip(self.capacity).map_or(Bytes::ZERO, |(allocated, capacity)| {
                if allocated > capacity {
                    allocated.plus(asked).minus(capacity)
                } else {
                    Bytes::ZERO
                }
            });
        Some(of_device.max(over).max(Bytes(asked.0 / 100)))
    }

    /// Whether clearly more was free on the device than was asked for. Printed figures are rounded,
    /// so a hundredth makes no difference.
    #[must_use]
    pub fn enough_was_free(&self) -> bool {
        self.asked_of_driver
            .zip(self.free)
            .is_some_and(|(requested, free)| free.0 > requested.0.saturating_add(requested.0 / 100))
    }

    /// What other processes were seen to hold.
    #[must_use]
    pub fn others_hold(&self) -> Bytes {
        self.others.iter().map(|(_, bytes)| *bytes).sum()
    }

    /// What is in use on the device and belongs to nothing that was told of.
    #[must_use]
    pub fn unexplained(&self) -> Option<Bytes> {
        let in_use = self.capacity?.minus(self.free?);
        let own = self.process_used.or(self.reserved)?;
        Some(in_use.minus(own).minus(self.others_hold()))
    }

    /// What this process holds beside its allocator's memory.
    #[must_use]
    pub fn outside_allocator(&self) -> Option<Bytes> {
        Some(self.process_used?.minus(self.reserved?))
    }

    /// Whether the device, or the cap, would not do even if this process had it for itself.
    #[must_use]
    pub fn too_much_alone(&self) -> Option<bool> {
        let room = match (self.capacity, self.allowed) {
            (Some(capacity), Some(allowed)) => capacity.min(allowed),
            (capacity, allowed) => capacity.or(allowed)?,
        };
        Some(self.allocated?.plus(self.requested?) > room)
    }

    /// The figures as evidence.
    #[must_use]
    pub fn evidence(&self) -> Vec<Evidence> {
        let basis = self.basis.unwrap_or(Basis::Message);
        let rows = [
            ("asked for", self.requested),
            ("device capacity", self.capacity),
            ("free on the device", self.free),
            ("cap on this process", self.allowed),
            ("in use by this process", self.process_used),
            ("in use in its allocator", self.allocated),
            ("held by its allocator", self.reserved),
            ("free in its allocator", self.cached),
            ("free in private pools", some(self.private_free)),
            ("free on other streams", some(self.other_streams)),
        ];
        let mut evidence: Vec<Evidence> = rows
            .into_iter()
            .filter_map(|(label, bytes)| Some(Evidence::bytes(label, bytes?, basis)))
            .collect();
        // The message prints another figure: what is shown is corrected for private pools.
        if basis == Basis::Message && some(self.private_free).is_some() {
            for row in evidence.iter_mut().filter(|row| row.label == "in use in its allocator") {
                row.basis = Basis::Computed;
            }
        }
        for (pid, bytes) in &self.others {
            evidence.push(Evidence::bytes(format!("in use by process {pid}"), *bytes, basis));
        }
        evidence
    }
}

/// An amount that is not nothing.
fn some(bytes: Option<Bytes>) -> Option<Bytes> {
    bytes.filter(|bytes| *bytes > Bytes::ZERO)
}

/// The segment that PyTorch asks the driver for to serve a request.
fn segment_for(requested: Bytes) -> Bytes {
    const MIB: u64 = 1 << 20;
    match requested.0 {
        0..=MIB => Bytes(2 * MIB),
        size if size < 10 * MIB => Bytes(20 * MIB),
        size => Bytes(size.checked_next_multiple_of(2 * MIB).unwrap_or(u64::MAX)),
    }
}

impl<'a> Scene<'a> {
    /// A finding of `cause` in this scene, with the situation's figures as evidence.
    pub(crate) fn finding(
        &self,
        cause: &'static str,
        strength: Strength,
        headline: impl Into<String>,
        because: impl Into<String>,
    ) -> Finding {
        Finding {
            cause,
            strength,
            headline: headline.into(),
            because: because.into(),
            gives_back: None,
            evidence: self.situation.evidence(),
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

    /// A setting of this process's allocator, from its snapshot or from the log.
    pub(crate) fn setting(&self, name: &str) -> Option<&'a str> {
        self.model.setting(self.process, name)
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
            || self.space.is_some_and(|space| space.segment_kinds().0)
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
        let name = option.split(':').next().unwrap_or(option);
        // It comes from a file, and goes into a shell: only what a setting can hold is kept.
        let harmless = |c: char| c.is_ascii_alphanumeric() || "_:,.-".contains(c);
        let kept = self.allocator_conf().split(',').filter(|part| {
            !part.is_empty() && part.chars().all(harmless) && !part.starts_with(name)
        });
        let options: Vec<&str> = kept.chain([option]).collect();
        let command = if self.on_windows() { "set" } else { "export" };
        format!("{command} {variable}={}", options.join(","))
    }

    /// What a category held at the peak, where it held anything.
    pub(crate) fn peak_of(&self, wanted: Category) -> Option<Bytes> {
        let peak = self.space?.peak_by_category();
        peak.iter().find(|(category, _)| *category == wanted).map(|(_, usage)| usage.bytes)
    }

    /// Whether the failed request came from a model that generates.
    pub(crate) fn is_generating(&self) -> bool {
        let stack = self.incident.map_or(StackId(0), |incident| incident.stack);
        self.tables.frames(stack).any(|frame| frame.is_python() && frame.function == "generate")
    }

    /// Sums by stack as sums by place, the most first: several stacks may lead to one line.
    pub(crate) fn by_place(&self, stacks: Vec<(StackId, Usage)>) -> Vec<(String, Bytes)> {
        let mut places: Vec<(String, Bytes)> = Vec::new();
        for (stack, usage) in stacks.into_iter().take(MANY_STACKS) {
            let place = self.place(stack);
            match places.iter_mut().find(|(known, _)| *known == place) {
                Some((_, bytes)) => *bytes = bytes.plus(usage.bytes),
                None => places.push((place, usage.bytes)),
            }
        }
        places.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        places
    }

    /// Whether the traceback is of a program on Windows.
    pub(crate) fn on_windows(&self) -> bool {
        let stack = self.incident.map_or(StackId(0), |incident| incident.stack);
        self.tables.frames(stack).any(|frame| frame.file.contains(":\\"))
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

    /// The place in the program that a stack leads to: its innermost frame outside libraries.
    pub(crate) fn place(&self, stack: StackId) -> String {
        let in_library = |file: &str| {
            file.contains("site-packages")
                || file.contains("dist-packages")
                || file.contains("/lib/python")
        };
        let python = || self.tables.frames(stack).filter(whyoom_trace::FrameText::is_python);
        let own = python().find(|frame| !in_library(frame.file));
        if let Some(frame) = own.or_else(|| python().next()) {
            return format!("{}:{} {}", short(frame.file), frame.line, frame.function);
        }
        let backward = self.tables.frames(stack).find_map(|frame| autograd_node(frame.function));
        match backward {
            Some(node) => format!("backward of {node}"),
            None => "unknown places (no Python frame)".to_owned(),
        }
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

/// The last two parts of a path.
fn short(path: &str) -> &str {
    let mut slashes = path.rmatch_indices('/');
    slashes.nth(1).map_or(path, |(at, _)| &path[at + 1..])
}

/// The autograd node that a C++ frame belongs to: `MulBackward0`.
fn autograd_node(function: &str) -> Option<&str> {
    let node = function.strip_prefix("torch::autograd::generated::")?;
    let node = &node[..node.find("::")?];
    node.contains("Backward").then_some(node)
}
