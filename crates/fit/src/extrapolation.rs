//! A run that was not made, from two that were.
//!
//! A program asks for the same tensors in the same order whatever its batch; only sizes differ, and
//! nearly all of them are linear in it. So the run at another value is not estimated by its peak: it is
//! written down, request by request, and replayed as if it had been recorded.

use whyoom_allocators::{Run, Step, Workload};

/// The run at `value`, from those at two other values; nothing where they did not do the same things in
/// the same order.
#[must_use]
pub fn between(a: (u64, &Run), b: (u64, &Run), value: u64) -> Option<Run> {
    let line = Line { from: a.0, to: b.0, at: value };
    if a.0 == b.0 {
        return None;
    }
    let (first, second) = (&a.1.workload, &b.1.workload);
    if differ_in_length(first, second) {
        return None;
    }
    // One may have been ended a step later than the other: what both did is compared.
    let both = requests(first).zip(requests(second));
    let steps = both.map(|(first, second)| line.step(first, second));
    let workload = Workload::new(steps.collect::<Option<_>>()?, a.1.workload.items);
    Some(Run { workload, settings: a.1.settings.clone(), logged_by: a.1.logged_by.clone(), ..*a.1 })
}

/// Whether a value makes a run longer rather than its requests larger, as a number of tokens does.
fn differ_in_length(first: &Workload, second: &Workload) -> bool {
    let (one, other) = (requests(first).count(), requests(second).count());
    let (shorter, longer) = (one.min(other), one.max(other));
    let same_sizes =
        || requests(first).zip(requests(second)).all(|pair| size(pair.0) == size(pair.1));
    3 * shorter < 2 * longer || (shorter < longer && same_sizes())
}

fn size(step: &Step) -> Option<u64> {
    match step {
        Step::Alloc { request, .. } => Some(request.size),
        _ => None,
    }
}

/// What the program did. What its allocator did about it depends on the sizes.
fn requests(workload: &Workload) -> impl Iterator<Item = &Step> {
    let by_program = |step: &&Step| {
        !matches!(
            step,
            Step::SegmentAlloc(_)
                | Step::SegmentFree { .. }
                | Step::SegmentMap(_)
                | Step::SegmentUnmap { .. }
        )
    };
    workload.steps.iter().filter(by_program)
}

/// Two values with a third to be read off the line through them.
struct Line {
    from: u64,
    to: u64,
    at: u64,
}

impl Line {
    /// The step at the third value, where both did the same.
    fn step(&self, first: &Step, second: &Step) -> Option<Step> {
        match (*first, *second) {
            (
                Step::Alloc { item, request, address, size, stack },
                Step::Alloc { item: other, request: larger, .. },
            ) => {
                let alike =
                    item == other && (request.stream, request.pool) == (larger.stream, larger.pool);
                let mut request = alike.then_some(request)?;
                request.size = self.size(request.size, larger.size)?;
                Some(Step::Alloc { item, request, address, size, stack })
            }
            (first, second) => (first == second).then_some(first),
        }
    }

    /// The size at the third value, to the nearest byte; at least one.
    fn size(&self, first: u64, second: u64) -> Option<u64> {
        if first == second {
            return Some(first);
        }
        let (from, to, at) = (i128::from(self.from), i128::from(self.to), i128::from(self.at));
        let (first, second) = (i128::from(first), i128::from(second));
        let run = to - from;
        let rise = (second - first) * (at - from) * run.signum();
        let run = run.abs();
        let size = first + (2 * rise + run).div_euclid(2 * run);
        u64::try_from(size.max(1)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_lie_on_the_line() {
        let line = |from, to, at| Line { from, to, at };
        assert_eq!(line(1, 2, 10).size(100, 150), Some(550));
        assert_eq!(line(8, 4, 1).size(800, 400), Some(100));
        assert_eq!(line(2, 4, 3).size(10, 11), Some(11));
        assert_eq!(line(4, 8, 1).size(40, 400), Some(1));
        assert_eq!(line(1, 2, 3).size(7, 7), Some(7));
    }
}
