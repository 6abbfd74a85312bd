//! What is tried, in which order, and for how long.

use super::{
    Packing,
    capacity::lower,
    first_fit::{Fit, Packer},
    improve::improve,
    layers::Layers,
    orders::ALL,
    problem::Problem,
    steps::Steps,
    sweep::{Together, sweep},
};

/// Up to so many items a packing is searched for: beyond, one node of the search costs too much.
const SEARCHABLE: usize = 2000;

/// Looks that first fit takes for a pair of items that live together, as seen on real traces.
const LOOKS_PER_PAIR: u64 = 5;

/// What a sweep costs per item, in steps.
const STEPS_OF_SWEEP: usize = 64;

/// The best packing found of one partition.
pub(super) fn solve(problem: &Problem, steps: &mut Steps) -> Packing {
    let mut best = sweeps(problem, steps);
    if best.height == problem.max_load() {
        return best;
    }
    if LOOKS_PER_PAIR * problem.pairs() > steps.left() {
        large_ones_only(problem, &mut best, steps);
        return best;
    }
    let order = in_orders(problem, &mut best, steps);
    if problem.len() <= SEARCHABLE {
        lower(problem, &mut best, steps);
    } else if let Some(order) = order {
        improve(problem, order, &mut best, steps);
    }
    best
}

/// Best fit forwards in time, and where the steps allow it also backwards and in another order.
fn sweeps(problem: &Problem, steps: &mut Steps) -> Packing {
    let mut best = problem.packing(sweep(problem, Together::LongestFirst));
    let reversed = problem.reversed();
    for (direction, together) in [
        (&reversed, Together::LongestFirst),
        (problem, Together::LargestFirst),
        (&reversed, Together::LargestFirst),
    ] {
        steps.take(STEPS_OF_SWEEP * problem.len());
        if steps.used_up() || best.height == problem.max_load() {
            break;
        }
        best.keep_lower(problem.packing(sweep(direction, together)));
    }
    best
}

/// For a problem with too many pairs: orders for what matters most.
fn large_ones_only(problem: &Problem, best: &mut Packing, steps: &mut Steps) {
    let layers = Layers::new(problem);
    let large = layers.large(problem);
    let mut lowest = sweeps(&large, steps);
    in_orders(&large, &mut lowest, steps);
    best.keep_lower(layers.with_small(problem, &lowest));
}

/// First and best fit in every order, where the steps allow it; the order that came out best.
fn in_orders(problem: &Problem, best: &mut Packing, steps: &mut Steps) -> Option<Vec<u32>> {
    let mut packer = Packer::new(problem);
    let mut found: Option<(u64, Vec<u32>)> = None;
    let looks = LOOKS_PER_PAIR * problem.pairs();
    for (order, fit) in ALL.iter().flat_map(|order| [(order, Fit::Lowest), (order, Fit::Tightest)])
    {
        if steps.left() < looks || best.height == problem.max_load() {
            break;
        }
        let order = order.of(problem);
        let Some(offsets) = packer.pack(&order, fit, u64::MAX, steps) else { break };
        let packing = problem.packing(offsets);
        if found.as_ref().is_none_or(|(height, _)| packing.height < *height) {
            found = Some((packing.height, order));
        }
        best.keep_lower(packing);
    }
    found.map(|(_, order)| order)
}
