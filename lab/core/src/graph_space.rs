//! The addresses of one graph's allocations: fixed when a node is made, and used again inside the
//! graph where the graph's own order makes that safe. Pure.
//!
//! Documented: the address of an allocation stays the same over instantiations and launches, and
//! allocations of one graph may share addresses when one is freed before the other is made. Assumed:
//! best fit.

use std::collections::BTreeMap;

/// A node of a graph.
type Node = u64;

/// The addresses of a graph.
#[derive(Debug, Default)]
pub(crate) struct Space {
    chunks: BTreeMap<u64, u64>,
    blocks: BTreeMap<u64, Block>,
}

#[derive(Clone, Debug)]
struct Block {
    length: u64,
    state: State,
}

#[derive(Clone, Debug, PartialEq)]
enum State {
    Used,
    /// Free behind that node, or from the beginning.
    Free(Option<Node>),
}

/// A stretch of free blocks side by side.
#[derive(Clone, Copy)]
struct Run {
    start: u64,
    length: u64,
}

impl Space {
    /// Addresses for a node that comes behind the nodes that `is_before` knows.
    pub(crate) fn take(&mut self, length: u64, is_before: impl Fn(Node) -> bool) -> Option<u64> {
        let runs = self.runs(is_before);
        let fitting = runs.into_iter().filter(|run| run.length >= length);
        let start = fitting.min_by_key(|run| (run.length, run.start))?.start;
        self.cut_out(start, length);
        self.blocks.insert(start, Block { length, state: State::Used });
        Some(start)
    }

    fn runs(&self, is_before: impl Fn(Node) -> bool) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        let mut open = false;
        for (start, block) in &self.blocks {
            let State::Free(freed) = &block.state else {
                open = false;
                continue;
            };
            if !freed.is_none_or(&is_before) {
                open = false;
                continue;
            }
            match runs.last_mut() {
                Some(run)
                    if open
                        && run.start + run.length == *start
                        && !self.chunks.contains_key(start) =>
                {
                    run.length += block.length;
                }
                _ => runs.push(Run { start: *start, length: block.length }),
            }
            open = true;
        }
        runs
    }

    /// Removes the blocks of a range; what the last one has beyond it stays.
    fn cut_out(&mut self, start: u64, length: u64) {
        let end = start + length;
        let inside: Vec<u64> = self.blocks.range(start..end).map(|(start, _)| *start).collect();
        for begin in inside {
            let Some(block) = self.blocks.remove(&begin) else { continue };
            let rest = (begin + block.length).saturating_sub(end);
            if rest > 0 {
                self.blocks.insert(end, Block { length: rest, ..block });
            }
        }
    }

    /// Notes that a node of the graph frees an allocation; false where none is there.
    pub(crate) fn free(&mut self, start: u64, node: Node) -> bool {
        match self.blocks.get_mut(&start).filter(|block| block.state == State::Used) {
            Some(block) => {
                block.state = State::Free(Some(node));
                true
            }
            None => false,
        }
    }

    /// Whether an allocation that no node of the graph frees begins there.
    pub(crate) fn has(&self, start: u64) -> bool {
        self.blocks.get(&start).is_some_and(|block| block.state == State::Used)
    }

    /// Whether the address is one of its own.
    pub(crate) fn contains(&self, address: u64) -> bool {
        let below = self.chunks.range(..=address).next_back();
        below.is_some_and(|(start, length)| address - start < *length)
    }

    /// Adds addresses.
    pub(crate) fn grow(&mut self, start: u64, length: u64) {
        self.chunks.insert(start, length);
        self.blocks.insert(start, Block { length, state: State::Free(None) });
    }

    /// What its addresses need when all of them have memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.chunks.values().sum()
    }

    /// Its addresses, for its end.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.chunks.iter().map(|(start, length)| (*start, *length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_used_again_behind_the_free_only() {
        let mut space = Space::default();
        space.grow(0, 100);
        assert_eq!(space.take(60, |_| false), Some(0));
        assert!(space.free(0, 7));
        assert!(!space.free(0, 7), "not twice");
        assert_eq!(space.take(60, |_| false), None, "not behind the free");
        assert_eq!(space.take(30, |_| false), Some(60), "what was never used");
        assert_eq!(space.take(50, |node| node == 7), Some(0));
        assert!(space.has(0) && space.has(60) && !space.has(50));
        assert_eq!(space.bytes(), 100);
    }

    #[test]
    fn free_neighbours_serve_together_within_a_chunk() {
        let mut space = Space::default();
        space.grow(0, 40);
        space.grow(40, 40);
        let starts: Vec<_> = (0..4).filter_map(|_| space.take(20, |_| true)).collect();
        assert_eq!(starts, [0, 20, 40, 60]);
        for (node, start) in starts.iter().enumerate() {
            space.free(*start, node as u64);
        }
        assert_eq!(space.take(50, |_| true), None, "chunks are not one");
        assert_eq!(space.take(40, |node| node != 1), Some(40));
        assert_eq!(space.take(30, |_| true), Some(0));
        assert_eq!(space.take(10, |_| true), Some(30));
        assert!(space.contains(79) && !space.contains(80));
    }
}
