//! Ring mode keeps the youngest.

use std::path::Path;

use proptest::prelude::*;
use whyoom_recording::{Definition, Recording};
use whyoom_trace::{StringId, ThreadId};

use crate::{
    common::{alloc, number, part, read},
    model,
};

const LIMIT: u64 = 256 << 10;

fn bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let events = entries.filter(|entry| entry.path().extension().is_some_and(|e| e == "events"));
    events.map(|entry| entry.metadata().unwrap().len()).sum()
}

#[test]
fn a_long_run_stays_within_its_limit() {
    let folder = tempfile::tempdir().unwrap();
    let part = part(folder.path(), Some(LIMIT));
    let mut lease = part.lease(ThreadId(1)).unwrap();
    const EVENTS: u64 = 200_000;
    for at in 0..EVENTS {
        lease.event(&part, &alloc(1, at)).unwrap();
        if at % 10_000 == 0 {
            assert!(bytes(folder.path()) <= LIMIT, "{}", bytes(folder.path()));
        }
    }
    drop(lease);
    drop(part);
    let recording = Recording::open(folder.path()).unwrap();
    let info = &recording.parts()[0];
    let (events, _, losses) = read(folder.path());
    assert_eq!(info.dropped_events + events.len() as u64, EVENTS);
    assert!(events.iter().map(number).eq(info.dropped_events..EVENTS));
    assert!(events.len() as u64 * 10 > LIMIT / 2, "little is left: {}", events.len());
    assert!(info.dropped_until.unwrap() < events[0].time);
    assert!(losses.is_whole(), "{losses}");
    assert_eq!(losses.dropped_events, info.dropped_events);
}

#[test]
fn events_after_the_end_share_a_segment_and_drop_nothing_young() {
    let folder = tempfile::tempdir().unwrap();
    let part = part(folder.path(), Some(LIMIT));
    const EVENTS: u64 = 4_000;
    let mut early = part.lease(ThreadId(1)).unwrap();
    (0..EVENTS).for_each(|at| early.event(&part, &alloc(1, at)).unwrap());
    drop(early);
    part.end();
    let files = || std::fs::read_dir(folder.path()).unwrap().count();
    let before = files();
    for at in EVENTS..2 * EVENTS {
        part.lease(ThreadId(1)).unwrap().event(&part, &alloc(1, at)).unwrap();
    }
    assert!(files() <= before + 5, "{} files after {before}", files());
    assert!(bytes(folder.path()) <= LIMIT);
    let (events, _, losses) = read(folder.path());
    assert!(losses.is_whole(), "{losses}");
    assert!(events.iter().map(number).eq(0..2 * EVENTS), "{} events", events.len());
}

#[test]
fn segments_that_the_end_closed_can_be_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let part = part(folder.path(), Some(LIMIT));
    const THREADS: u32 = 12;
    let leases = (0..THREADS).map(|thread| {
        let mut lease = part.lease(ThreadId(thread)).unwrap();
        lease.event(&part, &alloc(thread, u64::from(thread))).unwrap();
        lease
    });
    drop(leases.collect::<Vec<_>>());
    part.end();
    let mut lease = part.lease(ThreadId(1)).unwrap();
    let late = u64::from(THREADS)..40_000;
    late.clone().for_each(|at| lease.event(&part, &alloc(1, at)).unwrap());
    drop(lease);
    drop(part);
    let (events, _, losses) = read(folder.path());
    assert!(losses.is_whole(), "{losses}");
    assert_eq!(losses.dropped_events + events.len() as u64, late.end);
    assert!(events.iter().map(number).eq(losses.dropped_events..late.end));
    assert!(bytes(folder.path()) > LIMIT / 2, "the young were dropped for the old");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn of_every_thread_the_end_is_kept(steps in model::steps(20_000)) {
        let folder = tempfile::tempdir().unwrap();
        let written = model::write(folder.path(), &steps, Some(LIMIT));
        let (events, _, losses) = read(folder.path());
        prop_assert!(losses.is_whole(), "{}", losses);
        let threads = model::by_thread(&events, model::offset(folder.path()));
        let mut dropped = 0;
        for (read, written) in threads.iter().zip(&written) {
            prop_assert!(written.ends_with(read), "{} of {}", read.len(), written.len());
            dropped += (written.len() - read.len()) as u64;
        }
        prop_assert_eq!(dropped, losses.dropped_events);
    }
}

#[test]
fn definitions_have_a_limit_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let part = part(folder.path(), Some(LIMIT));
    let text = [b'x'; 1000];
    let mut defined = 0;
    while part.has_room() {
        defined += 1;
        part.define(Definition::String { id: StringId(defined), text: &text }).unwrap();
    }
    part.stood_in();
    part.stood_in();
    drop(part);
    // That of a small ring is 1 MiB.
    assert!((1030..1050).contains(&defined), "{defined} of 1,000 bytes each");
    let recording = Recording::open(folder.path()).unwrap();
    assert_eq!(recording.parts()[0].stand_ins, 2);
    let (_, _, losses) = read(folder.path());
    assert!(losses.to_string().starts_with("2 events have a stand-in"), "{losses}");
}

#[test]
fn without_a_limit_there_is_always_room() {
    let folder = tempfile::tempdir().unwrap();
    let part = part(folder.path(), None);
    for id in 1..40 {
        part.define(Definition::String { id: StringId(id), text: &[b'x'; 48 << 10] }).unwrap();
    }
    assert!(part.has_room());
}
