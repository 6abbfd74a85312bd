//! How much was in use, finely.

use whyoom_trace::Bytes;

use super::thinning::{stride, widen};
use crate::{instant::Instant, series::Series, totals::Totals};

/// More than a screen has pixels side by side, so that a stretch of it can be looked at closely.
const MOST_POINTS: usize = 16_384;

/// A stretch of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurvePoint {
    /// Its last instant.
    pub end: Instant,
    /// The least that was in use.
    pub lowest: Bytes,
    /// The most that was in use.
    pub highest: Bytes,
    /// The most that was held.
    pub reserved: Bytes,
}

impl CurvePoint {
    fn join(&mut self, earlier: &Self) {
        let ours = (self.lowest, self.highest);
        (self.lowest, self.highest) = widen(ours, (earlier.lowest, earlier.highest));
        self.reserved = self.reserved.max(earlier.reserved);
    }
}

#[derive(Debug)]
pub(super) struct Curve {
    series: Series<CurvePoint>,
    begun: Option<CurvePoint>,
}

impl Default for Curve {
    fn default() -> Self {
        Self { series: Series::of_less_than(MOST_POINTS), begun: None }
    }
}

impl Curve {
    pub(super) fn note(&mut self, end: Instant, totals: Totals) {
        let Totals { allocated, reserved, .. } = totals;
        let mut point = CurvePoint { end, lowest: allocated, highest: allocated, reserved };
        if let Some(begun) = &self.begun {
            point.join(begun);
        }
        if self.series.count() {
            self.series.end_point(point, CurvePoint::join);
            self.begun = None;
        } else {
            self.begun = Some(point);
        }
    }

    /// All points, the one that has begun included; of more than `most` several become one.
    pub(super) fn points(&self, most: usize) -> Vec<CurvePoint> {
        let points: Vec<_> = self.series.points().iter().copied().chain(self.begun).collect();
        let joined = |points: &[CurvePoint]| {
            let later = points.iter().copied().reduce(|earlier, mut later| {
                later.join(&earlier);
                later
            });
            later.into_iter()
        };
        points.chunks(stride(points.len(), most)).flat_map(joined).collect()
    }
}
