//! Local search over the order in which items are placed.

use super::{
    Packing,
    first_fit::{Fit, Packer},
    problem::Problem,
    steps::{Dice, Steps},
};

/// Moves items that stick out at the top to an earlier place and packs again, for as long as there
/// are steps; a change that makes the packing no higher is kept.
pub(super) fn improve(
    problem: &Problem,
    mut order: Vec<u32>,
    best: &mut Packing,
    steps: &mut Steps,
) {
    let mut packer = Packer::new(problem);
    let mut dice = Dice(problem.len() as u64);
    let start = packer.pack(&order, Fit::Lowest, u64::MAX, steps);
    let Some(mut current) = start.map(|offsets| problem.packing(offsets)) else { return };
    while current.height > problem.max_load() && !steps.used_up() {
        let mut changed = order.clone();
        bring_forward(problem, &current, &mut changed, &mut dice);
        // Equal heights are taken too: the search would not leave a plateau otherwise.
        let bound = current.height.saturating_add(1);
        let Some(offsets) = packer.pack(&changed, Fit::Lowest, bound, steps) else { continue };
        (order, current) = (changed, problem.packing(offsets));
        if current.height < best.height {
            best.clone_from(&current);
        }
    }
}

/// One of the items that reach the top, or now and then any item, goes to a place before its own.
fn bring_forward(problem: &Problem, packing: &Packing, order: &mut [u32], dice: &mut Dice) {
    let reaches_top = |item: u32| {
        let item = item as usize;
        packing.offsets[item] + problem.spans[item].size == packing.height
    };
    let tops: Vec<usize> =
        (0..order.len()).filter(|&position| reaches_top(order[position])).collect();
    for _ in 0..=dice.below(3) {
        let any = dice.below(4) == 0 || tops.is_empty();
        let from = if any { dice.below(order.len()) } else { tops[dice.below(tops.len())] };
        let to = dice.below(from + 1);
        order[to..=from].rotate_right(1);
    }
}
