//! Whether live bytes grow from iteration to iteration, and whose they are.

use std::collections::BTreeMap;

use whyoom_trace::{Bytes, StackId};

use crate::{
    block::{LiveBlock, Usage},
    iterations::{Boundaries, Boundary, IterationSource, Iterations},
    layer::Layer,
    profile::Phase,
};

/// Fewer boundaries show no trend.
const MIN_BOUNDARIES: usize = 5;
/// Growth below this share of the peak is noise.
const MIN_SHARE_OF_PEAK: f64 = 0.02;
/// A trend that explains less of the variation than this is none.
const MIN_R_SQUARED: f64 = 0.9;
/// A line that leaks leaves something behind in nearly every stretch of the run.
const STRETCHES: u64 = 8;

/// Live bytes that grow from iteration to iteration.
#[derive(Debug, Clone, PartialEq)]
pub struct Growth {
    /// How the iterations were found.
    pub source: IterationSource,
    /// How many were looked at, after the warm-up.
    pub iterations: u64,
    /// Bytes that each adds.
    pub per_iteration: Bytes,
    /// How much of the variation the trend explains, from 0 to 1.
    pub r_squared: f64,
    /// What was added in all of them together.
    pub total: Bytes,
    /// Whose the bytes are: blocks made in these iterations and still there, the most first.
    pub stacks: Vec<GrowingStack>,
}

/// Blocks of one stack that stayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrowingStack {
    /// Who made them.
    pub stack: StackId,
    /// What stayed.
    pub usage: Usage,
}

/// The stretch of the stream that something took, and what was made and ended in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Course {
    /// The number of the event before the first.
    pub(crate) first: u64,
    /// The number of the last event.
    pub(crate) last: u64,
    /// Blocks that were made.
    pub(crate) made: u64,
    /// Blocks that ended.
    pub(crate) ended: u64,
    /// Whether the driver's calls were recorded too, and so the run from its start.
    pub(crate) whole: bool,
}

impl Course {
    /// Both together.
    pub(crate) fn with(self, other: Self) -> Self {
        Self {
            first: self.first.min(other.first),
            last: self.last.max(other.last),
            made: self.made + other.made,
            ended: self.ended + other.ended,
            whole: self.whole || other.whole,
        }
    }
}

/// What growth is judged by.
pub(crate) struct Evidence<'a> {
    iterations: &'a Iterations,
    blocks: Vec<&'a LiveBlock>,
    peak: Bytes,
    course: Course,
    /// Into how many stretches the run is cut at least.
    stretches: u64,
}

impl<'a> Evidence<'a> {
    /// The evidence of a layer, of which `blocks` count.
    pub(crate) fn of(layer: &'a Layer, course: Course, blocks: Vec<&'a LiveBlock>) -> Self {
        let (peak, _) = layer.peak();
        let (iterations, peak) = (layer.iterations(), peak.allocated);
        Self { iterations, blocks, peak, course, stretches: STRETCHES }
    }

    /// The same where allocations are few: a program asks the driver seldom, and few leaks leave gaps
    /// that mean nothing.
    pub(crate) fn of_few(self) -> Self {
        Self { stretches: STRETCHES / 2, ..self }
    }
}

impl Evidence<'_> {
    /// Growth, if there is any.
    pub(crate) fn growth(&self, phase_of: impl Fn(StackId) -> Phase) -> Option<Growth> {
        match self.iterations.best(MIN_BOUNDARIES, self.course.whole) {
            Some((source, boundaries)) => self.trend(source, boundaries),
            None => self.repeated_line(phase_of),
        }
    }

    /// Growth between iterations, if these were found: what stands for them otherwise holds only of a run
    /// that is seen to its end, since a model that is being loaded looks the same.
    pub(crate) fn growth_of_iterations(&self) -> Option<Growth> {
        let (source, boundaries) = self.iterations.best(MIN_BOUNDARIES, self.course.whole)?;
        self.trend(source, boundaries)
    }

    fn trend(&self, source: IterationSource, boundaries: &Boundaries) -> Option<Growth> {
        let kept = after_warm_up(boundaries.kept());
        let (slope, r_squared) = line_through(kept)?;
        let steps = kept.len() as u64 - 1;
        let total = Bytes((slope * steps as f64).max(0.0) as u64);
        if r_squared < MIN_R_SQUARED || total.share_of(self.peak) < MIN_SHARE_OF_PEAK {
            return None;
        }
        let (first, last) = (kept.first()?.event, kept.last()?.event);
        let stacks = self.survivors(|block| first <= block.born && block.born < last);
        let kept_bytes: Bytes = stacks.iter().map(|stack| stack.usage.bytes).sum();
        // Bytes that grew but belong to nothing that stayed are an artefact of where the
        // boundaries fell.
        if kept_bytes.0 < total.0 / 2 {
            return None;
        }
        Some(Growth {
            source,
            iterations: steps * boundaries.stride(),
            per_iteration: Bytes((slope / boundaries.stride() as f64) as u64),
            r_squared,
            total,
            stacks,
        })
    }

    /// A line outside any module that allocates all through the history and ends nothing.
    fn repeated_line(&self, phase_of: impl Fn(StackId) -> Phase) -> Option<Growth> {
        // While a model is loaded everything stays, and nothing is wrong: a loop that works also
        // ends most of what it makes.
        if self.course.ended * 2 < self.course.made {
            return None;
        }
        let Course { first, last, .. } = self.course;
        let stacks = self.survivors(|block| {
            block.born > first && block.stack != StackId(0) && phase_of(block.stack) == Phase::Other
        });
        let worst = stacks.first().copied()?;
        let stretches = self.stretches_for(worst.usage.blocks)?;
        let length = (last.saturating_sub(first) / stretches).max(1);
        let mut by_stretch = vec![Bytes::ZERO; stretches as usize];
        let kept = |b: &&&LiveBlock| b.stack == worst.stack && b.born > first && !b.pending;
        for block in self.blocks.iter().filter(kept) {
            let index = ((block.born - first) / length).min(stretches - 1);
            by_stretch[index as usize] = by_stretch[index as usize].plus(block.size);
        }
        let mean = worst.usage.bytes.0 / stretches;
        let even = by_stretch.iter().all(|bytes| bytes.0 >= mean / 4);
        let (_, r_squared) = line_through(&running_sums(&by_stretch))?;
        let share = worst.usage.bytes.share_of(self.peak);
        if !even || r_squared < MIN_R_SQUARED || share < MIN_SHARE_OF_PEAK {
            return None;
        }
        Some(Growth {
            source: IterationSource::RepeatedLine,
            iterations: worst.usage.blocks,
            per_iteration: Bytes(worst.usage.bytes.0 / worst.usage.blocks.max(1)),
            r_squared,
            total: worst.usage.bytes,
            stacks: vec![worst],
        })
    }

    /// Into how many stretches the run is cut to see whether so many blocks are spread over all of it.
    /// Too few of them show no trend.
    fn stretches_for(&self, blocks: u64) -> Option<u64> {
        let stretches = if blocks < 2 * STRETCHES { self.stretches } else { STRETCHES };
        (blocks >= STRETCHES).then_some(stretches)
    }

    fn survivors(&self, counts: impl Fn(&LiveBlock) -> bool) -> Vec<GrowingStack> {
        let mut sums = BTreeMap::<StackId, Usage>::new();
        for block in self.blocks.iter().filter(|block| !block.pending && counts(block)) {
            sums.entry(block.stack).or_default().add(block.size);
        }
        let mut stacks: Vec<_> =
            sums.into_iter().map(|(stack, usage)| GrowingStack { stack, usage }).collect();
        stacks.sort_by_key(|growing| std::cmp::Reverse(growing.usage.bytes));
        stacks
    }
}

/// What was kept up to the end of each stretch.
fn running_sums(by_stretch: &[Bytes]) -> Vec<Boundary> {
    let sums = by_stretch.iter().scan(Bytes::ZERO, |sum, bytes| {
        *sum = sum.plus(*bytes);
        Some(*sum)
    });
    sums.zip(0..).map(|(allocated, event)| Boundary { event, allocated }).collect()
}

/// The first fifth, and at least one, is warm-up: caches fill, optimizers make their state.
fn after_warm_up(boundaries: &[Boundary]) -> &[Boundary] {
    let warm_up = (boundaries.len() / 5).max(1);
    &boundaries[warm_up.min(boundaries.len())..]
}

/// The slope of the least-squares line through the boundaries' live bytes, and its R².
fn line_through(boundaries: &[Boundary]) -> Option<(f64, f64)> {
    let count = boundaries.len() as f64;
    if boundaries.len() < MIN_BOUNDARIES - 1 {
        return None;
    }
    let mean_x = (count - 1.0) / 2.0;
    let mean_y = boundaries.iter().map(|b| b.allocated.0 as f64).sum::<f64>() / count;
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (index, boundary) in boundaries.iter().enumerate() {
        let (x, y) = (index as f64 - mean_x, boundary.allocated.0 as f64 - mean_y);
        xx += x * x;
        xy += x * y;
        yy += y * y;
    }
    if yy == 0.0 {
        return None;
    }
    Some((xy / xx, xy * xy / (xx * yy)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boundaries(levels: &[u64]) -> Vec<Boundary> {
        let points = levels.iter().enumerate();
        points.map(|(i, &bytes)| Boundary { event: i as u64, allocated: Bytes(bytes) }).collect()
    }

    #[test]
    fn a_line_has_its_slope_and_fits() {
        let (slope, r_squared) = line_through(&boundaries(&[10, 13, 16, 19])).unwrap();
        assert!((slope - 3.0).abs() < 1e-9 && (r_squared - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_level_has_no_trend_and_noise_does_not_fit() {
        assert_eq!(line_through(&boundaries(&[5, 5, 5, 5, 5])), None);
        let (_, r_squared) = line_through(&boundaries(&[5, 9, 4, 8, 5, 9])).unwrap();
        assert!(r_squared < MIN_R_SQUARED);
    }

    #[test]
    fn warm_up_is_left_out() {
        assert_eq!(after_warm_up(&boundaries(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10])).len(), 8);
        assert_eq!(after_warm_up(&boundaries(&[1, 2])).len(), 1);
        assert!(after_warm_up(&[]).is_empty());
    }
}
