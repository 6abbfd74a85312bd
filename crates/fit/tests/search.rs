//! The search finds what a sweep over all values finds, in few runs.

mod fake_program;

use proptest::prelude::*;
use whyoom_fit::{Grid, Range, Room, Sample};

use self::fake_program::{Tensor, program};

fn sample(tensors: &[Tensor], value: u64) -> Sample {
    Sample::new(vec![program(tensors, value)])
}

/// What is found with runs of a program, and how many it took.
fn search(run: impl Fn(u64) -> Sample, range: &Range, room: Room) -> (Option<u64>, usize) {
    let mut grid = Grid::new(range.clone(), vec![Vec::new()]);
    loop {
        let next = grid.next_runs(&[room]);
        if next.is_empty() {
            let edge = grid.edge(0, room);
            assert!(edge.confirmed && !edge.implied, "{edge:?}");
            return (edge.value, grid.count());
        }
        next.into_iter().for_each(|(row, value)| grid.add(row, value, run(value)));
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
        let (found, runs) = search(|value| sample(&tensors, value), &range, room);
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
    let (found, runs) = search(|value| Sample::new(vec![run(value)]), &range, room);
    let sweep = (1..=64).rev().find(|value| Sample::new(vec![run(*value)]).fits(room));
    assert_eq!(found, sweep);
    assert!(runs <= 12, "{runs} runs");
}

#[test]
fn both_sides_of_the_edge_are_run_also_where_a_smaller_value_does_not_fit() {
    let range = Range::new(1, 64, 1).expect("a range");
    let room = Room { total: 300 << 20, outside: 0 };
    for odd in 1..=64 {
        let run = |value: u64| {
            let mut tensors: Vec<Tensor> = vec![(1 << 20, 2 << 20, 3); 8];
            tensors.extend((value == odd).then_some((300 << 20, 0, 3)));
            Sample::new(vec![program(&tensors, value)])
        };
        let (found, _) = search(run, &range, room);
        let found = found.expect("some value fits");
        assert!(run(found).fits(room) && !run(found + 1).fits(room), "{found} with {odd}");
    }
}
