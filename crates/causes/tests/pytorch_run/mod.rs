//! A run of PyTorch, told event by event.

#![allow(dead_code, reason = "each test file uses a part")]

use whyoom_causes::{self as causes, Ahead, Finding, Measured, Verdict, judge_on};
use whyoom_memory::Model;
use whyoom_trace::{
    Action, Address, Bytes, Counter, DeviceId, Event, EventSink, Origin, ProcessId, SegmentGrowth,
    SizeClass, StackId, Tables, facts::Fact,
};

pub(crate) const MIB: u64 = 1 << 20;
pub(crate) const GIB: u64 = 1 << 30;
pub(crate) const TORCH: (&str, &str, u32) = ("at::native::empty_cuda", "libtorch_cuda.so", 0);
pub(crate) const TRAIN: (&str, &str, u32) = ("main", "/home/me/train.py", 12);

/// A run of PyTorch on a device of 8 GiB, told event by event.
pub(crate) struct Run {
    pub(crate) tables: Tables,
    pub(crate) model: Model,
    process: ProcessId,
    pub(crate) stack: StackId,
    /// The run's command, with NUL between its words.
    command: String,
}

impl Run {
    pub(crate) fn new(frames: &[(&str, &str, u32)], settings: &[(&str, &str)]) -> Self {
        let mut tables = Tables::default();
        let process = tables.process("python train.py, process 41");
        let model = Model::default();
        let mut run = Self { tables, model, process, stack: StackId(0), command: String::new() };
        run.at(frames);
        // Whoever is recorded has a driver; a snapshot has none.
        run.push(Action::Reserve { address: Address(1), size: Bytes(1) });
        for (name, value) in settings {
            let (name, value) = (run.tables.string(name), run.tables.string(value));
            run.push(Action::Setting { name, value });
        }
        run
    }

    /// What follows comes from this stack, innermost frame first.
    pub(crate) fn at(&mut self, frames: &[(&str, &str, u32)]) {
        let tables = &mut self.tables;
        let ids: Vec<_> =
            frames.iter().map(|(f, file, line)| tables.frame_text(f, file, *line)).collect();
        self.stack = tables.stack(&ids);
    }

    /// The run's command, with zeros between its words.
    pub(crate) fn command(&mut self, words: &str) {
        words.clone_into(&mut self.command);
        let words = self.tables.string(words);
        self.push(Action::Fact { fact: Fact::Command { words } });
    }

    pub(crate) fn push(&mut self, action: Action) {
        let origin = Origin { process: self.process, device: DeviceId(0), ..Origin::default() };
        let event = Event { origin, stack: self.stack, action, ..Event::default() };
        self.model.event(&event, &self.tables);
    }

    pub(crate) fn segment(&mut self, address: u64, size: u64) {
        let (class, growth) = (SizeClass::Large, SegmentGrowth::Fixed);
        let (address, size) = (Address(address), Bytes(size));
        self.push(Action::SegmentAlloc { address, size, class, growth });
    }

    pub(crate) fn expandable(&mut self, address: u64, size: u64) {
        let class = SizeClass::Large;
        self.push(Action::SegmentMap { address: Address(address), size: Bytes(size), class });
    }

    pub(crate) fn block(&mut self, address: u64, size: u64) {
        let (address, size) = (Address(address), Bytes(size));
        self.push(Action::BlockAlloc { address, requested: size, size });
    }

    pub(crate) fn refused(&mut self, requested: u64, free: u64) -> Verdict {
        self.refuse(requested, free);
        self.judge_from(&causes::InputOrigin {
            running: (2..20_000).collect(),
            ..causes::InputOrigin::own(&[&self.command])
        })
    }

    /// A request that fails.
    pub(crate) fn refuse(&mut self, requested: u64, free: u64) {
        for (counter, bytes) in [(Counter::DeviceTotal, 8 * GIB), (Counter::DeviceFree, free)] {
            self.push(Action::Sample { counter, bytes: Bytes(bytes) });
        }
        self.push(Action::OutOfMemory { requested: Bytes(requested) });
    }

    pub(crate) fn judge_from(&self, origin: &causes::InputOrigin) -> Verdict {
        judge_on(&self.model, &self.tables, Measured::default(), origin, &Ahead::default())
    }
}

/// All that a finding advises: lines and words.
pub(crate) fn advice(finding: &Finding) -> String {
    let words = finding.remedies.iter().flat_map(|one| [one.code(), Some(&one.what)]);
    words.flatten().collect::<Vec<_>>().join("\n")
}
