//! Packing the large items with care and the small ones, cheaply, on top: in a real trace half of
//! the items hold a thousandth of the memory.

use super::{
    Packing,
    problem::Problem,
    round_up,
    sweep::{Together, sweep},
};

/// The small items may be at most one part in so many of the whole load.
const SMALL_SHARE: u64 = 500;

/// Which items are large, and which small.
#[derive(Debug)]
pub(super) struct Layers {
    large: Vec<u32>,
    small: Vec<u32>,
}

impl Layers {
    /// Divides the items at the largest power of two that leaves little to the small ones.
    pub(super) fn new(problem: &Problem) -> Self {
        let mut layers = Self::at(problem, 0);
        for power in 0..u64::BITS {
            let next = Self::at(problem, 1 << power);
            let load = problem.only(&next.small).max_load();
            if load > problem.max_load() / SMALL_SHARE || next.large.is_empty() {
                break;
            }
            layers = next;
        }
        layers
    }

    fn at(problem: &Problem, size: u64) -> Self {
        let is_large = |span: &u32| problem.spans[*span as usize].size >= size;
        let (large, small) = (0..problem.len() as u32).partition(is_large);
        Self { large, small }
    }

    /// The problem of the large items.
    pub(super) fn large(&self, problem: &Problem) -> Problem {
        problem.only(&self.large)
    }

    /// A packing of everything, from one of the large items.
    pub(super) fn with_small(&self, problem: &Problem, large: &Packing) -> Packing {
        let small = problem.only(&self.small);
        let base = round_up(large.height, small.alignment());
        let on_top = sweep(&small, Together::LongestFirst);
        let mut offsets = vec![0; problem.len()];
        for (&item, &offset) in self.large.iter().zip(&large.offsets) {
            offsets[item as usize] = offset;
        }
        for (&item, &offset) in self.small.iter().zip(&on_top) {
            offsets[item as usize] = base.saturating_add(offset);
        }
        problem.packing(offsets)
    }
}
