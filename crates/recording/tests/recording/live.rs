//! Reading while the process still writes.

use std::sync::atomic::{AtomicBool, Ordering};

use whyoom_recording::{Definition, RawFrame};
use whyoom_trace::{Event, StackId, ThreadId};

use crate::common::{alloc, number, part, read};

/// Enough for several segments; more would only take time.
const EVENTS: u64 = 4_000;

#[test]
fn a_reader_sees_a_moment_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let part = part(folder.path(), None);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 1..=2 {
            let (part, done) = (&part, &done);
            scope.spawn(move || {
                let mut lease = part.lease(ThreadId(thread)).unwrap();
                for at in 0..EVENTS {
                    // Every event names a stack that was defined just before it.
                    let id = StackId((at * 2 + u64::from(thread)) as u32);
                    let frames = [RawFrame::Native(at)];
                    part.define(Definition::Stack { id, frames: &frames }).unwrap();
                    lease.event(part, &Event { stack: id, ..alloc(thread, at) }).unwrap();
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
        }
        let (mut looks, mut before) = (0, 0);
        // The first looks may come before the first event.
        while looks < 8 || before == 0 {
            looks += 1;
            let (events, _, losses) = read(folder.path());
            assert_eq!(losses.words(), Vec::<String>::new());
            for thread in 1..=2 {
                let of = events.iter().filter(|event| event.origin.thread == ThreadId(thread));
                let numbers: Vec<_> = of.map(number).collect();
                assert!(numbers.iter().copied().eq(0..numbers.len() as u64));
            }
            assert!(events.len() >= before);
            before = events.len();
        }
        done.store(true, Ordering::Relaxed);
    });
}
