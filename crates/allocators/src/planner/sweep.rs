//! Packing by a walk over time: what an allocator with one arena and no rounding would do, except
//! that items which start between two ends are placed in the best order, not in the program's.

use std::collections::{BTreeMap, BTreeSet};

use super::problem::{Problem, Span};

/// Which of several items that start together is placed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Together {
    LongestFirst,
    LargestFirst,
}

/// Best fit, in O(n log n).
pub(super) fn sweep(problem: &Problem, together: Together) -> Vec<u64> {
    let spans = &problem.spans;
    let mut starts: Vec<usize> = (0..spans.len()).collect();
    starts.sort_unstable_by_key(|&span| {
        let Span { first, size, .. } = spans[span];
        let (by_length, by_size) = (u64::MAX - u64::from(spans[span].length()), u64::MAX - size);
        match together {
            Together::LongestFirst => (first, by_length, by_size, span),
            Together::LargestFirst => (first, by_size, by_length, span),
        }
    });
    let mut ends: Vec<usize> = (0..spans.len()).collect();
    ends.sort_unstable_by_key(|&span| (spans[span].end, span));
    let mut ends = ends.into_iter().peekable();
    let mut holes = Holes::new();
    let mut offsets = vec![0; spans.len()];
    for span in starts {
        while let Some(gone) = ends.next_if(|&gone| spans[gone].end <= spans[span].first) {
            holes.give(offsets[gone], spans[gone].size);
        }
        offsets[span] = holes.take(&spans[span]);
    }
    offsets
}

/// What is free, by address to merge and by length to fit. The last hole has no end.
struct Holes {
    ends: BTreeMap<u64, u64>,
    lengths: BTreeSet<(u64, u64)>,
}

impl Holes {
    fn new() -> Self {
        let mut holes = Self { ends: BTreeMap::new(), lengths: BTreeSet::new() };
        holes.insert(0, u64::MAX);
        holes
    }

    fn insert(&mut self, start: u64, end: u64) {
        if start < end {
            self.ends.insert(start, end);
            self.lengths.insert((end - start, start));
        }
    }

    fn remove(&mut self, start: u64) -> u64 {
        let end = self.ends.remove(&start).unwrap_or(start);
        self.lengths.remove(&(end - start, start));
        end
    }

    /// The smallest hole that fits, the lowest of several.
    fn take(&mut self, span: &Span) -> u64 {
        let fits = |&&(length, start): &&(u64, u64)| {
            span.aligned(start).saturating_add(span.size) - start <= length
        };
        let found = self.lengths.range((span.size, 0)..).find(fits);
        let Some(&(_, start)) = found else { return u64::MAX - span.size };
        let end = self.remove(start);
        let offset = span.aligned(start);
        self.insert(start, offset);
        self.insert(offset + span.size, end);
        offset
    }

    fn give(&mut self, offset: u64, size: u64) {
        let (mut start, mut end) = (offset, offset.saturating_add(size));
        if self.ends.contains_key(&end) {
            end = self.remove(end);
        }
        if let Some((&below, &below_end)) = self.ends.range(..start).next_back()
            && below_end == start
        {
            self.remove(below);
            start = below;
        }
        self.insert(start, end);
    }
}
