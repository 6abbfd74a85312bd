//! What a search infers from its decisions: which items must lie higher, and which decisions cannot
//! all stand.

use super::{
    reasons::{add, insert},
    search::{Conflict, Search, UNPLACED},
    steps::Steps,
};

impl Search<'_> {
    /// Raises what can be raised; what shows that the decisions cannot all stand.
    pub(super) fn contradiction(&mut self, steps: &mut Steps) -> Option<Conflict> {
        for index in 0..self.problem.len() {
            if self.offsets[index] == UNPLACED && self.lowest[index] > self.supported[index] {
                steps.take(self.neighbours[index].len());
                if let Some(conflict) = self.raise_onto_another(index) {
                    return Some(conflict);
                }
            }
        }
        self.gather_waiting();
        steps.take(self.problem.len() / 4 + 2 * self.waiting.len());
        let conflict = self.overfull(steps);
        self.touched = 0..0;
        conflict
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

    /// The unplaced items of the touched sections, by lowest offset.
    fn gather_waiting(&mut self) {
        let (spans, offsets, touched) = (&self.problem.spans, &self.offsets, &self.touched);
        let starting = self.by_start.iter().copied();
        let starting =
            starting.take_while(|&item| (spans[item as usize].first as usize) < touched.end);
        let living = starting.filter(|&item| {
            spans[item as usize].end as usize > touched.start && offsets[item as usize] == UNPLACED
        });
        self.waiting.clear();
        self.waiting.extend(living);
        let (lowest, rank) = (&self.lowest, &self.rank);
        self.waiting.sort_unstable_by_key(|&item| (lowest[item as usize], rank[item as usize]));
    }

    /// A section that has no room for its unplaced items even if nothing else mattered: stacked by
    /// lowest offset, each at its lowest or on the one before.
    fn overfull(&mut self, steps: &mut Steps) -> Option<Conflict> {
        let touched = self.touched.clone();
        if touched.is_empty() {
            return None;
        }
        self.stacked[touched.clone()].fill(0);
        for &item in &self.waiting {
            let span = &self.problem.spans[item as usize];
            let offset = self.lowest[item as usize];
            let sections = span.sections();
            let sections = sections.start.max(touched.start)..sections.end.min(touched.end);
            let mut highest = 0;
            for top in &mut self.stacked[sections.clone()] {
                *top = offset.max(*top) + span.size;
                highest = highest.max(*top);
            }
            steps.take(sections.len() / 4);
            if highest > self.capacity {
                let section = sections.clone().find(|&at| self.stacked[at] == highest)?;
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
}
