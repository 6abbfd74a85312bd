//! Recording an event takes nothing from the program's heap, not even when a segment is full.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

use whyoom_recording::{Definition, Options, Part, RawFrame, now};
use whyoom_trace::{Action, Address, Bytes, Event, StackId, ThreadId};

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// The system's heap, which counts how often this thread called it.
struct Counting;

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static HEAP: Counting = Counting;

fn calls(work: impl FnOnce()) -> u64 {
    let before = CALLS.get();
    work();
    CALLS.get() - before
}

fn record(limit: Option<u64>) {
    let folder = tempfile::tempdir().unwrap();
    let part = Part::create(folder.path(), Options { segment_bytes: 64 << 10, limit }).unwrap();
    let mut lease = part.lease(ThreadId(1)).unwrap();
    let taken = calls(|| {
        for at in 0..50_000 {
            let (address, requested) = (Address(at * 512), Bytes(at));
            let action = Action::BlockAlloc { address, requested, size: requested };
            lease.event(&part, &Event { time: now(), action, ..Event::default() }).unwrap();
        }
    });
    assert_eq!(taken, 0, "50,000 events over many segments");
    let frames = [RawFrame::Native(1); 100];
    let taken = calls(|| {
        for id in 1..3000 {
            part.define(Definition::Stack { id: StackId(id), frames: &frames }).unwrap();
        }
    });
    assert_eq!(taken, 0, "3,000 stacks over several pieces");
    assert!(std::fs::read_dir(folder.path()).unwrap().count() > 5);
}

#[test]
fn events_take_nothing_from_the_heap() {
    record(None);
}

#[test]
fn a_ring_takes_nothing_from_the_heap() {
    record(Some(512 << 10));
}

#[test]
fn a_refusal_takes_nothing_from_the_heap() {
    let folder = tempfile::tempdir().unwrap();
    let part = Part::create(folder.path(), Options::default()).unwrap();
    let mut lease = part.lease(ThreadId(1)).unwrap();
    std::fs::remove_dir_all(folder.path()).unwrap();
    let taken = calls(|| assert!(lease.event(&part, &Event::default()).is_err()));
    assert_eq!(taken, 0);
}
