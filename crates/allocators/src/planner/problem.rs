//! One partition's problem, with time reduced to what matters.

use super::{Item, Packing, round_up};

/// An item of one partition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// The first section that it lives in.
    pub(super) first: u32,
    /// One past the last.
    pub(super) end: u32,
    pub(super) size: u64,
    pub(super) alignment: u64,
}

impl Span {
    pub(super) fn sections(&self) -> std::ops::Range<usize> {
        self.first as usize..self.end as usize
    }

    /// The lowest offset from `offset` on at which it may lie.
    pub(super) fn aligned(&self, offset: u64) -> u64 {
        // Most items may lie anywhere, and a division is dear.
        if self.alignment == 1 { offset } else { round_up(offset, self.alignment) }
    }

    pub(super) fn length(&self) -> u32 {
        self.end - self.first
    }

    pub(super) fn area(&self) -> u128 {
        u128::from(self.size) * u128::from(self.length())
    }
}

/// The items of one partition over sections. A section is a moment at which the set of living items
/// is maximal: only an end that follows a start closes one. Two items live at the same time exactly
/// where they have a section in common, and no other moment has a larger load.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) spans: Vec<Span>,
    /// The sum of sizes in each section.
    pub(super) loads: Vec<u64>,
}

impl Problem {
    pub(super) fn new(items: &[Item], members: &[usize]) -> Self {
        let mut events = Vec::with_capacity(2 * members.len());
        for (span, &member) in members.iter().enumerate() {
            events.push((items[member].lower, true, span));
            events.push((items[member].upper, false, span));
        }
        events.sort_unstable();
        let with_size = |&member: &usize| Span {
            first: 0,
            end: 0,
            size: items[member].size,
            alignment: items[member].alignment.max(1),
        };
        let mut spans: Vec<Span> = members.iter().map(with_size).collect();
        let (mut section, mut started) = (0, false);
        for (_, starts, span) in events {
            if starts {
                spans[span].first = section;
            } else {
                section += u32::from(started);
                spans[span].end = section;
            }
            started = starts;
        }
        let loads = loads(&spans, section as usize);
        Self { spans, loads }
    }

    /// The problem of some of the items, in the same sections.
    pub(super) fn only(&self, members: &[u32]) -> Self {
        let spans: Vec<Span> = members.iter().map(|&span| self.spans[span as usize]).collect();
        let loads = loads(&spans, self.loads.len());
        Self { spans, loads }
    }

    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// The lower bound.
    pub(super) fn max_load(&self) -> u64 {
        self.loads.iter().copied().max().unwrap_or(0)
    }

    /// The same problem with time running backwards: a packing of one is a packing of the other.
    pub(super) fn reversed(&self) -> Self {
        let sections = self.loads.len() as u32;
        let turn =
            |span: &Span| Span { first: sections - span.end, end: sections - span.first, ..*span };
        let loads = self.loads.iter().rev().copied().collect();
        Self { spans: self.spans.iter().map(turn).collect(), loads }
    }

    /// What a partition's base must be a multiple of.
    pub(super) fn alignment(&self) -> u64 {
        self.spans.iter().fold(1, |common, span| {
            if common % span.alignment == 0 { common } else { least_common(common, span.alignment) }
        })
    }

    /// Every offset of a canonical packing is a sum of multiples of this, and so is its height.
    pub(super) fn unit(&self) -> u64 {
        // An alignment of 1 moves nothing.
        let alignments = self.spans.iter().map(|span| span.alignment).filter(|&to| to > 1);
        self.spans.iter().map(|span| span.size).chain(alignments).fold(0, greatest_common).max(1)
    }

    /// How many pairs of items live at the same time, counted in O(n).
    pub(super) fn pairs(&self) -> u64 {
        let (mut started, mut ended) =
            (vec![0_u64; self.loads.len() + 1], vec![0_u64; self.loads.len() + 1]);
        for span in &self.spans {
            started[span.first as usize] += 1;
            ended[span.end as usize] += 1;
        }
        let (mut live, mut pairs) = (0, 0);
        for (starts, ends) in started.into_iter().zip(ended) {
            live -= ends;
            pairs += starts * live + starts * starts.saturating_sub(1) / 2;
            live += starts;
        }
        pairs
    }

    pub(super) fn packing(&self, offsets: Vec<u64>) -> Packing {
        let end = |(span, offset): (&Span, &u64)| offset.saturating_add(span.size);
        let height = self.spans.iter().zip(&offsets).map(end).max().unwrap_or(0);
        Packing { offsets, height }
    }
}

fn loads(spans: &[Span], sections: usize) -> Vec<u64> {
    let mut changes = vec![0_i128; sections + 1];
    for span in spans {
        changes[span.first as usize] += i128::from(span.size);
        changes[span.end as usize] -= i128::from(span.size);
    }
    let mut live = 0;
    let mut load = |change: i128| {
        live += change;
        u64::try_from(live).unwrap_or(u64::MAX)
    };
    changes[..sections].iter().map(|change| load(*change)).collect()
}

fn least_common(one: u64, other: u64) -> u64 {
    (one / greatest_common(one, other)).saturating_mul(other)
}

fn greatest_common(one: u64, other: u64) -> u64 {
    let (mut divisor, mut rest) = (one, other);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    divisor
}
