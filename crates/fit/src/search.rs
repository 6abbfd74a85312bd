//! The largest value of a row that fits.

use crate::range::Range;

/// Fragmentation can make a larger value fit where a smaller one does not: so many behind the first
/// that does not are looked at too.
const LOOK_AHEAD: u64 = 16;

/// A quarter and a half of the way: far enough from the smallest values, which programs may treat
/// specially, and far enough from each other. Where the range is too short for that, its ends.
pub(crate) fn starting_points(range: &Range) -> impl Iterator<Item = u64> {
    let last = range.count() - 1;
    let (near, far) = (last / 4, last / 2);
    let (near, far) = if near == far { (0, last) } else { (near, far) };
    // A range of one value has one point.
    std::iter::once(near).chain((far != near).then_some(far)).map(|place| range.value(place))
}

/// The largest value that fits, where what fits is mostly below what does not.
pub(crate) fn largest_that_fits(range: &Range, fits: impl Fn(u64) -> bool) -> Option<u64> {
    let fits = |place: u64| fits(range.value(place));
    // The first place that does not fit, if all before it do.
    let (mut low, mut high) = (0, range.count());
    while low < high {
        let middle = low + (high - low) / 2;
        if fits(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let ahead = low + 1..range.count().min(low + 1 + LOOK_AHEAD);
    let largest = ahead.rev().find(|place| fits(*place)).or_else(|| low.checked_sub(1));
    largest.map(|place| range.value(place))
}
