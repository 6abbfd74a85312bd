//! Orders in which placing items one by one works well: large, long-lived and crowded ones first.

use std::cmp::Reverse;

use super::problem::{Problem, Span};

/// What is known of an item.
struct Traits {
    size: u64,
    length: u32,
    area: u128,
    /// The largest load that it lives through.
    crowd: u64,
    start: u32,
}

impl Traits {
    fn new(span: &Span, crowds: &Crowds) -> Self {
        Self {
            size: span.size,
            length: span.length(),
            area: span.area(),
            crowd: crowds.largest(span.sections()),
            start: span.first,
        }
    }
}

/// Keys to sort by, named by their parts, the first deciding. Rough ones take sizes between powers of
/// two (rougher: of four) as equal: items of a class that follow each other in time then take over
/// each other's place, as in the colouring of intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    RoughSizeStart,
    RougherSizeStart,
    SizeStart,
    SizeLength,
    AreaSize,
    LengthSize,
    CrowdSize,
    LengthAreaCrowd,
    CrowdAreaLength,
    CrowdLengthArea,
}

/// Every order, those first that most often are best.
pub(super) const ALL: [Order; 10] = [
    Order::RoughSizeStart,
    Order::RougherSizeStart,
    Order::SizeStart,
    Order::SizeLength,
    Order::AreaSize,
    Order::LengthSize,
    Order::CrowdSize,
    Order::LengthAreaCrowd,
    Order::CrowdAreaLength,
    Order::CrowdLengthArea,
];

impl Order {
    /// The items, first to last; equal ones as they stand in the problem.
    pub(super) fn of(self, problem: &Problem) -> Vec<u32> {
        let crowds = Crowds::new(&problem.loads);
        let key = |span: &Span| self.key(&Traits::new(span, &crowds));
        let keys: Vec<(u128, u128, u128)> = problem.spans.iter().map(key).collect();
        let mut order: Vec<u32> = (0..problem.len() as u32).collect();
        order.sort_by_key(|&item| Reverse(keys[item as usize]));
        order
    }

    fn key(self, of: &Traits) -> (u128, u128, u128) {
        let (size, length, crowd) =
            (u128::from(of.size), u128::from(of.length), u128::from(of.crowd));
        let early = u128::from(u32::MAX - of.start);
        let class = u128::from(of.size.max(1).ilog2());
        match self {
            Self::RoughSizeStart => (class, early, size),
            Self::RougherSizeStart => (class / 2, early, size),
            Self::SizeStart => (size, early, length),
            Self::SizeLength => (size, length, crowd),
            Self::AreaSize => (of.area, size, crowd),
            Self::LengthSize => (length, size, crowd),
            Self::CrowdSize => (crowd, size, length),
            Self::LengthAreaCrowd => (length, of.area, crowd),
            Self::CrowdAreaLength => (crowd, of.area, length),
            Self::CrowdLengthArea => (crowd, length, of.area),
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
