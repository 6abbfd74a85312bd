use std::io::Read;

use flate2::read::GzDecoder;
use prost::Message;
use whyoom_trace::{Action, StackId};

use super::{FORMAT, proto::Profile};
use crate::test_trace::{MIB, TestTrace};

fn profile(run: &TestTrace) -> Profile {
    let (bytes, _) = run.export(&FORMAT, None).unwrap();
    let mut plain = Vec::new();
    GzDecoder::new(bytes.as_slice()).read_to_end(&mut plain).unwrap();
    Profile::decode(plain.as_slice()).unwrap()
}

fn totals(profile: &Profile) -> [i64; 4] {
    let sum = |index| profile.sample.iter().map(|sample| sample.value[index]).sum();
    [sum(0), sum(1), sum(2), sum(3)]
}

#[test]
fn in_use_is_of_the_peak_and_allocated_of_the_run() {
    let mib = MIB as i64;
    let profile = profile(&TestTrace::training());
    assert_eq!(totals(&profile), [3, 36 * mib, 2, 32 * mib]);
    let text = |index: i64| profile.string_table[index as usize].as_str();
    assert_eq!(text(0), "");
    let labels = profile.sample[0].label.iter().map(|label| (text(label.key), text(label.str)));
    let labels: Vec<_> = labels.collect();
    assert!(labels.contains(&("device", "GPU 0")), "{labels:?}");
    assert!(labels.contains(&("process", "python train.py (PID 41)")), "{labels:?}");
    for (number, location) in (1..).zip(&profile.location) {
        assert_eq!(location.id, number);
        assert!(location.line[0].function_id <= profile.function.len() as u64);
    }
}

#[test]
fn what_was_there_before_was_not_allocated_by_the_run() {
    let mut run = TestTrace::new();
    run.segment(0, 40);
    run.block(StackId(0), 0, 8);
    run.push(StackId(0), Action::HistoryStart);
    run.block(StackId(0), 8, 2);
    assert_eq!(totals(&profile(&run)), [1, 2 * MIB as i64, 2, 10 * MIB as i64]);
}

#[test]
fn without_an_allocator_it_is_the_drivers_memory() {
    let mut run = TestTrace::new();
    run.take(StackId(0), 0, 5);
    assert_eq!(totals(&profile(&run)), [1, 5 * MIB as i64, 1, 5 * MIB as i64]);
    // With one, its segments are not counted a second time.
    run.block(StackId(0), 1, 2);
    assert_eq!(totals(&profile(&run)), [1, 2 * MIB as i64, 1, 2 * MIB as i64]);
}
