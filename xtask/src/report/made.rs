//! A recording of a training run of any length, made up: a language model whose program keeps something of
//! every step until memory runs out. PyTorch's allocator, as it is modelled, places its blocks.

use std::path::Path;

use anyhow::{Result, ensure};
use harness::RecordedDevice;
use whyoom_allocators::{
    Device as _, Grant, Policy as _, Request,
    policies::pytorch::{PyTorch, PyTorchSettings},
};
use whyoom_recording::{Definition, Lease, Options, Part, RawFrame, now};
use whyoom_sources::recording::Ending;
use whyoom_trace::{
    Action, Address, Bytes, Counter, DeviceId, Event, FrameId, Origin, PoolId, StackId, StreamId,
    StringId, ThreadId, Time,
};

const MIB: u64 = 1 << 20;
const CAPACITY: u64 = 80 << 30;
const LAYERS: u32 = 32;
/// What a layer's forward pass keeps for the backward pass, and what lies between for a moment.
const KEPT: [u64; 10] = [8, 1, 8, 8, 8, 16, 16, 8, 21, 21];
const PASSING: [u64; 4] = [8, 2, 16, 1];
const WEIGHTS: [u64; 6] = [16, 16, 16, 16, 43, 43];
/// What the program keeps of every step, in MiB.
pub(super) const LEFT: u64 = 6;
/// What the last request asks for beyond what is left.
const MISSING: u64 = 2 << 30;
/// Nanoseconds between two events.
const PACE: u64 = 15_000;

/// Places of the program: how many stacks of each.
const PLACES: [(&str, &str); 6] = [
    ("Attention.forward", "/home/me/project/attention.py"),
    ("FeedForward.forward", "/home/me/project/feed_forward.py"),
    ("Block.__init__", "/home/me/project/block.py"),
    ("AdamW.step", "/usr/lib/python3/dist-packages/torch/optim/adamw.py"),
    ("Tensor.backward", "/usr/lib/python3/dist-packages/torch/_tensor.py"),
    ("remember", "/home/me/project/train.py"),
];
/// Stacks of each place: a model of that many lines, called from its layers.
const STACKS_EACH: u32 = 400;

/// Writes a recording of at least so many events, whose program keeps so many MiB of every step; how many events they
/// are.
pub(super) fn write(folder: &Path, events: u64, left: u64) -> Result<u64> {
    let part = Part::create(folder, Options::default())?;
    define(&part)?;
    let lease = part.lease(ThreadId(1))?;
    let mut run = Run::new(&part, lease, left * MIB);
    run.model()?;
    while run.events < events {
        run.step()?;
    }
    run.fail()?;
    let written = run.events;
    drop(run);
    drop(part);
    let ending = Ending {
        command: ["python", "train.py"].map(str::to_owned).to_vec(),
        pid: std::process::id(),
        status: Some(1),
        simulated: true,
        ..Ending::default()
    };
    ending.write(folder)?;
    Ok(written)
}

/// Defines the stacks: each leads from the program through a module to a line.
fn define(part: &Part) -> Result<()> {
    let mut strings = 0;
    let mut string = |text: &str| -> Result<StringId> {
        strings += 1;
        part.define(Definition::String { id: StringId(strings), text: text.as_bytes() })?;
        Ok(StringId(strings))
    };
    let (main, train) = (string("main")?, string("/home/me/project/train.py")?);
    let outer = FrameId(1);
    part.define(Definition::Frame { id: outer, function: main, file: train, line: 120 })?;
    let (mut frames, mut stacks) = (1, 0);
    for (function, file) in PLACES {
        let (function, file) = (string(function)?, string(file)?);
        for index in 0..STACKS_EACH {
            frames += 1;
            let (id, line) = (FrameId(frames), 10 + index % 40);
            part.define(Definition::Frame { id, function, file, line })?;
            let native = (0..12).map(|depth| RawFrame::Native(0x7f12_0000_0000 + depth * 64));
            let python = [RawFrame::Named(id), RawFrame::Named(outer)];
            let stack: Vec<RawFrame> = native.chain(python).collect();
            stacks += 1;
            part.define(Definition::Stack { id: StackId(stacks), frames: &stack })?;
        }
    }
    Ok(())
}

/// A stack of one of the places.
fn stack(place: u32, index: u32) -> StackId {
    StackId(1 + place * STACKS_EACH + index % STACKS_EACH)
}

/// The run as it is recorded.
struct Run<'a> {
    part: &'a Part,
    lease: Lease,
    policy: PyTorch,
    device: RecordedDevice,
    start: Time,
    events: u64,
    /// What is kept of every step.
    left: u64,
}

impl<'a> Run<'a> {
    fn new(part: &'a Part, lease: Lease, left: u64) -> Self {
        let device = RecordedDevice::new(CAPACITY);
        let policy = PyTorch::new(PyTorchSettings::default());
        Self { part, lease, policy, device, start: now(), events: 0, left }
    }

    fn push(&mut self, stack: StackId, action: Action) -> Result<()> {
        let origin = Origin { thread: ThreadId(1), device: DeviceId(0), ..Origin::default() };
        let time = Time(self.start.0 + self.events * PACE);
        self.events += 1;
        let event = Event { time, origin, stack, action, ..Event::default() };
        Ok(self.lease.event(self.part, &event)?)
    }

    fn alloc(&mut self, stack: StackId, size: u64) -> Result<Grant> {
        let request = Request { size, stream: StreamId(0), pool: PoolId(0) };
        let grant = self.policy.alloc(request, &mut self.device)?;
        for call in std::mem::take(&mut self.device.calls) {
            self.push(stack, call)?;
        }
        let action = Action::BlockAlloc {
            address: Address(grant.address),
            requested: Bytes(size),
            size: Bytes(grant.size),
        };
        self.push(stack, action)?;
        Ok(grant)
    }

    fn free(&mut self, grant: Grant) -> Result<()> {
        self.policy.free(grant.block, &mut self.device);
        self.push(StackId(0), Action::BlockFree { address: Address(grant.address) })
    }

    /// Weights, and the optimizer's two moments of each.
    fn model(&mut self) -> Result<()> {
        for layer in 0..LAYERS {
            for (index, size) in (0..).zip(WEIGHTS) {
                self.alloc(stack(2, layer * 8 + index), size * MIB)?;
                self.alloc(stack(3, layer * 8 + index), size * MIB)?;
                self.alloc(stack(3, layer * 8 + index + 1), size * MIB)?;
            }
        }
        Ok(())
    }

    /// A step: forward, backward, and what the program remembers of it.
    fn step(&mut self) -> Result<()> {
        let mut kept = Vec::new();
        for layer in 0..LAYERS {
            for (index, size) in (0..).zip(KEPT) {
                let place = u32::from(index >= 5);
                kept.push(self.alloc(stack(place, layer * 12 + index), size * MIB)?);
                let passing = PASSING[index as usize % PASSING.len()];
                let passing = self.alloc(stack(place, layer * 12 + index), passing << 18)?;
                self.free(passing)?;
            }
        }
        let mut gradients = Vec::new();
        for (index, grant) in (0..).zip(kept.into_iter().rev()) {
            if index % 2 == 0 {
                gradients.push(self.alloc(stack(4, index), 4 * MIB)?);
            }
            self.free(grant)?;
        }
        for grant in gradients {
            self.free(grant)?;
        }
        self.alloc(stack(5, 0), self.left)?;
        Ok(())
    }

    /// A request that there is no room for.
    fn fail(&mut self) -> Result<()> {
        let in_use = self.device.in_use();
        let requested = CAPACITY.saturating_sub(in_use) + MISSING;
        let samples = [
            (Counter::DeviceTotal, CAPACITY),
            (Counter::DeviceFree, CAPACITY.saturating_sub(in_use)),
            (Counter::Reserved, in_use),
        ];
        for (counter, bytes) in samples {
            self.push(stack(1, 0), Action::Sample { counter, bytes: Bytes(bytes) })?;
        }
        ensure!(in_use < CAPACITY, "the run outgrew its device");
        self.push(stack(1, 0), Action::OutOfMemory { requested: Bytes(requested) })
    }
}
