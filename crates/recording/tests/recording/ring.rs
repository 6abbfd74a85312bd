//! Ring mode keeps the youngest.

use std::path::Path;

use proptest::prelude::*;
use whyoom_recording::Recording;
use whyoom_trace::ThreadId;

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
