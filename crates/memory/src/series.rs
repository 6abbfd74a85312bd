//! Something over time in a bounded number of points, whatever the length of the run.

use serde::{Deserialize, Serialize};

/// Points of equally many events each. Where there are too many, two neighbours become one.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Series<P> {
    points: Vec<P>,
    most: usize,
    events_per_point: u64,
    events_in_point: u64,
}

impl<P> Series<P> {
    /// Of always fewer points than `most`, which is even.
    pub(crate) fn of_less_than(most: usize) -> Self {
        Self { points: Vec::new(), most, events_per_point: 1, events_in_point: 0 }
    }

    /// The points that are complete, in order of time.
    pub(crate) fn points(&self) -> &[P] {
        &self.points
    }

    /// Counts an event; whether a point ends with it.
    pub(crate) fn count(&mut self) -> bool {
        self.events_in_point += 1;
        self.events_in_point >= self.events_per_point
    }

    /// Adds the point that ends now. `join` makes one of two: what it is given is the later, to be kept, and
    /// the earlier.
    pub(crate) fn end_point(&mut self, point: P, join: impl Fn(&mut P, &P)) {
        self.events_in_point = 0;
        self.points.push(point);
        if self.points.len() < self.most {
            return;
        }
        let mut points = std::mem::take(&mut self.points).into_iter();
        while let Some(earlier) = points.next() {
            let mut later = points.next();
            if let Some(later) = &mut later {
                join(later, &earlier);
            }
            self.points.push(later.unwrap_or(earlier));
        }
        self.events_per_point *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_bounded_and_loses_nothing_that_is_joined() {
        let mut series = Series::of_less_than(64);
        for event in 0..100_000u64 {
            if series.count() {
                let since = series.points().last().map_or(0, |(_, last)| last + 1);
                series.end_point((since, event), |later, earlier| later.0 = earlier.0);
            }
        }
        let points = series.points();
        assert!(points.len() < 64 && points.len() > 16);
        assert_eq!(points[0].0, 0);
        assert!(points.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0));
        let length = |point: &(u64, u64)| point.1 - point.0;
        assert!(points.iter().all(|point| length(point) == length(&points[0])));
    }
}
