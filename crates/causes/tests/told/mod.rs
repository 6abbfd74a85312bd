//! A run that a test tells event by event.

use whyoom_causes::{self as causes, Ahead, Measured, Verdict, judge_on};
use whyoom_memory::Model;
use whyoom_trace::{
    Action, Bytes, ContextId, Counter, DeviceId, Event, EventSink, Origin, ProcessId, ResultCode,
    StackId, Tables, Time,
};

pub(crate) const MIB: u64 = 1 << 20;
pub(crate) const GIB: u64 = 1 << 30;
pub(crate) const GPU: DeviceId = DeviceId(0);

pub(crate) struct Run {
    pub(crate) tables: Tables,
    pub(crate) model: Model,
    pub(crate) process: ProcessId,
    clock: u64,
}

impl Run {
    pub(crate) fn new() -> Self {
        let mut tables = Tables::default();
        let process = tables.process("python train.py, process 41");
        Self { tables, model: Model::default(), process, clock: 0 }
    }

    /// A stack, innermost frame first: function, file, line.
    pub(crate) fn stack(&mut self, frames: &[(&str, &str, u32)]) -> StackId {
        let ids: Vec<_> =
            frames.iter().map(|(f, file, line)| self.tables.frame_text(f, file, *line)).collect();
        self.tables.stack(&ids)
    }

    pub(crate) fn on(&mut self, origin: Origin, stack: StackId, result: i32, action: Action) {
        self.clock += 1000;
        let (time, result) = (Time(self.clock), ResultCode(result));
        self.model.event(&Event { time, origin, stack, result, action }, &self.tables);
    }

    pub(crate) fn origin(&self, device: DeviceId) -> Origin {
        Origin { process: self.process, device, context: ContextId(1), ..Origin::default() }
    }

    pub(crate) fn push(&mut self, stack: StackId, action: Action) {
        self.on(self.origin(GPU), stack, 0, action);
    }

    pub(crate) fn sample(&mut self, counter: Counter, bytes: u64) {
        self.push(StackId(0), Action::Sample { counter, bytes: Bytes(bytes) });
    }

    /// A request that the driver (2) or the allocator (0) refuses, on a device of 8 GiB.
    pub(crate) fn refused(&mut self, stack: StackId, requested: u64, free: u64, result: i32) {
        self.sample(Counter::DeviceTotal, 8 * GIB);
        self.sample(Counter::DeviceFree, free);
        let requested = Bytes(requested);
        self.on(self.origin(GPU), stack, result, Action::OutOfMemory { requested });
    }

    pub(crate) fn exit(&mut self) {
        self.push(StackId(0), Action::Exit);
    }

    /// Judges it as this user's own recording, whose processes still run.
    pub(crate) fn judge(&self) -> Verdict {
        self.judge_from(&causes::InputOrigin {
            running: (2..20_000).collect(),
            ..causes::InputOrigin::own(&["./program"])
        })
    }

    pub(crate) fn judge_from(&self, origin: &causes::InputOrigin) -> Verdict {
        judge_on(&self.model, &self.tables, Measured::default(), origin, &Ahead::default())
    }
}
