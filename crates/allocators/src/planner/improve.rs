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
        let bound = problem.max_load();
        let mut keyed: Vec<(usize, u32)> = order
            .iter()
            .enumerate()
            .map(|(place, &item)| {
                let i = item as usize;
                let out = current.offsets[i] + problem.spans[i].size > bound;
                (if out { dice.below(place + 1) } else { place }, item)
            })
            .collect();
        keyed.sort_by_key(|k| k.0);
        order = keyed.into_iter().map(|k| k.1).collect();
        let Some(offsets) = packer.pack(&order, Fit::Lowest, u64::MAX, steps) else { break };
        current = problem.packing(offsets);
        if std::env::var_os("PLAN_DEBUG").is_some() {
            eprintln!("squeak {}", current.height as f64 / problem.max_load() as f64);
        }
        if current.height < best.height {
            best.clone_from(&current);
        }
    }
}
