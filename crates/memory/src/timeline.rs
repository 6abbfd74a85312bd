//! Memory over time in a bounded number of points.

use whyoom_trace::{Bytes, Time};

use crate::category::Category;

/// More than a terminal is wide and a screen can tell apart.
const MAX_POINTS: usize = 1024;

/// The highest moment of a stretch of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Point {
    /// When.
    pub time: Time,
    /// Bytes in use, by [`Category::ALL`].
    pub by_category: [Bytes; Category::ALL.len()],
    /// Bytes in use.
    pub allocated: Bytes,
    /// Bytes that the allocator held.
    pub reserved: Bytes,
}

/// Memory over time: each point is the highest moment of equally many events.
#[derive(Debug, Clone)]
pub struct Timeline {
    points: Vec<Point>,
    highest: Option<Point>,
    events_per_point: u64,
    events_in_point: u64,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { points: Vec::new(), highest: None, events_per_point: 1, events_in_point: 0 }
    }
}

impl Timeline {
    /// The points, in order of time.
    pub fn points(&self) -> impl Iterator<Item = &Point> {
        self.points.iter().chain(&self.highest)
    }

    /// Takes the present moment, which `point` describes if it is asked for.
    pub(crate) fn note(&mut self, allocated: Bytes, point: impl FnOnce() -> Point) {
        if self.highest.is_none_or(|highest| allocated > highest.allocated) {
            self.highest = Some(point());
        }
        self.events_in_point += 1;
        if self.events_in_point >= self.events_per_point {
            self.points.extend(self.highest.take());
            self.events_in_point = 0;
            if self.points.len() >= MAX_POINTS {
                self.halve();
            }
        }
    }

    fn halve(&mut self) {
        let higher = |pair: &[Point]| pair.iter().copied().max_by_key(|point| point.allocated);
        self.points = self.points.chunks(2).filter_map(higher).collect();
        self.events_per_point *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_bounded_and_keeps_the_highest_moment() {
        let mut timeline = Timeline::default();
        for event in 0..1_000_000u64 {
            let allocated = Bytes(if event == 777_777 { 1 << 40 } else { event % 100 });
            timeline.note(allocated, || Point { time: Time(event), allocated, ..Point::default() });
        }
        assert!(timeline.points().count() <= MAX_POINTS + 1);
        let highest = timeline.points().max_by_key(|point| point.allocated).unwrap();
        assert_eq!(highest.time, Time(777_777));
        assert!(timeline.points().zip(timeline.points().skip(1)).all(|(a, b)| a.time < b.time));
    }
}
