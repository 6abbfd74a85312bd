//! How low a search gets: at the lower bound first, then at heights between it and the best.

use std::cmp::Reverse;

use super::{
    Packing,
    orders::Order,
    problem::Problem,
    search::{Outcome, Search},
    steps::{Dice, Steps},
};

/// The first try's steps per item. A search that succeeds mostly does so within a few thousand
/// nodes: many short tries find more than a long one.
const FIRST_TRY: u64 = 5000;

/// After so many rounds, all is begun anew: blame feeds on itself, and long tries are rarely worth it.
const CYCLE: u32 = 8;

/// The orders that searches start from.
const ORDERS: [Order; 4] =
    [Order::LengthAreaCrowd, Order::CrowdAreaLength, Order::CrowdLengthArea, Order::SizeLength];

/// Lowers a packing for as long as there are steps. The lower bound is tried with half of them:
/// where there is a packing of that height, it is mostly found soon. Then the heights between are
/// halved, again and again with other orders.
pub(super) fn lower(problem: &Problem, best: &mut Packing, steps: &mut Steps) {
    let unit = problem.unit();
    let mut tries = Tries { problem, neighbours: neighbours(problem), dice: Dice(0) };
    // No packing is lower than the one, and none was found below the other.
    let (mut proven, mut low) = (problem.max_load(), problem.max_load());
    let (mut target, mut share) = (proven, steps.left() / 2);
    while proven < best.height && share >= FIRST_TRY * problem.len() as u64 {
        match tries.at(target, share, steps) {
            Ok(packing) => *best = packing,
            Err(outcome) => {
                low = target + unit;
                if outcome == Outcome::Impossible {
                    proven = low;
                }
            }
        }
        if low >= best.height {
            low = proven;
        }
        target = u64::midpoint(low, best.height.saturating_sub(1)) / unit * unit;
        target = target.max(low);
        share = steps.left() / 8;
    }
}

struct Tries<'a> {
    problem: &'a Problem,
    /// Which items live together with each.
    neighbours: Vec<Vec<u32>>,
    dice: Dice,
}

impl Tries<'_> {
    /// A packing that is not higher than this, if one is found with a share of the steps.
    fn at(&mut self, capacity: u64, share: u64, steps: &mut Steps) -> Result<Packing, Outcome> {
        let mut share = steps.share(share);
        let mut blame = vec![0; self.problem.len()];
        for round in 0.. {
            if round % CYCLE == 0 {
                blame.fill(0);
            }
            let limit = self.problem.len() as u64 * limit(round);
            for order in ORDERS {
                let order = varied(order.of(self.problem), round, &blame, &mut self.dice);
                let mut search = Search::new(self.problem, &self.neighbours, &order, capacity);
                let mut turn = share.share(limit);
                let outcome = search.run(&mut turn);
                let used = share.left().min(limit) - turn.left();
                share.take(used as usize);
                steps.take(used as usize);
                match outcome {
                    Outcome::Found => return Ok(self.problem.packing(search.offsets().to_vec())),
                    Outcome::OutOfSteps if !share.used_up() => {}
                    outcome => return Err(outcome),
                }
                for (sum, &more) in blame.iter_mut().zip(search.blame()) {
                    *sum = *sum / 2 + more;
                }
            }
        }
        Err(Outcome::OutOfSteps)
    }
}

/// Steps per item in a round: a quarter more with each of a cycle's rounds, and with each cycle.
fn limit(round: u32) -> u64 {
    FIRST_TRY * u64::from(4 + round % CYCLE + round / CYCLE) / 4
}

/// The first round takes an order as it is; then it is shuffled a little, and in every other round
/// those items come first that did not fit in the last searches.
fn varied(mut order: Vec<u32>, round: u32, blame: &[u32], dice: &mut Dice) -> Vec<u32> {
    if round == 0 {
        return order;
    }
    if round % 2 == 1 {
        order.sort_by_key(|&item| Reverse(blame[item as usize]));
    }
    let reach = order.len() / 8 + 2;
    let moved = |(place, item)| (place + dice.below(reach), item);
    let mut moved: Vec<(usize, u32)> = order.into_iter().enumerate().map(moved).collect();
    moved.sort_unstable();
    moved.into_iter().map(|(_, item)| item).collect()
}

fn neighbours(problem: &Problem) -> Vec<Vec<u32>> {
    let spans = &problem.spans;
    let meet = |one: usize, other: usize| {
        spans[one].first < spans[other].end && spans[other].first < spans[one].end
    };
    let mut neighbours = vec![Vec::new(); spans.len()];
    for one in 0..spans.len() {
        for other in (0..one).filter(|&other| meet(one, other)) {
            neighbours[one].push(other as u32);
            neighbours[other].push(one as u32);
        }
    }
    neighbours
}
