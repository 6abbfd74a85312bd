//! Memory over time in a bounded number of points.

use serde::{Deserialize, Serialize};
use whyoom_trace::{Bytes, StackId, StreamId, Time};

use crate::{category::Category, series::Series, sums::LiveSums};

/// More than a terminal is wide and a screen can tell apart.
const MAX_POINTS: usize = 1024;
/// Stacks and streams told apart at each point; what the others hold is the rest.
const TOLD_APART: usize = 16;

/// An instant and its totals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// When.
    pub time: Time,
    /// Bytes in use.
    pub allocated: Bytes,
    /// Bytes that the allocator held.
    pub reserved: Bytes,
}

/// A stretch of time: its highest moment, and what was live at its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// The moment of the stretch at which most was in use.
    pub highest: Moment,
    /// The last moment of the stretch, to which the sums below belong.
    pub end: Moment,
    /// Bytes in use, by [`Category::ALL`].
    pub by_category: [Bytes; Category::ALL.len()],
    /// The stacks that held most, the most first.
    pub by_stack: Vec<(StackId, Bytes)>,
    /// The streams that held most, the most first.
    pub by_stream: Vec<(StreamId, Bytes)>,
}

/// Memory over time: points of equally many events each.
#[derive(Debug, Serialize, Deserialize)]
pub struct Timeline {
    series: Series<Point>,
    /// The highest moment of the point that has begun.
    highest: Option<Moment>,
    /// Events in the point that has begun.
    in_point: u64,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { series: Series::of_less_than(MAX_POINTS), highest: None, in_point: 0 }
    }
}

impl Timeline {
    /// The points, in order of time. The last events may not have made one yet.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        self.series.points()
    }

    /// Takes the present moment.
    pub(crate) fn note(&mut self, now: Moment, sums: &LiveSums) {
        let highest = self.highest.get_or_insert(now);
        if now.allocated > highest.allocated {
            *highest = now;
        }
        self.in_point += 1;
        if !self.series.count() || !sums.affords_point(self.in_point) {
            return;
        }
        self.in_point = 0;
        let point = Point {
            highest: self.highest.take().unwrap_or(now),
            end: now,
            by_category: sums.by_category,
            by_stack: sums.top_stacks(TOLD_APART),
            by_stream: sums.top_streams(TOLD_APART),
        };
        self.series.end_point(point, |later, earlier| {
            if earlier.highest.allocated > later.highest.allocated {
                later.highest = earlier.highest;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_bounded_and_keeps_the_highest_moment() {
        let mut timeline = Timeline::default();
        let sums = LiveSums::default();
        for event in 0..1_000_000u64 {
            let allocated = Bytes(if event == 777_777 { 1 << 40 } else { event % 100 });
            let now = Moment { time: Time(event), allocated, reserved: Bytes::ZERO };
            timeline.note(now, &sums);
        }
        let points = timeline.points();
        assert!(points.len() < MAX_POINTS && points.len() > MAX_POINTS / 4);
        let highest = points.iter().max_by_key(|point| point.highest.allocated).unwrap();
        assert_eq!(highest.highest.time, Time(777_777));
        assert!(points.windows(2).all(|pair| pair[0].end.time < pair[1].highest.time));
    }
}
