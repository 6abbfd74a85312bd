//! The offline planner: every packing is one, none is lower than the bound, and problems with a
//! known optimum are solved. The packing problems of real compilers: `cargo xtask packing`.

use proptest::prelude::*;
use whyoom_allocators::planner::{Flaw, Item, Packing, check, max_load, pack};

const STEPS: u64 = 2_000_000;

fn items() -> impl Strategy<Value = Vec<Item>> {
    let item = (0..60_u64, 0..30_u64, 0..2000_u64, 0..3_u32, 0..4_u32);
    let item = item.prop_map(|(lower, length, size, partition, power)| Item {
        partition: partition / 2,
        alignment: (1 << (3 * power)) >> 1,
        ..Item::new(lower, lower + length, size)
    });
    prop::collection::vec(item, 0..60)
}

/// One partition, crowded, so that the load is not always reached.
fn few_items() -> impl Strategy<Value = Vec<Item>> {
    let item = (0..8_u64, 1..6_u64, 1..12_u64, 0..3_u32);
    let item = item.prop_map(|(lower, length, size, power)| Item {
        alignment: 1 << power,
        ..Item::new(lower, lower + length, size)
    });
    prop::collection::vec(item, 1..7)
}

/// The truth, for few items: some order in which each goes as low as it can gives the optimum.
fn lowest_of_all_orders(items: &[Item]) -> u64 {
    fn place(items: &[Item], placed: &mut Vec<(usize, u64)>, best: &mut u64) {
        if placed.len() == items.len() {
            let end = |&(index, offset): &(usize, u64)| offset + items[index].size;
            *best = placed.iter().map(end).max().unwrap_or(0).min(*best);
        }
        for index in 0..items.len() {
            if placed.iter().all(|&(other, _)| other != index) {
                placed.push((index, lowest_place(items, placed, index)));
                place(items, placed, best);
                placed.pop();
            }
        }
    }
    let mut best = u64::MAX;
    place(items, &mut Vec::new(), &mut best);
    best
}

fn lowest_place(items: &[Item], placed: &[(usize, u64)], index: usize) -> u64 {
    let item = &items[index];
    let meets = |other: &Item| item.lower < other.upper && other.lower < item.upper;
    let fits = |at: u64| {
        let clear = |&(other, offset): &(usize, u64)| {
            !meets(&items[other]) || at + item.size <= offset || offset + items[other].size <= at
        };
        at.is_multiple_of(item.alignment) && placed.iter().all(clear)
    };
    let mut at = 0;
    while !fits(at) {
        at += 1;
    }
    at
}

/// A rectangle of time and memory, cut into pieces from edge to edge: they fill it again.
fn cut(pieces: usize, seed: u64) -> Vec<Item> {
    let mut state = seed;
    let mut below = |bound: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let mut items = vec![Item::new(0, 100_000, 100_000)];
    while items.len() < pieces {
        let index = below(items.len() as u64) as usize;
        let whole = items[index];
        let (mut one, mut other) = (whole, whole);
        if below(2) == 0 && whole.upper - whole.lower > 1 {
            one.upper = whole.lower + 1 + below(whole.upper - whole.lower - 1);
            other.lower = one.upper;
        } else if whole.size > 1 {
            one.size = 1 + below(whole.size - 1);
            other.size = whole.size - one.size;
        } else {
            continue;
        }
        items[index] = one;
        items.push(other);
    }
    items
}

proptest! {
    #[test]
    fn packings_hold(items in items(), steps in prop::sample::select(vec![0, 1000, 200_000])) {
        let packing = pack(&items, steps);
        prop_assert_eq!(check(&items, &packing), Ok(()));
        prop_assert!(packing.height >= max_load(&items));
        prop_assert_eq!(pack(&items, steps), packing);
    }

    #[test]
    fn few_items_are_packed_as_well_as_can_be(items in few_items()) {
        let packing = pack(&items, 10_000_000);
        prop_assert_eq!(check(&items, &packing), Ok(()));
        prop_assert_eq!(packing.height, lowest_of_all_orders(&items));
    }

    #[test]
    fn what_never_meets_lies_at_the_bottom(sizes in prop::collection::vec(1..1000_u64, 1..40)) {
        let times = 0..sizes.len() as u64;
        let items: Vec<Item> = times.zip(&sizes).map(|(t, &size)| Item::new(t, t + 1, size)).collect();
        prop_assert_eq!(pack(&items, 0).height, *sizes.iter().max().unwrap());
    }

    #[test]
    fn a_flaw_is_seen(items in items(), index in any::<prop::sample::Index>()) {
        prop_assume!(!items.is_empty());
        let mut packing = pack(&items, 1000);
        let moved = index.index(items.len());
        packing.offsets[moved] = packing.height;
        let takes_room = items[moved].size > 0 && items[moved].lower < items[moved].upper;
        prop_assert_eq!(check(&items, &packing).is_err(), takes_room);
    }
}

#[test]
fn the_checker_finds_every_flaw() {
    let of = |items: &[Item], offsets: &[u64], height| {
        check(items, &Packing { offsets: offsets.to_vec(), height })
    };
    let (one, other) = (Item::new(0, 2, 8), Item::new(1, 3, 8));
    let apart = Item { partition: 1, ..Item::new(5, 6, 8) };
    let aligned = Item { alignment: 8, ..Item::new(0, 2, 8) };
    assert_eq!(of(&[one, other], &[0, 8], 16), Ok(()));
    assert_eq!(of(&[one, other], &[0], 8), Err(Flaw::Count { items: 2, offsets: 1 }));
    assert_eq!(of(&[one, other], &[0, 7], 15), Err(Flaw::Overlap { first: 0, second: 1 }));
    assert_eq!(of(&[one, other], &[7, 0], 15), Err(Flaw::Overlap { first: 1, second: 0 }));
    assert_eq!(of(&[one, other], &[0, 0], 8), Err(Flaw::Overlap { first: 0, second: 1 }));
    assert_eq!(of(&[one, apart], &[0, 4], 12), Err(Flaw::Shared { first: 0, second: 1 }));
    assert_eq!(of(&[aligned], &[4], 12), Err(Flaw::Misaligned { item: 0 }));
    assert_eq!(of(&[one], &[0], 9), Err(Flaw::Height { given: 9, real: 8 }));
}

#[test]
fn a_cut_rectangle_is_put_together_again() {
    for (pieces, seed) in [10, 30, 60, 100].into_iter().flat_map(|n| [(n, 1), (n, 2), (n, 3)]) {
        let items = cut(pieces, seed);
        let packing = pack(&items, STEPS);
        assert_eq!(check(&items, &packing), Ok(()));
        assert_eq!(max_load(&items), 100_000);
        assert_eq!(packing.height, 100_000, "{pieces} pieces, seed {seed}");
    }
}

#[test]
fn a_sweep_alone_needs_less_than_twice_the_load() {
    for (pieces, seed) in [100, 1000, 5000].into_iter().flat_map(|n| [(n, 1), (n, 2)]) {
        let items = cut(pieces, seed);
        let packing = pack(&items, 0);
        assert_eq!(check(&items, &packing), Ok(()));
        assert!(packing.height < 200_000, "{pieces} pieces, seed {seed}: {}", packing.height);
    }
}

#[test]
fn partitions_share_no_bytes() {
    let items = [Item::new(0, 1, 100), Item { partition: 7, ..Item::new(5, 6, 60) }];
    let packing = pack(&items, 0);
    assert_eq!(check(&items, &packing), Ok(()));
    assert_eq!((packing.height, max_load(&items)), (160, 160));
}

#[test]
fn what_never_lives_takes_no_room() {
    let items = [Item::new(4, 4, 100), Item::new(9, 3, 100), Item::new(0, 9, 0)];
    let packing = pack(&items, STEPS);
    assert_eq!(check(&items, &packing), Ok(()));
    assert_eq!((packing.height, max_load(&items)), (0, 0));
}
