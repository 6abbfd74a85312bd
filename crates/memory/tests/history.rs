//! What a picture holds, against a reference that keeps everything.

use std::collections::BTreeMap;

use proptest::prelude::*;
use whyoom_memory::{AddressMapAt, BlockLife, MapMoment, Model, TimelineData, TimelineLimits};
use whyoom_trace::{
    Action, Address, Bytes, DeviceId, Event, EventSink, MemoryKind, Origin, ProcessId,
    SegmentGrowth, SizeClass, StackId, Tables, Time,
};

const SLOT: u64 = 1 << 20;
const SLOTS: u64 = 24;
const SEGMENT: u64 = 8 * SLOT;
const LIMITS: TimelineLimits = TimelineLimits { points: 16_384, blocks: 100_000, call_sites: 24 };

/// A run, and what was true after each of its events.
struct Run {
    model: Model,
    tables: Tables,
    events: u64,
    live: BTreeMap<u64, u64>,
    segments: BTreeMap<u64, u64>,
    /// Blocks and segments after each event.
    history: Vec<(BTreeMap<u64, u64>, BTreeMap<u64, u64>)>,
    made: u64,
}

impl Run {
    fn new() -> Self {
        let mut tables = Tables::default();
        for line in 0..5 {
            let frame = tables.frame_text("main", "train.py", line);
            tables.stack(&[frame]);
        }
        Self {
            model: Model::with_history(),
            tables,
            events: 0,
            live: BTreeMap::new(),
            segments: BTreeMap::new(),
            history: vec![(BTreeMap::new(), BTreeMap::new())],
            made: 0,
        }
    }

    fn push(&mut self, stack: u32, action: Action) {
        self.events += 1;
        let (time, stack) = (Time(1000 + self.events), StackId(stack));
        let event = Event { time, stack, action, ..Event::default() };
        self.model.event(&event, &self.tables);
        self.history.push((self.live.clone(), self.segments.clone()));
    }

    fn segment(&mut self, index: u64) {
        let address = index * SEGMENT;
        if self.segments.remove(&address).is_some() {
            return self.push(0, Action::SegmentFree { address: Address(address) });
        }
        self.segments.insert(address, SEGMENT);
        let (class, growth) = (SizeClass::Large, SegmentGrowth::Fixed);
        let (address, size) = (Address(address), Bytes(SEGMENT));
        self.push(0, Action::SegmentAlloc { address, size, class, growth });
    }

    fn toggle(&mut self, slot: u64, size: u64, stack: u32) {
        let address = slot * SLOT;
        if self.live.remove(&address).is_some() {
            return self.push(0, Action::BlockFree { address: Address(address) });
        }
        self.live.insert(address, size);
        self.made += 1;
        let (address, size) = (Address(address), Bytes(size));
        self.push(stack, Action::BlockAlloc { address, requested: size, size });
    }

    fn timeline_data(&self, limits: TimelineLimits) -> TimelineData<'_> {
        self.model
            .timeline_data(ProcessId(0), DeviceId(0), limits)
            .expect("the space has a history")
    }

    fn in_use(&self, event: u64) -> u64 {
        self.history[event as usize].0.values().sum()
    }

    /// Whether a map is what was true: every block in a segment is told, and every segment.
    fn assert_true(&self, map: &AddressMapAt) {
        let (live, segments) = &self.history[map.at.event as usize];
        let told: BTreeMap<u64, u64> =
            map.segments.iter().map(|one| (one.address.0, one.segment.size.0)).collect();
        assert_eq!(&told, segments, "{:?} at {:?}", map.moment, map.at);
        let inside = |address: u64| {
            let segment = segments.range(..=address).next_back();
            segment.is_some_and(|(start, size)| address < start + size)
        };
        let expected: u64 = live.iter().filter(|(at, _)| inside(**at)).map(|(_, size)| size).sum();
        let runs = map.segments.iter().flat_map(|one| &one.runs);
        let bytes: u64 = runs.clone().map(|run| run.bytes.0).sum();
        let blocks: u64 = runs.map(|run| run.blocks).sum();
        assert_eq!((map.smallest_gap, map.left_out), (Bytes::ZERO, 0));
        assert_eq!(bytes, expected);
        assert_eq!(blocks, live.keys().filter(|at| inside(**at)).count() as u64);
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Block { slot: u64, size: u64, stack: u32 },
    Segment { index: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..SLOTS, 1..SLOT, 1u32..5)
            .prop_map(|(slot, size, stack)| Step::Block { slot, size, stack }),
        1 => (0..SLOTS * SLOT / SEGMENT).prop_map(|index| Step::Segment { index }),
    ]
}

proptest! {
    #[test]
    fn a_picture_of_a_short_run_is_exact(steps in prop::collection::vec(step(), 1..400)) {
        let mut run = Run::new();
        run.segment(0);
        for step in steps {
            match step {
                Step::Block { slot, size, stack } => run.toggle(slot, size, stack),
                Step::Segment { index } => run.segment(index),
            }
        }
        let timeline_data = run.timeline_data(LIMITS);
        prop_assert_eq!(timeline_data.events, run.events);
        prop_assert_eq!(timeline_data.curve.len() as u64, run.events);
        for point in &timeline_data.curve {
            prop_assert_eq!(point.lowest, point.highest);
            prop_assert_eq!(point.lowest.0, run.in_use(point.end.event));
        }
        for (index, at) in timeline_data.call_sites.at.iter().enumerate() {
            let call_sites = &timeline_data.call_sites;
            let bytes = |band: &whyoom_memory::Band<&str>| band.bytes[index].0;
            let sum = call_sites.bands.iter().map(bytes).sum::<u64>() + call_sites.rest[index].0;
            prop_assert_eq!(sum, run.in_use(at.event));
            let kinds: u64 = timeline_data.kinds.bands.iter().map(|band| band.bytes[index].0).sum();
            prop_assert_eq!(kinds, run.in_use(at.event));
        }
        prop_assert!(timeline_data.retained_blocks.is_complete());
        prop_assert_eq!(timeline_data.retained_blocks.seen, run.made);
        for (event, expected) in (0..).zip(&run.history).skip(1) {
            let lives = |block: &&BlockLife| {
                block.born.event <= event && block.died.is_none_or(|died| died.event > event)
            };
            let live = timeline_data.retained_blocks.blocks.iter().filter(lives);
            let live: BTreeMap<u64, u64> = live.map(|it| (it.address.0, it.size.0)).collect();
            prop_assert_eq!(&live, &expected.0);
        }
        for map in &timeline_data.maps {
            run.assert_true(map);
        }
        let moments = |moment| timeline_data.maps.iter().filter(|map| map.moment == moment).count();
        let peaks = usize::from(run.made > 0);
        prop_assert_eq!((moments(MapMoment::Peak), moments(MapMoment::End)), (peaks, 1));
    }
}

#[test]
fn a_picture_of_a_long_run_is_bounded_and_keeps_what_matters() {
    let mut run = Run::new();
    for index in 0..SLOTS * SLOT / SEGMENT {
        run.segment(index);
    }
    run.history.clear();
    let mut random = 7u64;
    let mut largest = (0, 0);
    for turn in 0..60_000u64 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let (slot, size) = (random >> 33, 1 + (random >> 13) % (SLOT / 2));
        let size = if turn == 31_111 { SLOT } else { size };
        run.toggle(slot % SLOTS, size, 1 + (turn % 4) as u32);
        let in_use: u64 = run.live.values().sum();
        largest = largest.max((in_use, run.events));
        run.history.clear();
    }
    let timeline_data = run.timeline_data(TimelineLimits { blocks: 500, call_sites: 2, ..LIMITS });
    assert!(
        timeline_data.curve.len() <= 16_384 && timeline_data.curve.len() > 4000,
        "{}",
        timeline_data.curve.len()
    );
    assert!(timeline_data.kinds.at.len() <= 2048);
    assert!(timeline_data.maps.len() <= 192 + 2, "{}", timeline_data.maps.len());
    assert!(timeline_data.curve.iter().all(|point| point.lowest <= point.highest));
    assert_eq!(timeline_data.curve.iter().map(|point| point.highest.0).max(), Some(largest.0));
    assert_eq!(timeline_data.curve.last().map(|point| point.end.event), Some(run.events));
    let coarse = run.timeline_data(TimelineLimits { points: 100, ..LIMITS });
    assert!(coarse.curve.len() <= 100 && coarse.kinds.at.len() <= 12);
    assert_eq!(coarse.curve.iter().map(|point| point.highest.0).max(), Some(largest.0));
    assert_eq!(coarse.kinds.at.last(), timeline_data.kinds.at.last());
    assert_eq!(
        (timeline_data.call_sites.bands.len(), timeline_data.retained_blocks.blocks.len()),
        (2, 500)
    );
    assert!(
        !timeline_data.retained_blocks.is_complete()
            && timeline_data.retained_blocks.seen == run.made
    );
    let latest = timeline_data.retained_blocks.blocks.iter().filter_map(|block| block.died).max();
    assert!(latest.is_some_and(|died| run.events - died.event < 100), "the end is told of");
    let peak = timeline_data.maps.iter().find(|map| map.moment == MapMoment::Peak).unwrap();
    assert_eq!(peak.at.event, largest.1);
    let runs = peak.segments.iter().flat_map(|one| &one.runs);
    assert_eq!(runs.map(|run| run.bytes.0).sum::<u64>(), largest.0);
}

#[test]
fn a_map_of_very_many_blocks_is_coarse_and_says_so() {
    let mut run = Run::new();
    let (class, growth) = (SizeClass::Large, SegmentGrowth::Expandable);
    let blocks = 20_000u64;
    let size = Bytes(blocks * 2 * SLOT);
    run.push(0, Action::SegmentAlloc { address: Address(0), size, class, growth });
    for index in 0..blocks {
        let gap = if index % 10 == 0 { SLOT / 2 } else { 512 };
        let address = Address(index * 2 * SLOT);
        let size = Bytes(2 * SLOT - gap);
        run.push(1, Action::BlockAlloc { address, requested: size, size });
        run.history.clear();
    }
    run.push(2, Action::OutOfMemory { requested: Bytes(1 << 40) });
    let timeline_data = run.timeline_data(LIMITS);
    let failed =
        timeline_data.maps.iter().find(|map| map.moment == MapMoment::OutOfMemory).unwrap();
    let runs: usize = failed.segments.iter().map(|one| one.runs.len()).sum();
    assert!(runs <= 2048 && failed.smallest_gap > Bytes(512), "{runs}");
    let told: u64 = failed.segments.iter().flat_map(|one| &one.runs).map(|run| run.blocks).sum();
    assert_eq!(told, blocks);
}

#[test]
fn memory_of_the_driver_alone_has_a_history_too() {
    let mut run = Run::new();
    let alloc = |address, size| {
        let kind = MemoryKind::Device;
        Action::Alloc { kind, address: Address(address), size: Bytes(size) }
    };
    run.push(1, alloc(0, SLOT));
    run.push(2, alloc(4 * SLOT, SLOT));
    run.push(0, Action::Free { kind: MemoryKind::Device, address: Address(0) });
    run.push(3, alloc(5 * SLOT, SLOT));
    let timeline_data = run.timeline_data(LIMITS);
    assert!(timeline_data.retained_blocks.is_complete() && timeline_data.retained_blocks.seen == 3);
    let end = timeline_data.maps.iter().find(|map| map.moment == MapMoment::End).unwrap();
    let stretch: Vec<_> = end.segments.iter().map(|it| (it.address.0, it.segment.size.0)).collect();
    assert_eq!(stretch, [(4 * SLOT, 2 * SLOT)]);
    assert_eq!(timeline_data.curve.iter().map(|point| point.highest.0).max(), Some(2 * SLOT));
}

#[test]
fn what_history_started_with_is_as_old_as_it() {
    let mut run = Run::new();
    run.segment(0);
    run.toggle(0, 5, 1);
    run.push(0, Action::HistoryStart);
    run.toggle(1, 7, 2);
    let timeline_data = run.timeline_data(LIMITS);
    let born: Vec<_> =
        timeline_data.retained_blocks.blocks.iter().map(|block| block.born.event).collect();
    assert_eq!(born, [3, 4]);
    assert_eq!((timeline_data.start.event, timeline_data.events), (3, 2));
    let peak = timeline_data.maps.iter().find(|map| map.moment == MapMoment::Peak).unwrap();
    assert_eq!(peak.at.event, 4);
    run.assert_true(peak);
}

#[test]
fn a_model_without_history_has_no_timeline_data() {
    let mut model = Model::default();
    let action = Action::BlockAlloc { address: Address(0), requested: Bytes(1), size: Bytes(512) };
    let origin = Origin::default();
    model.event(&Event { origin, action, ..Event::default() }, &Tables::default());
    assert!(model.timeline_data(ProcessId(0), DeviceId(0), LIMITS).is_none());
}
