//! Random events over several threads against a list of what was written.

use std::path::Path;

use proptest::{collection::vec, prelude::*};
use whyoom_recording::{Definition, Part, RawFrame};
use whyoom_trace::{
    Action, Address, Bytes, ContextId, Counter, DeviceId, Event, FrameId, HandleId, Limit,
    MarkKind, MemoryKind, Origin, PoolId, ProcessId, ProcessState, ResultCode, SegmentGrowth,
    SizeClass, Software, StackId, StreamId, StringId, Symptom, SyncScope, ThreadId, Time,
};

use crate::common::{part, read};

/// Ids up to here are defined.
const DEFINED: u32 = 3;
const THREADS: usize = 4;

/// What a test does next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Event {
        thread: usize,
        event: Event,
    },
    /// The thread ends, and another of the same number comes.
    Return {
        thread: usize,
    },
}

/// A hundred steps, again and again: many are needed to fill segments, and few to find a mistake.
pub(crate) fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = (0..THREADS, event(), 0..40u8).prop_map(|(thread, event, luck)| match luck {
        0 => Step::Return { thread },
        _ => Step::Event { thread, event },
    });
    (vec(step, 0..100), 1..most / 100).prop_map(|(steps, times)| steps.repeat(times))
}

prop_compose! {
    /// An event. Its time is the way from the one before.
    fn event()(
        way in prop_oneof![Just(0), 0..2000u64, 0..1u64 << 40],
        device in prop_oneof![0..3u16, Just(u16::MAX)],
        context in prop_oneof![Just(0), any::<u32>()],
        stream in prop_oneof![Just(0), any::<u64>()],
        pool in 0..=DEFINED,
        stack in 0..=DEFINED,
        result in prop_oneof![9 => Just(0), 1 => any::<i32>()],
        action in action(),
    ) -> Event {
        Event {
            time: Time(way),
            origin: Origin {
                device: DeviceId(device),
                context: ContextId(context),
                stream: StreamId(stream),
                pool: PoolId(pool),
                ..Origin::default()
            },
            stack: StackId(stack),
            result: ResultCode(result),
            action,
        }
    }
}

fn action() -> impl Strategy<Value = Action> {
    let number = prop_oneof![0..1u64 << 20, (1 << 46)..(1u64 << 47), any::<u64>()];
    (0..31u8, number.clone(), number.clone(), number, 0..=DEFINED).prop_map(
        |(choice, a, b, c, id)| {
            let (address, size, handle) = (Address(a), Bytes(b), HandleId(c));
            let (kind, text) = (MemoryKind::Imported, StringId(id));
            match choice {
                0 => Action::HistoryStart,
                1 => Action::Alloc { kind, address, size },
                2 => Action::Free { kind, address },
                3 => Action::PoolTrim { keep: size },
                4 => Action::Reserve { address, size },
                5 => Action::Unreserve { address, size },
                6 => Action::Create { handle, size },
                7 => Action::Release { handle },
                8 => Action::Map { address, size, handle },
                9 => Action::Unmap { address, size },
                10 => Action::ContextCreate,
                11 => Action::ContextDestroy,
                12 => Action::LimitSet { limit: Limit::ReleaseThreshold, value: a },
                13 => Action::LaunchFailed { kernel: text, shared_memory: size },
                14 => Action::CodeLoad { handle },
                15 => Action::CodeUnload { handle },
                16 => Action::Synchronize { scope: SyncScope::Event },
                17 => Action::SegmentAlloc {
                    address,
                    size,
                    class: SizeClass::Large,
                    growth: SegmentGrowth::Expandable,
                },
                18 => Action::SegmentFree { address },
                19 => Action::SegmentMap { address, size, class: SizeClass::Large },
                20 => Action::SegmentUnmap { address, size },
                21 => Action::BlockAlloc { address, requested: Bytes(c), size },
                22 => Action::BlockFreeRequested { address },
                23 => Action::BlockFree { address },
                24 => Action::OutOfMemory { requested: size },
                25 => Action::Symptom {
                    symptom: Symptom::Killed,
                    software: Software::Supervisor,
                    text,
                },
                26 => Action::Mark { kind: MarkKind::Phase, name: text },
                27 => Action::Setting { name: text, value: StringId(DEFINED - id) },
                28 => Action::Sample { counter: Counter::DeviceHeap, bytes: size },
                29 => Action::Holder {
                    pid: a as u32,
                    bytes: size,
                    command: text,
                    standing: ProcessState::Ghost,
                },
                _ => Action::Exit,
            }
        },
    )
}

/// Defines what events name, so that the tables' ids are the same.
fn define(part: &Part) {
    for id in 1..=DEFINED {
        let text = format!("text {id}");
        part.define(Definition::String { id: StringId(id), text: text.as_bytes() }).unwrap();
        let (function, file) = (StringId(id), StringId(0));
        part.define(Definition::Frame { id: FrameId(id), function, file, line: id }).unwrap();
        let frames = [RawFrame::Named(FrameId(id))];
        part.define(Definition::Stack { id: StackId(id), frames: &frames }).unwrap();
        let (first, second) = (id.into(), 0);
        part.define(Definition::Pool { id: PoolId(id), first, second }).unwrap();
    }
}

/// Writes a recording, with a lease for each thread; what each thread wrote.
pub(crate) fn write(folder: &Path, steps: &[Step], limit: Option<u64>) -> Vec<Vec<Event>> {
    let part = part(folder, limit);
    define(&part);
    let lease = |thread: usize| part.lease(ThreadId(thread as u32 + 1)).unwrap();
    let mut leases: Vec<_> = (0..THREADS).map(|thread| Some(lease(thread))).collect();
    let mut written = vec![Vec::new(); THREADS];
    let mut time = 1_000_000;
    for step in steps {
        match *step {
            Step::Return { thread } => {
                leases[thread] = None;
                leases[thread] = Some(lease(thread));
            }
            Step::Event { thread, mut event } => {
                time += event.time.0;
                event.time = Time(time);
                event.origin.thread = ThreadId(thread as u32 + 1);
                leases[thread].as_mut().unwrap().event(&part, &event).unwrap();
                written[thread].push(event);
            }
        }
    }
    written
}

/// The events of each thread, with the times that they were written with.
pub(crate) fn by_thread(events: &[Event], offset: u64) -> Vec<Vec<Event>> {
    let mut threads = vec![Vec::new(); THREADS];
    for event in events {
        let mut event = *event;
        event.origin.process = ProcessId(0);
        event.time.0 = event.time.0.wrapping_sub(offset);
        threads[event.origin.thread.0 as usize - 1].push(event);
    }
    threads
}

/// What the reader adds to every time.
pub(crate) fn offset(folder: &Path) -> u64 {
    let part = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut part = part.into_iter();
    let part = part.find(|path| path.extension().is_some_and(|e| e == "part"));
    let bytes = std::fs::read(part.unwrap()).unwrap();
    u64::from_le_bytes(bytes[40..48].try_into().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_thread_reads_what_it_wrote(steps in steps(6000)) {
        let folder = tempfile::tempdir().unwrap();
        let written = write(folder.path(), &steps, None);
        let (events, _, losses) = read(folder.path());
        prop_assert_eq!(losses.words(), Vec::<String>::new());
        prop_assert!(events.is_sorted_by_key(|event| event.time));
        prop_assert_eq!(by_thread(&events, offset(folder.path())), written);
    }
}
