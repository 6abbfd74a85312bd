//! What several tests of recordings need.

use std::path::Path;

use whyoom_recording::{Definition, Losses, Options, Part, RawFrame, Recording, Unresolved};
use whyoom_trace::{
    Action, Address, Bytes, ContextId, Counter, DeviceId, Event, FrameId, HandleId, Limit,
    MarkKind, MemoryKind, Origin, PoolId, ProcessState, ResultCode, SegmentGrowth, SizeClass,
    Software, StackId, StreamId, StringId, Symptom, SyncScope, Tables, ThreadId, Time,
};

/// A part with small segments, so that a short test has several.
pub(crate) fn part(folder: &Path, limit: Option<u64>) -> Part {
    Part::create(folder, Options { segment_bytes: 32 << 10, limit }).unwrap()
}

/// Everything in a recording.
pub(crate) fn read(folder: &Path) -> (Vec<Event>, Tables, Losses) {
    let recording = Recording::open(folder).unwrap();
    let (mut tables, mut events) = (Tables::default(), Vec::new());
    let losses = recording.read(&mut Unresolved, &mut tables, &mut events).unwrap();
    (events, tables, losses)
}

/// An allocation of a thread's own kind: its number is told by its size.
pub(crate) fn alloc(thread: u32, number: u64) -> Event {
    Event {
        time: Time(1_000 + number * 10),
        origin: Origin { thread: ThreadId(thread), device: DeviceId(1), ..Origin::default() },
        stack: StackId(0),
        action: Action::BlockAlloc {
            address: Address(0x7f00_0000_0000 + number % 1000 * 512),
            requested: Bytes(number),
            size: Bytes(number.next_multiple_of(512)),
        },
        ..Event::default()
    }
}

/// The number of an event that [`alloc`] made.
pub(crate) fn number(event: &Event) -> u64 {
    match event.action {
        Action::BlockAlloc { requested, .. } => requested.0,
        ref other => panic!("not written by this test: {other:?}"),
    }
}

/// Every action of the vocabulary, as the fixture has it. Ids are those that the definitions get.
pub(crate) fn fixture_events() -> Vec<Event> {
    let (address, size) = (Address(0x7f00_0000_0200), Bytes(2 << 20));
    let (handle, text) = (HandleId(0x5555_0000), StringId(1));
    let (kind, class) = (MemoryKind::StreamOrdered, SizeClass::Large);
    let actions = [
        Action::HistoryStart,
        Action::Alloc { kind, address, size },
        Action::Free { kind, address },
        Action::PoolTrim { keep: size },
        Action::Reserve { address, size },
        Action::Unreserve { address, size },
        Action::Create { handle, size },
        Action::Release { handle },
        Action::Map { address, size, handle },
        Action::Unmap { address, size },
        Action::ContextCreate,
        Action::ContextDestroy,
        Action::LimitSet { limit: Limit::Printf, value: 7 },
        Action::LaunchFailed { kernel: text, shared_memory: size },
        Action::CodeLoad { handle },
        Action::CodeUnload { handle },
        Action::Synchronize { scope: SyncScope::Stream },
        Action::SegmentAlloc { address, size, class, growth: SegmentGrowth::Expandable },
        Action::SegmentFree { address },
        Action::SegmentMap { address, size, class },
        Action::SegmentUnmap { address, size },
        Action::BlockAlloc { address, requested: Bytes(1000), size: Bytes(1024) },
        Action::BlockFreeRequested { address },
        Action::BlockFree { address },
        Action::OutOfMemory { requested: size },
        Action::Symptom { symptom: Symptom::IndirectOom, software: Software::CuDnn, text },
        Action::Mark { kind: MarkKind::Iteration, name: text },
        Action::Setting { name: text, value: StringId(2) },
        Action::Sample { counter: Counter::PoolUsed, bytes: size },
        Action::Holder { pid: 42, bytes: size, command: text, standing: ProcessState::Orphan },
        Action::Exit,
    ];
    let event = |(at, action): (u64, Action)| Event {
        time: Time(5_000_000_000 + at * at * 1000),
        origin: Origin {
            thread: ThreadId(42),
            device: DeviceId(at as u16 / 8),
            context: ContextId(1),
            stream: StreamId(at / 4 * 0x1000),
            pool: PoolId(1),
            ..Origin::default()
        },
        stack: StackId(1),
        result: ResultCode(if at == 24 { 2 } else { 0 }),
        action,
    };
    (0..).zip(actions).map(event).collect()
}

pub(crate) fn write_fixture(folder: &Path) {
    let part = part(folder, None);
    let texts = ["/lib/libtorch.so", "step", "train.py"];
    for (id, text) in (1..).zip(texts) {
        part.define(Definition::String { id: StringId(id), text: text.as_bytes() }).unwrap();
    }
    let (start, end, bias) = (0x1000, 0x2000, 0x1000);
    let build_id = &[0xab, 0xcd];
    let path = StringId(1);
    part.define(Definition::Module { start, end, bias, path, build_id }).unwrap();
    let (function, file) = (StringId(2), StringId(3));
    part.define(Definition::Frame { id: FrameId(1), function, file, line: 12 }).unwrap();
    let frames = [RawFrame::Native(0x1234), RawFrame::Named(FrameId(1))];
    part.define(Definition::Stack { id: StackId(1), frames: &frames }).unwrap();
    part.define(Definition::Pool { id: PoolId(1), first: 5, second: 6 }).unwrap();
    let mut lease = part.lease(ThreadId(42)).unwrap();
    for event in fixture_events() {
        lease.event(&part, &event).unwrap();
    }
    part.failed();
    part.stopped("the fixture ends here");
}
