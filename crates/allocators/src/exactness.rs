//! Whether the model of PyTorch's allocator does what the recorded one did.

use std::{
    collections::{HashMap, VecDeque},
    ops::Range,
};

use whyoom_trace::{Address, SizeClass};

use crate::{
    device::{Device, Handle},
    policies::{
        pytorch::{AdoptedSegment, PyTorch, PyTorchSettings},
        stitch::Stitch,
    },
    policy::{BlockId, Policy},
    simulated::SimulatedDevice,
    step::{Item, Segment, Step, recorded_reserved},
    workload::Workload,
};

/// How far the model agrees with a recording.
#[derive(Clone, Debug, Default)]
pub struct Agreement {
    /// Allocations of the history.
    pub allocations: usize,
    /// Those that the model put elsewhere.
    pub misses: Vec<Mismatch>,
}

/// An allocation that the model put elsewhere than the recording has it.
#[derive(Clone, Copy, Debug)]
pub struct Mismatch {
    /// The step in the workload.
    pub step: usize,
    /// What was asked for.
    pub size: u64,
    /// Where the recording has it.
    pub recorded: u64,
    /// Where the model put it.
    pub model: u64,
}

/// Follows a recording of PyTorch's native allocator: every allocation's address.
///
/// The device gives the addresses that the recording has. After a miss the model is set right, so
/// that each miss stands for itself.
#[must_use]
pub fn follow(workload: &Workload, settings: &PyTorchSettings) -> Agreement {
    let mut follower = Follower::start(workload, settings);
    for (index, step) in workload.steps.iter().enumerate().skip(workload.restored) {
        // What comes behind is not compared: the count of allocations tells.
        if follower.device.other.is_spent() {
            break;
        }
        follower.step(index, step);
    }
    follower.agreement
}

/// Where the model had another amount reserved than the recorded allocator.
#[derive(Clone, Copy, Debug)]
pub struct Difference {
    /// The step in the workload.
    pub step: usize,
    /// What the model had.
    pub model: u64,
    /// What the recording has.
    pub recorded: u64,
}

/// Replays a recording under its own settings, on a device of its own capacity: how many of the
/// program's steps there are, and those after which the reserved bytes differ.
#[must_use]
pub fn compare_reserved(
    workload: &Workload,
    settings: &PyTorchSettings,
    capacity: u64,
) -> (usize, Vec<Difference>) {
    let mut model = PyTorch::new(settings.clone());
    compare(workload, &mut model, capacity, |model, _| model.reserved())
}

/// The same for a recording of whyoom's pool, which keeps to one policy.
#[must_use]
pub fn compare_pool(
    workload: &Workload,
    device_total: u64,
    capacity: u64,
) -> (usize, Vec<Difference>) {
    compare(workload, &mut Stitch::new(device_total), capacity, |_, device| device.in_use())
}

fn compare<P: Policy>(
    workload: &Workload,
    model: &mut P,
    capacity: u64,
    reserved: impl Fn(&P, &SimulatedDevice) -> u64,
) -> (usize, Vec<Difference>) {
    let recorded = recorded_reserved(&workload.steps);
    let mut device = SimulatedDevice::for_steps(capacity, workload.steps.len());
    let mut live: HashMap<Item, BlockId> = HashMap::new();
    let (mut compared, mut differences) = (0, Vec::new());
    for (index, step) in workload.steps.iter().enumerate() {
        // What comes behind is not compared: the count of steps tells.
        if device.is_spent() {
            break;
        }
        match *step {
            Step::Alloc { item, request, .. } => {
                if let Ok(grant) = model.alloc(request, &mut device) {
                    live.insert(item, grant.block);
                }
            }
            Step::Free { item } => {
                if let Some(block) = live.remove(&item) {
                    model.free(block, &mut device);
                }
            }
            Step::OutOfMemory { request, .. } => {
                if let Ok(grant) = model.alloc(request, &mut device) {
                    model.free(grant.block, &mut device);
                }
            }
            // What they give back follows in the recording: the next step compares it.
            Step::EmptyCache => model.release_cached(&mut device),
            Step::RetirePool { pool } => model.retire_pool(pool, &mut device),
            _ => {}
        }
        let of_program =
            matches!(step, Step::Alloc { .. } | Step::Free { .. } | Step::OutOfMemory { .. });
        if of_program {
            compared += 1;
            let (model, recorded) = (reserved(model, &device), recorded[index]);
            if model != recorded {
                differences.push(Difference { step: index, model, recorded });
            }
        }
    }
    (compared, differences)
}

struct Follower {
    model: PyTorch,
    device: RecordedDevice,
    live: HashMap<Item, BlockId>,
    agreement: Agreement,
}

impl Follower {
    fn start(workload: &Workload, settings: &PyTorchSettings) -> Self {
        let (restored, history) = workload.steps.split_at(workload.restored);
        let mut model = PyTorch::new(settings.clone());
        let mut live = HashMap::new();
        for (segment, items) in segments_at_start(restored) {
            let blocks = model.adopt(&segment);
            live.extend(items.into_iter().zip(blocks));
        }
        let device = RecordedDevice::new(history, workload.steps.len());
        Self { model, device, live, agreement: Agreement::default() }
    }

    fn step(&mut self, index: usize, step: &Step) {
        match *step {
            Step::Alloc { item, request, address, size, .. } => {
                self.agreement.allocations += 1;
                let granted = self.model.alloc(request, &mut self.device);
                let model = granted.map_or(0, |grant| grant.address);
                if let Ok(grant) = granted
                    && grant.address == address.0
                {
                    self.live.insert(item, grant.block);
                    return;
                }
                let miss = Mismatch { step: index, size: request.size, recorded: address.0, model };
                self.agreement.misses.push(miss);
                if let Ok(grant) = granted {
                    self.model.free(grant.block, &mut self.device);
                }
                if let Some(block) = self.model.place_at(address.0, size.0, &mut self.device) {
                    self.live.insert(item, block);
                }
            }
            Step::Free { item } => {
                if let Some(block) = self.live.remove(&item) {
                    self.model.free(block, &mut self.device);
                }
            }
            Step::EmptyCache => self.model.release_cached(&mut self.device),
            Step::RetirePool { pool } => self.model.retire_pool(pool, &mut self.device),
            Step::OutOfMemory { request, .. } => {
                if let Ok(grant) = self.model.alloc(request, &mut self.device) {
                    self.model.free(grant.block, &mut self.device);
                }
            }
            Step::SegmentAlloc(_)
            | Step::SegmentFree { .. }
            | Step::SegmentMap(_)
            | Step::SegmentUnmap { .. } => {}
        }
    }
}

/// The segments that the history starts with, each with its live blocks and their items.
fn segments_at_start(restored: &[Step]) -> Vec<(AdoptedSegment, Vec<Item>)> {
    let mut live: Vec<(Address, u64, Item)> = Vec::new();
    let mut segments: Vec<Segment> = Vec::new();
    for step in restored {
        match *step {
            Step::Alloc { item, address, size, .. } => live.push((address, size.0, item)),
            Step::SegmentAlloc(segment) | Step::SegmentMap(segment) => segments.push(segment),
            _ => {}
        }
    }
    live.sort_unstable_by_key(|(address, ..)| *address);
    // Each block is of one segment: those of a damaged file may lie over each other.
    let mut owned = vec![0..0; segments.len()];
    let mut order: Vec<usize> = (0..segments.len()).collect();
    order.sort_by_key(|&index| segments[index].address);
    let mut next = 0;
    for index in order {
        let (start, end) = (segments[index].address, segments[index].end());
        let first = next + live[next..].partition_point(|(address, ..)| *address < start);
        next = first + live[first..].partition_point(|(address, ..)| *address < end);
        owned[index] = first..next;
    }
    let adopted = |(segment, owned): (Segment, Range<usize>)| {
        let inside = live[owned].iter();
        let (blocks, items) =
            inside.map(|(address, size, item)| ((address.0, *size), *item)).unzip();
        let segment = AdoptedSegment {
            address: segment.address.0,
            size: segment.size.0,
            stream: segment.stream.0,
            pool: segment.pool,
            small: segment.class == SizeClass::Small,
            live: blocks,
        };
        (segment, items)
    };
    segments.into_iter().zip(owned).map(adopted).collect()
}

/// A device that gives segments the addresses that they had.
struct RecordedDevice {
    /// The addresses of segments that come, by their size.
    addresses: HashMap<u64, VecDeque<u64>>,
    /// For what the recording does not have.
    other: SimulatedDevice,
}

impl RecordedDevice {
    fn new(history: &[Step], steps: usize) -> Self {
        let mut addresses = HashMap::<u64, VecDeque<u64>>::new();
        for step in history {
            if let Step::SegmentAlloc(segment) = step {
                addresses.entry(segment.size.0).or_default().push_back(segment.address.0);
            }
        }
        Self { addresses, other: SimulatedDevice::for_steps(u64::MAX / 2, steps) }
    }
}

impl Device for RecordedDevice {
    fn alloc(&mut self, size: u64) -> Option<u64> {
        let recorded = self.addresses.get_mut(&size).and_then(VecDeque::pop_front);
        recorded.or_else(|| self.other.alloc(size))
    }

    fn free(&mut self, address: u64) {
        self.other.free(address);
    }

    fn reserve(&mut self, size: u64) -> u64 {
        self.other.reserve(size)
    }

    fn create(&mut self, size: u64) -> Option<Handle> {
        self.other.create(size)
    }

    fn release(&mut self, handle: Handle) {
        self.other.release(handle);
    }

    fn map(&mut self, address: u64, handle: Handle) {
        self.other.map(address, handle);
    }

    fn unmap(&mut self, address: u64) {
        self.other.unmap(address);
    }

    fn synchronize(&mut self) {}

    fn capacity(&self) -> u64 {
        self.other.capacity()
    }

    fn in_use(&self) -> u64 {
        self.other.in_use()
    }

    fn looked_at(&mut self, things: u64) {
        self.other.looked_at(things);
    }
}
