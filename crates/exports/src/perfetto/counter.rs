//! A counter that changes more often than anybody can see.
//!
//! Of each millisecond the first point, the lowest, the highest and the last are written, at their own
//! times: every peak and every trough of the run is in the trace exactly, and a counter costs at most four
//! points a millisecond however often it changes.

use whyoom_trace::Time;

/// Of so much time, at most four points are written.
const STRETCH_NS: u64 = 1_000_000;

/// A value at a time.
pub(super) type Point = (Time, u64);

/// The points of one counter that are not written yet.
#[derive(Default)]
pub(super) struct Counter {
    last: Option<u64>,
    stretch: Option<Stretch>,
}

struct Stretch {
    first: Point,
    lowest: Point,
    highest: Point,
    latest: Point,
}

impl Counter {
    /// Takes the present value; the points of a stretch that has ended come back.
    pub(super) fn note(&mut self, time: Time, value: u64) -> Vec<Point> {
        if self.last == Some(value) {
            return Vec::new();
        }
        self.last = Some(value);
        let point = (time, value);
        let begins = |stretch: &Stretch| time.0 >= stretch.first.0.0.saturating_add(STRETCH_NS);
        let ended = match self.stretch.as_ref().is_none_or(begins) {
            true => self.finish(),
            false => Vec::new(),
        };
        let new = Stretch { first: point, lowest: point, highest: point, latest: point };
        let stretch = self.stretch.get_or_insert(new);
        if value < stretch.lowest.1 {
            stretch.lowest = point;
        }
        if value > stretch.highest.1 {
            stretch.highest = point;
        }
        stretch.latest = point;
        ended
    }

    /// The points that are left.
    pub(super) fn finish(&mut self) -> Vec<Point> {
        let Some(Stretch { first, lowest, highest, latest }) = self.stretch.take() else {
            return Vec::new();
        };
        let mut points = vec![first, lowest, highest, latest];
        // Several points at one time keep their order; the last of a stretch stays the last.
        points[1..3].sort_by_key(|(time, _)| *time);
        points.dedup();
        points
    }

    /// Forgets what is not written: it was no part of the history.
    pub(super) fn restart(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn extremes_and_the_end_are_kept(
            values in prop::collection::vec((0u64..1_000_000, 0u64..1000), 1..500),
        ) {
            let mut counter = Counter::default();
            let (mut points, mut time, mut all) = (Vec::new(), 0, Vec::new());
            for (after, value) in values {
                time += after;
                all.push(value);
                points.extend(counter.note(Time(time), value));
            }
            points.extend(counter.finish());
            let kept: Vec<u64> = points.iter().map(|(_, value)| *value).collect();
            prop_assert_eq!(kept.iter().max(), all.iter().max());
            prop_assert_eq!(kept.iter().min(), all.iter().min());
            prop_assert_eq!(kept.last(), all.last());
            prop_assert!(points.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{:?}", points);
            prop_assert!(points.len() as u64 <= 4 * (time / STRETCH_NS + 1));
        }
    }
}
