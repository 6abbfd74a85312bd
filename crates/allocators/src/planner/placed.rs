//! What is placed already, asked by time: which items live together with this one?

use super::problem::Problem;

/// A tree over the items by rising start; a node holds the latest end of the placed ones below it.
/// A query walks only where something lives, so that it costs what it finds, times a logarithm at
/// most.
#[derive(Debug)]
pub(super) struct Placed {
    /// Each span's leaf, and each leaf's span.
    leaf_of: Vec<u32>,
    span_at: Vec<u32>,
    starts: Vec<u32>,
    latest: Vec<u32>,
    leaves: usize,
}

impl Placed {
    pub(super) fn new(problem: &Problem) -> Self {
        let spans = &problem.spans;
        let mut span_at: Vec<u32> = (0..spans.len() as u32).collect();
        span_at.sort_unstable_by_key(|&span| (spans[span as usize].first, span));
        let mut leaf_of = vec![0; spans.len()];
        for (leaf, &span) in span_at.iter().enumerate() {
            leaf_of[span as usize] = leaf as u32;
        }
        let starts = span_at.iter().map(|&span| spans[span as usize].first).collect();
        let leaves = spans.len().next_power_of_two();
        Self { leaf_of, span_at, starts, latest: vec![0; 2 * leaves], leaves }
    }

    pub(super) fn clear(&mut self) {
        self.latest.fill(0);
    }

    /// Adds a span. Sections count from 0, so that an end is never 0.
    pub(super) fn insert(&mut self, span: usize, end: u32) {
        let mut node = self.leaves + self.leaf_of[span] as usize;
        while node > 0 && self.latest[node] < end {
            self.latest[node] = end;
            node /= 2;
        }
    }

    /// Calls back with every placed span that lives in `first..end`; says how many nodes it looked at.
    pub(super) fn living(&self, first: u32, end: u32, mut found: impl FnMut(usize)) -> usize {
        let limit = self.starts.partition_point(|&start| start < end);
        let mut looks = 0;
        let mut to_do = vec![(1, 0, self.leaves)];
        while let Some((node, from, to)) = to_do.pop() {
            looks += 1;
            if from >= limit || self.latest[node] <= first {
                continue;
            }
            if node >= self.leaves {
                found(self.span_at[from] as usize);
                continue;
            }
            let middle = usize::midpoint(from, to);
            to_do.push((2 * node + 1, middle, to));
            to_do.push((2 * node, from, middle));
        }
        looks
    }
}
