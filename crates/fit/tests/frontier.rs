//! The search over two parameters finds what runs at all values find, in few runs.

mod fake_program;

use proptest::prelude::*;
use whyoom_allocators::Run;
use whyoom_fit::{Edge, Grid, Range, Room, Sample};

use self::fake_program::program;

/// A tensor: what it has always, for each unit of the batch, of both, and of the batch and the square of the length; and
/// how long it lives.
type Tensor = (u64, u64, u64, u64, usize);

/// A training whose tensors grow with its batch and with the length of its sequences.
fn training(tensors: &[Tensor], batch: u64, length: u64) -> Run {
    let with_length = |(fixed, by_batch, by_both, by_square, life): &Tensor| {
        (*fixed, by_batch + by_both * length + by_square * length * length, *life)
    };
    program(&tensors.iter().map(with_length).collect::<Vec<_>>(), batch)
}

/// What is found in each row with runs of a program, and how many it took.
fn search(
    run: impl Fn(u64, u64) -> Run,
    batches: &Range,
    lengths: &[u64],
    rooms: &[Room],
) -> (Vec<Vec<Edge>>, usize) {
    let mut grid = Grid::new(batches.clone(), lengths.iter().map(|length| vec![*length]).collect());
    loop {
        let next = grid.next_runs(rooms);
        if next.is_empty() {
            let row = |row: usize| rooms.iter().map(|room| grid.edge(row, *room)).collect();
            return ((0..lengths.len()).map(row).collect(), grid.count());
        }
        for (row, batch) in next {
            assert!(grid.samples(row).made_at(batch).is_none(), "{batch} is run again");
            grid.add(row, batch, Sample::new(vec![run(batch, lengths[row])]));
        }
    }
}

/// What runs at all values find.
fn sweep(run: impl Fn(u64, u64) -> Run, batches: &Range, length: u64, room: Room) -> Option<u64> {
    let values = (0..batches.count()).rev().map(|place| batches.value(place));
    values.into_iter().find(|batch| Sample::new(vec![run(*batch, length)]).fits(room))
}

fn tensor() -> impl Strategy<Value = Tensor> {
    (0..4_u64 << 20, 0..1_u64 << 20, 0..64_u64 << 10, 0..2_u64 << 10, 1..12_usize)
}

fn room(mebibytes: u64) -> Room {
    Room { total: mebibytes << 20, outside: 32 << 20 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn it_finds_what_a_sweep_finds(
        tensors in prop::collection::vec(tensor(), 4..16),
        total in 64..4096_u64,
        rows in 1..8_usize,
    ) {
        let batches = Range::new(1, 48, 1).expect("a range");
        let lengths = &[8, 12, 16, 24, 32, 48, 64][..rows.min(7)];
        let run = |batch, length| training(&tensors, batch, length);
        let (found, runs) = search(run, &batches, lengths, &[room(total)]);
        for (edges, length) in found.iter().zip(lengths) {
            prop_assert_eq!(edges[0].value, sweep(run, &batches, *length, room(total)));
            prop_assert!(edges[0].confirmed);
        }
        // Four in the first and the last row, in the middle perhaps two more than in the others, which take two.
        prop_assert!(runs <= 2 * rows + 6, "{} runs for {} rows", runs, rows);
    }
}

/// Lengths are padded, so that no curve meets all of them: what is predicted is wrong, and is found to be.
#[test]
fn what_is_predicted_wrongly_is_run_again() {
    let padded = |batch: u64, length: u64| {
        program(&[(8 << 20, length.next_multiple_of(20) << 14, 2); 6], batch)
    };
    let batches = Range::new(1, 512, 1).expect("a range");
    let lengths = [8, 21, 39, 41, 64, 79, 81, 128];
    let rooms = [room(600), room(1000)];
    let (found, runs) = search(padded, &batches, &lengths, &rooms);
    for (edges, length) in found.iter().zip(lengths) {
        for (edge, room) in edges.iter().zip(rooms) {
            assert_eq!(edge.value, sweep(padded, &batches, length, room), "{length}");
        }
    }
    assert!(runs <= lengths.len() * rooms.len() * 4, "{runs} runs");
}

/// Nothing depends on the second parameter, or all of it fits: what one row shows, the others need not.
#[test]
fn rows_that_break_at_the_same_value_share_their_runs() {
    let batches = Range::new(1, 64, 1).expect("a range");
    let lengths = [1, 2, 3, 4, 5, 6, 7, 8];
    let (found, runs) =
        search(|batch, _| program(&[(0, 4 << 20, 1)], batch), &batches, &lengths, &[room(200)]);
    assert!(runs <= 8, "{runs} runs");
    let first = found[0][0].value;
    assert!(first.is_some() && found.iter().all(|row| row[0].value == first && row[0].confirmed));
    assert!(found.iter().any(|row| row[0].implied));
    let grows = |batch: u64, length: u64| program(&[(0, length << 10, 1)], batch);
    let (found, runs) = search(grows, &batches, &lengths, &[room(4000)]);
    assert!(found.iter().all(|row| row[0].value == Some(64)), "{found:?}");
    assert!(runs <= 6, "{runs} runs");
}

/// More pieces take less memory: what fits in one row fits in later ones.
#[test]
fn memory_may_shrink_with_a_parameter() {
    let batches = Range::new(1, 96, 1).expect("a range");
    let pieces = [1, 2, 4, 8, 16];
    let run = |batch: u64, pieces: u64| program(&[(0, (64 << 20) / pieces, 1)], batch);
    let (found, runs) = search(run, &batches, &pieces, &[room(900)]);
    for (edges, pieces) in found.iter().zip(pieces) {
        assert_eq!(edges[0].value, sweep(run, &batches, pieces, room(900)), "{pieces}");
    }
    assert!(runs <= 20, "{runs} runs");
}

/// Rows of two more parameters.
#[test]
fn rows_may_differ_in_several_parameters() {
    let batches = Range::new(1, 64, 1).expect("a range");
    let rows: Vec<Vec<u64>> = [1, 2, 3].iter().flat_map(|a| [1, 5].map(|b| vec![*a, b])).collect();
    let run = |batch: u64, at: &[u64]| {
        Sample::new(vec![program(&[(at[1] << 20, at[0] << 20, 3); 5], batch)])
    };
    let mut grid = Grid::new(batches, rows.clone());
    loop {
        let next = grid.next_runs(&[room(400)]);
        if next.is_empty() {
            break;
        }
        next.into_iter().for_each(|(row, batch)| grid.add(row, batch, run(batch, &rows[row])));
    }
    for (row, at) in rows.iter().enumerate() {
        let sweep = (1..=64).rev().find(|batch| run(*batch, at).fits(room(400)));
        assert_eq!(grid.edge(row, room(400)).value, sweep, "{at:?}");
    }
}
