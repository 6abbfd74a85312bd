//! How often a run had come round before it failed, and what would have come next.
//!
//! A replay ends where the recording ends. Whether what would have come next fits too, is told only by a run that
//! had been through it before: at this size, from this line, on to other lines, and back.

use whyoom_trace::StackId;

use crate::step::{Item, Step};
use crate::workload::Workload;

/// A demand counts as the failure's own from this share of it on.
const AT_PEAK: f64 = 0.95;
/// What is not kept must be this share of the demand: less is a layer's temporary blocks.
const WORTH_A_TURN: f64 = 0.05;
/// An iteration is over when no more than this share of what it does not keep is left: a server keeps some of it
/// for longer.
const OVER: f64 = 0.5;
/// So many requests before one tell it from others of its line and size: more than an iteration has.
const LED_TO: usize = 4096;
/// So many of its line and size are compared.
const COMPARED: usize = 1024;

/// How many whole iterations at peak size came before the run's last failure: how often the line that failed was
/// served at a demand as large, other lines then took their turn, and most of what was live and is not kept was
/// given back. `line_of` tells the lines of the program apart; nothing stands for a stack without any.
pub fn whole_iterations(workload: &Workload, line_of: impl Fn(StackId) -> Option<u64>) -> u64 {
    let Some(failure) = Failure::last(workload, &line_of) else { return 0 };
    let mut turn: Option<Turn> = None;
    let (mut live, mut passing, mut turns) = (0_u64, 0_u64, 0);
    for step in &workload.steps[..failure.at] {
        match *step {
            Step::Alloc { item, request, stack, .. } => {
                let size = request.live_bytes();
                live = live.saturating_add(size);
                if !failure.keeps(item) {
                    passing = passing.saturating_add(size);
                }
                let line = line_of(stack);
                if turn.as_mut().is_some_and(|turn| turn.is_over_before(line == failure.line)) {
                    turn = None;
                    turns += 1;
                }
                let worth = passing as f64 >= live as f64 * WORTH_A_TURN;
                if turn.is_none() && worth && failure.is_like(live, line) {
                    turn = Some(Turn { last: item, went_on: false, total: passing, left: passing });
                }
            }
            Step::Free { item } => {
                let size = failure.size(item);
                live = live.saturating_sub(size);
                passing = passing.saturating_sub(size);
                if let Some(turn) = &mut turn {
                    turn.freed(item, size);
                }
            }
            _ => {}
        }
    }
    turns + u64::from(turn.is_some_and(|mut turn| turn.is_over_before(true)))
}

/// What a run needs at once to go on from its last failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoingOn {
    /// Live bytes, without what was made once and kept.
    pub needed: u64,
    /// Whether it was served the same request twice before: the first time, less may have been live.
    pub is_steady: bool,
}

/// What a run needs at once to go on from its last failure as it went on from the same request before. Nothing where it
/// had not been there.
pub fn needed_to_go_on(
    workload: &Workload,
    line_of: impl Fn(StackId) -> Option<u64>,
) -> Option<GoingOn> {
    let failure = Failure::last(workload, &line_of)?;
    let Served { at, is_steady } = failure.served_before(workload, &line_of)?;
    let (mut above, mut most, mut went_on) = (0_i64, 0, false);
    for step in &workload.steps[at + 1..failure.at] {
        match *step {
            Step::Alloc { item, stack, .. } => {
                let this_line = line_of(stack) == failure.line;
                // The next iteration.
                if this_line && went_on {
                    break;
                }
                went_on |= !this_line;
                let size = if failure.keeps(item) { 0 } else { signed(failure.size(item)) };
                above = above.saturating_add(size);
            }
            Step::Free { item } => above = above.saturating_sub(signed(failure.size(item))),
            _ => {}
        }
        most = most.max(above);
    }
    Some(GoingOn { needed: failure.demand.saturating_add(most.unsigned_abs()), is_steady })
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// An earlier service of the request that failed.
struct Served {
    /// The step.
    at: usize,
    /// Whether there was another before it.
    is_steady: bool,
}

/// From one service of the line at peak to its next, after other lines.
struct Turn {
    /// The newest block that was live then.
    last: Item,
    /// Whether other lines have asked since.
    went_on: bool,
    /// What was live then and is not kept, and what of it is left.
    total: u64,
    left: u64,
}

impl Turn {
    fn freed(&mut self, item: Item, size: u64) {
        if item <= self.last {
            self.left = self.left.saturating_sub(size);
        }
    }

    /// Whether it is over when this line, or another, asks.
    fn is_over_before(&mut self, this_line: bool) -> bool {
        self.went_on |= !this_line;
        this_line && self.went_on && self.left as f64 <= self.total as f64 * OVER
    }
}

/// The request that failed last, and what it made of the run's demand.
struct Failure {
    /// The step.
    at: usize,
    /// Live bytes and the request itself.
    demand: u64,
    /// The line that asked; nothing where that is not known.
    line: Option<u64>,
    /// What it asked for.
    request: u64,
    /// Of each block what it took; zero where it had not been made by then.
    sizes: Vec<u64>,
    /// Of each block whether it was live then.
    kept: Vec<bool>,
}

impl Failure {
    fn last(workload: &Workload, line_of: impl Fn(StackId) -> Option<u64>) -> Option<Self> {
        let is_failure = |step: &Step| matches!(step, Step::OutOfMemory { .. });
        let at = workload.steps.iter().rposition(is_failure)?;
        let Step::OutOfMemory { request, stack, .. } = workload.steps[at] else { return None };
        let mut sizes = vec![0; workload.items as usize];
        let mut kept = vec![false; workload.items as usize];
        for step in &workload.steps[..at] {
            match step {
                Step::Alloc { item, request, .. } => {
                    sizes[item.0 as usize] = request.live_bytes();
                    kept[item.0 as usize] = true;
                }
                Step::Free { item } => kept[item.0 as usize] = false,
                _ => {}
            }
        }
        let live = sizes.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(size, _)| *size);
        let demand = live.fold(request.live_bytes(), u64::saturating_add);
        let request = request.live_bytes();
        Some(Self { at, demand, line: line_of(stack), request, sizes, kept })
    }

    /// The step in which an earlier iteration was served what failed: the same line and size, and of several the one
    /// that most of the same requests had led to, of those the last.
    fn served_before(
        &self,
        workload: &Workload,
        line_of: impl Fn(StackId) -> Option<u64>,
    ) -> Option<Served> {
        let line = Some(self.line?);
        let (mut live, mut passing) = (0_u64, 0_u64);
        let (mut asked, mut alike) = (Vec::new(), Vec::new());
        for (index, step) in workload.steps[..self.at].iter().enumerate() {
            match *step {
                Step::Alloc { item, stack, .. } => {
                    let size = self.size(item);
                    live = live.saturating_add(size);
                    passing = passing.saturating_add(if self.keeps(item) { 0 } else { size });
                    let worth = passing as f64 >= live as f64 * WORTH_A_TURN;
                    if worth && size == self.request && line_of(stack) == line {
                        alike.push((asked.len(), index));
                    }
                    asked.push(size);
                }
                Step::Free { item } => {
                    live = live.saturating_sub(self.size(item));
                    passing = passing.saturating_sub(self.size(item));
                }
                _ => {}
            }
        }
        let led_to = |until: usize| {
            let pairs = asked[..until].iter().rev().zip(asked.iter().rev());
            pairs.take(LED_TO).take_while(|(one, other)| one == other).count()
        };
        let latest = &alike[alike.len().saturating_sub(COMPARED)..];
        let compared = latest.iter().map(|(until, index)| (led_to(*until), *index));
        let (_, at) = compared.max().filter(|(same, _)| *same > 0)?;
        let earlier = latest.iter().map(|(_, index)| *index).filter(|index| *index < at);
        let is_steady = earlier.max().is_some_and(|one| self.has_turned(workload, one, at));
        Some(Served { at, is_steady })
    }

    /// Whether enough of what was live at one step has gone by another.
    fn has_turned(&self, workload: &Workload, one: usize, other: usize) -> bool {
        let mut live = vec![false; self.sizes.len()];
        for step in &workload.steps[..=one] {
            match *step {
                Step::Alloc { item, .. } => live[item.0 as usize] = true,
                Step::Free { item } => live[item.0 as usize] = false,
                _ => {}
            }
        }
        let sizes = self.sizes.iter().zip(&live).filter(|(_, live)| **live);
        let total = sizes.fold(0, |sum: u64, (size, _)| sum.saturating_add(*size));
        let gone = workload.steps[one + 1..other].iter().fold(0_u64, |gone, step| match *step {
            Step::Free { item } if live[item.0 as usize] => gone.saturating_add(self.size(item)),
            _ => gone,
        });
        gone as f64 >= total as f64 * WORTH_A_TURN
    }

    fn keeps(&self, item: Item) -> bool {
        self.kept[item.0 as usize]
    }

    fn size(&self, item: Item) -> u64 {
        self.sizes[item.0 as usize]
    }

    /// Whether a request is of the line that failed, at a demand as large. Where no line is known, any request.
    fn is_like(&self, demand: u64, line: Option<u64>) -> bool {
        demand as f64 >= self.demand as f64 * AT_PEAK && (self.line.is_none() || line == self.line)
    }
}

#[cfg(test)]
mod tests {
    use whyoom_trace::{Address, Bytes, PoolId, StreamId};

    use super::*;
    use crate::{policy::Request, step::Item};

    const MIB: u64 = 1 << 20;

    /// A run of requests of a line and a size in MiB, each freed by a negative number of requests ago.
    fn run(steps: &[(u32, i64)], failed: (u32, u64)) -> Workload {
        let request = |mib: u64| Request {
            size: mib * MIB,
            stream: StreamId::default(),
            pool: PoolId::default(),
        };
        let mut told = Vec::new();
        let mut items = 0;
        for &(line, mib) in steps {
            if mib < 0 {
                told.push(Step::Free { item: Item(items - mib.unsigned_abs() as u32) });
                continue;
            }
            let (size, stack) = (Bytes(mib as u64 * MIB), StackId(line));
            let (item, request) = (Item(items), request(mib as u64));
            told.push(Step::Alloc { item, request, address: Address(0), size, stack });
            items += 1;
        }
        let (request, stack) = (request(failed.1), StackId(failed.0));
        told.push(Step::OutOfMemory { request, device_free: None, stack });
        Workload::new(told, items)
    }

    fn iterations(steps: &[(u32, i64)], failed: (u32, u64)) -> u64 {
        whole_iterations(&run(steps, failed), |stack| Some(stack.0.into()))
    }

    #[test]
    fn a_step_that_came_round_counts() {
        let step = [(1, 100), (2, 400), (0, -1), (0, -2)];
        let mut steps = step.repeat(3);
        steps.push((1, 100));
        assert_eq!(iterations(&steps, (2, 400)), 3);
    }

    #[test]
    fn the_first_step_counts_nothing() {
        let layers: Vec<_> = (0..50).map(|_| (1, 20)).collect();
        assert_eq!(iterations(&layers, (1, 20)), 0);
        // An optimizer's state, after a backward that gave much back.
        let mut steps = layers.clone();
        steps.extend((1..=50).map(|ago| (0, -ago)));
        steps.extend((0..49).map(|_| (2, 20)));
        assert_eq!(iterations(&steps, (2, 20)), 0);
    }

    #[test]
    fn temporary_blocks_of_layers_are_no_iterations() {
        let layer = [(1, 20), (2, 1), (0, -1)];
        assert_eq!(iterations(&layer.repeat(50), (1, 20)), 0);
    }

    #[test]
    fn smaller_steps_do_not_count() {
        let small = [(1, 100), (2, 300), (0, -1), (0, -2)];
        assert_eq!(iterations(&small.repeat(5), (2, 900)), 0);
    }

    fn going_on(steps: &[(u32, i64)], failed: (u32, u64)) -> Option<(u64, bool)> {
        let on = needed_to_go_on(&run(steps, failed), |stack| Some(stack.0.into()))?;
        Some((on.needed / MIB, on.is_steady))
    }

    #[test]
    fn what_came_next_before_comes_again() {
        // Activations, a loss, its gradient: the first time round. Then state that is kept.
        let first = [(1, 100), (2, 400), (3, 300), (0, -1), (0, -2), (0, -3), (4, 500)];
        let mut steps = first.to_vec();
        steps.push((1, 100));
        assert_eq!(going_on(&steps, (2, 400)), Some((500 + 100 + 400 + 300, false)));
        assert_eq!(going_on(&steps, (2, 450)), None, "another size");
        assert_eq!(going_on(&steps, (5, 400)), None, "another line");
        assert_eq!(going_on(&first, (4, 500)), None, "what is kept tells of no iteration");
        steps.extend([(2, 400), (3, 300), (0, -1), (0, -2), (0, -3), (1, 100)]);
        assert_eq!(going_on(&steps, (2, 400)), Some((500 + 100 + 400 + 300, true)));
    }

    #[test]
    fn of_like_requests_the_right_one_is_continued() {
        let first = [(1, 100), (2, 400), (2, 400), (3, 300), (0, -1), (0, -2), (0, -3), (0, -4)];
        let mut steps = first.to_vec();
        steps.push((1, 100));
        assert_eq!(going_on(&steps, (2, 400)), Some((100 + 400 + 400 + 300, false)));
        steps.push((2, 400));
        assert_eq!(going_on(&steps, (2, 400)), Some((100 + 400 + 400 + 300, false)));
        // The third of a hundred layers.
        let mut layers = vec![(1, 50)];
        layers.extend([(2, 10)].repeat(100));
        layers.extend((1..=101).map(|ago| (0, -ago)));
        layers.extend([(1, 50), (2, 10), (2, 10)]);
        assert_eq!(going_on(&layers, (2, 10)).map(|(needed, _)| needed), Some(50 + 1000));
    }

    #[test]
    fn what_a_larger_iteration_took_in_between_is_not_expected() {
        let small = [(1, 100), (2, 400), (3, 300), (0, -1), (0, -2), (0, -3)];
        let large = [(1, 200), (2, 800), (3, 600), (0, -1), (0, -2), (0, -3)];
        let mut steps = [small, small, large].concat();
        steps.push((1, 100));
        assert_eq!(going_on(&steps, (2, 400)), Some((100 + 400 + 300, true)));
    }

    #[test]
    fn one_line_by_itself_tells_of_no_iterations() {
        let mut steps: Vec<_> = (0..10).map(|_| (1, 10)).collect();
        for _ in 0..35 {
            steps.extend([(0, -10), (1, 10)]);
        }
        steps.push((0, -10));
        assert_eq!(iterations(&steps, (1, 10)), 0, "what comes behind the loop is not known");
    }
}
