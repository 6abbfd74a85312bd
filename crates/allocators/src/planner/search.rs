//! The search for a packing that is not higher than a given capacity.
//!
//! Items are placed by rising offset, each as low as those below it allow. Every packing can be
//! pushed down into one of that form, so that nothing else need be tried: the "canonical solutions"
//! of MiniMalloc (Moffitt, ASPLOS 2023). A decision is "this item lies at its lowest offset".
//! Where it leads to a contradiction the item must lie higher, on another that is not placed yet,
//! which raises its lowest offset and those of others in turn.
//!
//! What the paper does not have: every lowest offset knows the decisions that it follows from, so
//! that a contradiction leads back to the latest decision that has to do with it, over all those at
//! other times; and in each section the unplaced items are stacked by their lowest offsets, instead
//! of on the lowest of these, which shows sooner that they do not fit.

use std::ops::Range;

use super::{
    problem::Problem,
    reasons::{Reasons, insert, pop_latest},
    steps::Steps,
};

pub(super) const UNPLACED: u64 = u64::MAX;

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Found,
    /// There is no such packing.
    Impossible,
    OutOfSteps,
}

/// A contradiction: the decisions that cannot all stand.
pub(super) type Conflict = Vec<u64>;

/// A search's state. All changes are on a trail, so that going back costs what was changed.
#[derive(Debug)]
pub(super) struct Search<'a> {
    pub(super) problem: &'a Problem,
    pub(super) neighbours: &'a [Vec<u32>],
    pub(super) capacity: u64,
    pub(super) rank: Vec<u32>,
    pub(super) offsets: Vec<u64>,
    /// Above the placed items that live with it.
    pub(super) supported: Vec<u64>,
    /// The lowest offset at which it can lie: `supported`, or more where that led to a contradiction.
    pub(super) lowest: Vec<u64>,
    pub(super) reasons: Reasons,
    pub(super) decision_of: Vec<usize>,
    decisions: Vec<Decision>,
    trail: Vec<Change>,
    saved_reasons: Vec<u64>,
    /// Unplaced items in the order in which they start, for every look at a part of the time.
    pub(super) by_start: Vec<u32>,
    /// Those of them that live in the sections last looked at, by (lowest, rank).
    pub(super) waiting: Vec<u32>,
    /// Sections in which something was raised since the last look: all others still have room.
    pub(super) touched: Range<usize>,
    pub(super) stacked: Vec<u64>,
    /// How often each item was among those that did not fit.
    pub(super) blame: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Decision {
    item: u32,
    trail: usize,
}

/// An item's state before a change; its reason lies in `saved_reasons`.
#[derive(Clone, Copy, Debug)]
struct Change {
    item: u32,
    supported: u64,
    lowest: u64,
}

impl<'a> Search<'a> {
    /// A search that prefers items in this order.
    pub(super) fn new(
        problem: &'a Problem,
        neighbours: &'a [Vec<u32>],
        order: &[u32],
        capacity: u64,
    ) -> Self {
        let items = problem.len();
        let mut rank = vec![0; items];
        for (position, &item) in order.iter().enumerate() {
            rank[item as usize] = position as u32;
        }
        let mut by_start = order.to_vec();
        by_start.sort_by_key(|&item| problem.spans[item as usize].first);
        Self {
            problem,
            neighbours,
            capacity,
            rank,
            offsets: vec![UNPLACED; items],
            supported: vec![0; items],
            lowest: vec![0; items],
            reasons: Reasons::new(items),
            decision_of: vec![0; items],
            decisions: Vec::new(),
            trail: Vec::new(),
            saved_reasons: Vec::new(),
            by_start,
            waiting: Vec::new(),
            touched: 0..problem.loads.len(),
            stacked: vec![0; problem.loads.len()],
            blame: vec![0; items],
        }
    }

    /// How often each item was among those that did not fit.
    pub(super) fn blame(&self) -> &[u32] {
        &self.blame
    }

    pub(super) fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// Runs until it is decided or out of steps.
    pub(super) fn run(&mut self, steps: &mut Steps) -> Outcome {
        while !steps.used_up() {
            match self.contradiction(steps) {
                None if self.decisions.len() == self.problem.len() => return Outcome::Found,
                None => self.decide(steps),
                Some(conflict) => {
                    if !self.go_back(conflict) {
                        return Outcome::Impossible;
                    }
                }
            }
        }
        Outcome::OutOfSteps
    }

    /// Places the first of those that wait, and lifts those that live with it.
    fn decide(&mut self, steps: &mut Steps) {
        let Some(item) = self.next() else { return };
        let index = item as usize;
        let number = self.decisions.len();
        self.decisions.push(Decision { item, trail: self.trail.len() });
        self.decision_of[index] = number;
        self.offsets[index] = self.lowest[index];
        let start = self.lowest[index];
        let end = start + self.problem.spans[index].size;
        let mut reason = self.reasons.of(index).to_vec();
        insert(&mut reason, number);
        let neighbours = &self.neighbours[index];
        steps.take(neighbours.len());
        for &other in neighbours {
            let other = other as usize;
            if self.offsets[other] != UNPLACED || self.supported[other] >= end {
                continue;
            }
            self.save(other);
            self.supported[other] = self.problem.spans[other].aligned(end);
            if self.lowest[other] < self.supported[other] {
                self.lowest[other] = self.supported[other];
                if self.problem.spans[other].size <= start {
                    // It would fit below this one, were it not for what raised it so far.
                    self.reasons.add(other, &reason);
                } else {
                    self.reasons.set(other, &reason);
                }
            }
        }
    }

    /// The unplaced item that can lie lowest.
    fn next(&self) -> Option<u32> {
        let unplaced = (0..self.problem.len()).filter(|&index| self.offsets[index] == UNPLACED);
        let first = unplaced.min_by_key(|&index| (self.lowest[index], self.rank[index]));
        first.map(|index| index as u32)
    }

    /// Remembers an item's state before a change.
    pub(super) fn save(&mut self, index: usize) {
        let (supported, lowest) = (self.supported[index], self.lowest[index]);
        self.trail.push(Change { item: index as u32, supported, lowest });
        self.saved_reasons.extend_from_slice(self.reasons.of(index));
        let sections = self.problem.spans[index].sections();
        if self.touched.is_empty() {
            self.touched = sections;
        } else {
            self.touched.start = self.touched.start.min(sections.start);
            self.touched.end = self.touched.end.max(sections.end);
        }
    }

    /// Takes back the latest decision of a conflict and what came after it: its item lies higher,
    /// because of the conflict's other decisions. Where there are none, there is no packing.
    fn go_back(&mut self, mut conflict: Conflict) -> bool {
        let Some(number) = pop_latest(&mut conflict) else { return false };
        let Decision { item, trail } = self.decisions[number];
        for undone in self.decisions.drain(number..) {
            self.offsets[undone.item as usize] = UNPLACED;
        }
        while self.trail.len() > trail {
            self.undo_one();
        }
        let index = item as usize;
        self.save(index);
        self.lowest[index] = self.supported[index] + 1;
        self.reasons.set(index, &conflict);
        true
    }

    fn undo_one(&mut self) {
        let Some(change) = self.trail.pop() else { return };
        let index = change.item as usize;
        self.supported[index] = change.supported;
        self.lowest[index] = change.lowest;
        let start = self.saved_reasons.len() - self.reasons.of(index).len();
        self.reasons.set(index, &self.saved_reasons[start..]);
        self.saved_reasons.truncate(start);
    }
}
