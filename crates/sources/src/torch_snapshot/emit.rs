//! From [`Content`] to events: settings, the state at the start, then the history in time.

use std::collections::BTreeMap;

use whyoom_trace::{
    Action, Address, Bytes, Counter, DeviceId, Event, EventSink, MarkKind, Origin, PoolId,
    ProcessId, SegmentGrowth, SizeClass, StackId, Tables, Time,
};

use super::{
    SnapshotSummary,
    content::{Annotation, Content, Entry, EntryAction},
    layout::{Extent, Layout},
    rules::{Rules, class_of_mapping, class_of_segment},
    start::Start,
};

pub(super) fn emit(
    content: &Content,
    process: ProcessId,
    tables: &mut Tables,
    sink: &mut dyn EventSink,
) -> SnapshotSummary {
    let mut summary = SnapshotSummary::default();
    let pools = content.segments.iter().filter(|segment| segment.pool != PoolId(0));
    let pools = pools.map(|segment| (segment.address, segment.pool)).collect();
    let mut emitter = Emitter { tables, sink, process, pools };
    emitter.settings(&content.settings);

    let rules = Rules::of(&content.settings);
    let mut devices: Vec<Device<'_>> = devices_of(content)
        .into_iter()
        .map(|(device, trace)| {
            let start = Start::of(device, &content.segments, trace);
            summary.contradictions += start.contradictions;
            let time = trace.first().map_or(0, |entry| entry.time_us);
            let mut layout = Layout::new(rules.clone());
            emitter.start(device, time, &start, &mut layout);
            Device { device, trace, layout }
        })
        .collect();

    summary.entries = devices.iter().map(|device| device.trace.len() as u64).sum();
    emitter.history(&mut devices, &content.annotations);
    summary
}

/// Every device that the file speaks of, with its trace.
fn devices_of(content: &Content) -> Vec<(DeviceId, &[Entry])> {
    let mut devices: Vec<(DeviceId, &[Entry])> =
        content.traces.iter().map(|(device, trace)| (*device, &trace[..])).collect();
    for segment in &content.segments {
        if devices.iter().all(|(device, _)| *device != segment.device) {
            devices.push((segment.device, &[]));
        }
    }
    devices
}

struct Device<'a> {
    device: DeviceId,
    /// What is left of its trace.
    trace: &'a [Entry],
    layout: Layout,
}

struct Emitter<'a> {
    tables: &'a mut Tables,
    sink: &'a mut dyn EventSink,
    process: ProcessId,
    /// The private pools of the segments in the snapshot: older traces do not name them.
    pools: BTreeMap<Address, PoolId>,
}

impl Emitter<'_> {
    fn event(&mut self, time_us: u64, origin: Origin, stack: StackId, action: Action) {
        let time = Time(time_us.saturating_mul(1000));
        let event = Event { time, origin, stack, action, ..Event::default() };
        self.sink.event(&event, self.tables);
    }

    fn origin(&self, device: DeviceId) -> Origin {
        Origin { process: self.process, device, ..Origin::default() }
    }

    fn settings(&mut self, settings: &[(String, String)]) {
        for (name, value) in settings {
            let (name, value) = (self.tables.string(name), self.tables.string(value));
            let origin = self.origin(DeviceId(0));
            self.event(0, origin, StackId(0), Action::Setting { name, value });
        }
    }

    fn start(&mut self, device: DeviceId, time: u64, start: &Start, layout: &mut Layout) {
        for segment in &start.segments {
            let extent = Extent {
                end: segment.address.offset(segment.size),
                class: segment.class,
                growth: segment.growth,
                pool: segment.pool,
            };
            layout.add_segment(segment.address, extent);
            let origin =
                Origin { stream: segment.stream, pool: segment.pool, ..self.origin(device) };
            let action = Action::SegmentAlloc {
                address: segment.address,
                size: segment.size,
                class: segment.class,
                growth: segment.growth,
            };
            self.event(time, origin, segment.stack, action);
        }
        // From the last to the first, so that the block behind each is placed already.
        for block in start.blocks.iter().rev() {
            let size = match block.size {
                Some(size) => {
                    layout.place_exactly(block.address, size);
                    size
                }
                None => layout.place(block.address, block.requested),
            };
            let origin = Origin { stream: block.stream, pool: block.pool, ..self.origin(device) };
            let (address, requested) = (block.address, block.requested);
            self.event(time, origin, block.stack, Action::BlockAlloc { address, requested, size });
            if block.pending {
                self.event(time, origin, block.stack, Action::BlockFreeRequested { address });
            }
        }
        self.event(time, self.origin(device), StackId(0), Action::HistoryStart);
    }

    /// All devices' traces as one stream in order of time; each keeps its own order.
    fn history(&mut self, devices: &mut [Device<'_>], annotations: &[Annotation]) {
        let mut annotations: Vec<&Annotation> = annotations.iter().collect();
        annotations.sort_by_key(|annotation| annotation.time_us);
        let mut annotations = annotations.into_iter().peekable();
        let earliest = |devices: &[Device<'_>]| {
            let times = devices.iter().enumerate();
            times
                .filter_map(|(index, device)| Some((device.trace.first()?.time_us, index)))
                .min()
                .map(|(_, index)| index)
        };
        while let Some(index) = earliest(devices) {
            let device = &mut devices[index];
            let Some((entry, rest)) = device.trace.split_first() else { return };
            while let Some(annotation) = annotations.next_if(|a| a.time_us <= entry.time_us) {
                self.annotation(annotation);
            }
            self.entry(device.device, entry, &mut device.layout);
            device.trace = rest;
        }
        annotations.for_each(|annotation| self.annotation(annotation));
    }

    fn annotation(&mut self, annotation: &Annotation) {
        let name = self.tables.string(&annotation.name);
        let origin = self.origin(annotation.device);
        let action = Action::Mark { kind: MarkKind::Phase, name };
        self.event(annotation.time_us, origin, StackId(0), action);
    }

    fn entry(&mut self, device: DeviceId, entry: &Entry, layout: &mut Layout) {
        let address = entry.address;
        let mut origin = Origin { stream: entry.stream, pool: entry.pool, ..self.origin(device) };
        let action = match entry.action {
            EntryAction::Alloc => {
                // Older traces do not name the pool; the segment does.
                if let Some(segment) = layout.segment_at(address) {
                    origin.pool = segment.pool;
                }
                let size = layout.place(address, entry.size);
                Action::BlockAlloc { address, requested: entry.size, size }
            }
            EntryAction::FreeRequested => Action::BlockFreeRequested { address },
            EntryAction::FreeCompleted => {
                layout.remove(address);
                Action::BlockFree { address }
            }
            EntryAction::SegmentAlloc => {
                let (class, growth) = (class_of_segment(entry.size), SegmentGrowth::Fixed);
                if let Some(&pool) = self.pools.get(&address) {
                    origin.pool = pool;
                }
                layout.add_segment(address, extent(entry, class, growth, origin.pool));
                Action::SegmentAlloc { address, size: entry.size, class, growth }
            }
            EntryAction::SegmentFree => {
                layout.remove_segment(address);
                Action::SegmentFree { address }
            }
            EntryAction::SegmentMap => {
                let class = class_of_mapping(entry.size);
                layout.add_segment(
                    address,
                    extent(entry, class, SegmentGrowth::Expandable, origin.pool),
                );
                Action::SegmentMap { address, size: entry.size, class }
            }
            EntryAction::SegmentUnmap => Action::SegmentUnmap { address, size: entry.size },
            EntryAction::Snapshot => {
                let name = self.tables.string("snapshot");
                Action::Mark { kind: MarkKind::Phase, name }
            }
            EntryAction::Oom => {
                self.device_free(device, entry);
                Action::OutOfMemory { requested: entry.size }
            }
        };
        self.event(entry.time_us, origin, entry.stack, action);
    }

    /// An out-of-memory entry carries in its address what the device had free.
    fn device_free(&mut self, device: DeviceId, entry: &Entry) {
        let Address(free) = entry.address;
        let action = Action::Sample { counter: Counter::DeviceFree, bytes: Bytes(free) };
        self.event(entry.time_us, self.origin(device), entry.stack, action);
    }
}

fn extent(entry: &Entry, class: SizeClass, growth: SegmentGrowth, pool: PoolId) -> Extent {
    Extent { end: entry.address.offset(entry.size), class, growth, pool }
}
