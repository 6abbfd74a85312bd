//! What is tried, in which order, and for how long.

use super::{
    Packing,
    first_fit::{Fit, Packer},
    improve::improve,
    orders::{ALL, Order},
    problem::Problem,
    search::{Outcome, Search},
    steps::{Dice, Steps},
    sweep::{Together, sweep},
};

/// Up to so many items a packing is searched for: beyond, one node of the search costs too much.
const SEARCHABLE: usize = 2000;

/// The best packing found of one partition.
pub(super) fn solve(problem: &Problem, steps: &mut Steps) -> Packing {
    let mut best = sweeps(problem);
    steps.take(4 * problem.len());
    if best.height > problem.max_load() {
        let order = in_orders(problem, &mut best, steps);
        if problem.len() <= SEARCHABLE {
            search(problem, &mut best, steps);
        }
        if let Some(order) = order
            && best.height > problem.max_load()
        {
            improve(problem, order, &mut best, steps);
        }
    }
    best
}

fn sweeps(problem: &Problem) -> Packing {
    let reversed = problem.reversed();
    let mut best: Option<Packing> = None;
    for together in [Together::LongestFirst, Together::LargestFirst] {
        for direction in [problem, &reversed] {
            let packing = problem.packing(sweep(direction, together));
            if std::env::var_os("PLAN_DEBUG").is_some() {
                eprintln!(
                    "sweep {together:?} {}",
                    packing.height as f64 / problem.max_load() as f64
                );
            }
            if best.as_ref().is_none_or(|best| packing.height < best.height) {
                best = Some(packing);
            }
        }
    }
    best.unwrap_or(Packing { offsets: Vec::new(), height: 0 })
}

/// First and best fit in every order, where the steps allow it; the order that came out best.
fn in_orders(problem: &Problem, best: &mut Packing, steps: &mut Steps) -> Option<Vec<u32>> {
    let mut packer = Packer::new(problem);
    let mut found: Option<(u64, Vec<u32>)> = None;
    for (order, fit) in ALL.iter().flat_map(|order| [(order, Fit::Lowest), (order, Fit::Tightest)])
    {
        if steps.left() < 3 * problem.pairs() || best.height == problem.max_load() {
            break;
        }
        let order_name = order;
        let order = order.of(problem);
        let start = std::time::Instant::now();
        let Some(offsets) = packer.pack(&order, fit, u64::MAX, steps) else { break };
        let packing = problem.packing(offsets);
        if std::env::var_os("PLAN_DEBUG").is_some() {
            eprintln!(
                "{order_name:?} {fit:?} {} {:?} left {}",
                packing.height as f64 / problem.max_load() as f64,
                start.elapsed(),
                steps.left()
            );
        }
        if found.as_ref().is_none_or(|(height, _)| packing.height < *height) {
            found = Some((packing.height, order));
        }
        if packing.height < best.height {
            *best = packing;
        }
    }
    found.map(|(_, order)| order)
}

/// Searches at the lower bound with half of the steps, then at heights between it and the best.
fn search(problem: &Problem, best: &mut Packing, steps: &mut Steps) {
    let neighbours = neighbours(problem);
    let (mut low, mut share) = (problem.max_load(), steps.left() / 2);
    let mut target = low;
    while low < best.height && !steps.used_up() {
        let mut set_aside = steps.share(share);
        let before = set_aside.left();
        let start = std::time::Instant::now();
        match at_capacity(problem, &neighbours, target, &mut set_aside) {
            Some(packing) => *best = packing,
            None => low = target + 1,
        }
        if std::env::var_os("PLAN_DEBUG").is_some() {
            eprintln!(
                "target {} -> best {} {:?} steps {}",
                target as f64 / problem.max_load() as f64,
                best.height as f64 / problem.max_load() as f64,
                start.elapsed(),
                before - set_aside.left()
            );
        }
        steps.take((before - set_aside.left()) as usize);
        target = u64::midpoint(low, best.height.saturating_sub(1));
        share = steps.left() / 4;
        if share < 1000 {
            break;
        }
    }
}

const NODES: u64 = 5000;

const SEARCH_ORDERS: [Order; 4] =
    [Order::LengthAreaCrowd, Order::CrowdAreaLength, Order::CrowdLengthArea, Order::SizeLength];

/// Orders take turns with growing limits: most problems are easy in one order and hopeless in others.
fn at_capacity(
    problem: &Problem,
    neighbours: &[Vec<u32>],
    capacity: u64,
    steps: &mut Steps,
) -> Option<Packing> {
    // A search that succeeds mostly does so with few nodes: many short tries find more than a long one.
    let mut limit = NODES * problem.len() as u64;
    let mut dice = Dice(capacity);
    let mut blame: Vec<u32> = Vec::new();
    for round in 0.. {
        for order in SEARCH_ORDERS {
            let mut order = order.of(problem);
            if round > 0 {
                if round % 2 == 1 && !blame.is_empty() {
                    order.sort_by_key(|&i| std::cmp::Reverse(blame[i as usize]));
                }
                shuffle_near(&mut order, &mut dice);
            }
            let mut turn = steps.share(limit);
            let granted = turn.left();
            let mut search = Search::new(problem, neighbours, &order, capacity);
            let outcome = search.run(&mut turn);
            if blame.is_empty() {
                blame = vec![0; problem.len()];
            }
            for (b, m) in blame.iter_mut().zip(search.blame()) {
                *b = *b / 2 + m;
            }
            steps.take((granted - turn.left()) as usize);
            if outcome == Outcome::Found && std::env::var_os("PLAN_DEBUG").is_some() {
                eprintln!("found round {round} limit {limit} nodes {}", search.nodes);
            }
            match outcome {
                Outcome::Found => return Some(problem.packing(search.offsets().to_vec())),
                Outcome::Impossible => return None,
                Outcome::OutOfSteps if steps.used_up() => return None,
                Outcome::OutOfSteps => {}
            }
        }
        limit += limit / 4;
    }
    None
}

/// Moves each item by up to an eighth of all places.
fn shuffle_near(order: &mut [u32], dice: &mut Dice) {
    let reach = order.len() / 8 + 2;
    let mut keyed: Vec<(usize, u32)> =
        order.iter().enumerate().map(|(place, &item)| (place + dice.below(reach), item)).collect();
    keyed.sort_unstable();
    for (place, (_, item)) in order.iter_mut().zip(keyed) {
        *place = item;
    }
}

/// Which items live together with each.
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
