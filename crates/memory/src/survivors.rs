//! Blocks that are still there, by who made them and when: what iterations left behind.

use std::collections::{BTreeMap, BTreeSet};

use whyoom_trace::{Address, Bytes, StackId};

use crate::block::{LiveBlock, Usage};

/// Into how many stretches the iterations are cut to see whether something is left in all of them.
const STRETCHES: usize = 8;
/// What one stretch may have of all that is left: what is left once lies in one.
const MOST_IN_A_STRETCH: f64 = 0.6;

/// Where a window of iterations begins and ends, as events.
pub(crate) type Events = [u64];

/// A window of iterations.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window<'a> {
    /// Where each begins, and the last ends; of very many, every so manyth.
    pub(crate) events: &'a Events,
    /// How many they are.
    pub(crate) iterations: u64,
}

/// A block that is still there.
#[derive(Debug, Clone, Copy)]
struct Survivor {
    /// When it was made, as an event.
    born: u64,
    size: Bytes,
    address: Address,
}

/// Live blocks by the stack that made them.
#[derive(Debug, Default)]
pub(crate) struct Survivors(BTreeMap<StackId, Vec<Survivor>>);

impl Survivors {
    /// Those of the blocks that count.
    pub(crate) fn of<'a>(
        blocks: impl Iterator<Item = (Address, &'a LiveBlock)>,
        counts: impl Fn(&LiveBlock) -> bool,
    ) -> Self {
        let mut survivors = Self::default();
        for (address, block) in blocks.filter(|(_, block)| !block.pending && counts(block)) {
            let survivor = Survivor { born: block.born, size: block.size, address };
            survivors.0.entry(block.stack).or_default().push(survivor);
        }
        survivors
    }

    /// The stacks that left something all through the window, and so belong to the loop. Where they explain
    /// less than half of the rise, all that was left in the window may do so together.
    pub(crate) fn growing(&self, window: &Events, rise: f64) -> Option<Vec<StackId>> {
        let explain = |stacks: &[StackId]| {
            let bytes: Bytes = stacks.iter().map(|stack| self.within(*stack, window).bytes).sum();
            bytes.0 as f64 >= rise / 2.0
        };
        let steady = |(stack, births): (&StackId, &Vec<Survivor>)| {
            is_spread(births.iter(), window).then_some(*stack)
        };
        let growing: Vec<StackId> = self.0.iter().filter_map(steady).collect();
        if explain(&growing) {
            return Some(growing);
        }
        let any: Vec<StackId> =
            self.0.keys().copied().filter(|stack| self.within(*stack, window).blocks > 0).collect();
        (explain(&any) && is_spread(self.0.values().flatten(), window)).then_some(any)
    }

    /// What a stack left in a window.
    pub(crate) fn within(&self, stack: StackId, window: &Events) -> Usage {
        let (Some(&first), Some(&last)) = (window.first(), window.last()) else {
            return Usage::default();
        };
        self.sum(stack, |born| first <= born && born < last)
    }

    /// What a stack left before an event.
    pub(crate) fn before(&self, stack: StackId, event: u64) -> Usage {
        self.sum(stack, |born| born < event)
    }

    /// What a stack left in all.
    pub(crate) fn of_stack(&self, stack: StackId) -> Usage {
        self.sum(stack, |_| true)
    }

    /// Whether what was left from an event on is as much as an iteration of the window leaves: then it is one
    /// that is over, and not one under way.
    pub(crate) fn is_whole_iteration(
        &self,
        stacks: &[StackId],
        from: u64,
        window: Window<'_>,
    ) -> bool {
        let left = |stack: &StackId| self.sum(*stack, |born| born >= from).blocks;
        stacks.iter().any(|stack| left(stack) > 0)
            && stacks.iter().all(|stack| left(stack) >= self.each(*stack, window).blocks)
    }

    /// What a stack left from an event on, in an iteration that is over. What is beyond the most that one of
    /// the window left is still in use.
    pub(crate) fn last(&self, stack: StackId, from: u64, window: Window<'_>) -> Usage {
        let left = self.sum(stack, |born| born >= from);
        let iterations = window.events.windows(2);
        let most = iterations.map(|one| self.within(stack, one)).max_by_key(|usage| usage.bytes);
        most.filter(|most| most.bytes < left.bytes).unwrap_or(left)
    }

    /// What an iteration of the window leaves of a stack, as a mean.
    pub(crate) fn each(&self, stack: StackId, window: Window<'_>) -> Usage {
        let left = self.within(stack, window.events);
        let iterations = window.iterations.max(1);
        let blocks = (left.blocks as f64 / iterations as f64).round() as u64;
        Usage { bytes: Bytes(left.bytes.0 / iterations), blocks }
    }

    /// How many iterations, which begin at these events, left anything of these stacks.
    pub(crate) fn iterations(&self, stacks: &[StackId], events: &Events) -> u64 {
        let births = stacks.iter().filter_map(|stack| self.0.get(stack)).flatten();
        let iteration = |one: &Survivor| events.partition_point(|start| *start <= one.born);
        births.map(iteration).collect::<BTreeSet<_>>().len() as u64
    }

    /// When the first of these was made.
    pub(crate) fn first(&self, stacks: &[StackId]) -> Option<u64> {
        let births = stacks.iter().filter_map(|stack| self.0.get(stack)).flatten();
        births.map(|survivor| survivor.born).min()
    }

    /// Where the blocks of a stack lie, as far as that is known.
    pub(crate) fn addresses(&self, stack: StackId) -> impl Iterator<Item = (Address, Bytes)> {
        let survivors = self.0.get(&stack).into_iter().flatten();
        survivors
            .map(|survivor| (survivor.address, survivor.size))
            .filter(|(address, _)| *address != Address(0))
    }

    /// The stacks, in no particular order.
    pub(crate) fn stacks(&self) -> impl Iterator<Item = StackId> {
        self.0.keys().copied()
    }

    fn sum(&self, stack: StackId, counts: impl Fn(u64) -> bool) -> Usage {
        let mut sum = Usage::default();
        let survivors = self.0.get(&stack).into_iter().flatten();
        for survivor in survivors.filter(|survivor| counts(survivor.born)) {
            sum.add(survivor.size);
        }
        sum
    }
}

/// Whether births lie in at least half of the stretches of a window, its end included, and mostly in none.
fn is_spread<'a>(births: impl Iterator<Item = &'a Survivor>, window: &Events) -> bool {
    let Some((last, starts)) = window.split_last() else { return false };
    let stretches = STRETCHES.min(starts.len());
    let mut by_stretch = vec![Bytes::ZERO; stretches];
    for Survivor { born, size, .. } in births.filter(|one| one.born < *last) {
        let Some(iteration) = starts.partition_point(|start| start <= born).checked_sub(1) else {
            continue;
        };
        let stretch = &mut by_stretch[iteration * stretches / starts.len()];
        *stretch = stretch.plus(*size);
    }
    let filled = by_stretch.iter().filter(|bytes| **bytes > Bytes::ZERO).count();
    let latest = by_stretch.iter().rposition(|bytes| *bytes > Bytes::ZERO);
    let sum: Bytes = by_stretch.iter().copied().sum();
    let most = by_stretch.iter().max().copied().unwrap_or_default();
    let to_the_end = latest.is_some_and(|latest| latest + 1 + stretches / 4 >= stretches);
    filled * 2 >= stretches && filled >= 2 && to_the_end && most.share_of(sum) <= MOST_IN_A_STRETCH
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(births: &[u64]) -> bool {
        let survivor = |&born| Survivor { born, size: Bytes(8), address: Address(0) };
        let births: Vec<_> = births.iter().map(survivor).collect();
        let window: Vec<u64> = (0..=16).map(|iteration| 100 + iteration * 10).collect();
        is_spread(births.iter(), &window)
    }

    #[test]
    fn what_is_left_in_every_iteration_is_spread() {
        assert!(spread(&(0..16).map(|iteration| 103 + iteration * 10).collect::<Vec<_>>()));
        assert!(spread(&(0..5).map(|iteration| 103 + iteration * 30).collect::<Vec<_>>()));
    }

    #[test]
    fn what_is_left_once_or_ends_is_not() {
        assert!(!spread(&[]));
        assert!(!spread(&[101, 102, 103, 104, 105]));
        assert!(!spread(&(0..10).map(|iteration| 103 + iteration * 10).collect::<Vec<_>>()));
        assert!(!spread(&[251, 252, 253, 254, 255]));
    }
}
