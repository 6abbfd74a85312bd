//! What is placed already, asked by time: which items live together with this one?

use super::problem::Problem;

/// Items that share a leaf: looking at a few in a row costs less than another level of the tree.
const LEAF: usize = 8;

/// A tree over the items by rising start; a node holds the latest end of the placed ones below it.
/// A query walks only where something lives, so that it costs what it finds, times a logarithm at
/// most.
#[derive(Debug)]
pub(super) struct Placed {
    /// Items by rising start, with their starts and, where they are placed, their ends.
    by_start: Vec<u32>,
    starts: Vec<u32>,
    ends: Vec<u32>,
    place_of: Vec<u32>,
    /// The tree: the root at 1, the children of `node` at twice that; 0 for nothing.
    latest: Vec<u32>,
    leaves: usize,
    to_do: Vec<usize>,
}

impl Placed {
    pub(super) fn new(problem: &Problem) -> Self {
        let spans = &problem.spans;
        let mut by_start: Vec<u32> = (0..spans.len() as u32).collect();
        by_start.sort_unstable_by_key(|&span| (spans[span as usize].first, span));
        let mut place_of = vec![0; spans.len()];
        for (place, &span) in by_start.iter().enumerate() {
            place_of[span as usize] = place as u32;
        }
        let starts = by_start.iter().map(|&span| spans[span as usize].first).collect();
        let leaves = spans.len().div_ceil(LEAF).next_power_of_two();
        let (ends, latest) = (vec![0; spans.len()], vec![0; 2 * leaves]);
        Self { by_start, starts, ends, place_of, latest, leaves, to_do: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.ends.fill(0);
        self.latest.fill(0);
    }

    /// Adds a span. Its end is one past a section, so never 0.
    pub(super) fn insert(&mut self, span: usize, end: u32) {
        let place = self.place_of[span] as usize;
        self.ends[place] = end;
        let mut node = self.leaves + place / LEAF;
        while node > 0 && self.latest[node] < end {
            self.latest[node] = end;
            node /= 2;
        }
    }

    /// Calls back with every placed span that lives in `first..end`; how many looks it took.
    pub(super) fn living(&mut self, first: u32, end: u32, mut found: impl FnMut(usize)) -> usize {
        let limit = self.starts.partition_point(|&start| start < end);
        let mut looks = 0;
        self.to_do.push(1);
        while let Some(node) = self.to_do.pop() {
            looks += 1;
            if self.latest[node] <= first {
                continue;
            }
            if node < self.leaves {
                self.to_do.extend([2 * node + 1, 2 * node]);
                continue;
            }
            let from = (node - self.leaves) * LEAF;
            if from >= limit {
                // Leaves come in rising order, so that all others lie beyond as well.
                self.to_do.clear();
                break;
            }
            let to = (from + LEAF).min(limit);
            looks += to - from;
            for place in (from..to).filter(|&place| self.ends[place] > first) {
                found(self.by_start[place] as usize);
            }
        }
        looks
    }
}
