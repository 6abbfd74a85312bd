//! What a program did, apart from the allocator that served it: its requests and frees, in order.
//!
//! What the recorded allocator did itself (segments taken and given back) is kept beside it: an exact
//! replay needs the addresses, and whoever asks for another policy needs to know which releases the
//! program asked for.

use std::collections::{BTreeMap, HashMap, HashSet};

use foldhash::fast::RandomState;
use whyoom_trace::{
    Action, Address, Bytes, Counter, DeviceId, Event, EventSink, PoolId, ProcessId, SegmentGrowth,
    StackId, StreamId, Tables,
    facts::{self, Fact},
};

use crate::{
    policy::Request,
    releases::{self, ReleasePolicy},
    step::{Item, Segment, Step, recorded_reserved},
};

/// One process's run on one device.
#[derive(Clone, Debug, Default)]
pub struct Workload {
    /// What happened. The first [`Workload::restored`] steps rebuild the state at the start.
    pub steps: Vec<Step>,
    /// How many steps rebuild the state that the recording started from.
    pub restored: usize,
    /// How many allocations there are, those of the start included.
    pub items: u32,
    /// Allocations of streams and pools beyond those that are told apart: they count as of the default stream.
    pub folded: u64,
    live: HashMap<Address, Item, RandomState>,
    device_free: Option<Bytes>,
    /// The streams of each pool that are told apart.
    lanes: HashSet<Lane, RandomState>,
    /// The last one, which nearly always is the next too.
    last_lane: Lane,
}

/// A stream in a pool.
type Lane = (PoolId, StreamId);

/// Every allocator keeps lists for each stream in each pool. PyTorch itself makes no more than a few hundred streams
/// of a device: who has more of them is no program that anybody replays.
const MOST_LANES: usize = 512;

impl Workload {
    /// A run from its beginning that did this, with so many allocations.
    #[must_use]
    pub fn new(steps: Vec<Step>, items: u32) -> Self {
        Self { steps, items, ..Self::default() }
    }

    /// The largest sum of sizes that were live at a time, by a measure of each allocation.
    #[must_use]
    pub fn peak_live(&self, measure: impl Fn(Request) -> u64) -> u64 {
        let mut sizes = vec![0; self.items as usize];
        let (mut live, mut peak) = (0_u64, 0);
        for step in &self.steps {
            match step {
                Step::Alloc { item, request, .. } => {
                    sizes[item.0 as usize] = measure(*request);
                    live = live.saturating_add(sizes[item.0 as usize]);
                    peak = peak.max(live);
                }
                Step::Free { item } => live = live.saturating_sub(sizes[item.0 as usize]),
                _ => {}
            }
        }
        peak
    }

    /// What was live when most was, by who asked for it, the most first.
    #[must_use]
    pub fn peak_by_stack(&self) -> Vec<(StackId, u64)> {
        let (mut live, mut most, mut at) = (0_u64, 0, 0);
        let mut sizes = vec![(StackId::default(), 0); self.items as usize];
        for (index, step) in self.steps.iter().enumerate() {
            match step {
                Step::Alloc { item, request, stack, .. } => {
                    sizes[item.0 as usize] = (*stack, request.size);
                    live = live.saturating_add(request.size);
                    if live > most {
                        (most, at) = (live, index);
                    }
                }
                Step::Free { item } => live = live.saturating_sub(sizes[item.0 as usize].1),
                _ => {}
            }
        }
        let mut alive = vec![false; self.items as usize];
        for step in self.steps.iter().take(at + 1) {
            match step {
                Step::Alloc { item, .. } => alive[item.0 as usize] = true,
                Step::Free { item } => alive[item.0 as usize] = false,
                _ => {}
            }
        }
        let mut by_stack: HashMap<StackId, u64, RandomState> = HashMap::default();
        for (_, (stack, size)) in alive.into_iter().zip(sizes).filter(|(alive, _)| *alive) {
            *by_stack.entry(stack).or_default() += size;
        }
        let mut by_stack: Vec<(StackId, u64)> = by_stack.into_iter().collect();
        by_stack.sort_by_key(|(stack, bytes)| (std::cmp::Reverse(*bytes), *stack));
        by_stack
    }

    /// The most that the recorded allocator had reserved.
    #[must_use]
    pub fn peak_recorded(&self) -> u64 {
        recorded_reserved(&self.steps).into_iter().max().unwrap_or_default()
    }

    /// What the recorded allocator could have had, where a failure tells: what it held then, and what
    /// the device had left.
    #[must_use]
    pub fn known_capacity(&self) -> Option<u64> {
        let reserved = recorded_reserved(&self.steps);
        let mut failures =
            self.steps.iter().zip(reserved).filter_map(|(step, reserved)| match step {
                Step::OutOfMemory { device_free: Some(free), .. } => {
                    Some(reserved.saturating_add(free.0))
                }
                _ => None,
            });
        failures.next_back()
    }

    /// Whether the program itself makes its allocator give memory back: then it has to be taken again.
    #[must_use]
    pub fn gives_back_itself(&self) -> bool {
        let releases = |step: &Step| {
            matches!(step, Step::EmptyCache | Step::RetirePool { .. } | Step::OutOfMemory { .. })
        };
        self.steps.iter().any(releases)
    }

    /// Whether the recording begins with the run.
    #[must_use]
    pub fn starts_empty(&self) -> bool {
        self.restored == 0
    }

    /// How many allocations there are, those of the start left out.
    #[must_use]
    pub fn allocations(&self) -> usize {
        let history = &self.steps[self.restored..];
        history.iter().filter(|step| matches!(step, Step::Alloc { .. })).count()
    }

    /// The stream and the pool of an event, as far as they are told apart.
    fn lane_of(&mut self, event: &Event) -> Lane {
        let lane = (event.origin.pool, event.origin.stream);
        let known = lane == self.last_lane || self.lanes.contains(&lane);
        if !known && self.lanes.len() >= MOST_LANES {
            self.folded += u64::from(matches!(event.action, Action::BlockAlloc { .. }));
            return Lane::default();
        }
        if !known {
            self.lanes.insert(lane);
        }
        self.last_lane = lane;
        lane
    }

    fn push(&mut self, event: &Event) {
        let (pool, stream) = self.lane_of(event);
        match event.action {
            Action::HistoryStart => self.restored = self.steps.len(),
            Action::BlockAlloc { address, requested, size } => {
                let item = Item(self.items);
                self.items += 1;
                if let Some(lost) = self.live.insert(address, item) {
                    // A recording that lost the free: nothing else can lie there now.
                    self.steps.push(Step::Free { item: lost });
                }
                let request = Request { size: requested.0.max(1), stream, pool };
                let stack = event.stack;
                self.steps.push(Step::Alloc { item, request, address, size, stack });
            }
            Action::BlockFree { address } => {
                if let Some(item) = self.live.remove(&address) {
                    self.steps.push(Step::Free { item });
                }
            }
            Action::SegmentAlloc { address, size, class, growth } => {
                let segment = Segment { address, size, stream, pool, class, growth };
                self.steps.push(Step::SegmentAlloc(segment));
            }
            Action::SegmentFree { address } => self.steps.push(Step::SegmentFree { address }),
            Action::SegmentMap { address, size, class } => {
                let growth = SegmentGrowth::Expandable;
                let segment = Segment { address, size, stream, pool, class, growth };
                self.steps.push(Step::SegmentMap(segment));
            }
            Action::SegmentUnmap { address, size } => {
                self.steps.push(Step::SegmentUnmap { address, size });
            }
            Action::Sample { counter: Counter::DeviceFree, bytes } => {
                self.device_free = Some(bytes);
            }
            Action::OutOfMemory { requested } => {
                let request = Request { size: requested.0.max(1), stream, pool };
                let device_free = self.device_free.take();
                let stack = event.stack;
                self.steps.push(Step::OutOfMemory { request, device_free, stack });
            }
            _ => {}
        }
    }
}

/// Gathers the runs of a trace, by process and device, and the settings that were in force.
#[derive(Debug, Default)]
pub struct Workloads {
    /// The runs.
    pub runs: BTreeMap<(ProcessId, DeviceId), Workload>,
    /// The recorded allocator's settings, by process.
    pub settings: BTreeMap<ProcessId, Vec<(String, String)>>,
    /// The allocators whose own logs were read, by process.
    logs: BTreeMap<ProcessId, String>,
}

impl Workloads {
    /// The runs, with what the program asked of its allocator beside memory worked out.
    #[must_use]
    pub fn into_runs(self) -> Vec<Run> {
        let Self { runs, settings, logs } = self;
        let run = |((process, device), mut workload): ((ProcessId, DeviceId), Workload)| {
            let settings = settings.get(&process).cloned().unwrap_or_default();
            let collects = settings.iter().any(|(name, value)| {
                name == "garbage_collection_threshold"
                    && value.parse::<f64>().is_ok_and(|share| share > 0.0)
            });
            let releases = match settings.iter().any(is_pool) {
                true => ReleasePolicy::MovesPages,
                false if collects => ReleasePolicy::CollectsGarbage,
                false => ReleasePolicy::OnlyWhenFull,
            };
            let history = workload.steps.split_off(workload.restored);
            let restored = std::mem::take(&mut workload.steps);
            workload.steps = releases::infer(restored, history, releases);
            let logged_by = logs.get(&process).cloned();
            Run { process, device, settings, logged_by, workload }
        };
        runs.into_iter().map(run).collect()
    }
}

/// One process's run on one device, with its allocator's settings.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// The process.
    pub process: ProcessId,
    /// The device.
    pub device: DeviceId,
    /// The recorded allocator's settings, as the recording has them.
    pub settings: Vec<(String, String)>,
    /// The allocator that served it, where a log of its own tells of it: what that held is not known, only what it
    /// gave to the program.
    pub logged_by: Option<String>,
    /// What happened.
    pub workload: Workload,
}

impl Run {
    /// Whether whyoom's pool served it, and not PyTorch's own allocator.
    #[must_use]
    pub fn was_pooled(&self) -> bool {
        self.settings.iter().any(is_pool)
    }
}

/// What the recorder tells where whyoom's pool serves a process.
fn is_pool((name, value): &(String, String)) -> bool {
    name == facts::POOL && value == "on"
}

impl EventSink for Workloads {
    fn event(&mut self, event: &Event, tables: &Tables) {
        let Event { origin, action, .. } = event;
        if let Action::Setting { name, value } = *action {
            let pair = (tables.text(name).to_owned(), tables.text(value).to_owned());
            self.settings.entry(origin.process).or_default().push(pair);
            return;
        }
        if let Action::Fact { fact: Fact::AllocatorLog { allocator } } = *action {
            self.logs.insert(origin.process, tables.text(allocator).to_owned());
            return;
        }
        let concerns = matches!(
            action,
            Action::HistoryStart
                | Action::BlockAlloc { .. }
                | Action::BlockFree { .. }
                | Action::SegmentAlloc { .. }
                | Action::SegmentFree { .. }
                | Action::SegmentMap { .. }
                | Action::SegmentUnmap { .. }
                | Action::OutOfMemory { .. }
                | Action::Sample { counter: Counter::DeviceFree, .. }
        );
        if concerns {
            self.runs.entry((origin.process, origin.device)).or_default().push(event);
        }
    }
}
