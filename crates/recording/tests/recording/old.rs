//! A recording that an earlier build wrote is read as ever. If this fails, the format has changed:
//! give it a new version, keep reading the old one, and add a fixture of the new.

use std::path::Path;

use whyoom_recording::{Ending, Recording};

use crate::common::{fixture_events, read};

#[test]
fn version_1_is_read() {
    let folder = Path::new(".").join("tests/fixtures/version-1");
    let recording = Recording::open(&folder).unwrap();
    let [info] = recording.parts() else { panic!("{:?}", recording.parts()) };
    assert_eq!(info.ending, Ending::InOrder);
    assert_eq!((info.failures, info.stopped.as_str()), (1, "the fixture ends here"));
    let (events, tables, losses) = read(&folder);
    assert!(losses.is_whole(), "{losses}");
    let made = fixture_events();
    let times = |events: &[whyoom_trace::Event]| {
        let first = events[0].time.0;
        events.iter().map(|event| event.time.0 - first).collect::<Vec<_>>()
    };
    assert_eq!(times(&events), times(&made));
    for (event, made) in events.iter().zip(&made) {
        assert_eq!((event.action, event.result), (made.action, made.result));
        assert_eq!(event.origin, made.origin);
        assert_eq!(event.stack, made.stack);
    }
    let frames = tables.frames(events[0].stack);
    let said: Vec<_> = frames.map(|f| format!("{} {} {}", f.function, f.file, f.line)).collect();
    assert_eq!(said, ["libtorch.so+0x234 /lib/libtorch.so 0", "step train.py 12"]);
    assert_eq!(tables.pool_name(events[0].origin.pool), (5, 6));
}

/// Writes the fixture, when a new version needs one: run it by name, with the folder to write.
#[test]
#[ignore = "it makes the fixture"]
fn make_the_fixture() {
    let folder = std::env::var_os("FIXTURE").unwrap();
    crate::common::write_fixture(Path::new(&folder));
}
