//! Packing in any order: each item goes into a gap among those placed before that live with it.

use super::{
    placed::Placed,
    problem::{Problem, Span},
    steps::Steps,
};

/// Which gap an item goes into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    Lowest,
    Tightest,
}

/// Packs one problem again and again, with the same buffers.
#[derive(Debug)]
pub(super) struct Packer<'a> {
    problem: &'a Problem,
    placed: Placed,
    occupied: Vec<(u64, u64)>,
}

impl<'a> Packer<'a> {
    pub(super) fn new(problem: &'a Problem) -> Self {
        Self { problem, placed: Placed::new(problem), occupied: Vec::new() }
    }

    /// Places all items in this order; nothing where the packing would not be lower than `bound`, or
    /// the steps are used up.
    pub(super) fn pack(
        &mut self,
        order: &[u32],
        fit: Fit,
        bound: u64,
        steps: &mut Steps,
    ) -> Option<Vec<u64>> {
        self.placed.clear();
        let mut offsets = vec![0; self.problem.len()];
        for &index in order {
            let index = index as usize;
            let span = &self.problem.spans[index];
            let (occupied, spans) = (&mut self.occupied, &self.problem.spans);
            occupied.clear();
            let looks = self.placed.living(span.first, span.end, |other| {
                occupied.push((offsets[other], offsets[other].saturating_add(spans[other].size)));
            });
            steps.take(looks + 1);
            occupied.sort_unstable();
            let offset = gap(span, occupied, fit);
            if offset.saturating_add(span.size) >= bound || steps.used_up() {
                return None;
            }
            offsets[index] = offset;
            self.placed.insert(index, span.end);
        }
        Some(offsets)
    }
}

/// The lowest gap that fits, or the one that leaves the least over. Above everything there is one
/// without end.
fn gap(span: &Span, occupied: &[(u64, u64)], fit: Fit) -> u64 {
    let (mut top, mut best) = (0_u64, None::<(u64, u64)>);
    for &(start, end) in occupied {
        let offset = span.aligned(top);
        if offset.saturating_add(span.size) <= start {
            if fit == Fit::Lowest {
                return offset;
            }
            let left_over = start - top - span.size;
            if best.is_none_or(|(least, _)| left_over < least) {
                best = Some((left_over, offset));
            }
        }
        top = top.max(end);
    }
    best.map_or(span.aligned(top), |(_, offset)| offset)
}
