//! A recording that is read while it is written.

use std::{path::Path, time::Duration};

use whyoom_recording::{Follower, Part, Recording, Unresolved, Unseen, now};
use whyoom_trace::{Event, Tables, ThreadId};

use crate::common::{alloc, number, part};

const LIMIT: u64 = 256 << 10;

/// What a follower hands on, and its tables.
struct Seen {
    follower: Follower,
    tables: Tables,
    events: Vec<Event>,
}

impl Seen {
    fn new(folder: &Path) -> Self {
        Self { follower: Follower::new(folder), tables: Tables::default(), events: Vec::new() }
    }

    fn look(&mut self, delay: Option<Duration>) {
        self.follower.look().unwrap();
        self.follower.advance(delay, &mut Unresolved, &mut self.tables, &mut self.events);
    }

    /// The last look tells what was read of segments that are gone.
    fn settle(&mut self) -> Unseen {
        self.look(None);
        self.look(None);
        self.follower.refresh();
        self.follower.unseen()
    }
}

fn write(part: &Part, thread: u32, numbers: std::ops::Range<u64>) {
    let mut lease = part.lease(ThreadId(thread)).unwrap();
    numbers.for_each(|at| lease.event(part, &alloc(thread, at)).unwrap());
}

#[test]
fn what_the_ring_drops_was_seen_before() {
    let folder = tempfile::tempdir().unwrap();
    let mut seen = Seen::new(folder.path());
    let part = part(folder.path(), Some(LIMIT));
    const EVENTS: u64 = 200_000;
    for from in (0..EVENTS).step_by(5_000) {
        write(&part, 1, from..from + 5_000);
        seen.look(None);
    }
    drop(part);
    assert_eq!(seen.settle(), Unseen::default());
    assert!(seen.events.iter().map(number).eq(0..EVENTS));
    let info = Recording::open(folder.path()).unwrap().parts()[0].clone();
    assert!(info.dropped_events > EVENTS / 2, "{}", info.dropped_events);
    assert!(seen.follower.losses().words().is_empty(), "{}", seen.follower.losses());
}

#[test]
fn what_was_dropped_unseen_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let mut seen = Seen::new(folder.path());
    let part = part(folder.path(), Some(LIMIT));
    write(&part, 1, 0..5_000);
    seen.look(None);
    write(&part, 1, 5_000..200_000);
    drop(part);
    let Unseen { dropped, late } = seen.settle();
    assert_eq!((dropped + seen.events.len() as u64, late), (200_000, 0));
    assert!(dropped > 100_000, "{dropped}");
}

#[test]
fn an_event_is_handed_on_when_it_is_old_enough() {
    let folder = tempfile::tempdir().unwrap();
    let mut seen = Seen::new(folder.path());
    let part = part(folder.path(), None);
    let mut lease = part.lease(ThreadId(1)).unwrap();
    (0..100).for_each(|at| lease.event(&part, &Event { time: now(), ..alloc(1, at) }).unwrap());
    seen.look(Some(Duration::from_secs(60)));
    assert_eq!(seen.events.len(), 0);
    seen.look(Some(Duration::ZERO));
    assert_eq!(seen.events.len(), 100);
}

#[test]
fn what_comes_after_younger_ones_is_late() {
    let folder = tempfile::tempdir().unwrap();
    let mut seen = Seen::new(folder.path());
    let part = part(folder.path(), None);
    let mut first = part.lease(ThreadId(1)).unwrap();
    let mut second = part.lease(ThreadId(2)).unwrap();
    let (early, later) = (alloc(1, 0), alloc(2, 1));
    second.event(&part, &later).unwrap();
    seen.look(None);
    first.event(&part, &early).unwrap();
    first.event(&part, &Event { time: later.time, ..early }).unwrap();
    seen.look(None);
    assert!(early.time < later.time);
    seen.follower.refresh();
    assert_eq!((seen.events.len(), seen.follower.unseen().late), (3, 1));
}
