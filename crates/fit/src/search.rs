//! The largest value that fits, from few runs: predicted first, then confirmed.

use crate::{placement::Room, range::Range, samples::Samples};

/// Fragmentation can make a larger value fit where a smaller one does not: so many behind the first
/// that does not are looked at too.
const LOOK_AHEAD: u64 = 16;

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Make the runs at these values, one or two; they need not wait for each other.
    Try(Vec<u64>),
    /// The largest value that fits, if any does: seen to fit, and the next one seen not to.
    Found(Option<u64>),
}

/// What to do next to find the largest value that fits in a room.
#[must_use]
pub fn next_step(range: &Range, samples: &Samples, room: Room) -> Next {
    let unmade = |value: &u64| samples.made_at(*value).is_none();
    let missing: Vec<u64> = starting_points(range).filter(unmade).collect();
    if !missing.is_empty() {
        return Next::Try(missing);
    }
    let largest = largest_that_fits(range, samples, room);
    // Either side of the edge must have been seen: what fits, and what follows it.
    let follows = largest.map_or(Some(range.value(0)), |largest| range.after(largest));
    let open: Vec<u64> = largest.into_iter().chain(follows).filter(unmade).collect();
    if open.is_empty() { Next::Found(largest) } else { Next::Try(open) }
}

/// A quarter and a half of the way: far enough from the smallest values, which programs may treat
/// specially, and far enough from each other. Where the range is too short for that, its ends.
fn starting_points(range: &Range) -> impl Iterator<Item = u64> {
    let last = range.count() - 1;
    let (near, far) = (last / 4, last / 2);
    let (near, far) = if near == far { (0, last) } else { (near, far) };
    // A range of one value has one point.
    std::iter::once(near).chain((far != near).then_some(far)).map(|place| range.value(place))
}

/// The largest value that fits: as seen, else as predicted.
#[must_use]
pub fn largest_that_fits(range: &Range, samples: &Samples, room: Room) -> Option<u64> {
    let fits = |place: u64| samples.placed(range.value(place), room).is_some();
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
