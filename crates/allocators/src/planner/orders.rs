//! Orders in which placing items one by one works well: large, long-lived and crowded ones first.

use std::cmp::Reverse;

use super::problem::{Problem, Span};

/// What is known of an item, larger meaning earlier.
struct Traits {
    size: u64,
    length: u32,
    area: u128,
    /// The largest load that it lives through.
    crowd: u64,
    start: Reverse<u32>,
}

/// Keys to sort by, named by their parts, the first deciding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    SizeLength,
    LengthSize,
    AreaSize,
    CrowdSize,
    CrowdLengthArea,
    CrowdAreaLength,
    LengthAreaCrowd,
    StartLength,
    RoughLengthSize,
    RoughSizeLength,
    RoughSizeStart,
       SizeStart,
    RougherSizeStart,
    RoughSizeEnd,
}

/// Every order, those first that most often are best.
pub(super) const ALL: [Order; 14] = [
    Order::SizeLength,
    Order::AreaSize,
    Order::LengthSize,
    Order::CrowdSize,
    Order::LengthAreaCrowd,
    Order::CrowdAreaLength,
    Order::CrowdLengthArea,
    Order::StartLength,
    Order::RoughLengthSize,
    Order::RoughSizeLength,
    Order::RoughSizeStart,
       Order::SizeStart,
    Order::RougherSizeStart,
    Order::RoughSizeEnd,
];

impl Order {
    /// All items, first to last; equal ones as they stand in the problem.
    pub(super) fn of(self, problem: &Problem) -> Vec<u32> {
        let crowds = Crowds::new(&problem.loads);
        let mut order: Vec<u32> = (0..problem.len() as u32).collect();
        self.sort(&problem.spans, &mut order, |span| crowds.largest(span.sections()));
        order
    }

    /// Sorts some items, given the largest load that each lives through.
    pub(super) fn sort(self, spans: &[Span], items: &mut [u32], crowd: impl Fn(&Span) -> u64) {
        let traits = |span: &Span| Traits {
            size: span.size,
            length: span.length(),
            area: span.area(),
            crowd: crowd(span),
            start: Reverse(span.first),
        };
        items.sort_by_cached_key(|&item| {
            let span = &spans[item as usize];
            (Reverse(self.key(&traits(span))), item)
        });
    }

    fn key(self, of: &Traits) -> (u128, u128, u128) {
        let (size, length, crowd) =
            (u128::from(of.size), u128::from(of.length), u128::from(of.crowd));
        let start = u128::from(u32::MAX - of.start.0);
        match self {
            Self::SizeLength => (size, length, crowd),
            Self::LengthSize => (length, size, crowd),
            Self::AreaSize => (of.area, size, crowd),
            Self::CrowdSize => (crowd, size, length),
            Self::CrowdLengthArea => (crowd, length, of.area),
            Self::CrowdAreaLength => (crowd, of.area, length),
            Self::LengthAreaCrowd => (length, of.area, crowd),
            Self::RoughLengthSize => (length.max(1).ilog2().into(), size, length),
            Self::RoughSizeLength => (size.max(1).ilog2().into(), length, size),
            Self::RoughSizeStart => (size.max(1).ilog2().into(), start, size),
                       Self::SizeStart => (size, start, length),
            Self::RougherSizeStart => ((size.max(1).ilog2()/2).into(), start, size),
            Self::RoughSizeEnd => (size.max(1).ilog2().into(), u128::from(u32::MAX)-start+length, size),
            Self::StartLength => (start, length, size),
        }
    }
}

/// The largest of any range of loads in O(1): row k holds the largest of each 2^k in a row.
struct Crowds {
    rows: Vec<Vec<u64>>,
}

impl Crowds {
    fn new(loads: &[u64]) -> Self {
        let mut rows = vec![loads.to_vec()];
        let mut width = 1;
        while 2 * width <= loads.len() {
            let last = &rows[rows.len() - 1];
            let next = (0..=loads.len() - 2 * width).map(|at| last[at].max(last[at + width]));
            let next = next.collect();
            rows.push(next);
            width *= 2;
        }
        Self { rows }
    }

    /// The range is not empty.
    fn largest(&self, range: std::ops::Range<usize>) -> u64 {
        let row = range.len().max(1).ilog2() as usize;
        self.rows[row][range.start].max(self.rows[row][range.end - (1 << row)])
    }
}
