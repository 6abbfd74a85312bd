//! What a cause looks at: one moment at which memory ran out, or one space in which it did not.

use whyoom_memory::{Growth, Incident, Model, Space};
use whyoom_trace::{Bytes, Counter, DeviceId, ProcessId, Software, StackId, Symptom, Tables};

use crate::finding::{Basis, Evidence, Finding, Remedy, Strength};

/// A context takes some hundred MiB, on old GPUs up to 725: less than this beside the allocator's
/// own memory is no riddle.
pub(crate) const CONTEXT_ALLOWANCE: Bytes = Bytes(1 << 30);

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
    /// What was asked for.
    pub requested: Option<Bytes>,
    /// The device's capacity.
    pub capacity: Option<Bytes>,
    /// What the device had free.
    pub free: Option<Bytes>,
    /// What the allocator had given to the program.
    pub allocated: Option<Bytes>,
    /// What the allocator held.
    pub reserved: Option<Bytes>,
    /// Free in the allocator's default pool.
    pub cached: Option<Bytes>,
    /// Free in the allocator's private pools.
    pub private_free: Option<Bytes>,
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
            capacity: counter(Counter::DeviceTotal),
            free: counter(Counter::DeviceFree),
            allocated: counter(Counter::Allocated),
            reserved: counter(Counter::Reserved),
            cached: counter(Counter::Cached),
            private_free: counter(Counter::PrivateFree),
            allowed: counter(Counter::Allowed),
            process_used: counter(Counter::ProcessUsed),
            others: incident.holders.clone(),
            processes_listed: !incident.holders.is_empty()
                || counter(Counter::ProcessUsed).is_some(),
            basis: Some(Basis::Message),
        };
        if let Some(totals) = incident.totals {
            situation.allocated = Some(totals.active);
            situation.reserved = Some(totals.reserved);
            situation.basis = Some(Basis::Recorded);
        }
        if let Some(space) = &incident.free_space {
            situation.cached = Some(space.usable);
            situation.private_free = Some(space.other_pools);
        } else {
            situation.correct_private_pools();
        }
        situation.complete_sums();
        situation.take_self_out_of_others();
        situation
    }

    /// PyTorch's message counts the free bytes of private pools as allocated.
    fn correct_private_pools(&mut self) {
        if let (Some(allocated), Some(private)) = (self.allocated, self.private_free) {
            self.reserved = self.reserved.or_else(|| Some(allocated.plus(self.cached?)));
            self.allocated = Some(allocated.minus(private));
        }
    }

    fn complete_sums(&mut self) {
        let (allocated, cached) = (self.allocated, self.cached);
        self.reserved = self.reserved.or_else(|| Some(allocated?.plus(cached?)));
        self.cached = cached.or_else(|| Some(self.reserved?.minus(allocated?)));
    }

    /// In a container the message does not know its own process: there, the one that holds what the
    /// allocator holds is this one.
    fn take_self_out_of_others(&mut self) {
        let Some(reserved) = self.reserved.filter(|_| self.process_used.is_none()) else { return };
        let own = self
            .others
            .iter()
            .enumerate()
            .filter(|(_, (_, bytes))| bytes.plus(Bytes(64 << 20)) >= reserved)
            .min_by_key(|(_, (_, bytes))| *bytes)
            .map(|(index, _)| index);
        if let Some(index) = own {
            self.process_used = Some(self.others.remove(index).1);
        }
    }

    /// What the device lacked for the request.
    #[must_use]
    pub fn lacking(&self) -> Option<Bytes> {
        Some(self.requested?.minus(self.free.unwrap_or(Bytes::ZERO)))
    }

    /// Whether clearly more was free on the device than was asked for. Printed figures are rounded,
    /// so a hundredth makes no difference.
    #[must_use]
    pub fn enough_was_free(&self) -> bool {
        self.requested
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
            ("allocated by its allocator", self.allocated),
            ("reserved by its allocator", self.reserved),
            ("free in its cache", self.cached),
            ("free in private pools", self.private_free.filter(|bytes| *bytes > Bytes::ZERO)),
        ];
        let mut evidence: Vec<Evidence> = rows
            .into_iter()
            .filter_map(|(label, bytes)| Some(Evidence::bytes(label, bytes?, basis)))
            .collect();
        for (pid, bytes) in &self.others {
            evidence.push(Evidence::bytes(format!("in use by process {pid}"), *bytes, basis));
        }
        evidence
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
    pub(crate) fn export_conf(&self, option: &str) -> String {
        let variable = if self.message().contains("HIP out of memory") {
            "PYTORCH_HIP_ALLOC_CONF"
        } else {
            "PYTORCH_CUDA_ALLOC_CONF"
        };
        match self.allocator_conf() {
            "" => format!("export {variable}={option}"),
            conf => format!("export {variable}={conf},{option}"),
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
            None => "no Python frame recorded".to_owned(),
        }
    }

    /// Remedies that a larger or emptier device would make needless, for what must shrink by `by`.
    pub(crate) fn shrink(&self, by: Bytes) -> Vec<Remedy> {
        let target = format!("this run must shrink by at least {by}");
        vec![
            Remedy::advice(format!(
                "lower the batch size or the sequence length: {target}, and activations shrink in \
                 proportion"
            )),
            Remedy::line(
                "model.gradient_checkpointing_enable()",
                "recompute activations in backward instead of keeping them (Hugging Face models; \
                 torch.utils.checkpoint elsewhere)",
            ),
            Remedy::line(
                "with torch.autocast(\"cuda\", dtype=torch.bfloat16):",
                "run forward in half the bytes",
            ),
        ]
    }
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
