//! From [`Content`] to events: settings, the state at the start, then the history in time.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
};

use whyoom_trace::{
    Action, Address, Bytes, Counter, DeviceId, Event, EventSink, MarkKind, Origin, ProcessId,
    SegmentGrowth, StackId, StringId, Tables, Time,
};

use super::{
    SnapshotSummary,
    content::{Annotation, Content, Entry, EntryAction, Segment, SegmentHead},
    layout::{Extent, Layout},
    rules::{Rules, class_of_segment},
    start::Start,
};

/// What annotations of `whyoom.mark` begin with: the Python package has the same (`_marks.py`).
const ITERATION: &str = "whyoom iteration: ";
const PHASE: &str = "whyoom phase: ";

pub(super) fn emit(
    content: &Content,
    process: ProcessId,
    tables: &mut Tables,
    sink: &mut dyn EventSink,
) -> SnapshotSummary {
    let mut summary = SnapshotSummary::default();
    let mut emitter = Emitter { tables, sink, process };
    emitter.settings(&content.settings);

    let rules = Rules::of(&content.settings);
    let mut devices: Vec<Device<'_>> = Vec::new();
    for (device, (segments, trace)) in by_device(content) {
        let start = Start::of(&segments, trace, &rules);
        summary.contradictions += start.contradictions;
        summary.entries += trace.len() as u64;
        let time = trace.first().map_or(0, |entry| entry.time_us);
        let mut layout = Layout::new(device, rules.clone());
        emitter.start(device, time, &start, &mut layout);
        let known = segments.iter().map(|segment| (segment.head.address, segment.head)).collect();
        devices.push(Device { device, trace, layout, known });
    }
    emitter.history(&mut devices, &content.annotations);
    summary
}

/// Every device that the file speaks of, with its segments and its trace.
fn by_device(content: &Content) -> BTreeMap<DeviceId, (Vec<&Segment>, &[Entry])> {
    let mut devices = BTreeMap::<DeviceId, (Vec<&Segment>, &[Entry])>::new();
    for segment in &content.segments {
        devices.entry(segment.device).or_default().0.push(segment);
    }
    for (device, trace) in &content.traces {
        devices.entry(*device).or_default().1 = trace;
    }
    devices
}

struct Device<'a> {
    device: DeviceId,
    /// What is left of its trace.
    trace: &'a [Entry],
    layout: Layout,
    /// The segments at the end, by address: they know more of themselves than older traces do.
    known: BTreeMap<Address, SegmentHead>,
}

impl Device<'_> {
    /// The segment at the end that lies around an address.
    fn known_at(&self, address: Address) -> Option<SegmentHead> {
        let (_, &head) = self.known.range(..=address).next_back()?;
        (address < head.end()).then_some(head)
    }

    /// Adds a segment that the trace makes, with what the one at the end knows of it.
    fn add_segment(&mut self, entry: &Entry, growth: SegmentGrowth) -> Extent {
        let known = self.known_at(entry.address).filter(|head| head.growth == growth);
        let class = known.map_or_else(|| class_of_segment(entry.size), |head| head.class);
        let pool = known.map_or(entry.pool, |head| head.pool);
        let extent = Extent { end: entry.address.offset(entry.size), class, growth, pool };
        self.layout.add_segment(entry.address, extent);
        extent
    }
}

struct Emitter<'a> {
    tables: &'a mut Tables,
    sink: &'a mut dyn EventSink,
    process: ProcessId,
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
        let next = |device: &Device<'_>, index: usize| {
            device.trace.first().map(|entry| Reverse((entry.time_us, index)))
        };
        let mut order: BinaryHeap<_> =
            devices.iter().enumerate().filter_map(|(index, device)| next(device, index)).collect();
        while let Some(Reverse((time_us, index))) = order.pop() {
            while let Some(annotation) = annotations.next_if(|a| a.time_us <= time_us) {
                self.annotation(annotation);
            }
            let device = &mut devices[index];
            if let Some((entry, rest)) = device.trace.split_first() {
                self.entry(device, entry);
                device.trace = rest;
            }
            order.extend(next(device, index));
        }
        annotations.for_each(|annotation| self.annotation(annotation));
    }

    fn annotation(&mut self, annotation: &Annotation) {
        let origin = self.origin(annotation.device);
        let action = self.mark(annotation.name);
        self.event(annotation.time_us, origin, StackId(0), action);
    }

    /// An annotation as a mark: a phase, or what `whyoom.mark` of the Python package has put there.
    fn mark(&mut self, name: StringId) -> Action {
        let text = self.tables.text(name);
        let own = [(ITERATION, MarkKind::Iteration), (PHASE, MarkKind::Phase)];
        let own =
            own.into_iter().find_map(|(prefix, kind)| Some((kind, text.strip_prefix(prefix)?)));
        let Some((kind, own)) = own.map(|(kind, own)| (kind, own.to_owned())) else {
            return Action::Mark { kind: MarkKind::Phase, name };
        };
        Action::Mark { kind, name: self.tables.string(&own) }
    }

    fn entry(&mut self, device: &mut Device<'_>, entry: &Entry) {
        let address = entry.address;
        let mut origin =
            Origin { stream: entry.stream, pool: entry.pool, ..self.origin(device.device) };
        let action = match entry.action {
            EntryAction::Alloc => {
                // Older traces do not name the pool; the segment does.
                if let Some(segment) = device.layout.segment_at(address) {
                    origin.pool = segment.pool;
                }
                let size = device.layout.place(address, entry.size);
                Action::BlockAlloc { address, requested: entry.size, size }
            }
            EntryAction::FreeRequested => Action::BlockFreeRequested { address },
            EntryAction::Annotate => Action::BlockLabel { address, requested: Bytes::ZERO },
            EntryAction::FreeCompleted => {
                device.layout.remove(address);
                Action::BlockFree { address }
            }
            EntryAction::SegmentAlloc => {
                let extent = device.add_segment(entry, SegmentGrowth::Fixed);
                origin.pool = extent.pool;
                let (class, growth) = (extent.class, extent.growth);
                Action::SegmentAlloc { address, size: entry.size, class, growth }
            }
            EntryAction::SegmentFree => {
                device.layout.remove_segment(address);
                Action::SegmentFree { address }
            }
            EntryAction::SegmentMap => {
                let extent = device.add_segment(entry, SegmentGrowth::Expandable);
                origin.pool = extent.pool;
                Action::SegmentMap { address, size: entry.size, class: extent.class }
            }
            EntryAction::SegmentUnmap => {
                device.layout.remove_range(address, address.offset(entry.size));
                Action::SegmentUnmap { address, size: entry.size }
            }
            EntryAction::Snapshot => {
                let name = self.tables.string("snapshot");
                Action::Mark { kind: MarkKind::Phase, name }
            }
            EntryAction::Oom => {
                self.device_free(device.device, entry);
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
