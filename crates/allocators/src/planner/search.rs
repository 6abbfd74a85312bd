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

use super::{
    problem::Problem,
    reasons::{Reasons, add, insert, pop_latest},
    steps::Steps,
};

const UNPLACED: u64 = u64::MAX;

/// How a search ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Found,
    /// There is no such packing.
    Impossible,
    OutOfSteps,
}

/// A contradiction: the decisions that cannot all stand.
type Conflict = Vec<u64>;

/// A search's state. All changes are on a trail, so that going back costs what was changed.
#[derive(Debug)]
pub(super) struct Search<'a> {
    problem: &'a Problem,
    neighbours: &'a [Vec<u32>],
    capacity: u64,
    rank: Vec<u32>,
    offsets: Vec<u64>,
    /// Above the placed items that live with it.
    supported: Vec<u64>,
    /// The lowest offset at which it can lie: `supported`, or more where that led to a contradiction.
    lowest: Vec<u64>,
    reasons: Reasons,
    decision_of: Vec<usize>,
    decisions: Vec<Decision>,
    trail: Vec<Change>,
    saved_reasons: Vec<u64>,
    /// Unplaced items by (lowest, rank), as of the last look.
    waiting: Vec<u32>,
    stacked: Vec<u64>,
    pub(super) nodes: u64,
    /// How often each item was among those that did not fit.
    blame: Vec<u32>,
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
            waiting: order.to_vec(),
            stacked: vec![0; problem.loads.len()],
            nodes: 0,
            blame: vec![0; items],
        }
    }

    pub(super) fn blame(&self) -> &[u32] {
        &self.blame
    }

    pub(super) fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// Runs until it is decided or out of steps.
    pub(super) fn run(&mut self, steps: &mut Steps) -> Outcome {
        while !steps.used_up() {
            self.nodes += 1;
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

    /// Raises what can be raised; what shows that the decisions cannot all stand.
    fn contradiction(&mut self, steps: &mut Steps) -> Option<Conflict> {
        for index in 0..self.problem.len() {
            if self.offsets[index] == UNPLACED && self.lowest[index] > self.supported[index] {
                steps.take(self.neighbours[index].len());
                if let Some(conflict) = self.raise_onto_another(index) {
                    return Some(conflict);
                }
            }
        }
        self.sort_waiting();
        steps.take(2 * self.waiting.len());
        self.overfull(steps)
    }

    /// An item that does not lie where it is supported now must lie on one that is not placed yet.
    /// And that one must reach into the room that the item has now: otherwise the item could be
    /// moved back there.
    fn raise_onto_another(&mut self, index: usize) -> Option<Conflict> {
        let spans = &self.problem.spans;
        let room_end = self.supported[index] + spans[index].size;
        let mut onto = UNPLACED;
        let mut reason = self.reasons.of(index).to_vec();
        for &other in &self.neighbours[index] {
            let other = other as usize;
            if self.offsets[other] == UNPLACED && self.lowest[other] < room_end {
                onto = onto.min(self.lowest[other] + spans[other].size);
            }
        }
        if onto <= self.lowest[index] {
            return None;
        }
        for &other in &self.neighbours[index] {
            let other = other as usize;
            add(&mut reason, self.reasons.of(other));
            if self.offsets[other] != UNPLACED {
                insert(&mut reason, self.decision_of[other]);
            }
        }
        if onto == UNPLACED {
            return Some(reason);
        }
        self.save(index);
        self.lowest[index] = spans[index].aligned(onto);
        self.reasons.set(index, &reason);
        None
    }

    fn sort_waiting(&mut self) {
        let (lowest, rank) = (&self.lowest, &self.rank);
        self.waiting.sort_by_key(|&item| (lowest[item as usize], rank[item as usize]));
    }

    /// A section that has no room for its unplaced items even if nothing else mattered: stacked by
    /// lowest offset, each at its lowest or on the one before.
    fn overfull(&mut self, steps: &mut Steps) -> Option<Conflict> {
        self.stacked.fill(0);
        for &item in &self.waiting {
            let span = &self.problem.spans[item as usize];
            let offset = self.lowest[item as usize];
            let mut highest = 0;
            for top in &mut self.stacked[span.sections()] {
                *top = offset.max(*top) + span.size;
                highest = highest.max(*top);
            }
            steps.take(span.length() as usize / 4);
            if highest > self.capacity {
                let section = span.sections().find(|&at| self.stacked[at] == highest)?;
                return Some(self.why_overfull(section));
            }
        }
        None
    }

    /// The reasons of those that stand on each other without a gap, up to the one that is too high.
    fn why_overfull(&mut self, section: usize) -> Conflict {
        let mut conflict = self.reasons.empty();
        let mut top = 0;
        for &item in &self.waiting {
            let index = item as usize;
            let span = &self.problem.spans[index];
            if !span.sections().contains(&section) {
                continue;
            }
            if self.lowest[index] > top {
                conflict.fill(0);
            }
            self.blame[index] += 1;
            add(&mut conflict, self.reasons.of(index));
            top = self.lowest[index].max(top) + span.size;
            if top > self.capacity {
                break;
            }
        }
        conflict
    }

    /// Places the first of those that wait, and lifts those that live with it.
    fn decide(&mut self, steps: &mut Steps) {
        let item = self.waiting.remove(0);
        let index = item as usize;
        let number = self.decisions.len();
        self.decisions.push(Decision { item, trail: self.trail.len() });
        self.decision_of[index] = number;
        self.offsets[index] = self.lowest[index];
        let end = self.lowest[index] + self.problem.spans[index].size;
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
                self.reasons.set(other, &reason);
            }
        }
    }

    fn save(&mut self, index: usize) {
        let (supported, lowest) = (self.supported[index], self.lowest[index]);
        self.trail.push(Change { item: index as u32, supported, lowest });
        self.saved_reasons.extend_from_slice(self.reasons.of(index));
    }

    /// Takes back the latest decision of a conflict and what came after it: its item lies higher,
    /// because of the conflict's other decisions. Where there are none, there is no packing.
    fn go_back(&mut self, mut conflict: Conflict) -> bool {
        let Some(number) = pop_latest(&mut conflict) else { return false };
        let Decision { item, trail } = self.decisions[number];
        for undone in self.decisions.drain(number..) {
            self.offsets[undone.item as usize] = UNPLACED;
            self.waiting.push(undone.item);
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
