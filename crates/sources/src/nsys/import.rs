//! Rows, in the order of time, turned into events.

use std::collections::{BTreeMap, HashMap, HashSet};

use foldhash::fast::RandomState;
use whyoom_trace::{
    Action, Address, Bytes, ContextId, Counter, DeviceId, Event, EventSink, Limit, Origin, PoolId,
    ProcessId, ResultCode, StackId, StreamId, Tables, Time, facts::Fact,
};

use super::{
    NsysSummary,
    global_id::GlobalId,
    machine::Machine,
    marks,
    rows::{FailedCall, Kind, MarkRow, MemoryRow, PoolRow},
    stacks::Stacks,
};

/// Processes and devices beyond these are not told apart: each takes memory of its own here.
const MOST_PLACES: usize = 1024;
/// Threads beyond these are forgotten again.
const MOST_THREADS: usize = 65_536;
/// The driver's code for out of memory.
const OUT_OF_MEMORY: ResultCode = ResultCode(2);

pub(super) struct Import<'a> {
    name: &'a str,
    machine: &'a Machine,
    stacks: Stacks,
    tables: &'a mut Tables,
    sink: &'a mut dyn EventSink,
    places: BTreeMap<GlobalId, Place>,
    devices_seen: usize,
    /// Where memory was given out and not yet given back, by process.
    live: HashSet<(GlobalId, Address), RandomState>,
    /// When the last call that failed ended, by thread: a call of the runtime makes one of the driver.
    failed: HashMap<GlobalId, i64, RandomState>,
    summary: NsysSummary,
}

/// A process, with what was seen of it.
struct Place {
    process: ProcessId,
    devices: Vec<DeviceId>,
    pools: BTreeMap<(DeviceId, u64), PoolRow>,
    /// Calls that failed, and nothing was allocated since.
    failed: u64,
}

impl<'a> Import<'a> {
    pub(super) fn new(
        name: &'a str,
        machine: &'a Machine,
        stacks: Stacks,
        tables: &'a mut Tables,
        sink: &'a mut dyn EventSink,
    ) -> Self {
        Self {
            name,
            machine,
            stacks,
            tables,
            sink,
            places: BTreeMap::new(),
            devices_seen: 0,
            live: HashSet::default(),
            failed: HashMap::default(),
            summary: NsysSummary::default(),
        }
    }

    pub(super) fn summary(&self) -> NsysSummary {
        self.summary
    }

    /// An allocation or a free.
    pub(super) fn memory(&mut self, row: &MemoryRow) {
        let Some(kind) = row.kind.memory_kind(row.pool.is_some()) else { return };
        let device = match row.kind {
            Kind::Pinned => Some(DeviceId::HOST),
            _ => u16::try_from(row.device).ok().map(DeviceId),
        };
        let device = device.filter(|device| *device != DeviceId::UNKNOWN);
        let Some(process) = device.and_then(|device| self.process(row.process, Some(device)))
        else {
            self.summary.passed_over += 1;
            return;
        };
        let device = device.unwrap_or_default();
        let pool = row.pool.map_or(PoolId(0), |pool| self.tables.pool(pool.address, 0));
        let origin = Origin {
            process,
            device,
            context: ContextId(u32::try_from(row.context).unwrap_or_default()),
            stream: StreamId(row.stream.cast_unsigned()),
            pool,
            ..Origin::default()
        };
        let time = self.machine.time(row.time);
        let (address, key) = (row.address, (row.process, row.address));
        let event = |action, stack| Event { time, origin, stack, action, ..Event::default() };
        if row.frees {
            if self.live.remove(&key) {
                self.emit(&event(Action::Free { kind, address }, StackId(0)));
            } else {
                self.summary.unmatched += 1;
            }
        } else {
            self.live.insert(key);
            self.go_on(row.process);
            let stack = self.stack(row);
            self.summary.allocations += 1;
            self.summary.stacks |= stack != StackId(0);
            self.emit(&event(Action::Alloc { kind, address, size: row.bytes }, stack));
        }
        if let Some(pool) = row.pool {
            self.pool(row.process, pool, time, origin);
        }
    }

    /// A process allocates: calls of it that failed before were not its end.
    fn go_on(&mut self, process: GlobalId) {
        if let Some(place) = self.places.get_mut(&process) {
            self.summary.recovered += std::mem::take(&mut place.failed);
        }
    }

    fn stack(&mut self, row: &MemoryRow) -> StackId {
        let called =
            row.correlation.map(|correlation| self.stacks.of_call(row.process, correlation));
        match (called.filter(|stack| *stack != StackId(0)), &row.variable) {
            (Some(stack), _) => stack,
            (None, Some(name)) => self.stacks.of_variable(name, self.tables),
            (None, None) => StackId(0),
        }
    }

    /// What the driver told of a pool: where it holds less than before, it gave the rest back.
    fn pool(&mut self, process: GlobalId, told: PoolRow, time: Time, origin: Origin) {
        let Some(place) = self.places.get_mut(&process) else { return };
        let before = place.pools.insert((origin.device, told.address), told);
        let event = |action| Event { time, origin, action, ..Event::default() };
        let before = before.unwrap_or_default();
        if let Some(Bytes(value)) = told.threshold.filter(|_| before.threshold != told.threshold) {
            let limit = Limit::ReleaseThreshold;
            self.emit(&event(Action::LimitSet { limit, value }));
        }
        if let Some(keep) = told.reserved.filter(|_| before.reserved != told.reserved) {
            self.emit(&event(Action::PoolTrim { keep }));
        }
    }

    /// A call that returned that memory ran out.
    pub(super) fn failure(&mut self, call: &FailedCall) {
        // The call of the runtime and the one of the driver inside it overlap: they are one failure.
        if self.failed.insert(call.thread, call.end).is_some_and(|end| call.start < end) {
            return;
        }
        if self.failed.len() > MOST_THREADS {
            self.failed.clear();
        }
        let id = call.thread.process();
        let Some(process) = self.process(id, None) else {
            self.summary.passed_over += 1;
            return;
        };
        let device = match call.function.contains("Host") {
            true => DeviceId::HOST,
            false => self.device_of(id),
        };
        let (time, thread) = (self.machine.time(call.end), call.thread.thread());
        let origin = Origin { process, device, thread, ..Origin::default() };
        self.summary.failures += 1;
        if let Some(place) = self.places.get_mut(&id) {
            place.failed += 1;
        }
        let counter = |counter, bytes| Action::Sample { counter, bytes };
        let total =
            self.machine.total(id, device).map(|total| counter(Counter::DeviceTotal, total));
        if let Some(action) = total {
            self.emit(&Event { time, origin, action, ..Event::default() });
        }
        for (pool, action) in self.pool_samples(id, device) {
            let origin = Origin { pool, ..origin };
            self.emit(&Event { time, origin, action, ..Event::default() });
        }
        let stack = call.call_chain.map_or(StackId(0), |chain| self.stacks.of_chain(chain));
        let action = Action::OutOfMemory { requested: Bytes::ZERO };
        self.emit(&Event { time, origin, stack, result: OUT_OF_MEMORY, action });
    }

    fn pool_samples(&mut self, process: GlobalId, device: DeviceId) -> Vec<(PoolId, Action)> {
        let Some(place) = self.places.get(&process) else { return Vec::new() };
        let mut samples = Vec::new();
        for (_, told) in place.pools.iter().filter(|((on, _), _)| *on == device) {
            let pool = self.tables.pool(told.address, 0);
            let figures = [
                (Counter::PoolReserved, told.reserved),
                (Counter::PoolUsed, told.used),
                (Counter::PoolThreshold, told.threshold),
            ];
            let figures =
                figures.into_iter().filter_map(|(counter, bytes)| Some((counter, bytes?)));
            samples
                .extend(figures.map(|(counter, bytes)| (pool, Action::Sample { counter, bytes })));
        }
        samples
    }

    /// An annotation: of the process, on whatever devices it has.
    pub(super) fn mark(&mut self, row: &MarkRow) {
        let Some(kind) = marks::kind_of(&row.name) else { return };
        let known = self.places.get(&row.thread.process()).map(|place| place.process);
        // What happens before the first allocation begins nothing.
        let Some(process) = known else { return };
        let name = self.tables.string(kept(&row.name));
        // The host's is that of the process as a whole.
        let (device, thread) = (DeviceId::HOST, row.thread.thread());
        let origin = Origin { process, device, thread, ..Origin::default() };
        let time = self.machine.time(row.time);
        self.emit(&Event { time, origin, action: Action::Mark { kind, name }, ..Event::default() });
    }

    /// A process, and its device noted; none where there are too many.
    fn process(&mut self, id: GlobalId, device: Option<DeviceId>) -> Option<ProcessId> {
        if !self.places.contains_key(&id) {
            if self.places.len() >= MOST_PLACES {
                return None;
            }
            let name = format!("{}: {}", self.name, self.machine.process_name(id));
            // What is read a second time with the same tables keeps its ids.
            let known = self.tables.process_named(&name);
            let process = known.unwrap_or_else(|| self.tables.process(name));
            let fact = Fact::ProfilerReport { profiler: self.tables.string("Nsight Systems") };
            let origin = Origin { process, ..Origin::default() };
            let action = Action::Fact { fact };
            self.emit(&Event { origin, action, ..Event::default() });
            let place = Place { process, devices: Vec::new(), pools: BTreeMap::new(), failed: 0 };
            self.places.insert(id, place);
        }
        let place = self.places.get_mut(&id)?;
        if let Some(device) = device.filter(|device| !place.devices.contains(device)) {
            if self.devices_seen >= MOST_PLACES {
                return None;
            }
            self.devices_seen += 1;
            place.devices.push(device);
        }
        Some(place.process)
    }

    /// The device that a call which names none was made for, where there is but one.
    fn device_of(&self, process: GlobalId) -> DeviceId {
        let devices = self.places.get(&process).map_or(&[][..], |place| &place.devices);
        let mut devices = devices.iter().filter(|device| **device != DeviceId::HOST);
        match (devices.next(), devices.next()) {
            (Some(&only), None) => only,
            (None, _) => self.machine.only_gpu().unwrap_or(DeviceId::UNKNOWN),
            _ => DeviceId::UNKNOWN,
        }
    }

    fn emit(&mut self, event: &Event) {
        self.sink.event(event, self.tables);
    }
}

/// As much of a name as anybody reads.
fn kept(name: &str) -> &str {
    name.char_indices().nth(120).map_or(name, |(cut, _)| &name[..cut])
}
