//! The search finds what a sweep over all values finds, in few runs.

use proptest::prelude::*;
use whyoom_allocators::{Item, Request, Run, Step, Workload};
use whyoom_fit::{Next, Range, Room, Sample, Samples, next_step};
use whyoom_trace::{Address, Bytes, DeviceId, PoolId, ProcessId, StackId, StreamId};

/// A tensor: bytes that are always there, bytes for each unit of the value, and how long it lives.
type Tensor = (u64, u64, usize);

/// A training loop that makes these tensors in order, each freed so many tensors later.
fn program(tensors: &[Tensor], value: u64) -> Run {
    let mut workload = Workload::default();
    let mut ends: Vec<(usize, Item)> = Vec::new();
    for round in 0..3 {
        for (index, (fixed, each, life)) in tensors.iter().enumerate() {
            let now = round * tensors.len() + index;
            for (_, item) in ends.extract_if(.., |(end, _)| *end <= now) {
                workload.steps.push(Step::Free { item });
            }
            let item = Item(workload.items);
            workload.items += 1;
            let size = fixed + each * value;
            let request =
                Request { size: size.max(1), stream: StreamId(0), pool: PoolId::default() };
            workload.steps.push(Step::Alloc {
                item,
                request,
                address: Address(0),
                size: Bytes(size),
                stack: StackId::default(),
            });
            ends.push((now + life, item));
        }
    }
    Run {
        process: ProcessId(0),
        device: DeviceId(0),
        settings: Vec::new(),
        logged_by: None,
        workload,
    }
}

fn sample(tensors: &[Tensor], value: u64) -> Sample {
    Sample::new(vec![program(tensors, value)])
}

fn search(tensors: &[Tensor], range: &Range, room: Room) -> (Option<u64>, usize) {
    let mut samples = Samples::default();
    loop {
        match next_step(range, &samples, room) {
            Next::Try(values) => {
                values.into_iter().for_each(|value| samples.add(value, sample(tensors, value)));
            }
            Next::Found(value) => return (value, samples.count()),
        }
    }
}

fn sweep(tensors: &[Tensor], range: &Range, room: Room) -> Option<u64> {
    let values = (0..range.count()).rev().map(|place| range.value(place));
    values.into_iter().find(|value| sample(tensors, *value).fits(room))
}

fn tensor() -> impl Strategy<Value = Tensor> {
    (0..4_u64 << 20, 0..3_u64 << 20, 1..12_usize)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn it_finds_what_a_sweep_finds_in_at_most_six_runs(
        tensors in prop::collection::vec(tensor(), 4..24),
        total in 64..2048_u64,
    ) {
        let range = Range::new(1, 48, 1).expect("a range");
        let room = Room { total: total << 20, outside: 32 << 20 };
        let (found, runs) = search(&tensors, &range, room);
        prop_assert_eq!(found, sweep(&tensors, &range, room));
        prop_assert!(runs <= 6, "{} runs", runs);
    }
}

#[test]
fn a_program_that_changes_its_ways_is_still_searched() {
    // Beyond 20 it makes a tensor more, so that runs on either side cannot be compared.
    let run = |value: u64| {
        let mut tensors: Vec<Tensor> = vec![(1 << 20, 2 << 20, 3); 8];
        if value > 20 {
            tensors.push((0, 3 << 20, 3));
        }
        program(&tensors, value)
    };
    let range = Range::new(1, 64, 1).expect("a range");
    let room = Room { total: 300 << 20, outside: 0 };
    let mut samples = Samples::default();
    let found = loop {
        match next_step(&range, &samples, room) {
            Next::Try(values) => values
                .into_iter()
                .for_each(|value| samples.add(value, Sample::new(vec![run(value)]))),
            Next::Found(value) => break value,
        }
    };
    let sweep = (1..=64).rev().find(|value| Sample::new(vec![run(*value)]).fits(room));
    assert_eq!(found, sweep);
    assert!(samples.count() <= 12, "{} runs", samples.count());
}
