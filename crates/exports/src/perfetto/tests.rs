use std::collections::BTreeMap;

use prost::Message;

use super::{
    FORMAT,
    proto::{COUNTER, INSTANT, InternedName, SLICE_BEGIN, SLICE_END, TracePacket},
};
use crate::test_trace::{MIB, TestTrace};

/// The trace is a message whose field 1 repeats.
#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<TracePacket>,
}

fn packets(run: &TestTrace) -> Vec<TracePacket> {
    let (bytes, _) = run.export(&FORMAT, None).unwrap();
    Trace::decode(bytes.as_slice()).unwrap().packet
}

fn names(packets: &[TracePacket]) -> BTreeMap<u64, String> {
    let interned = packets.iter().filter_map(|packet| packet.interned_data.as_ref());
    let all = interned.flat_map(|data| {
        [&data.event_names, &data.debug_annotation_names, &data.debug_annotation_string_values]
    });
    all.flatten().map(|InternedName { iid, name }| (*iid, name.clone())).collect()
}

#[test]
fn counters_end_and_rise_as_the_run_did() {
    let packets = packets(&TestTrace::training());
    let tracks = packets.iter().filter_map(|packet| packet.track_descriptor.as_ref());
    let allocated = tracks.clone().find(|track| track.name == "GPU 0 allocated").unwrap();
    let process = tracks.clone().find(|track| track.process.is_some()).unwrap();
    assert_eq!(allocated.parent_uuid, Some(process.uuid));
    let events = packets.iter().filter_map(|packet| packet.track_event.as_ref());
    let values: Vec<i64> = events
        .filter(|event| event.kind == COUNTER && event.track_uuid == allocated.uuid)
        .filter_map(|event| event.counter_value)
        .collect();
    assert_eq!(values.iter().max(), Some(&(32 * MIB as i64)));
    assert_eq!(values.last(), Some(&(28 * MIB as i64)));
}

#[test]
fn a_failure_says_what_was_asked_for_and_what_was_live() {
    let packets = packets(&TestTrace::training());
    let names = names(&packets);
    let mut events = packets.iter().filter_map(|packet| packet.track_event.as_ref());
    let failure = events.find(|event| event.kind == INSTANT).unwrap();
    let note = |name: &str| {
        let mut notes = failure.debug_annotations.iter();
        notes.find(|note| names[&note.name_iid] == name).unwrap()
    };
    assert_eq!(note("requested bytes").uint_value, Some(64 * MIB));
    let text = |name: &str| names[&note(name).string_value_iid.unwrap()].as_str();
    assert_eq!(text("stack"), "at::empty (libtorch.so)\nforward (/home/me/model.py:9)");
    assert_eq!(text("live 01"), "24.00 MiB me/model.py:5 __init__");
}

#[test]
fn marks_are_slices_that_end() {
    let packets = packets(&TestTrace::training());
    let names = names(&packets);
    let events = packets.iter().filter_map(|packet| packet.track_event.as_ref());
    let begun: Vec<_> = events
        .clone()
        .filter(|event| event.kind == SLICE_BEGIN)
        .map(|event| names[&event.name_iid.unwrap()].as_str())
        .collect();
    assert_eq!(begun, ["step 0", "step 1"]);
    assert_eq!(events.filter(|event| event.kind == SLICE_END).count(), 2);
}
