//! Whether memory grows or shrinks with a parameter, as far as runs have shown.

use crate::row::Row;

/// How memory goes with a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Direction {
    /// It was seen to grow, or not to change.
    grows: bool,
    /// It was seen to shrink, or not to change.
    shrinks: bool,
}

impl Direction {
    /// Whether no more memory is taken at the first value than at the second.
    pub(crate) fn allows(self, lower: u64, upper: u64) -> bool {
        lower == upper || (self.grows && lower < upper) || (self.shrinks && lower > upper)
    }
}

/// Of every parameter beside the one that is searched: by runs that differ in it alone. Where none do, or they
/// disagree, nothing follows.
pub(crate) fn directions(rows: &[Row]) -> Vec<Direction> {
    let parameters = rows.first().map_or(0, |row| row.at.len());
    (0..parameters).map(|parameter| direction(rows, parameter)).collect()
}

fn direction(rows: &[Row], parameter: usize) -> Direction {
    let alike = |one: &Row, other: &Row| {
        one.differs_only_in(parameter, other) && one.at[parameter] < other.at[parameter]
    };
    let pairs = rows.iter().flat_map(|one| rows.iter().map(move |other| (one, other)));
    let peaks = pairs.filter(|(one, other)| alike(one, other)).flat_map(|(one, other)| {
        one.samples.all().filter_map(|(value, sample)| {
            Some((sample.peak_reserved(), other.samples.made_at(value)?.peak_reserved()))
        })
    });
    let peaks: Vec<(u64, u64)> = peaks.collect();
    Direction {
        grows: !peaks.is_empty() && peaks.iter().all(|(low, high)| low <= high),
        shrinks: !peaks.is_empty() && peaks.iter().all(|(low, high)| low >= high),
    }
}
