//! What is written comes back.

use std::time::Duration;

use crate::common::{alloc, number, part, read};
use whyoom_recording::{
    Definition, Ending, LiveView, Options, Part, RawFrame, Recording, Stop, now,
};
use whyoom_trace::{
    Action, Address, Bytes, Counter, DeviceId, Event, FrameId, HandleId, MemoryKind, Origin,
    PoolId, ResultCode, StackId, StreamId, StringId, ThreadId, Time,
};

#[test]
fn events_come_back_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let part = part(folder.path(), None);
    let mut lease = part.lease(ThreadId(7)).unwrap();
    for at in 0..20_000 {
        lease.event(&part, &alloc(7, at)).unwrap();
    }
    drop(lease);
    drop(part);
    let (events, tables, losses) = read(folder.path());
    assert_eq!(losses.words(), Vec::<String>::new());
    assert!(events.iter().map(number).eq(0..20_000));
    assert!(events.iter().all(|event| event.origin.thread == ThreadId(7)));
    assert!(tables.process_name(events[0].origin.process).contains("PID"));
}

#[test]
fn times_become_unix_times() {
    let folder = tempfile::tempdir().unwrap();
    let part = part(folder.path(), None);
    let unix = std::time::UNIX_EPOCH.elapsed().unwrap();
    part.lease(ThreadId(1)).unwrap().event(&part, &Event { time: now(), ..alloc(1, 1) }).unwrap();
    let (events, ..) = read(folder.path());
    let off = Duration::from_nanos(events[0].time.0).abs_diff(unix);
    assert!(off < Duration::from_secs(1), "{off:?}");
}

#[test]
fn every_field_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let part = part(folder.path(), None);
    let event = Event {
        time: Time(u64::MAX / 4),
        origin: Origin {
            thread: ThreadId(u32::MAX),
            device: DeviceId::HOST,
            context: whyoom_trace::ContextId(u32::MAX),
            stream: StreamId(u64::MAX),
            ..Origin::default()
        },
        result: ResultCode(-1),
        action: Action::Map {
            address: Address(u64::MAX),
            size: Bytes(u64::MAX),
            handle: HandleId(1 << 63),
        },
        ..Event::default()
    };
    let sample = Action::Sample { counter: Counter::DeviceHeap, bytes: Bytes(3) };
    let later = Event { time: Time(u64::MAX / 4 + 1), action: sample, ..event };
    let mut lease = part.lease(ThreadId(u32::MAX)).unwrap();
    lease.event(&part, &event).unwrap();
    lease.event(&part, &later).unwrap();
    let (read, ..) = read(folder.path());
    let same = |event: &Event| (event.origin, event.result, event.action);
    assert_eq!(read.iter().map(same).collect::<Vec<_>>(), [same(&event), same(&later)]);
    assert_eq!(read[1].time.0 - read[0].time.0, 1);
}

#[test]
fn definitions_are_resolved_by_what_was_loaded_then() {
    let folder = tempfile::tempdir().unwrap();
    let part = part(folder.path(), None);
    let define = |definition| part.define(definition).unwrap();
    let module = |path| Definition::Module {
        start: 0x1000,
        end: 0x2000,
        bias: 0x1000,
        path: StringId(path),
        build_id: &[1, 2],
    };
    for (id, text) in [(1, "/lib/old.so"), (2, "/lib/new.so"), (3, "step"), (4, "train.py")] {
        define(Definition::String { id: StringId(id), text: text.as_bytes() });
    }
    let frames = [RawFrame::Native(0x1234), RawFrame::Named(FrameId(1)), RawFrame::Native(0x9)];
    let (function, file) = (StringId(3), StringId(4));
    define(Definition::Frame { id: FrameId(1), function, file, line: 12 });
    define(module(1));
    define(Definition::Stack { id: StackId(1), frames: &frames });
    define(module(2));
    define(Definition::Stack { id: StackId(2), frames: &frames[..1] });
    define(Definition::Pool { id: PoolId(1), first: 5, second: 6 });
    let mut lease = part.lease(ThreadId(1)).unwrap();
    for stack in [1, 2] {
        let mut event = Event { stack: StackId(stack), ..alloc(1, stack.into()) };
        event.origin.pool = PoolId(1);
        lease.event(&part, &event).unwrap();
    }
    let (events, tables, losses) = read(folder.path());
    let stack = |event: &Event| {
        let frames = tables.frames(event.stack);
        frames.map(|f| format!("{} {} {}", f.function, f.file, f.line)).collect::<Vec<_>>()
    };
    let first = ["old.so+0x234 /lib/old.so 0", "step train.py 12", "0x9  0"];
    assert_eq!(stack(&events[0]), first);
    assert_eq!(stack(&events[1]), ["new.so+0x234 /lib/new.so 0"]);
    assert_eq!(tables.pool_name(events[0].origin.pool), (5, 6));
    assert!(losses.is_whole(), "{losses}");
}

#[test]
fn a_segment_that_was_given_back_is_continued_by_another_thread() {
    let folder = tempfile::tempdir().unwrap();
    let part = part(folder.path(), None);
    for thread in 1..=5 {
        part.lease(ThreadId(thread)).unwrap().event(&part, &alloc(thread, thread.into())).unwrap();
    }
    let (events, ..) = read(folder.path());
    let threads: Vec<_> = events.iter().map(|event| event.origin.thread.0).collect();
    assert_eq!(threads, [1, 2, 3, 4, 5]);
    assert_eq!(files(folder.path(), "events").len(), 1);
}

#[test]
fn a_free_goes_before_the_allocation_of_the_same_instant() {
    let folder = tempfile::tempdir().unwrap();
    let part = part(folder.path(), None);
    let mut leases = [1, 2].map(|thread| part.lease(ThreadId(thread)).unwrap());
    let free = Action::Free { kind: MemoryKind::Device, address: Address(1) };
    leases[0].event(&part, &alloc(1, 5)).unwrap();
    leases[1].event(&part, &Event { action: free, ..alloc(2, 5) }).unwrap();
    let (events, ..) = read(folder.path());
    assert_eq!(events[0].action, free);
}

#[test]
fn what_a_process_said_of_itself_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let part = part(folder.path(), None);
    part.failed();
    part.stopped("a test wanted it");
    let ending = |folder| Recording::open(folder).unwrap().parts()[0].ending;
    assert_eq!(ending(folder.path()), Ending::Running);
    part.end();
    let recording = Recording::open(folder.path()).unwrap();
    let info = &recording.parts()[0];
    assert_eq!((info.pid, info.failures), (std::process::id(), 1));
    assert_eq!((info.ending, info.stopped.as_str()), (Ending::InOrder, "a test wanted it"));
    assert_eq!(info.command, std::env::args().collect::<Vec<_>>());
}

#[test]
fn a_program_that_another_replaced_has_a_part_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = [part(folder.path(), None), part(folder.path(), None)];
    first.lease(ThreadId(1)).unwrap().event(&first, &alloc(1, 1)).unwrap();
    second.lease(ThreadId(1)).unwrap().event(&second, &alloc(1, 2)).unwrap();
    std::mem::forget(first);
    let recording = Recording::open(folder.path()).unwrap();
    let endings: Vec<_> = recording.parts().iter().map(|p| (p.program, p.ending)).collect();
    assert_eq!(endings, [(0, Ending::Replaced), (1, Ending::Running)]);
    assert_eq!(read(folder.path()).0.len(), 2);
}

#[test]
fn others_see_totals_and_wait_for_failures() {
    let folder = tempfile::tempdir().unwrap();
    let part = part(folder.path(), None);
    let views = LiveView::all(folder.path()).unwrap();
    let [view] = &views[..] else { panic!("{views:?}") };
    part.live().devices[3].reserved.store(77, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(view.totals().devices[3].reserved.load(std::sync::atomic::Ordering::Relaxed), 77);
    assert_eq!(view.wait(0, Duration::from_millis(1)), 0, "nothing happened");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            part.failed();
        });
        assert_eq!(view.wait(0, Duration::from_secs(10)), 1);
    });
}

#[test]
fn a_process_waits_for_who_looks_at_its_failures() {
    let folder = tempfile::tempdir().unwrap();
    let part = part(folder.path(), None);
    let entries = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let mut parts = entries.filter(|path| path.extension().is_some_and(|kind| kind == "part"));
    let view = LiveView::open_as_watcher(&parts.next().unwrap()).unwrap();
    view.set_ready(true);
    let looked = std::sync::atomic::AtomicBool::new(false);
    let ordering = std::sync::atomic::Ordering::SeqCst;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for call in 0..2 {
                assert_eq!(view.wait(call, Duration::from_secs(10)), call + 1);
                std::thread::sleep(Duration::from_millis(20));
                looked.store(true, ordering);
                view.set_ready(true);
            }
        });
        part.failed();
        assert!(looked.swap(false, ordering), "the failure was looked at");
        part.ask_for_look();
        assert!(looked.load(ordering), "so was what did not fail");
    });
    assert_eq!((view.failures(), view.calls()), (1, 2));
}

#[test]
fn a_finished_recording_is_small() {
    let folder = tempfile::tempdir().unwrap();
    let part = Part::create(folder.path(), Options::default()).unwrap();
    part.define(Definition::String { id: StringId(1), text: b"x" }).unwrap();
    part.lease(ThreadId(1)).unwrap().event(&part, &alloc(1, 1)).unwrap();
    let on_disk = || files(folder.path(), "").iter().map(|(_, length)| length).sum::<u64>();
    assert!(on_disk() > 128 << 10, "room is preallocated");
    drop(part);
    assert!(on_disk() < 10 << 10, "{}", on_disk());
    assert_eq!(read(folder.path()).0.len(), 1);
}

#[test]
fn a_folder_that_vanishes_stops_recording() {
    let folder = tempfile::tempdir().unwrap();
    let part = part(folder.path(), None);
    std::fs::remove_dir_all(folder.path()).unwrap();
    let mut lease = part.lease(ThreadId(1)).unwrap();
    assert_eq!(lease.event(&part, &alloc(1, 1)), Err(Stop::FolderGone));
    let nowhere = Part::create(folder.path(), Options::default());
    assert_eq!(nowhere.err(), Some(Stop::FolderGone));
}

fn files(folder: &std::path::Path, suffix: &str) -> Vec<(String, u64)> {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len()))
        .filter(|(name, _)| name.ends_with(suffix))
        .collect()
}
