//! Recordings of programs that ran out of memory, made up: of a share of them it is known what would have helped.

use std::path::Path;

use anyhow::{Context, Result};
use harness::RecordedDevice;
use whyoom_allocators::{
    Device as _, Grant, Policy as _, Request,
    policies::pytorch::{PyTorch, PyTorchSettings},
};
use whyoom_recording::{Lease, Options, Part, now};
use whyoom_sources::recording::Ending;
use whyoom_trace::{
    Action, Address, Bytes, Counter, DeviceId, Event, Origin, PoolId, StreamId, ThreadId, Time,
};

const MIB: u64 = 1 << 20;
const CAPACITY: u64 = 4 << 30;
/// Nanoseconds between two events.
const PACE: u64 = 15_000;
/// So many of ten are fragmented: expandable segments serve the request that failed. The others hold more than the
/// GPU has, which no setting changes.
pub(super) const FRAGMENTED: usize = 3;

/// Writes a recording of a little more than so many events. No two numbers give the same.
pub(super) fn write(folder: &Path, number: usize, events: u64) -> Result<()> {
    let part = Part::create(folder, Options::default())?;
    let lease = part.lease(ThreadId(1))?;
    let mut run = Run {
        part: &part,
        lease,
        policy: PyTorch::new(PyTorchSettings::default()),
        device: RecordedDevice::new(CAPACITY),
        start: now(),
        events: 0,
    };
    let own = number as u64;
    run.alloc((1 + own) * 512)?;
    while run.events < events {
        run.step((16 + own % 16) * MIB)?;
    }
    let requested = if number % 10 < FRAGMENTED { run.fragment()? } else { run.fill()? };
    run.fail(requested)?;
    drop(run);
    drop(part);
    let command = ["python", "train.py"].map(str::to_owned).to_vec();
    let ending = Ending { command, pid: 1, status: Some(1), simulated: true, ..Ending::default() };
    Ok(ending.write(folder)?)
}

/// The run as it is recorded. PyTorch's allocator, as it is modelled, places the blocks.
struct Run<'a> {
    part: &'a Part,
    lease: Lease,
    policy: PyTorch,
    device: RecordedDevice,
    start: Time,
    events: u64,
}

impl Run<'_> {
    fn push(&mut self, action: Action) -> Result<()> {
        let origin = Origin { thread: ThreadId(1), device: DeviceId(0), ..Origin::default() };
        let time = Time(self.start.0 + self.events * PACE);
        self.events += 1;
        Ok(self.lease.event(self.part, &Event { time, origin, action, ..Event::default() })?)
    }

    /// Nothing where the request fails.
    fn try_alloc(&mut self, size: u64) -> Result<Option<Grant>> {
        let request = Request { size, stream: StreamId(0), pool: PoolId(0) };
        let granted = self.policy.alloc(request, &mut self.device);
        // Before it gives up, the allocator gives back what it can.
        for call in std::mem::take(&mut self.device.calls) {
            self.push(call)?;
        }
        let Ok(grant) = granted else { return Ok(None) };
        let (address, requested) = (Address(grant.address), Bytes(size));
        self.push(Action::BlockAlloc { address, requested, size: Bytes(grant.size) })?;
        Ok(Some(grant))
    }

    fn alloc(&mut self, size: u64) -> Result<Grant> {
        self.try_alloc(size)?.with_context(|| format!("{size} bytes do not fit yet"))
    }

    fn free(&mut self, grant: Grant) -> Result<()> {
        self.policy.free(grant.block, &mut self.device);
        self.push(Action::BlockFree { address: Address(grant.address) })
    }

    /// A step of training, which leaves nothing.
    fn step(&mut self, activation: u64) -> Result<()> {
        let kept: Vec<Grant> = (0..8).map(|_| self.alloc(activation)).collect::<Result<_>>()?;
        for grant in kept.into_iter().rev() {
            let gradient = self.alloc(activation / 2)?;
            self.free(grant)?;
            self.free(gradient)?;
        }
        Ok(())
    }

    /// Each length is larger than the one before, and leaves a block behind that pins its segment. The request that
    /// fails.
    fn fragment(&mut self) -> Result<u64> {
        for length in (280..).step_by(20) {
            let Some(whole) = self.try_alloc(length * MIB)? else { return Ok(length * MIB) };
            self.free(whole)?;
            let most = self.alloc((length - 30) * MIB)?;
            self.alloc(20 * MIB)?;
            self.free(most)?;
        }
        Ok(0)
    }

    /// Everything is kept. The request that fails.
    fn fill(&mut self) -> Result<u64> {
        let size = 96 * MIB;
        while self.try_alloc(size)?.is_some() {}
        Ok(size)
    }

    fn fail(&mut self, requested: u64) -> Result<()> {
        let in_use = self.device.in_use();
        for (counter, bytes) in [
            (Counter::DeviceTotal, CAPACITY),
            (Counter::DeviceFree, CAPACITY - in_use),
            (Counter::Reserved, in_use),
        ] {
            self.push(Action::Sample { counter, bytes: Bytes(bytes) })?;
        }
        self.push(Action::OutOfMemory { requested: Bytes(requested) })
    }
}
