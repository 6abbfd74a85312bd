//! The offline planner: had the whole run been known beforehand, how little memory would do?
//!
//! [`max_load`] is what no allocator can go under; [`pack`] is a plan that really exists. The truth
//! (the problem is NP-hard) lies between the two, and on most traces they meet.
//!
//! A plan is sought in three ways, each dearer than the one before, until one meets the bound or the
//! steps are used up:
//! 1. sweeps over time with an address-ordered free list, which cost O(n log n): `sweep`;
//! 2. first fit among what is placed already, in several orders: `first_fit`, and for problems that
//!    leave steps over, the orders that came out best improved by a local search: `improve`;
//! 3. for small problems a search for a packing of a given height: `search`.
//!
//! The budget is a number of steps, not a duration, so that the same problem gives the same plan on
//! every machine and under any load. A step is one look at one item, some ten nanoseconds.

mod capacity;
mod check;
mod contradiction;
mod first_fit;
mod improve;
mod layers;
mod load;
mod orders;
mod placed;
mod problem;
mod reasons;
mod search;
mod steps;
mod strategy;
mod sweep;

use std::collections::BTreeMap;

pub use check::{Flaw, check};
pub use load::max_load;
use problem::Problem;
use steps::Steps;

/// Steps that take about half a second on one core.
pub const QUICK: u64 = 50_000_000;

/// Steps that take about twenty seconds on one core: enough for a million items of a real run.
pub const THOROUGH: u64 = 2_000_000_000;

/// A block of memory with a known lifetime; its place in the slice is its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// When it comes to life.
    pub lower: u64,
    /// When it is gone: the first moment at which its bytes may be used again. An item with
    /// `upper <= lower` never lives, and takes no room.
    pub upper: u64,
    /// Bytes.
    pub size: u64,
    /// Items of different partitions never share bytes, not even at different times: streams or
    /// private pools between which an allocator moves nothing.
    pub partition: u32,
    /// Its offset is a multiple of this; 0 counts as 1.
    pub alignment: u64,
}

impl Item {
    /// An item of the common partition that may lie anywhere.
    pub fn new(lower: u64, upper: u64, size: u64) -> Self {
        Self { lower, upper, size, partition: 0, alignment: 1 }
    }

    fn takes_room(&self) -> bool {
        self.lower < self.upper && self.size > 0
    }
}

/// Where each item lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packing {
    /// One offset per item, in the items' order; 0 for those that take no room.
    pub offsets: Vec<u64>,
    /// The memory that it takes: the highest end of any item.
    pub height: u64,
}

impl Packing {
    /// Becomes another where that is lower.
    fn keep_lower(&mut self, other: Self) {
        if other.height < self.height {
            *self = other;
        }
    }
}

/// The best packing that is found in so many steps. At least one sweep over time is always made,
/// however few they are.
///
/// Sizes are assumed to add up to less than 2⁶⁴: beyond that, ends saturate.
pub fn pack(items: &[Item], steps: u64) -> Packing {
    let mut partitions: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (index, item) in items.iter().enumerate().filter(|(_, item)| item.takes_room()) {
        partitions.entry(item.partition).or_default().push(index);
    }
    let mut packing = Packing { offsets: vec![0; items.len()], height: 0 };
    let living: usize = partitions.values().map(Vec::len).sum();
    for members in partitions.values() {
        // Each partition gets a share by its size, so that the order of partitions does not matter.
        let share = u128::from(steps) * members.len() as u128 / living.max(1) as u128;
        let problem = Problem::new(items, members);
        let base = round_up(packing.height, problem.alignment());
        let plan = strategy::solve(&problem, &mut Steps::new(share as u64));
        for (member, offset) in members.iter().zip(&plan.offsets) {
            packing.offsets[*member] = base.saturating_add(*offset);
        }
        packing.height = base.saturating_add(plan.height);
    }
    packing
}

fn round_up(offset: u64, alignment: u64) -> u64 {
    offset.checked_next_multiple_of(alignment.max(1)).unwrap_or(u64::MAX)
}
